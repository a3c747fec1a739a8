#pragma once
/// \file local_messages.hpp
/// Messages that stay inside a process: from a sampler to its collector, and what a trainer is told
/// by its host.
#include "runtime/feature/ready_batch.hpp"

#include <caf/actor.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace troupe {

/// From a sampler to the collector, with the asker's promise.
struct CollectBatch {
  std::shared_ptr<const SampledBatch> sampled;
  std::shared_ptr<const CollectOptions> collect;
  BatchTrace trace;
  std::uint64_t flow = 0;
  std::optional<Turn> turn = std::nullopt;  ///< As SampleBatch has it
  /// Of rows that a device has: rows are staged for it, and the answer is StagedBatch. Null: ReadyBatch
  std::shared_ptr<const RowSlots> slots = {};
};

/// From a collector to the device sampler that asked it.
struct StagedBatch {
  std::shared_ptr<Batch> batch;  ///< The receiver's
  BatchTrace trace;
};

/// To a sampler, without an answer: this batch will be requested. Nothing depends on it.
struct SampleAhead {
  std::shared_ptr<const SampleBatch> request;
};

/// From a sampler to the collector, without an answer: these rows will be read.
struct ReadsAhead {
  std::shared_ptr<const SampledBatch> sampled;
  std::shared_ptr<const CollectOptions> collect;
  Turn turn = 0;
};

/// From a collector to itself: a holder that could not give rows for the cache is asked again.
struct CacheGoesOn {};

/// To a trainer, once before it starts: the trainers of all ranks, itself included.
struct TrainerPeers {
  std::vector<caf::actor> trainers;
};

}  // namespace troupe
