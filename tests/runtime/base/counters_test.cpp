#include "runtime/base/counters.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

struct Laps {
  std::uint64_t laps = 0;
  std::uint64_t run_ns = 0;

  static constexpr auto counters() {
    return std::to_array<Counter<Laps>>({{"laps", &Laps::laps}, {"run_ns", &Laps::run_ns}});
  }
};

struct Race : Laps {
  std::uint64_t largest_gap = 0;

  static constexpr auto counters() {
    return with_inherited(
        std::to_array<Counter<Race>>({{"largest_gap", &Race::largest_gap, CounterSum::largest}}),
        Laps::counters());
  }
};

TEST(Counters, AddAsTheirListSays) {
  Race sum;
  sum.laps = 3;
  sum.run_ns = 10;
  sum.largest_gap = 5;
  Race more = sum;
  more.run_ns = 7;
  more.largest_gap = 4;

  sum_counters(sum, more);

  EXPECT_EQ(sum.laps, 6U);
  EXPECT_EQ(sum.run_ns, 17U);
  EXPECT_EQ(sum.largest_gap, 5U);
  sum_counters(more, sum);
  EXPECT_EQ(more.largest_gap, 5U);
}

TEST(Counters, OfABaseAreAddedAlone) {
  Race race;
  race.largest_gap = 5;

  sum_counters<Laps>(race, Laps{.laps = 2, .run_ns = 1});

  EXPECT_EQ(race.laps, 2U);
  EXPECT_EQ(race.largest_gap, 5U);
}

TEST(Counters, ListTheirOwnBeforeThoseOfTheBase) {
  constexpr auto all = Race::counters();

  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].name, "largest_gap");
  EXPECT_EQ(all[2].name, "run_ns");
  EXPECT_FALSE(all[1].is_time());
  EXPECT_TRUE(all[2].is_time());
  EXPECT_EQ(all[2].stage(), "run");
}

}  // namespace
}  // namespace troupe
