#pragma once
/// \file messages.hpp
/// Messages of the run itself, as plain data: epochs, gradients, evaluation. The messages of
/// sampling and row reading are HopRequest (runtime/sample) and RowRequest (runtime/feature).
#include "runtime/base/buffer.hpp"
#include "runtime/base/digest.hpp"
#include "runtime/base/ids.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::net {

/// Numbers on the wire; never reused.
enum class Method : std::uint32_t {
  sample_neighbors = 1,  ///< HopRequest -> HopReply
  read_rows = 2,         ///< RowRequest -> RowReply
  reduce_gradients = 3,  ///< GradientChunk -> GradientSum
  run_epoch = 16,        ///< EpochRequest -> EpochResult
  infer_layer = 17,      ///< InferRequest -> InferResult
  score = 18,            ///< ScoreRequest -> ScoreResult
  keep_best = 19,        ///< KeepBest -> Done
  finish = 20,           ///< Finish -> FinishResult
};

/// One rank's share of a chunk of the gradient, to the rank that owns the chunk. The answer comes
/// when all ranks' shares are in; shares are added in rank order (design, section 4). Counted once
/// per (generation, step, rank).
struct GradientChunk {
  std::uint32_t generation = 0;
  std::uint64_t step = 0;  ///< from the start of the run
  Rank rank{};
  std::uint64_t weight =
      0;           ///< labelled seeds in the rank's batch; 0: `values` is empty and adds nothing
  Segment values;  ///< float32: gradient of the sum of the losses
};

/// Sum over ranks of their shares, divided by the total weight (0 if that is 0).
struct GradientSum {
  std::uint64_t step = 0;
  std::uint64_t weight = 0;  ///< total
  Segment values;            ///< float32
};

/// Trains one epoch.
struct EpochRequest {
  std::uint32_t generation = 0;
  std::uint32_t epoch = 0;
};

/// Where a trainer's time went, and what it moved; sums over an epoch.
struct EpochCounters {
  std::uint64_t batches = 0;
  std::uint64_t seeds = 0;
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  std::uint64_t wait_ns = 0;    ///< trainer without a batch to train
  std::uint64_t sample_ns = 0;  ///< from asking to sampled, summed over batches in flight
  std::uint64_t collect_ns = 0;
  std::uint64_t train_ns = 0;  ///< forward, backward, step
  std::uint64_t reduce_ns = 0;
  std::uint64_t frontier_nodes = 0;   ///< nodes whose neighbours were asked for
  std::uint64_t frontier_remote = 0;  ///< of these, from other hosts
  std::uint64_t rows = 0;             ///< rows looked up
  std::uint64_t rows_remote = 0;
  std::uint64_t rows_cached = 0;
};

struct EpochResult {
  Rank rank{};
  std::uint32_t epoch = 0;
  double loss_sum = 0;            ///< over labelled seeds
  std::uint64_t loss_weight = 0;  ///< labelled seeds
  std::uint64_t wall_ns = 0;
  EpochCounters counters;
  std::vector<Digest> batch_digests;  ///< of this rank's batches, in order; empty with digest "off"
};

/// Computes layer `layer` for all nodes of the receiving host's parts and keeps the outputs as
/// tensor `layer + 1`.
struct InferRequest {
  std::uint32_t round =
      0;  ///< counts exact inferences; the parameters are read from the host's trainer at layer 0
  std::uint32_t layer = 0;
  bool best = false;  ///< use the best epoch's parameters instead of the current ones
};
struct InferResult {
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
};

/// Asks for the outputs of the seeds of one role that the receiver is responsible for: an evaluator
/// those on its host after exact inference, a trainer those of its sampled batches.
struct ScoreRequest {
  std::uint32_t epoch = 0;
  std::string role;  ///< "train", "val", "test"
};
struct ScoreResult {
  std::vector<std::uint64_t> positions;  ///< in the role's seed list
  std::uint32_t cols = 0;
  Segment outputs;                   ///< float32 [positions, cols]
  std::vector<std::int64_t> labels;  ///< [positions]
};

struct KeepBest {
  std::uint32_t epoch = 0;
};
struct Done {};

struct Finish {};
struct FinishResult {
  Rank rank{};
  Digest parameters;
  Digest best_parameters;
};

}  // namespace troupe::net
