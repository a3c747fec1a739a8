#pragma once
/// \file start.hpp
/// The start of a run as processes of this host: the program `troupe`, executed as a user does, with
/// launch `local`. Not the pace of its steps, which pipeline.hpp measures.
#include "runtime/base/result.hpp"

#include "bench/support/measure.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace troupe::bench {

struct StartOptions {
  std::filesystem::path troupe;  ///< The program that is executed
  std::filesystem::path store;   ///< A partitioned store with features, labels and training seeds
  std::string cluster;           ///< The job's `cluster` section, as JSON
  std::uint32_t repeats = 5;     ///< Starts, after one that warms the page cache
};

/// Seconds of each start.
struct StartCost {
  Stats joined;      ///< Until all processes have joined and the director may begin
  Stats first_step;  ///< From the execution of the program until it prints the first step
};

/// \errors failed_precondition: the program cannot be started, or ends before the first step, with
///   the end of its output
Result<StartCost> measure_start(const StartOptions& options);

}  // namespace troupe::bench
