#include "gpu/sample/batch_room.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace troupe::gpu {
namespace {

TEST(SizesExpected, GrowAtOnceAndWearOff) {
  SizesExpected expected;
  EXPECT_FALSE(expected.known());
  const auto learn = [&](std::uint64_t size) {
    expected.learn({.rows = {{size}}, .edges = {{2 * size}}, .nodes = {3 * size}});
    return expected.sizes().edges[0][0];
  };
  EXPECT_EQ(learn(100), 200U);
  EXPECT_TRUE(expected.known());
  EXPECT_EQ(learn(50'000), 100'000U);
  EXPECT_EQ(expected.sizes().rows[0][0], 50'000U);
  EXPECT_EQ(expected.sizes().nodes[0], 150'000U);
  EXPECT_EQ(learn(100), 100'000U - (100'000U - 200U) / 64);
  for (int batch = 0; batch < 600; ++batch) {
    learn(100);
  }
  EXPECT_LT(learn(100), 300U);
}

class RoomFor : public ::testing::Test {
 protected:
  RoomFor() {
    graph_.nodes.resize(2);
    graph_.nodes[0].count = 1'000'000;
    graph_.nodes[1].count = 70;
    graph_.edges.resize(2);
    graph_.edges[0].entries = 20'000'000;
    graph_.edges[1].entries = 90;
    graph_.edges[1].source_type = NodeTypeId{1};
  }
  /// Room where every batch before had a size.
  std::optional<BatchSizes> room(std::uint64_t expected, std::uint64_t seeds,
                                 const SamplingPlan& plan) const {
    SizesExpected sizes;
    const std::size_t hops = plan.fanout.size();
    sizes.learn({.rows = {hops, {expected, expected}},
                 .edges = {hops, {expected, expected}},
                 .nodes = {expected, expected}});
    return room_for(sizes, graph_, plan, std::vector<std::uint64_t>{seeds, 0});
  }

  DeviceGraph graph_;
};

TEST_F(RoomFor, IsThatOfBatchesBeforeAndAMargin) {
  const auto got = room(800, 500, {.fanout = {{15, 5}, {-1, 0}}});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->rows, (std::vector<std::vector<std::uint64_t>>{{500, 0}, {932, 70}}));
  EXPECT_EQ(got->edges, (std::vector<std::vector<std::uint64_t>>{{932, 90}, {932, 0}}));
  EXPECT_EQ(got->nodes, (std::vector<std::uint64_t>{932, 70}));
}

TEST_F(RoomFor, IsAtMostWhatSeedsAndFanoutsAllow) {
  const auto got = room(900'000'000, 10, {.fanout = {{3, 2}, {2, 0}}});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->rows, (std::vector<std::vector<std::uint64_t>>{{10, 0}, {30, 20}}));
  EXPECT_EQ(got->edges, (std::vector<std::vector<std::uint64_t>>{{30, 20}, {60, 0}}));
  EXPECT_EQ(got->nodes, (std::vector<std::uint64_t>{100, 20}));
  const auto none = room(900'000'000, 0, {.fanout = {{3, 2}, {2, 0}}});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->nodes, (std::vector<std::uint64_t>{0, 0}));
}

TEST_F(RoomFor, IsNoneWhereNothingIsKnownOrTooMuchIs) {
  EXPECT_FALSE(room_for({}, graph_, {.fanout = {{3, 2}}}, std::vector<std::uint64_t>{5, 0}));
  EXPECT_FALSE(room(std::uint64_t{1} << 40, std::uint64_t{1} << 25,
                    {.fanout = {{3000, 0}}, .replace = true}));
  EXPECT_FALSE(room(std::uint64_t{1} << 40, std::uint64_t{1} << 20,
                    {.fanout = {{1500, 0}, {1500, 0}}, .replace = true}));
}

}  // namespace
}  // namespace troupe::gpu
