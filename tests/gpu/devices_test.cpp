#include "gpu/run/devices.hpp"

#include "tests/gpu/test_device.hpp"
#include "tests/support/expect.hpp"

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::gpu {
namespace {

TEST(Devices, TheCpuIsNone) {
  ASSERT_OK_AND_ASSIGN(const auto devices, open_devices({}));

  EXPECT_EQ(devices, nullptr);
}

TEST(Devices, EmulatedOnesAreTakenByTurns) {
  ASSERT_OK_AND_ASSIGN(const auto devices,
                       open_devices({.kind = DeviceKind::emulated, .count = 2}));
  EXPECT_EQ(devices->names(), (std::vector<std::string>{"emulated device 0", "emulated device 1"}));

  for (const std::uint32_t rank : {0U, 1U, 5U}) {
    ASSERT_OK_AND_ASSIGN(const auto ops, devices->block_ops(Rank{rank}, nn::Precision::float32));
    EXPECT_NE(ops->memory(), nullptr);
  }
}

TEST(Devices, EmulatedOnesHaveTheProductsOfCpus) {
  ASSERT_OK_AND_ASSIGN(const auto devices,
                       open_devices({.kind = DeviceKind::emulated, .count = 1}));
  EXPECT_ERROR(devices->block_ops(Rank{0}, nn::Precision::tf32), Errc::unimplemented,
               "expected float32 or bf16, as on CPUs, found tf32");
  EXPECT_OK(devices->block_ops(Rank{0}, nn::Precision::bf16));
}

TEST(Devices, EmulatedOnesHaveTheMemoryOfTheChoice) {
  ASSERT_OK_AND_ASSIGN(
      const auto devices,
      open_devices({.kind = DeviceKind::emulated, .count = 1, .memory_bytes = 1000}));
  ASSERT_OK_AND_ASSIGN(const auto enough, devices->block_ops(Rank{0}, nn::Precision::float32));
  const auto most = enough->memory()->take(1000);
  float value = 0;
  EXPECT_OK(enough->download(most.data(), &value, sizeof value));

  ASSERT_OK_AND_ASSIGN(const auto beside, devices->block_ops(Rank{1}, nn::Precision::float32));
  const auto none = beside->memory()->take(1);
  EXPECT_ERROR(beside->download(none.data(), &value, sizeof value), Errc::out_of_memory,
               "expected room for 1 more bytes, found 1000 of 1000 in use");
}

TEST(Devices, EmulatedOnesSayWhatIsFree) {
  ASSERT_OK_AND_ASSIGN(
      const auto devices,
      open_devices({.kind = DeviceKind::emulated, .count = 2, .memory_bytes = 1000}));
  ASSERT_OK_AND_ASSIGN(const auto ops, devices->block_ops(Rank{0}, nn::Precision::float32));
  const auto taken = ops->memory()->take(300);

  const auto memory = [&](Rank rank) { return *devices->memory(rank); };
  EXPECT_EQ(memory(Rank{0}).free, 700U);
  EXPECT_EQ(memory(Rank{2}).free, 700U);
  EXPECT_EQ(memory(Rank{1}).free, 1000U);
  EXPECT_EQ(memory(Rank{0}).total, 1000U);
  EXPECT_EQ(device_of(*devices, Rank{5}), 1U);
}

TEST(Devices, CudaSaysWhatIsMissing) {
  constexpr std::array<std::uint32_t, 1> last{most_devices - 1};
  const auto devices = open_cuda_devices(last);

  ASSERT_FALSE(devices.ok());
  const auto code = devices.error().code();
  EXPECT_TRUE(code == Errc::not_found || code == Errc::unimplemented ||
              code == Errc::failed_precondition)
      << devices.error().what();
  if (troupe::testing::no_cuda_device().empty()) {
    EXPECT_ERROR(devices, Errc::not_found, "expected one of number 63, found");
  } else {
    EXPECT_TRUE(devices.error().what().starts_with("CUDA devices: ")) << devices.error().what();
  }
}

TEST(Devices, OneThatIsNotDecidedCannotBeOpened) {
  EXPECT_ERROR(open_devices({.kind = DeviceKind::undecided, .automatic = true}),
               Errc::failed_precondition, "cluster.device \"auto\"");
}

/// Devices of these names.
class NamedDevices final : public Devices {
 public:
  NamedDevices(std::vector<std::string> names, std::string versions)
      : names_(std::move(names)), versions_(std::move(versions)) {}
  std::vector<std::string> names() const override { return names_; }
  std::vector<int> numbers() const override { return {}; }
  std::string versions() const override { return versions_; }
  Result<std::unique_ptr<nn::BlockOps>> block_ops(Rank /*rank*/,
                                                  nn::Precision /*precision*/) override {
    return none();
  }
  Result<std::unique_ptr<nn::BlockOps>> exact_ops(Rank /*rank*/) override { return none(); }
  std::size_t exact_product_rows() const override { return 0; }
  Result<std::unique_ptr<DeviceMeans>> means(Rank /*rank*/, const nn::BlockOps& /*ops*/,
                                             const DeviceMeansOptions& /*options*/) override {
    return none();
  }
  Result<std::unique_ptr<ProgramStream>> program_stream(Rank /*rank*/) override { return none(); }
  Result<std::unique_ptr<DeviceMeans>> means(Rank /*rank*/, const ProgramStream& /*on*/,
                                             const DeviceMeansOptions& /*options*/) override {
    return none();
  }
  Result<MemoryOfDevice> memory(Rank /*rank*/) override { return none(); }
  Result<std::shared_ptr<const DeviceGraph>> graph(Rank /*rank*/, const GraphArrays& /*arrays*/,
                                                   Topology /*topology*/,
                                                   const DeviceGraph* /*beside*/) override {
    return none();
  }
  Result<std::shared_ptr<const DeviceFeatures>> features(
      Rank /*rank*/, const FeatureArrays& /*arrays*/, const RowTiers& /*near*/,
      const DeviceFeatures* /*beside*/) override {
    return none();
  }
  Result<std::unique_ptr<DeviceSampler>> sampler(Rank /*rank*/,
                                                 std::shared_ptr<const DeviceGraph> /*graph*/,
                                                 SamplingPlan /*plan*/) override {
    return none();
  }
  Result<std::unique_ptr<DeviceRowSource>> row_source(
      Rank /*rank*/, std::shared_ptr<const DeviceFeatures> /*features*/) override {
    return none();
  }

 private:
  static Error none() { return {Errc::unimplemented, "names alone"}; }
  std::vector<std::string> names_;
  std::string versions_;
};

TEST(Devices, TextCountsEqualNames) {
  EXPECT_EQ(text_of(NamedDevices({"NVIDIA H200"}, "")), "NVIDIA H200");
  EXPECT_EQ(text_of(NamedDevices({"A", "A", "B", "A"}, "driver 1")), "2 x A, B, A; driver 1");
  ASSERT_OK_AND_ASSIGN(const auto emulated,
                       open_devices({.kind = DeviceKind::emulated, .count = 1}));
  EXPECT_EQ(text_of(*emulated), "emulated device 0");
}

TEST(Devices, ADriversNumberIsInItsVersionFile) {
  EXPECT_EQ(driver_number("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.12  Sat Aug 26\n"
                          "GCC version:  gcc 12.2.0\n"),
            "535.104.12");
  EXPECT_EQ(driver_number("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  "
                          "Release Build\n"),
            "580.65.06");
  for (const char* const other : {"", "Kernel Module", "Kernel Module none", "580.65.06"}) {
    EXPECT_EQ(driver_number(other), "") << other;
  }
}

TEST(Devices, CudaOnesBelowTheCapabilityOfTheBuildAreRefused) {
  const FoundCapability ampere{.number = 1, .name = "NVIDIA A100", .capability = 80};
  const auto refused = check_capability(ampere, 90);
  EXPECT_ERROR(refused, Errc::failed_precondition,
               "CUDA devices: expected compute capability 9.0 or later, found 8.0 (NVIDIA A100, "
               "number 1); try: ");
  EXPECT_ERROR(refused, Errc::failed_precondition, "-DCMAKE_CUDA_ARCHITECTURES=80");
  EXPECT_OK(check_capability(ampere, 80));
  EXPECT_OK(check_capability({.name = "NVIDIA B200", .capability = 100}, 90));

  const auto found = found_devices(refused.error(), ok_status());
  EXPECT_EQ(found.kind, DeviceKind::cpu);
  EXPECT_EQ(found.text,
            "CUDA devices: expected compute capability 9.0 or later, found 8.0 (NVIDIA A100, "
            "number 1)");
}

TEST(FoundDevices, AreGpusWhereDevicesAndLibrariesAreThere) {
  const std::shared_ptr<Devices> gpus =
      std::make_shared<NamedDevices>(std::vector<std::string>{"G", "G"}, "driver 1");
  const Error no_driver(Errc::not_found, "CUDA devices: found none; try: the device \"cpu\"");
  const Error no_library(Errc::not_found, "expected libcublas.so.13; try: LD_LIBRARY_PATH");

  const auto both = found_devices(gpus, ok_status());
  EXPECT_EQ(both.kind, DeviceKind::cuda);
  EXPECT_EQ(both.text, "2 x G; driver 1");
  const auto no_devices = found_devices(no_driver, ok_status());
  EXPECT_EQ(no_devices.kind, DeviceKind::cpu);
  EXPECT_EQ(no_devices.text, "CUDA devices: found none");
  const auto no_cublas = found_devices(gpus, no_library);
  EXPECT_EQ(no_cublas.kind, DeviceKind::cpu);
  EXPECT_EQ(no_cublas.text, "expected libcublas.so.13");
}

TEST(FoundDevices, OfThisHostAreThoseThatCanBeOpened) {
  const auto found = find_devices();
  const bool there = troupe::testing::no_cuda_device().empty() && check_cuda_libraries().ok();

  EXPECT_EQ(found.kind, there ? DeviceKind::cuda : DeviceKind::cpu);
  EXPECT_FALSE(found.text.empty());
  EXPECT_EQ(found.text.find("try:"), std::string::npos) << found.text;
}

TEST(Devices, CudaOnesHaveNames) {
  if (!troupe::testing::no_cuda_device().empty()) {
    GTEST_SKIP() << troupe::testing::no_cuda_device();
  }
  ASSERT_OK_AND_ASSIGN(const auto devices, open_devices({.kind = DeviceKind::cuda}));
  ASSERT_FALSE(devices->names().empty());
  for (const std::string& name : devices->names()) {
    EXPECT_FALSE(name.empty());
  }
  EXPECT_NE(devices->versions().find("for CUDA "), std::string::npos) << devices->versions();
  for (std::uint32_t rank = 0; rank < 2 * devices->names().size(); ++rank) {
    ASSERT_OK_AND_ASSIGN(const auto ops, devices->block_ops(Rank{rank}, nn::Precision::float32));
    EXPECT_NE(ops->memory(), nullptr);
  }
}

}  // namespace
}  // namespace troupe::gpu
