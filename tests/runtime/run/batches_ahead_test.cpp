#include "runtime/run/batches_ahead.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace troupe {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t no_bytes = 0;
constexpr std::uint64_t kib = 1024;

/// Feeds steps, each as long as `step` says for the number in flight.
class BatchesAheadOf : public ::testing::Test {
 protected:
  using Step = std::function<milliseconds(std::uint32_t batches)>;

  void begin() { ahead_.begin(now_); }
  /// \param percent  of the time of each step that the rank waits
  /// \returns batches in flight afterwards
  std::uint32_t steps(std::uint32_t count, int percent, std::uint64_t bytes = kib) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto time = step_(ahead_.batches());
      now_ += time;
      ahead_.take(now_, time * percent / 100, bytes);
      most_ = std::max(most_, ahead_.batches());
    }
    return ahead_.batches();
  }

  /// Each batch takes as long whatever is in flight, as over a slow link.
  static milliseconds latency_bound(std::uint32_t batches) {
    return milliseconds(100'000 / batches);
  }
  static milliseconds compute_bound(std::uint32_t /*batches*/) { return milliseconds(100); }

  BatchesAhead ahead_{{.first = 4, .most = 32, .extra_bytes = 1024 * kib}};
  BatchesAhead::TimePoint now_{};
  Step step_ = latency_bound;
  std::uint32_t most_ = 0;  ///< Largest number so far
};

TEST_F(BatchesAheadOf, StartsWithTheFirstNumber) {
  EXPECT_EQ(ahead_.batches(), 4U);
}

TEST_F(BatchesAheadOf, GrowsByOneAfterAsManyStepsAsAreInFlight) {
  begin();
  EXPECT_EQ(steps(7, 50), 4U) << "but not before eight";
  EXPECT_EQ(steps(1, 50), 5U);
  EXPECT_EQ(steps(32, 50), 9U);
  EXPECT_EQ(steps(8, 50), 9U);
  EXPECT_EQ(steps(1, 50), 10U);
}

TEST_F(BatchesAheadOf, StaysWhereWaitsAreShort) {
  begin();
  EXPECT_EQ(steps(400, 5), 4U) << "a twentieth of the time";
  EXPECT_EQ(steps(8, 6), 5U);
  EXPECT_EQ(steps(400, 0), 5U) << "nor does it fall";
}

TEST_F(BatchesAheadOf, GrowsToTheMostAndNotBeyondWhereEachOneHelps) {
  begin();
  EXPECT_EQ(steps(2000, 50), 32U);
  EXPECT_EQ(steps(2000, 50), 32U) << "the last gain is kept";
}

TEST_F(BatchesAheadOf, FallsBackWhereMoreDoNotHelp) {
  step_ = compute_bound;
  begin();
  EXPECT_EQ(steps(8, 50), 5U);
  EXPECT_EQ(steps(2000, 50), 4U);
  EXPECT_EQ(most_, 8U) << "after four looks without a gain";
}

TEST_F(BatchesAheadOf, FallsBackToTheNumberWithTheFastestSteps) {
  step_ = [](std::uint32_t batches) {
    return milliseconds(1000 - 100 * std::min(batches, 9U) + 30 * batches);
  };
  begin();
  EXPECT_EQ(steps(2000, 50), 9U);
  EXPECT_EQ(most_, 13U);
}

TEST_F(BatchesAheadOf, SingleStepsThatAreSlowChangeNothing) {
  std::uint32_t calls = 0;
  step_ = [&](std::uint32_t batches) {
    return latency_bound(batches) * (++calls % 5 == 0 ? 2 : 1);
  };
  begin();
  EXPECT_GE(steps(4000, 50), 28U);
}

TEST_F(BatchesAheadOf, LooksAgainWhenStepsHaveBecomeSlower) {
  step_ = compute_bound;
  begin();
  ASSERT_EQ(steps(2000, 50), 4U);
  step_ = latency_bound;
  EXPECT_EQ(steps(2000, 50), 32U);
}

TEST_F(BatchesAheadOf, TheWaitForTheFirstBatchOfAPassTeachesNothing) {
  for (int pass = 0; pass < 20; ++pass) {
    now_ += milliseconds(100'000);  // until the first batch of the pass
    begin();
    EXPECT_EQ(steps(3, 5), 4U);
  }
}

TEST_F(BatchesAheadOf, StepsOfShortPassesCountTogether) {
  for (int pass = 0; pass < 3; ++pass) {
    begin();
    steps(3, 50);
  }
  EXPECT_EQ(ahead_.batches(), 5U);
}

TEST_F(BatchesAheadOf, LargeBatchesBoundIt) {
  begin();
  EXPECT_EQ(steps(2000, 50, 256 * kib), 8U) << "four times 256 KiB beyond the first";
  EXPECT_EQ(steps(100, 50, kib), 8U) << "the largest so far counts";
}

TEST_F(BatchesAheadOf, ABatchLargerThanTheBudgetKeepsTheFirstNumber) {
  begin();
  EXPECT_EQ(steps(2000, 50, 1025 * kib), 4U);
}

TEST_F(BatchesAheadOf, BatchesWithoutBytesAreBoundByTheirNumber) {
  begin();
  EXPECT_EQ(steps(2000, 50, no_bytes), 32U);
}

TEST(BatchesAheadOfAJob, AreFixedOrBoundByFreeMemory) {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  ClusterJob cluster;
  const auto roomy = batches_ahead(cluster, 100 * gib);
  EXPECT_EQ(roomy.first, 4U);
  EXPECT_EQ(roomy.most, 32U);
  EXPECT_EQ(roomy.extra_bytes, gib / 4);
  EXPECT_EQ(batches_ahead(cluster, 0).extra_bytes, gib / 4) << "not known";
  EXPECT_EQ(batches_ahead(cluster, gib).extra_bytes, gib / 10);

  cluster.batches_in_flight = 6;
  EXPECT_EQ(batches_ahead(cluster, gib).first, 6U);
  EXPECT_EQ(batches_ahead(cluster, gib).most, 6U);
  cluster.placement = "server_client";
  EXPECT_EQ(batches_ahead(cluster, gib).most, 32U) << "prefetch is auto";
  cluster.prefetch = 3;
  EXPECT_EQ(batches_ahead(cluster, gib).most, 3U);
}

TEST(FixedBatchesAhead, NeverChange) {
  BatchesAhead ahead({.first = 6, .most = 6, .extra_bytes = 1024 * kib});
  BatchesAhead::TimePoint now{};
  ahead.begin(now);
  for (int i = 0; i < 100; ++i) {
    now += milliseconds(100);
    ahead.take(now, milliseconds(100), kib);
  }
  EXPECT_EQ(ahead.batches(), 6U);
}

}  // namespace
}  // namespace troupe
