#pragma once
/// \file test_device.hpp
/// Devices that tests of stages run on: emulated ones, and a GPU where there is one.
#include "gpu/base/emulated_device.hpp"
#include "gpu/feature/device_rows.hpp"
#include "gpu/nn/cuda_block_ops.hpp"
#include "gpu/nn/emulated_block_ops.hpp"
#include "gpu/nn/product_pieces.hpp"
#include "gpu/run/devices.hpp"
#include "gpu/sample/device_sampler.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/graph_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <ostream>
#include <string>

namespace troupe::testing {

struct TestDevice {
  const char* name = "";
  bool cuda = false;     ///< CUDA device 0
  unsigned threads = 1;  ///< Threads of an emulated device
  friend void PrintTo(const TestDevice& device, std::ostream* out) { *out << device.name; }
};

inline constexpr TestDevice one_thread{.name = "one_thread"};
inline constexpr TestDevice several_threads{.name = "several_threads", .threads = 4};
inline constexpr TestDevice cuda_device{.name = "cuda", .cuda = true};

/// Devices that stages are tested on.
inline constexpr std::array tested_devices{one_thread, several_threads, cuda_device};

/// Reason why there is no GPU to test on; empty where there is one.
inline const std::string& no_cuda_device() {
  static const std::string reason = [] {
    const auto devices = gpu::open_cuda_devices({});
    return devices ? std::string() : fmt::format("no CUDA device: {}", what_of(devices));
  }();
  return reason;
}

/// All rows of a graph's tables.
inline RowTiers all_near(const CutGraph& cut, const gpu::FeaturePlan& plan) {
  return split_rows({cut.info, plan.edge_features}, {}, ~std::uint64_t{0});
}

inline Result<std::unique_ptr<gpu::DeviceSampler>> emulated_sampler(
    const std::shared_ptr<gpu::EmulatedDevice>& device, const CutGraph& cut,
    const SampleOptions& options, gpu::Topology topology = gpu::Topology::device) {
  TROUPE_ASSIGN_OR_RETURN(const auto arrays,
                          gpu::arrays_for_device(cut.info, *cut.parts[0], options));
  TROUPE_ASSIGN_OR_RETURN(auto graph, gpu::emulated_graph(device, arrays, topology));
  return gpu::make_emulated_sampler(device, std::move(graph), gpu::sampling_plan(options));
}

/// \param near  empty: all rows
inline Result<std::unique_ptr<gpu::DeviceRowSource>> emulated_rows(
    const std::shared_ptr<gpu::EmulatedDevice>& device, const CutGraph& cut,
    const gpu::FeaturePlan& plan, const RowTiers& near = {}) {
  TROUPE_ASSIGN_OR_RETURN(const auto arrays,
                          gpu::features_for_device(cut.info, *cut.parts[0], plan));
  const auto tiers = near.nodes.empty() ? all_near(cut, plan) : near;
  TROUPE_ASSIGN_OR_RETURN(auto features, gpu::emulated_features(device, arrays, tiers));
  return gpu::make_emulated_row_source(device, std::move(features));
}

/// Makes what a device computes with.
class OnTestDevice {
 public:
  /// \param seed  of the orders of an emulated device
  explicit OnTestDevice(const TestDevice& device, std::uint64_t seed = 1)
      : emulated_(device.cuda ? nullptr
                              : std::make_shared<gpu::EmulatedDevice>(gpu::EmulatedOptions{
                                    .seed = seed, .threads = device.threads})) {}

  /// \param precision  of products; of an emulated device not tf32
  std::unique_ptr<nn::BlockOps> block_ops(nn::Precision precision = nn::Precision::float32) const {
    if (emulated_) {
      return gpu::make_emulated_block_ops(emulated_, precision);
    }
    auto ops = gpu::make_cuda_block_ops(0, precision);
    EXPECT_OK(ops);
    return ops ? *std::move(ops) : nullptr;
  }
  /// Of exact inference.
  Result<std::unique_ptr<nn::BlockOps>> exact_ops() const {
    if (emulated_) {
      return gpu::make_emulated_block_ops(emulated_, nn::Precision::float32,
                                          gpu::emulated_product_rows);
    }
    return gpu::make_cuda_block_ops(0, nn::Precision::float32, gpu::cuda_product_rows);
  }
  Result<std::unique_ptr<gpu::DeviceSampler>> sampler(const CutGraph& cut,
                                                      const SampleOptions& options) const {
    if (emulated_) {
      return emulated_sampler(emulated_, cut, options);
    }
    TROUPE_ASSIGN_OR_RETURN(const auto arrays,
                            gpu::arrays_for_device(cut.info, *cut.parts[0], options));
    TROUPE_ASSIGN_OR_RETURN(auto graph, gpu::cuda_graph(0, arrays));
    return gpu::make_cuda_sampler(0, std::move(graph), gpu::sampling_plan(options));
  }
  /// \param near  empty: all rows
  Result<std::unique_ptr<gpu::DeviceRowSource>> rows(const CutGraph& cut,
                                                     const gpu::FeaturePlan& plan,
                                                     const RowTiers& near = {}) const {
    if (emulated_) {
      return emulated_rows(emulated_, cut, plan, near);
    }
    TROUPE_ASSIGN_OR_RETURN(const auto arrays,
                            gpu::features_for_device(cut.info, *cut.parts[0], plan));
    const auto tiers = near.nodes.empty() ? all_near(cut, plan) : near;
    TROUPE_ASSIGN_OR_RETURN(auto features, gpu::cuda_features(0, arrays, tiers));
    return gpu::make_cuda_row_source(0, std::move(features));
  }

 private:
  std::shared_ptr<gpu::EmulatedDevice> emulated_;  ///< Null: CUDA device 0
};

/// Base of suites whose tests run on each device.
class OnEachDevice : public ::testing::TestWithParam<TestDevice> {
 protected:
  void SetUp() override {
    if (GetParam().cuda && !no_cuda_device().empty()) {
      GTEST_SKIP() << no_cuda_device();
    }
  }
  OnTestDevice on(std::uint64_t seed = 1) const { return OnTestDevice(GetParam(), seed); }
  /// Number of orders worth trying: a GPU's own comes with each run.
  std::uint64_t orders(std::uint64_t emulated) const {
    return GetParam().cuda ? std::min<std::uint64_t>(emulated, 2) : emulated;
  }
};

inline std::string name_of_device(const ::testing::TestParamInfo<TestDevice>& of) {
  return of.param.name;
}

}  // namespace troupe::testing
