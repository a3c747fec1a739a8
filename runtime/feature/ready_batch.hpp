#pragma once
/// \file ready_batch.hpp
/// Asking for a batch, and the answer: between a trainer, an evaluator or a session and its sampler,
/// in one process or over a link (runtime/wire/codec_batches.cpp).
#include "runtime/base/pooled_vector.hpp"
#include "runtime/feature/batch.hpp"
#include "runtime/feature/batch_trace.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/seed_order.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace troupe {

/// Whose options a request means: its own, which do not travel, or those of the job, which every
/// process has.
enum class BatchOptions : std::uint8_t { own = 0, job = 1 };

/// To a sampler: sample this batch and have it collected. Answered with ReadyBatch (by the
/// collector).
struct SampleBatch {
  BatchKey key;
  NodeTypeId seed_type{};
  PooledVector<NodeId> seeds;
  std::shared_ptr<const SampleOptions> sample;    ///< null after a journey
  std::shared_ptr<const CollectOptions> collect;  ///< null after a journey
  std::uint64_t flow = 0;                         ///< the batch in the trace; 0: none
  BatchOptions options = BatchOptions::own;
  /// [seeds]; or empty: SampleOptions::seed_time, where read.
  PooledVector<std::int64_t> times = {};
  std::optional<PositiveLinks> links = std::nullopt;  ///< In the place of nodes as seeds
  /// Place in the order in which its rank trains; nothing after a journey, and of a batch out of order.
  std::optional<Turn> turn = std::nullopt;

  /// Takes what an order of seeds says of a batch.
  void take_seeds(OrderedSeeds of_batch);
};

struct ReadyBatch {
  Batch batch;
  BatchTrace trace;
};

/// \errors data_corruption: another batch than the one that was asked for
Status check_answer(const SampleBatch& request, const ReadyBatch& ready);

}  // namespace troupe
