#pragma once
/// \file test_device.hpp
/// Devices that tests of stages run on: emulated ones, and a GPU where there is one.
#include "gpu/base/emulated_device.hpp"
#include "gpu/feature/device_rows.hpp"
#include "gpu/nn/cuda_block_ops.hpp"
#include "gpu/nn/emulated_block_ops.hpp"
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

/// Makes what a device computes with.
class OnTestDevice {
 public:
  /// \param seed  of the orders of an emulated device
  explicit OnTestDevice(const TestDevice& device, std::uint64_t seed = 1)
      : emulated_(device.cuda ? nullptr
                              : std::make_shared<gpu::EmulatedDevice>(gpu::EmulatedOptions{
                                    .seed = seed, .threads = device.threads})) {}

  std::unique_ptr<nn::BlockOps> block_ops() const {
    if (emulated_) {
      return gpu::make_emulated_block_ops(emulated_);
    }
    auto ops = gpu::make_cuda_block_ops(0);
    EXPECT_OK(ops);
    return ops ? *std::move(ops) : nullptr;
  }
  Result<std::unique_ptr<gpu::DeviceSampler>> sampler(const CutGraph& cut,
                                                      const SampleOptions& options) const {
    return emulated_ ? gpu::make_emulated_sampler(emulated_, cut.info, *cut.parts[0], options)
                     : gpu::make_cuda_sampler(0, cut.info, *cut.parts[0], options);
  }
  Result<std::unique_ptr<gpu::DeviceRowSource>> rows(const CutGraph& cut,
                                                     const gpu::FeaturePlan& plan) const {
    return emulated_ ? gpu::make_emulated_row_source(emulated_, cut.info, *cut.parts[0], plan)
                     : gpu::make_cuda_row_source(0, cut.info, *cut.parts[0], plan);
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
