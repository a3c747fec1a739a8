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

}  // namespace
}  // namespace troupe
