#pragma once
/// \file in_place.hpp
/// One batch at a time through a sampler and a collector, with a clock around everything that they
/// hand to the compute pool. Wall time less the pool's time is what actors, messages and queues
/// cost: every core but one is idle all the time, so nothing hides behind anything.
#include "bench/support/bench_data.hpp"
#include "bench/support/measure.hpp"

#include <cstdint>

namespace troupe::bench {

/// Microseconds per batch.
struct InPlaceCost {
  Stats wall;       ///< from one batch's arrival to the next one's
  Stats sampling;   ///< inside the sampler's tasks
  Stats gathering;  ///< inside the collector's tasks
  Stats neither;    ///< the rest, batch by batch
  double tasks_per_batch = 0;
};
/// \param epochs  over all batches, after one to warm up
/// \errors those of sampler and collector
Result<InPlaceCost> run_in_place(const BenchData& data, std::uint32_t epochs);

}  // namespace troupe::bench
