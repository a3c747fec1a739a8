#include "runtime/run/session_record.hpp"

#include "tests/support/expect.hpp"

#include <cmath>

namespace troupe {
namespace {

net::RankEpoch rank_epoch(std::uint32_t rank, std::uint32_t epoch, std::uint64_t global_step) {
  net::RankEpoch message;
  message.result.rank = static_cast<Rank>(rank);
  message.result.epoch = epoch;
  message.result.wall_ns = (rank + 1) * 1'000'000'000ULL;
  message.result.counters.batches = 3;
  message.result.counters.wait_ns = 500'000'000;
  message.global_step = global_step;
  return message;
}

TEST(SessionRecord, AnEpochIsOverWhenAllRanksHaveEndedIt) {
  SessionRecord record(2);

  EXPECT_FALSE(record.add(rank_epoch(1, 0, 3)).has_value());
  const auto over = record.add(rank_epoch(0, 0, 3));

  ASSERT_TRUE(over.has_value());
  EXPECT_EQ(over->counters.batches, 6U);
  EXPECT_DOUBLE_EQ(over->seconds, 2);
  EXPECT_TRUE(std::isnan(over->loss));
  EXPECT_TRUE(over->over);
  EXPECT_DOUBLE_EQ(over->wait_share(), 0.25);
  EXPECT_DOUBLE_EQ(wait_share(record.epochs()), 0.25);
}

TEST(SessionRecord, ACheckpointHasTheEpochsThatWereOverByItsStep) {
  EpochRecord before;
  before.epoch = 0;
  SessionRecord record(1, {before});
  record.add(rank_epoch(0, 1, 6));
  record.add(rank_epoch(0, 2, 9));

  EXPECT_EQ(record.epochs().size(), 3U);
  EXPECT_EQ(record.epochs_at(8).size(), 2U);
  EXPECT_EQ(record.epochs_at(9).size(), 3U);
}

TEST(SessionRecord, RanksThatGoBackMakeTheirEpochsOnce) {
  EpochRecord before;
  SessionRecord record(2, {before});
  for (std::uint32_t epoch = 1; epoch < 4; ++epoch) {
    for (const std::uint32_t rank : {0U, 1U}) {
      record.add(rank_epoch(rank, epoch, 3 * epoch));
    }
  }
  record.add(rank_epoch(0, 4, 12));

  record.go_back(6);
  record.add(rank_epoch(1, 2, 6));  // late, from before
  record.add(rank_epoch(0, 2, 6));
  EXPECT_EQ(record.epochs().size(), 3U);
  record.add(rank_epoch(0, 3, 9));
  record.add(rank_epoch(1, 3, 9));
  record.add(rank_epoch(1, 4, 12));
  EXPECT_EQ(record.epochs().size(), 4U) << "rank 0 has not ended it again";
  record.add(rank_epoch(0, 4, 12));

  ASSERT_EQ(record.epochs().size(), 5U);
  for (std::uint32_t epoch = 0; epoch < 5; ++epoch) {
    EXPECT_EQ(record.epochs()[epoch].epoch, epoch);
  }
}

TEST(SessionRecord, WhatOthersReportedStaysWhenOneRankTurnsOutToHaveGoneBack) {
  SessionRecord record(2);
  record.add(rank_epoch(0, 1, 3));
  record.add(rank_epoch(1, 1, 3));
  // Late reports from before the ranks went back to step 3, then those of rank 1, which is ahead
  record.add(rank_epoch(0, 2, 6));
  EXPECT_TRUE(record.add(rank_epoch(1, 2, 6)).has_value());
  EXPECT_FALSE(record.add(rank_epoch(1, 2, 6)).has_value());
  EXPECT_FALSE(record.add(rank_epoch(1, 3, 9)).has_value());

  record.go_back(4, Rank{0});  // its first step since

  EXPECT_EQ(record.epochs().size(), 1U);
  EXPECT_TRUE(record.add(rank_epoch(0, 2, 6)).has_value());
  EXPECT_TRUE(record.add(rank_epoch(0, 3, 9)).has_value());
  EXPECT_EQ(record.epochs().size(), 3U);
}

TEST(SessionRecord, EpochsWithoutStepsAreTold) {
  SessionRecord record(1);
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_TRUE(record.add(rank_epoch(0, epoch, 0)).has_value());
  }
}

}  // namespace
}  // namespace troupe
