#pragma once
/// \file batch_trace.hpp
/// Counters that travel with a batch.
#include "runtime/base/counters.hpp"
#include "runtime/sample/frontier_counts.hpp"

#include <array>
#include <cstdint>

namespace troupe {

/// What happened to a batch on its way; summed into EpochCounters, which has the same counters.
struct BatchTrace {
  std::uint64_t sample_ns = 0;   ///< from asking to sampled
  std::uint64_t collect_ns = 0;  ///< from sampled to collected
  FrontierCounts frontier;
  std::uint64_t rows = 0;  ///< rows looked up
  std::uint64_t rows_remote = 0;
  std::uint64_t rows_cached = 0;
  std::uint64_t rows_cached_at_best = 0;  ///< with the best choice of as many rows; 0: not measured
  std::uint64_t rows_device = 0;          ///< read in a device's memory
  std::uint64_t rows_pinned = 0;          ///< read by a device in pinned memory of the host

  static constexpr auto counters() {
    return std::to_array<Counter<BatchTrace>>(
        {{"sample_ns", &BatchTrace::sample_ns},
         {"collect_ns", &BatchTrace::collect_ns},
         {"rows", &BatchTrace::rows},
         {"rows_remote", &BatchTrace::rows_remote},
         {"rows_cached", &BatchTrace::rows_cached},
         {"rows_cached_at_best", &BatchTrace::rows_cached_at_best},
         {"rows_device", &BatchTrace::rows_device},
         {"rows_pinned", &BatchTrace::rows_pinned}});
  }
  friend bool operator==(const BatchTrace&, const BatchTrace&) = default;
};

static_assert(sizeof(BatchTrace) ==
                  BatchTrace::counters().size() * sizeof(std::uint64_t) + sizeof(FrontierCounts),
              "every counter is in the list");

}  // namespace troupe
