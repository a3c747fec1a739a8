#include "runtime/sample/choice/uniform.hpp"

#include "runtime/sample/choice/uniform_lanes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace troupe {
namespace {

/// Degrees from just above the fanout to the largest, where every other word may be rejected.
std::uint32_t degree(std::uint64_t i, std::uint32_t fanout) {
  constexpr std::uint64_t largest = 0xFFFFFFFF;
  const std::uint64_t above = i % 5 == 0   ? i % 3
                              : i % 5 == 1 ? i * 2654435761U % 1000
                              : i % 5 == 2 ? i * 2654435761U % 1000000
                              : i % 5 == 3 ? largest - i % 7
                                           : i * 2654435761U % largest;
  return static_cast<std::uint32_t>(std::min(largest, std::uint64_t{fanout} + 1 + above));
}

std::vector<Stretch> stretches(std::size_t count, std::uint64_t salt, std::uint32_t fanout) {
  std::vector<Stretch> group(count);
  for (std::size_t i = 0; i < count; ++i) {
    group[i] = {.original_id = (salt * 1000 + i) * (i % 4 == 0 ? 0x100000001U : 7U),
                .entries = degree(salt + i, fanout),
                .taken = fanout};
  }
  return group;
}

std::vector<std::uint32_t> by_definition(StreamKey key, const Stretch& stretch,
                                         std::uint32_t fanout, bool replace) {
  std::vector<std::uint32_t> out;
  draw_positions(DrawStream(key, stretch.original_id), stretch.entries, fanout, replace, out);
  return out;
}

TEST(Uniform, ChoosesThePositionsOfTheDefinitionInGroupsOfAnySize) {
  for (const bool replace : {false, true}) {
    for (std::uint32_t fanout = 1; fanout <= 70; ++fanout) {
      const auto choice = make_uniform({.fanout = fanout, .replace = replace});
      for (const std::size_t size : {1U, 2U, 15U, 16U, 17U, 64U}) {
        const StreamKey key{{fanout, static_cast<std::uint32_t>(size)}};
        auto group = stretches(size, fanout * 100 + size, fanout);
        std::vector<std::uint32_t> positions(size * fanout);
        choice->choose(key, group, positions);
        for (std::size_t i = 0; i < size; ++i) {
          ASSERT_EQ(group[i].taken, fanout);
          const auto expected = by_definition(key, group[i], fanout, replace);
          ASSERT_TRUE(
              std::ranges::equal(expected, std::span(positions).subspan(i * fanout, fanout)))
              << "fanout " << fanout << ", stretch " << i << " of " << size << " with "
              << group[i].entries << " entries, replace " << replace;
        }
      }
    }
  }
}

template <std::size_t Bytes>
std::size_t compare_lanes(std::uint32_t fanout, bool replace) {
  UniformLanes<Bytes> lanes(fanout, replace);
  std::size_t compared = 0;
  for (std::uint32_t round = 0; round < 60; ++round) {
    const StreamKey key{{round, fanout}};
    const auto group = stretches(UniformLanes<Bytes>::lanes, round * 64, fanout);
    std::vector<std::uint32_t> positions(group.size() * fanout);
    const auto again = lanes.draw(key, group, positions.data());
    for (std::size_t i = 0; i < group.size(); ++i) {
      if ((again >> i & 1) != 0) {
        continue;
      }
      ++compared;
      EXPECT_TRUE(std::ranges::equal(by_definition(key, group[i], fanout, replace),
                                     std::span(positions).subspan(i * fanout, fanout)))
          << Bytes << " bytes, fanout " << fanout << ", entries " << group[i].entries;
    }
  }
  return compared;
}

TEST(UniformLanes, OfEveryWidthGiveThePositionsOfTheDefinition) {
  for (const bool replace : {false, true}) {
    for (const std::uint32_t fanout : {1U, 2U, 3U, 4U, 5U, 8U, 15U, 16U, 31U, 64U}) {
      EXPECT_GT(compare_lanes<16>(fanout, replace), 100U);
      EXPECT_GT(compare_lanes<32>(fanout, replace), 200U);
      EXPECT_GT(compare_lanes<64>(fanout, replace), 400U);
    }
  }
}

TEST(UniformLanes, LeaveOutLanesWhoseWordMayBeRejected) {
  UniformLanes<vector_bytes> lanes(4, false);
  auto group = stretches(UniformLanes<vector_bytes>::lanes, 0, 4);
  std::vector<std::uint32_t> positions(group.size() * 4);
  for (auto& stretch : group) {
    stretch.entries = 0xFFFFFFFF;  // almost every product's low half is below the bound
  }
  group[1].entries = 5;
  const auto again = lanes.draw(StreamKey{{1, 2}}, group, positions.data());
  EXPECT_NE(again & 1, 0U);
  EXPECT_EQ(again & 2, 0U);
  const auto of_two = lanes.draw(StreamKey{{1, 2}}, std::span(group).first(2), positions.data());
  EXPECT_EQ(of_two, again & 3) << "stretches that are not there are not drawn again";
}

}  // namespace
}  // namespace troupe
