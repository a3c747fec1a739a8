// Streams for user programs: memory, copies, what is kept for their work.
#include "gpu/run/program_stream.hpp"

#include "tests/gpu/test_device.hpp"

#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

namespace troupe {
namespace {

constexpr std::size_t too_large = std::size_t{1} << 50;

class ProgramStreams : public testing::OnEachDevice {
 protected:
  std::unique_ptr<gpu::ProgramStream> make() const {
    if (!GetParam().cuda) {
      return gpu::make_emulated_program_stream(
          std::make_shared<gpu::EmulatedDevice>(gpu::EmulatedOptions{
              .memory_bytes = std::uint64_t{1} << 30, .threads = GetParam().threads}));
    }
    auto stream = gpu::make_cuda_program_stream(0);
    EXPECT_OK(stream);
    return stream ? *std::move(stream) : nullptr;
  }
};

std::span<float> floats(const std::shared_ptr<void>& memory, std::size_t size) {
  return {static_cast<float*>(memory.get()), size};
}

TEST_P(ProgramStreams, HaveMemoryOfTheDeviceThatIsCopiedBothWays) {
  const auto stream = make();
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 1.0F);
  const auto bytes = values.size() * sizeof(float);
  ASSERT_OK_AND_ASSIGN(const auto memory, stream->memory(bytes));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 256, 0U);
  EXPECT_OK(stream->check(memory.get(), bytes));
  EXPECT_ERROR(stream->check(values.data(), bytes), Errc::invalid_argument, "expected 4000 bytes");
  EXPECT_OK(stream->check(values.data(), 0)) << "of nothing it does not matter";

  ASSERT_OK(stream->upload(values.data(), memory.get(), bytes));
  std::vector<float> back(values.size());
  ASSERT_OK(stream->download(memory.get(), back.data(), bytes));
  EXPECT_EQ(back, values);
}

TEST_P(ProgramStreams, DivideTheVectorOfOneRankAndZeroIt) {
  const auto stream = make();
  const std::vector<float> values = {3, -6, 0.1F, -0.0F};
  const auto bytes = values.size() * sizeof(float);
  ASSERT_OK_AND_ASSIGN(const auto memory, stream->memory(bytes));
  ASSERT_OK(stream->upload(values.data(), memory.get(), bytes));
  ASSERT_OK(stream->follow(nullptr));
  ASSERT_OK(stream->mean_of_one(floats(memory, values.size()), 3));
  std::vector<float> back(values.size());
  ASSERT_OK(stream->download(memory.get(), back.data(), bytes));
  const std::vector<float> expected = {1, -2, 0.1F / 3, 0};
  EXPECT_EQ(std::memcmp(back.data(), expected.data(), bytes), 0) << "a sum with 0 makes -0 to +0";

  ASSERT_OK(stream->zero(floats(memory, 2)));
  ASSERT_OK(stream->download(memory.get(), back.data(), bytes));
  EXPECT_EQ(back, (std::vector<float>{0, 0, 0.1F / 3, 0}));
}

TEST_P(ProgramStreams, AnErrorLeavesTheNextCallsAlone) {
  const auto stream = make();
  EXPECT_ERROR(stream->memory(too_large), Errc::out_of_memory, "device");
  ASSERT_OK_AND_ASSIGN(const auto memory, stream->memory(64));
  std::vector<float> values(16, 2.5F);
  EXPECT_OK(stream->upload(values.data(), memory.get(), 64));

  EXPECT_ERROR(stream->memory(too_large), Errc::out_of_memory, "device");
  EXPECT_OK(stream->mean_of_one(floats(memory, 16), 2)) << "a kernel right after the error";
  EXPECT_OK(stream->download(memory.get(), values.data(), 64));
  EXPECT_EQ(values, std::vector<float>(16, 1.25F));
}

TEST_P(ProgramStreams, WhatIsKeptOnAnyThreadEndsAfterItsWork) {
  auto stream = make();
  const auto kept = std::make_shared<int>(0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_OK(stream->keep(kept, nullptr));
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  // That of earlier calls has ended by now.
  ASSERT_OK(stream->follow(nullptr));
  ASSERT_OK_AND_ASSIGN(const auto memory, stream->memory(4));
  float value = 0;
  ASSERT_OK(stream->upload(&value, memory.get(), 4));
  ASSERT_OK(stream->keep(nullptr, nullptr));
  EXPECT_EQ(kept.use_count(), 1);

  ASSERT_OK(stream->keep(kept, nullptr));
  stream.reset();
  EXPECT_EQ(kept.use_count(), 1) << "nothing outlives the stream";
}

INSTANTIATE_TEST_SUITE_P(OnDevices, ProgramStreams, ::testing::ValuesIn(testing::tested_devices),
                         testing::name_of_device);

TEST(EmulatedProgramStream, KnowsNoStreamsOfOthers) {
  const auto stream = gpu::make_emulated_program_stream(
      std::make_shared<gpu::EmulatedDevice>(gpu::EmulatedOptions{}));
  int theirs = 0;
  EXPECT_ERROR(stream->follow(&theirs), Errc::invalid_argument, "expected no stream");
  const auto kept = std::make_shared<int>(0);
  EXPECT_ERROR(stream->keep(kept, &theirs), Errc::invalid_argument, "expected no stream");
  EXPECT_EQ(kept.use_count(), 1);
}

}  // namespace
}  // namespace troupe
