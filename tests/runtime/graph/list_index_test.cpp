#include "runtime/graph/list_index.hpp"

#include "tests/support/expect.hpp"
#include "tests/support/graph_builder.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

using testing::TestGraph;

/// `types` edge types from `a` to `a`; node n has an edge of every type that n + 1 divides.
TestGraph dividing(std::uint64_t nodes, std::uint64_t types) {
  TestGraph graph;
  graph.nodes = {{.name = "a", .count = nodes}, {.name = "b", .count = 3}};
  for (std::uint64_t e = 0; e < types; ++e) {
    auto& type = graph.edges.emplace_back();
    type.name = "e" + std::to_string(e);
    for (std::uint64_t n = 0; n < nodes; n = n + 1) {
      for (std::uint64_t k = 0; (e + 1) % (n + 1) == 0 && k <= n % 3; ++k) {
        type.edges.push_back({(n + k) % nodes, n});
      }
    }
  }
  return graph;
}

TEST(ListIndex, ListsWhatIsNotEmpty) {
  for (const std::uint32_t parts : {1U, 3U}) {
    for (const auto dir : {EdgeDir::in, EdgeDir::out}) {
      const auto cut = testing::cut_graph(dividing(60, 20), parts);
      for (const auto& part : cut.parts) {
        ASSERT_OK_AND_ASSIGN(const auto indexed, with_list_index(part, dir));
        const auto& nodes = indexed->nodes[0];
        const auto& index = nodes.index(dir);
        ASSERT_TRUE(index.present());
        EXPECT_FALSE(nodes.index(dir == EdgeDir::in ? EdgeDir::out : EdgeDir::in).present());
        EXPECT_FALSE(indexed->nodes[1].index(dir).present()) << "no edge type ends at b";
        std::uint64_t lists = 0;
        std::uint64_t edges = 0;
        for (std::uint64_t row = 0; row < nodes.count; ++row) {
          auto next = index.of(row).begin();
          for (std::uint16_t e = 0; e < 20; ++e) {
            const auto& of_type = part->edges[e].lists(dir);
            if (of_type.degree(row) > 0) {
              ASSERT_NE(next, index.of(row).end());
              EXPECT_EQ(next->edge_type, EdgeTypeId{e});
              EXPECT_EQ(next->begin, of_type.offsets[row]);
              EXPECT_EQ(next->entries, of_type.degree(row));
              ++next;
              ++lists;
              edges += of_type.degree(row);
            }
          }
          EXPECT_EQ(next, index.of(row).end());
        }
        EXPECT_EQ(index.lists.size(), lists);
        EXPECT_EQ(indexed->bytes - part->bytes, 8 * (nodes.count + 1) + 8 * lists);
        EXPECT_LE(indexed->bytes - part->bytes,
                  list_index_bytes(nodes.count, 20 * nodes.count, edges));
      }
    }
  }
}

TEST(ListIndex, IsNotMadeWhereItSavesLittle) {
  const auto few = testing::cut_graph(dividing(60, 15), 1);
  EXPECT_EQ(*with_list_index(few.parts[0], EdgeDir::in), few.parts[0]) << "15 edge types";
  const auto full = testing::cut_graph(dividing(2, 20), 1);  // three of four lists
  EXPECT_EQ(*with_list_index(full.parts[0], EdgeDir::in), full.parts[0]);
  auto none = dividing(60, 20);
  for (auto& type : none.edges) {
    type.edges.clear();
  }
  const auto empty = testing::cut_graph(none, 1);
  ASSERT_OK_AND_ASSIGN(const auto indexed, with_list_index(empty.parts[0], EdgeDir::in));
  EXPECT_TRUE(indexed->nodes[0].in_index.present()) << "all lists are empty";
  EXPECT_TRUE(indexed->nodes[0].in_index.of(7).empty());
}

TEST(ListIndex, LongListsSayThatTheyAreLong) {
  auto graph = dividing(60, 20);
  for (std::uint64_t i = 0; i < 70000; ++i) {
    graph.edges[3].edges.push_back({i % 60, 50});
  }
  const auto cut = testing::cut_graph(graph, 1);
  ASSERT_OK_AND_ASSIGN(const auto part, with_list_index(cut.parts[0], EdgeDir::in));
  const auto row = part->nodes[0].local(cut.global(50));
  const auto& nodes = part->nodes[0];
  ASSERT_EQ(nodes.in_index.of(row).size(), 1U);
  EXPECT_EQ(nodes.in_index.of(row)[0].entries, IndexedList::many);
}

TEST(ListIndex, TablesOfAJobComeWithIt) {
  const auto cut = testing::cut_graph(dividing(60, 20), 1);
  ASSERT_OK_AND_ASSIGN(const auto part, with_list_tables(cut.parts[0], {}, EdgeDir::out));
  EXPECT_TRUE(part->nodes[0].out_index.present());
  EXPECT_FALSE(part->nodes[0].in_index.present());
}

}  // namespace
}  // namespace troupe
