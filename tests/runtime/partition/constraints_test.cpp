#include "runtime/partition/constraints.hpp"

#include "runtime/partition/part_loads.hpp"
#include "tests/runtime/partition/partition_fixture.hpp"

namespace troupe {
namespace {

using namespace testing;
using Numbers = std::vector<std::uint64_t>;

class ConstraintsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Of 7 nodes of t0, 0, 3 and 6 are training seeds; node 1 of t2 has three in-edges.
    const auto contents =
        plain_contents({7, 0, 2}, {{0, 2, {{0, 1}, {1, 1}, {2, 0}}}, {2, 2, {{0, 1}}}});
    auto store = store_of(contents, temp_ / "graph");
    ASSERT_OK(store);
    store_ = *std::move(store);
  }
  Numbers weights(const Constraints& constraints, std::uint64_t v) const {
    Numbers out(constraints.size());
    constraints.weights(v, out);
    return out;
  }

  TempDir temp_;
  GraphStore store_;
};

TEST_F(ConstraintsTest, NodesOfEachTypeThatHasSomeAreAlwaysThere) {
  ASSERT_OK_AND_ASSIGN(const auto constraints, Constraints::make(store_, {}));

  ASSERT_EQ(constraints.size(), 2U);
  EXPECT_EQ(constraints.name(0), "nodes of t0");
  EXPECT_EQ(constraints.name(1), "nodes of t2");
  EXPECT_EQ(constraints.total(0), 7U);
  EXPECT_EQ(weights(constraints, 6), (Numbers{1, 0}));
  EXPECT_EQ(weights(constraints, 7), (Numbers{0, 1}));
}

TEST_F(ConstraintsTest, EdgesWeighInDegreesAndRolesTheirSeeds) {
  ASSERT_OK_AND_ASSIGN(const auto constraints,
                       Constraints::make(store_, {.names = {"train", "edges", "nodes"}}));

  ASSERT_EQ(constraints.size(), 4U);
  EXPECT_EQ(constraints.name(2), "edges");
  EXPECT_EQ(constraints.name(3), "train");
  EXPECT_EQ(constraints.total(2), 4U);
  EXPECT_EQ(constraints.total(3), 3U);
  EXPECT_EQ(weights(constraints, 3), (Numbers{1, 0, 0, 1}));
  EXPECT_EQ(weights(constraints, 4), (Numbers{1, 0, 0, 0}));
  EXPECT_EQ(weights(constraints, 8), (Numbers{0, 1, 3, 0}));
}

TEST_F(ConstraintsTest, LimitsAreRoundedUpAndCanAlwaysBeMet) {
  ASSERT_OK_AND_ASSIGN(const auto constraints,
                       Constraints::make(store_, {.names = {"edges"}, .imbalance = 1.2}));

  EXPECT_EQ(constraints.limit(0, 2), 5U);  // 1.2 * 7 / 2 = 4.2
  EXPECT_EQ(constraints.limit(0, 7), 2U);  // 1.2
  EXPECT_EQ(constraints.limit(2, 2), 3U);  // 2.4; the heaviest needs 4 / 2 + 3 / 2
  EXPECT_EQ(constraints.limit(2, 4), 3U);  // 1.2; the heaviest needs 4 / 4 + 3 * 3 / 4
}

TEST_F(ConstraintsTest, WhatCannotBeBalancedIsNamed) {
  EXPECT_ERROR(Constraints::make(store_, {.names = {"colour"}}), Errc::invalid_argument,
               "\"colour\"");
  EXPECT_ERROR(Constraints::make(store_, {.names = {"test"}}), Errc::not_found,
               "partition: balance \"test\" needs nodes of that role: ");
  EXPECT_ERROR(Constraints::make(store_, {.names = {"train"}, .split = "x"}), Errc::not_found, "x");
  EXPECT_ERROR(Constraints::make(store_, {.imbalance = 0.9}), Errc::invalid_argument, "0.9");
}

TEST_F(ConstraintsTest, LoadsFollowWhatIsAddedAndRemoved) {
  ASSERT_OK_AND_ASSIGN(const auto constraints, Constraints::make(store_, {.imbalance = 1}));
  PartLoads loads(constraints, 2);  // 4 of t0 and 1 of t2 fit

  const Numbers other{0, 1};
  loads.add(1, other);
  EXPECT_FALSE(loads.fits(1, other));
  EXPECT_TRUE(loads.fits(0, other));
  EXPECT_TRUE(loads.fits(1, Numbers{1, 0}));
  EXPECT_EQ(loads.over_average(1, other), 1.0);
  EXPECT_EQ(loads.over_average(1, Numbers{1, 0}), 0.0);
  EXPECT_TRUE(loads.within_limits());

  loads.add(1, other);
  EXPECT_TRUE(loads.exceeds(1, other));
  EXPECT_FALSE(loads.within_limits());
  EXPECT_EQ(loads.excess_of_move(1, 0, other), -1.0);
  loads.remove(1, other);
  EXPECT_TRUE(loads.within_limits());
}

}  // namespace
}  // namespace troupe
