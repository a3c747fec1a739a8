#include "runtime/sample/choice/draws_by_sums.hpp"

#include "tests/runtime/sample/weighted_reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace troupe {
namespace {

/// Draws that go through the list for each entry.
std::vector<std::uint32_t> draws_in_turn(std::vector<std::uint64_t> units, DrawStream stream,
                                         const ChoiceOptions& options,
                                         std::vector<std::uint32_t> taken) {
  const auto leave = [&](std::uint32_t entry) {
    units[entry] = options.replace ? units[entry] : 0;
  };
  std::ranges::for_each(taken, leave);
  while (taken.size() < options.fanout) {
    const auto left = std::accumulate(units.begin(), units.end(), std::uint64_t{0});
    if (left == 0) {
      break;
    }
    auto below = stream.below64(left);
    std::uint32_t entry = 0;
    for (; below >= units[entry]; ++entry) {
      below -= units[entry];
    }
    taken.push_back(entry);
    leave(entry);
  }
  return taken;
}

/// Some weights are 0, and some are many times others.
testing::Weights uneven_weights(std::size_t entries, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  testing::Weights weights(entries);
  for (float& weight : weights) {
    weight = random() % 5 == 0 ? 0.0F : std::ldexp(1.0F, static_cast<int>(random() % 24));
  }
  weights.front() = 1;
  return weights;
}

TEST(DrawsBySums, AreThoseOfGoingThroughTheList) {
  DrawsBySums draws;
  for (const std::size_t entries : {1U, 2U, 3U, 31U, 32U, 33U, 100U, 1023U, 1024U, 1025U}) {
    for (const bool replace : {false, true}) {
      const auto table = testing::alias_table(uneven_weights(entries, entries));
      std::vector<std::uint64_t> units;
      alias_units(table, units);
      std::vector<std::uint32_t> excluded;
      for (std::uint32_t entry = 2; entry < entries; entry += 7) {
        excluded.push_back(entry);
        units[entry] = 0;
      }
      const auto first =
          static_cast<std::uint32_t>(std::ranges::max_element(units) - units.begin());
      ChoiceOptions options;
      options.fanout = static_cast<std::uint32_t>(entries / 2 + 3);
      options.replace = replace;
      DrawStream stream(StreamKey{}, entries);
      const auto expected = draws_in_turn(units, stream, options, {first});
      std::vector<std::uint32_t> out(options.fanout);
      out.front() = first;

      draws.begin(table, excluded);
      out.resize(draws.complete(stream, options, 1, out.data()));

      EXPECT_EQ(out, expected) << entries << ", replace " << replace;
    }
  }
}

}  // namespace
}  // namespace troupe
