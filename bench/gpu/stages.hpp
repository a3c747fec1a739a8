#pragma once
/// \file stages.hpp
/// The stages of a batch on a device, beside what its memory and products allow, and beside the CPU.
#include "runtime/base/result.hpp"
#include "runtime/job/device_choice.hpp"

#include "bench/support/bench_data.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe::bench {

struct DeviceBenchOptions {
  DeviceChoice device;  ///< Its first one is measured
  std::vector<std::uint64_t> batch_sizes = {};
  std::size_t repeats = 20;  ///< Medians are of so many, over the batches by turns
  std::size_t warm_ups = 3;
  std::size_t limit_bytes = std::size_t{1} << 30;  ///< Copied to measure the memory's rate
};

/// \param data  a graph in one part, with seeds that are nodes
/// \errors those of the device and of its stages; data_corruption: a batch that differs from the CPU's
Result<nlohmann::ordered_json> measure_device(const BenchData& data,
                                              const DeviceBenchOptions& options);

/// A Markdown table of the result.
std::string device_table(const nlohmann::ordered_json& result);

}  // namespace troupe::bench
