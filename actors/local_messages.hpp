#pragma once
/// \file local_messages.hpp
/// Messages that stay inside a process so far: between a trainer, its samplers and its collector,
/// and between evaluator and trainer of one host.
#include "runtime/feature/batch.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/run/learner.hpp"
#include "runtime/sample/batch_builder.hpp"

#include <caf/actor.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

/// What happened to a batch on its way; summed into EpochCounters.
struct BatchTrace {
  std::uint64_t sample_ns = 0;   ///< from asking to sampled
  std::uint64_t collect_ns = 0;  ///< from sampled to collected
  std::uint64_t frontier_nodes = 0;
  std::uint64_t frontier_remote = 0;
  std::uint64_t rows = 0;
  std::uint64_t rows_remote = 0;
};

/// To a sampler: sample this batch and have it collected. Answered with ReadyBatch (by the
/// collector).
struct SampleBatch {
  BatchKey key;
  NodeTypeId seed_type{};
  std::vector<NodeId> seeds;
  std::shared_ptr<const SampleOptions> sample;
  std::shared_ptr<const CollectOptions> collect;
  std::uint64_t flow = 0;  ///< the batch in the trace; 0: none
};

/// From a sampler to the collector, with the asker's promise.
struct CollectBatch {
  std::shared_ptr<const SampledBatch> sampled;
  std::shared_ptr<const CollectOptions> collect;
  BatchTrace trace;
  std::uint64_t flow = 0;
};

struct ReadyBatch {
  Batch batch;
  BatchTrace trace;
};

/// To a trainer, once before it starts: the trainers of all ranks, itself included.
struct TrainerPeers {
  std::vector<caf::actor> trainers;
};

/// To a trainer: its parameters now, or those of the best epoch. Answered with Snapshot.
struct ReadParameters {
  bool best = false;
};
struct Snapshot {
  Parameters parameters;
};

}  // namespace troupe
