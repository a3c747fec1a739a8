#include "runtime/net/flight_peak.hpp"

#include "runtime/base/philox.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace troupe::net {
namespace {

TEST(FlightPeak, CountsTheLargestSumAtOneTime) {
  FlightPeak peak;
  const auto a = peak.begin();
  const auto b = peak.begin();
  peak.end(b, 30);
  EXPECT_EQ(peak.peak(), 0U) << "the other one's size is not known yet";
  const auto c = peak.begin();
  peak.end(c, 5);
  peak.end(a, 100);
  EXPECT_EQ(peak.peak(), 130U);

  peak.end(peak.begin(), 129);
  EXPECT_EQ(peak.peak(), 130U);
  peak.end(peak.begin(), 131);
  EXPECT_EQ(peak.peak(), 131U);
}

TEST(FlightPeak, AgreesWithASumOverAllItemsAtEveryMoment) {
  DrawStream dice({{5, 77}}, 1);
  for (int round = 0; round < 200; ++round) {
    FlightPeak peak;
    std::map<std::uint64_t, std::uint64_t> open;  // place -> bytes
    std::uint64_t sum = 0;
    std::uint64_t expected = 0;
    const auto land = [&](auto item) {
      peak.end(item->first, item->second);
      sum -= item->second;
      open.erase(item);
    };
    for (int i = 0; i < 200; ++i) {
      if (dice.below(2) == 0 || open.empty()) {
        const auto bytes = dice.below(1000);
        open.emplace(peak.begin(), bytes);
        sum += bytes;
        expected = std::max<std::uint64_t>(expected, sum);
      } else {
        land(std::next(open.begin(), dice.below(static_cast<std::uint32_t>(open.size()))));
      }
    }
    while (!open.empty()) {
      land(open.begin());
    }
    ASSERT_EQ(peak.peak(), expected) << "round " << round;
  }
}

TEST(FlightPeak, KeepsABoundedNumberOfItems) {
  FlightPeak peak;
  const auto first = peak.begin();
  for (std::size_t i = 0; i < 2 * FlightPeak::most_open; ++i) {
    peak.end(peak.begin(), 10);
  }
  const auto late = peak.begin();
  peak.end(first, 1);
  EXPECT_EQ(peak.peak(), 11U);
  peak.end(late, 1000);
  EXPECT_EQ(peak.peak(), 11U) << "not counted";
  peak.end(peak.begin(), 1000);
  EXPECT_EQ(peak.peak(), 1000U);
}

}  // namespace
}  // namespace troupe::net
