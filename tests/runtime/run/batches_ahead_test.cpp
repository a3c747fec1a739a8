#include "runtime/run/batches_ahead.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t no_bytes = 0;
constexpr std::uint64_t kib = 1024;

/// Feeds steps of 100 ms.
class BatchesAheadOf : public ::testing::Test {
 protected:
  void begin() { ahead_.begin(now_); }
  /// \returns batches in flight afterwards
  std::uint32_t steps(std::uint32_t count, milliseconds waited, std::uint64_t bytes = kib) {
    for (std::uint32_t i = 0; i < count; ++i) {
      now_ += milliseconds(100);
      ahead_.take(now_, waited, bytes);
    }
    return ahead_.batches();
  }

  BatchesAhead ahead_{{.first = 4, .most = 32, .extra_bytes = 1024 * kib}};
  BatchesAhead::TimePoint now_{};
};

TEST_F(BatchesAheadOf, StartsWithTheFirstNumber) {
  EXPECT_EQ(ahead_.batches(), 4U);
}

TEST_F(BatchesAheadOf, GrowsByOneAfterAsManyStepsAsAreInFlight) {
  begin();
  EXPECT_EQ(steps(3, milliseconds(50)), 4U);
  EXPECT_EQ(steps(1, milliseconds(50)), 5U);
  EXPECT_EQ(steps(4, milliseconds(50)), 5U);
  EXPECT_EQ(steps(1, milliseconds(50)), 6U);
}

TEST_F(BatchesAheadOf, StaysWhereWaitsAreShort) {
  begin();
  EXPECT_EQ(steps(400, milliseconds(5)), 4U) << "a twentieth of the time";
  EXPECT_EQ(steps(4, milliseconds(6)), 5U);
  EXPECT_EQ(steps(400, milliseconds(0)), 5U) << "nor does it fall";
}

TEST_F(BatchesAheadOf, GrowsToTheMostAndNotBeyond) {
  begin();
  EXPECT_EQ(steps(2000, milliseconds(50)), 32U);
}

TEST_F(BatchesAheadOf, TheFirstBatchOfAPassTeachesNothing) {
  for (int pass = 0; pass < 20; ++pass) {
    now_ += milliseconds(1000);  // until the first batch of the pass
    begin();
    EXPECT_EQ(steps(3, milliseconds(50)), 4U) << "passes of four steps";
  }
}

TEST_F(BatchesAheadOf, LargeBatchesBoundIt) {
  begin();
  EXPECT_EQ(steps(2000, milliseconds(50), 256 * kib), 8U) << "four times 256 KiB beyond the first";
  EXPECT_EQ(steps(100, milliseconds(50), kib), 8U) << "the largest so far counts";
}

TEST_F(BatchesAheadOf, ABatchLargerThanTheBudgetKeepsTheFirstNumber) {
  begin();
  EXPECT_EQ(steps(2000, milliseconds(50), 1025 * kib), 4U);
}

TEST_F(BatchesAheadOf, BatchesWithoutBytesAreBoundByTheirNumber) {
  begin();
  EXPECT_EQ(steps(2000, milliseconds(50), no_bytes), 32U);
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
