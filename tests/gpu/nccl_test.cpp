// NCCL as it is loaded, and a communicator of one rank where there are a GPU and NCCL.
#include "gpu/comm/cuda_means.hpp"
#include "runtime/nn/ops/ops_array.hpp"
#include "tests/gpu/test_device.hpp"
#include "tests/support/links_mean.hpp"

#include <chrono>
#include <filesystem>
#include <future>
#include <string_view>
#include <thread>

namespace troupe::testing {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr bool compiled_for_gpus = std::string_view(TROUPE_CUDA_SKIPPED).empty();

TEST(NcclLibrary, AMissingOrAWrongOneIsAnErrorThatSaysWhatWasExpected) {
  if (!compiled_for_gpus) {
    EXPECT_ERROR(gpu::nccl_version(), Errc::unimplemented, "built without a CUDA compiler");
    GTEST_SKIP() << "nvcc: " << TROUPE_CUDA_SKIPPED;
  }
  const auto missing = gpu::nccl_version("libnccl.so.missing");
  EXPECT_ERROR(missing, Errc::not_found,
               "gradients between GPUs: expected libnccl.so.missing, found none (");
  EXPECT_ERROR(missing, Errc::not_found, "try: install NCCL for CUDA 13, or set LD_LIBRARY_PATH");
  EXPECT_ERROR(gpu::nccl_version("libm.so.6"), Errc::not_found,
               "libm.so.6: expected a function nccl");
  if (std::filesystem::exists(TROUPE_OLD_NCCL)) {  // bundles have none
    EXPECT_ERROR(gpu::nccl_version(TROUPE_OLD_NCCL), Errc::failed_precondition,
                 "expected NCCL 2.18.0 or later, before 3, found 2.17.1");
  }
}

TEST(NcclLibrary, HasAVersionWhereItIsInstalled) {
  const auto version = gpu::nccl_version();
  if (!version) {
    EXPECT_EQ(version.error().code(), compiled_for_gpus ? Errc::not_found : Errc::unimplemented);
    GTEST_SKIP() << version.error().what();
  }
  EXPECT_TRUE(version->starts_with("2.")) << *version;
}

class NcclCommunicator : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!no_cuda_device().empty()) {
      GTEST_SKIP() << no_cuda_device();
    }
    if (const auto version = gpu::nccl_version(); !version) {
      GTEST_SKIP() << version.error().what();
    }
    ops_ = OnTestDevice(cuda_device).block_ops();
  }
  std::unique_ptr<DeviceMeans> means(SumOrder order = SumOrder::by_rank) const {
    auto made = gpu::cuda_means(0, *ops_, {.order = order});
    EXPECT_OK(made);
    return made ? *std::move(made) : nullptr;
  }
  static bool becomes_ready(DeviceMean& mean, seconds within) {
    for (const auto until = steady_clock::now() + within; steady_clock::now() < until;) {
      const auto ready = mean.ready();
      EXPECT_OK(ready);
      if (!ready || *ready) {
        return ready.ok();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  static std::future<Status> launch(DeviceMean& mean, std::span<float> vector,
                                    std::uint64_t weight) {
    auto end = std::make_shared<std::promise<Status>>();
    auto ended = end->get_future();
    mean.launch({.vector = vector,
                 .weight = weight,
                 .after = [] {},
                 .done = [end](const Status& status) { end->set_value(status); }});
    return ended;
  }

  std::unique_ptr<nn::BlockOps> ops_;
};

TEST_F(NcclCommunicator, OfOneRankHasTheBitsOfTheLinks) {
  for (const auto order : {SumOrder::by_rank, SumOrder::any}) {
    const auto makes = means(order);
    ASSERT_TRUE(makes);
    EXPECT_TRUE(makes->place().network.starts_with("GPUs with NCCL 2."));
    EXPECT_EQ(makes->place().device.size(), 32U);
    ASSERT_OK_AND_ASSIGN(const auto id, makes->make_id());
    EXPECT_EQ(id.size(), most_communicator_words);
    ASSERT_OK_AND_ASSIGN(const auto mean, makes->join(id, Rank{0}, 1));
    ASSERT_TRUE(becomes_ready(*mean, seconds(60)));
    for (const std::size_t size : {0U, 1U, 31U, 32U, 33U, 1023U, 1000003U}) {
      auto shares = uneven_shares(1, size, size);
      const nn::OpsArray vector(ops_.get(), size);
      vector.put(shares[0].values);
      auto ended = launch(*mean, vector.values(), shares[0].weight);
      ASSERT_EQ(ended.wait_for(seconds(60)), std::future_status::ready);
      EXPECT_OK(ended.get());
      EXPECT_EQ(vector.read(), mean_over_links(shares, size).values) << size;
    }
  }
}

TEST_F(NcclCommunicator, ThatWaitsForARankIsAborted) {
  const auto makes = means();
  ASSERT_TRUE(makes);
  ASSERT_OK_AND_ASSIGN(const auto id, makes->make_id());
  ASSERT_OK_AND_ASSIGN(const auto mean, makes->join(id, Rank{0}, 2));
  ASSERT_OK_AND_ASSIGN(const bool ready, mean->ready());
  EXPECT_FALSE(ready);
  const nn::OpsArray vector(ops_.get(), 5);
  auto ended = launch(*mean, vector.values(), 1);
  mean->abort();
  ASSERT_EQ(ended.wait_for(seconds(60)), std::future_status::ready);
  EXPECT_ERROR(ended.get(), Errc::cancelled, "aborted");
  EXPECT_OK(ops_->finish());
  auto late = launch(*mean, vector.values(), 1);
  ASSERT_EQ(late.wait_for(seconds(60)), std::future_status::ready);
  EXPECT_ERROR(late.get(), Errc::cancelled, "aborted");
}

}  // namespace
}  // namespace troupe::testing
