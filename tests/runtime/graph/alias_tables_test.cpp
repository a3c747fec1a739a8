#include "runtime/graph/alias_tables.hpp"

#include "tests/support/expect.hpp"
#include "tests/support/graph_builder.hpp"

#include <array>
#include <limits>

namespace troupe {
namespace {

constexpr std::array edge_type = {EdgeTypeId{0}};

testing::TestGraph graph(bool weights) {
  auto made = testing::skewed_graph(50, 5);
  if (weights) {
    testing::add_weights(made.edges[0]);
  }
  return made;
}

/// The lists of a part, with weights of the test's own.
Part with_weights(const Part& part, std::span<const float> weights) {
  Part copy = part;
  copy.edges[0].in.weights = weights;
  return copy;
}

TEST(AliasTables, AreThoseOfEachListInOneDirection) {
  const auto cut = testing::cut_graph(graph(true), 2);
  for (const auto& part : cut.parts) {
    ASSERT_OK_AND_ASSIGN(const auto made, with_alias_tables(*part, edge_type, EdgeDir::out));
    const auto& lists = made->edges[0].out;
    ASSERT_EQ(lists.aliases.size(), lists.weights.size());
    EXPECT_TRUE(made->edges[0].in.aliases.empty());
    EXPECT_TRUE(lists.zero_weights);
    for (std::size_t row = 0; row + 1 < lists.offsets.size(); ++row) {
      const auto begin = lists.offsets[row];
      std::vector<AliasSlot> expected(lists.degree(row));
      AliasTableMaker().make(lists.weights.subspan(begin, expected.size()), expected);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(lists.aliases[begin + i].threshold, expected[i].threshold) << row;
        ASSERT_EQ(lists.aliases[begin + i].alias, expected[i].alias) << row;
      }
    }
  }
}

TEST(AliasTables, TheRestOfThePartStaysAndBytesAreCounted) {
  const auto cut = testing::cut_graph(graph(true), 1);
  ASSERT_OK_AND_ASSIGN(const auto made, with_alias_tables(*cut.parts[0], edge_type, EdgeDir::in));
  const auto& before = *cut.parts[0];
  EXPECT_EQ(made->bytes, before.bytes + alias_bytes * before.edges[0].in.weights.size());
  EXPECT_EQ(made->edges[0].in.offsets.data(), before.edges[0].in.offsets.data());
  EXPECT_EQ(made->nodes[0].original_ids.data(), before.nodes[0].original_ids.data());
  EXPECT_TRUE(before.edges[0].in.aliases.empty());
}

TEST(AliasTables, ListsWithoutZerosAreKnown) {
  const auto cut = testing::cut_graph(graph(true), 1);
  const std::vector<float> ones(cut.parts[0]->edges[0].in.weights.size(), 1.0F);
  ASSERT_OK_AND_ASSIGN(const auto made, with_alias_tables(with_weights(*cut.parts[0], ones),
                                                          edge_type, EdgeDir::in));
  EXPECT_FALSE(made->edges[0].in.zero_weights);
}

TEST(AliasTables, EdgesWithoutWeightsAreRefused) {
  const auto cut = testing::cut_graph(graph(false), 1);
  EXPECT_ERROR(with_alias_tables(*cut.parts[0], edge_type, EdgeDir::in), Errc::failed_precondition,
               "part 0, edge type 0: expected weights of the edges, found none");
}

TEST(AliasTables, WeightsThatAreNoneAreRefused) {
  const auto cut = testing::cut_graph(graph(true), 1);
  std::vector<float> weights(cut.parts[0]->edges[0].in.weights.size(), 1.0F);
  for (const float bad :
       {-1.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    weights[17] = bad;
    EXPECT_ERROR(with_alias_tables(with_weights(*cut.parts[0], weights), edge_type, EdgeDir::in),
                 Errc::data_corruption, "weight 17: expected a finite number of 0 or more");
  }
}

}  // namespace
}  // namespace troupe
