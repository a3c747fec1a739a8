#pragma once
/// \file on_device.hpp
/// What a batch needs on the device that is measured. For stages.cpp only.
#include "gpu/base/emulated_device.hpp"
#include "gpu/feature/device_rows.hpp"
#include "gpu/nn/cuda_block_ops.hpp"
#include "gpu/nn/emulated_block_ops.hpp"
#include "gpu/run/devices.hpp"
#include "gpu/sample/device_sampler.hpp"
#include "runtime/base/result.hpp"
#include "runtime/job/device_budget.hpp"
#include "runtime/sample/batch_builder.hpp"

#include "bench/support/bench_data.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::bench {

/// Opens what a batch needs on one device.
class OnDevice {
 public:
  static Result<OnDevice> open(const DeviceChoice& choice) {
    TROUPE_ASSIGN_OR_RETURN(const auto devices, gpu::open_devices(choice));
    if (devices == nullptr) {
      return Error(Errc::invalid_argument, "expected a device, found \"cpu\"");
    }
    OnDevice on;
    on.name_ = devices->names().front();
    on.number_ = choice.numbers.empty() ? 0 : static_cast<int>(choice.numbers.front());
    if (choice.kind == DeviceKind::emulated) {
      on.emulated_ = std::make_shared<gpu::EmulatedDevice>(
          gpu::EmulatedOptions{.memory_bytes = std::uint64_t{64} << 30});
    }
    return on;
  }

  const std::string& name() const { return name_; }
  Result<std::unique_ptr<nn::BlockOps>> block_ops(
      nn::Precision precision = nn::Precision::float32) const {
    if (emulated_ && precision != nn::Precision::float32) {
      return Error(Errc::unimplemented, "products of emulated devices: expected float32");
    }
    if (emulated_) {
      return gpu::make_emulated_block_ops(emulated_);
    }
    return gpu::make_cuda_block_ops(number_, precision);
  }
  Result<std::unique_ptr<gpu::DeviceSampler>> sampler(const BenchData& data) const {
    TROUPE_ASSIGN_OR_RETURN(const auto arrays,
                            gpu::arrays_for_device(*data.graph, *data.parts[0], *data.sample));
    const auto plan = gpu::sampling_plan(*data.sample);
    if (emulated_) {
      TROUPE_ASSIGN_OR_RETURN(auto graph, gpu::emulated_graph(emulated_, arrays));
      return gpu::make_emulated_sampler(emulated_, std::move(graph), plan);
    }
    TROUPE_ASSIGN_OR_RETURN(auto graph, gpu::cuda_graph(number_, arrays));
    return gpu::make_cuda_sampler(number_, std::move(graph), plan);
  }
  /// \param share  of the rows that is in the device's memory
  /// \param alone  batches have no original ids and labels
  Result<std::unique_ptr<gpu::DeviceRowSource>> rows(const BenchData& data, double share,
                                                     bool alone = false) const {
    const gpu::FeaturePlan plan{
        .normalize = data.job.features.normalize, .original_ids = !alone, .labels = !alone};
    TROUPE_ASSIGN_OR_RETURN(const auto arrays,
                            gpu::features_for_device(*data.graph, *data.parts[0], plan));
    const TieredTables tables{*data.graph};
    const auto all = bytes_of(tables);
    const auto near = split_rows(
        tables, {}, budget_bytes({.kind = DeviceBudget::Kind::share, .share = share}, all, all));
    if (emulated_) {
      TROUPE_ASSIGN_OR_RETURN(auto features, gpu::emulated_features(emulated_, arrays, near));
      return gpu::make_emulated_row_source(emulated_, std::move(features));
    }
    TROUPE_ASSIGN_OR_RETURN(auto features, gpu::cuda_features(number_, arrays, near));
    return gpu::make_cuda_row_source(number_, std::move(features));
  }

 private:
  std::string name_;
  int number_ = 0;
  std::shared_ptr<gpu::EmulatedDevice> emulated_;
};

/// Rows of which a share is in the device's memory, the others in pinned memory of the host.
struct TieredRows {
  const char* name;
  std::unique_ptr<gpu::DeviceRowSource> source;
  std::vector<double> gather_ms = {};
  std::vector<double> pinned_gb_s = {};  ///< Of the rows that are read in memory of the host
};

inline Result<std::vector<TieredRows>> tiered_rows(const BenchData& data, const OnDevice& on) {
  std::vector<TieredRows> tiers;
  for (const auto& [name, share] : {std::pair{"gather_10_percent", 0.1}, {"gather_pinned", 0.0}}) {
    TROUPE_ASSIGN_OR_RETURN(auto source, on.rows(data, share));
    tiers.push_back({.name = name, .source = std::move(source)});
  }
  return tiers;
}

/// Stored bytes of a batch's rows that are in memory of the host.
inline double pinned_bytes(const SampledBatch& batch, const gpu::DeviceFeatures& features) {
  double bytes = 0;
  for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
    const auto& table = features.nodes[type].features;
    const auto far = std::ranges::count_if(batch.nodes[type].ids,
                                           [&](NodeId id) { return raw(id) >= table.near_rows; });
    bytes += static_cast<double>(far) * static_cast<double>(table.info.row_bytes());
  }
  return bytes;
}

}  // namespace troupe::bench
