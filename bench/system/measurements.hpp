#pragma once
/// \file measurements.hpp
/// Everything that troupe_bench measures, as JSON (docs/benchmarks.md).
#include "bench/support/bench_data.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace troupe::bench {

struct MeasureOptions {
  std::uint32_t epochs = 3;   ///< over all batches, after one to warm up
  std::uint32_t threads = 2;  ///< where many threads are measured
  std::string
      only;  ///< "kernels", "in_place", "pipeline", "requests", "training", "start" or "learned_rows"; empty: all
  std::uint64_t learned_rows = 10'000'000;
  std::filesystem::path troupe;  ///< The program whose start is measured
};
/// \errors those of what is measured
Result<nlohmann::ordered_json> measure(const BenchData& data, const MeasureOptions& options);

}  // namespace troupe::bench
