#pragma once
/// \file training_step.hpp
/// The training step of one rank without actors: forward, loss, backward and optimizer on batches
/// that were made before, beside what products and memory allow.
#include "bench/support/bench_data.hpp"
#include "bench/support/measure.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::bench {

/// Floating-point operations of the matrix products of a step of GraphSAGE on one edge type, in 10^9; 0 of
/// other models, whose products are not counted.
double products_of(const Job& job, const SampledBatch& batch);

struct TrainingCost {
  std::size_t threads = 1;
  std::uint64_t edges = 0;  ///< of a batch, on average
  Stats step_ms;            ///< gradient of a batch and optimizer step
  double products_gf = 0;   ///< products_of() of a batch, on average
  /// Rate of products of the first layer's shape alone, in the chunks that a step computes: what
  /// products allow.
  Stats product_gf_s;
  double share_of_products = 0;  ///< products_gf at that rate / step
  Stats aggregate_gb_s;          ///< rows read by the first layer's aggregation alone, per second
};
/// Steps over up to `batches` batches again and again.
/// \param steps  measured, after one over each batch to warm up
/// \errors those of sampling, collecting and the learner
Result<TrainingCost> measure_training(const BenchData& data, std::size_t threads,
                                      std::uint64_t batches, std::uint64_t steps);

}  // namespace troupe::bench
