#pragma once
/// \file pipeline.hpp
/// Whole epochs of batches through the actors, on a simulated cluster whose trainers only take.
#include "bench/support/bench_data.hpp"
#include "bench/support/measure.hpp"

#include <cstdint>

namespace troupe::bench {

struct PipelineOptions {
  std::uint32_t hosts = 1;
  std::uint32_t batches_in_flight = 1;
  std::uint32_t threads = 1;
  std::uint32_t epochs = 3;  ///< after one to warm up
};

struct PipelineCost {
  Stats us_per_batch;  ///< wall time of an epoch by its full batches, over epochs
  std::uint64_t batches = 0;
  double edges_per_batch = 0;
  double rows_per_batch = 0;
};

/// \errors those of the run
Result<PipelineCost> run_pipeline(const BenchData& data, const PipelineOptions& options);

}  // namespace troupe::bench
