#include "runtime/partition/measures.hpp"

#include "runtime/partition/assign.hpp"
#include "tests/runtime/partition/partition_fixture.hpp"

#include <algorithm>

namespace troupe {
namespace {

using testing::EdgePairs;

/// Directed edges with loops and parallel ones.
EdgePairs some_edges(std::uint64_t sources, std::uint64_t destinations, std::uint64_t count) {
  EdgePairs edges;
  std::uint64_t word = 12345;
  for (std::uint64_t i = 0; i < count; ++i) {
    word = word * 6364136223846793005U + 1442695040888963407U;
    const auto source = (word >> 33U) % sources;
    edges.emplace_back(source, i % 7 == 0 ? source % destinations : (word >> 20U) % destinations);
  }
  return edges;
}

class MeasuresOfAStore : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  void expect_those_of_the_view(const testing::GraphContents& contents) {
    const auto parts = GetParam();
    ASSERT_OK_AND_ASSIGN(const auto store, testing::store_of(contents, temp_ / "graph"));
    ComputePool pool(3);
    ASSERT_OK_AND_ASSIGN(const auto view, Adjacency::make(store, {}, pool));
    ASSERT_OK_AND_ASSIGN(const auto constraints, Constraints::make(store, {.names = {"edges"}}));
    std::vector<std::uint32_t> part_of;
    for (std::uint64_t v = 0; v < view.vertices(); ++v) {
      part_of.push_back(static_cast<std::uint32_t>(v * v + v / 3) % parts);
    }

    const auto expected = measure(view, constraints, part_of, parts, pool);
    const auto found = measure(store, constraints, part_of, parts, pool);

    EXPECT_EQ(found.cut_edges, expected.cut_edges);
    EXPECT_EQ(found.communication_volume, expected.communication_volume);
    ASSERT_EQ(found.balance.size(), expected.balance.size());
    for (std::size_t i = 0; i < found.balance.size(); ++i) {
      EXPECT_EQ(found.balance[i].largest, expected.balance[i].largest);
    }
  }
  testing::TempDir temp_;
};

TEST_P(MeasuresOfAStore, AreThoseOfTheViewOfADirectedGraph) {
  expect_those_of_the_view(
      testing::plain_contents({5000}, {{0, 0, some_edges(5000, 5000, 20000)}}));
}

TEST_P(MeasuresOfAStore, AreThoseOfTheViewOfASymmetricGraph) {
  auto edges = some_edges(600, 600, 4000);
  for (std::size_t i = 0; i < 4000; ++i) {
    edges.emplace_back(edges[i].second, edges[i].first);
  }
  expect_those_of_the_view(testing::plain_contents({600}, {{0, 0, edges}}));
}

TEST_P(MeasuresOfAStore, AreThoseOfTheViewOfAHeterogeneousGraph) {
  expect_those_of_the_view(
      testing::plain_contents({500, 300}, {{0, 1, some_edges(500, 300, 2000)},
                                           {1, 0, some_edges(300, 500, 1500)},
                                           {1, 1, some_edges(300, 300, 700)}}));
}

INSTANTIATE_TEST_SUITE_P(Parts, MeasuresOfAStore, ::testing::Values(1U, 2U, 64U, 65U, 150U));

TEST(MeasuresWithoutAView, AreEnoughForMethodsThatNeedNone) {
  const testing::TempDir temp;
  ASSERT_OK_AND_ASSIGN(
      const auto store,
      testing::store_of(testing::plain_contents({50}, {{0, 0, some_edges(50, 50, 200)}}),
                        temp / "graph"));
  InlineExecutor alone;
  for (const std::string method : {"random", "hash", "hotness", "fennel"}) {
    std::vector<std::string> stages;
    AssignOptions options{.method = method, .parts = 2, .seed = 0};
    options.more.hotness.fanout = {{2}};
    options.on_stage = [&](std::string_view stage) { stages.emplace_back(stage); };
    ASSERT_OK(assign(store, options, alone)) << method;
    EXPECT_EQ(std::ranges::count(stages, "view"), method == "fennel" ? 1 : 0) << method;
  }
}

}  // namespace
}  // namespace troupe
