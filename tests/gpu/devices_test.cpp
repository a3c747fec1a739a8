#include "gpu/run/devices.hpp"

#include "tests/gpu/test_device.hpp"
#include "tests/support/expect.hpp"

#include <array>
#include <string>
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
    ASSERT_OK_AND_ASSIGN(const auto ops, devices->block_ops(Rank{rank}));
    EXPECT_NE(ops->memory(), nullptr);
  }
}

TEST(Devices, EmulatedOnesHaveTheMemoryOfTheChoice) {
  ASSERT_OK_AND_ASSIGN(
      const auto devices,
      open_devices({.kind = DeviceKind::emulated, .count = 1, .memory_bytes = 1000}));
  ASSERT_OK_AND_ASSIGN(const auto enough, devices->block_ops(Rank{0}));
  const auto most = enough->memory()->take(1000);
  float value = 0;
  EXPECT_OK(enough->download(most.data(), &value, sizeof value));

  ASSERT_OK_AND_ASSIGN(const auto beside, devices->block_ops(Rank{1}));
  const auto none = beside->memory()->take(1);
  EXPECT_ERROR(beside->download(none.data(), &value, sizeof value), Errc::out_of_memory,
               "expected room for 1 more bytes, found 1000 of 1000 in use");
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

TEST(Devices, CudaOnesHaveNames) {
  if (!troupe::testing::no_cuda_device().empty()) {
    GTEST_SKIP() << troupe::testing::no_cuda_device();
  }
  ASSERT_OK_AND_ASSIGN(const auto devices, open_devices({.kind = DeviceKind::cuda}));
  ASSERT_FALSE(devices->names().empty());
  for (const std::string& name : devices->names()) {
    EXPECT_FALSE(name.empty());
  }
  for (std::uint32_t rank = 0; rank < 2 * devices->names().size(); ++rank) {
    ASSERT_OK_AND_ASSIGN(const auto ops, devices->block_ops(Rank{rank}));
    EXPECT_NE(ops->memory(), nullptr);
  }
}

}  // namespace
}  // namespace troupe::gpu
