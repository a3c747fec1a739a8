#include "runtime/partition/adjacency.hpp"

#include "tests/runtime/partition/partition_fixture.hpp"

#include <algorithm>

namespace troupe {
namespace {

using namespace testing;

std::vector<std::uint64_t> neighbours_of(const Adjacency& graph, std::uint64_t v) {
  std::vector<std::uint64_t> found;
  graph.for_each_neighbour(v, [&](std::uint64_t u) { found.push_back(u); });
  std::ranges::sort(found);
  return found;
}

/// By several threads.
Result<Adjacency> view_of(const GraphStore& store, const AdjacencyOptions& options = {}) {
  ComputePool pool(3);
  return Adjacency::make(store, options, pool);
}

using Ids = std::vector<std::uint64_t>;

TEST(Adjacency, BorrowsAGraphWithAllEdgesInBothDirections) {
  const TempDir temp;
  const auto contents = plain_contents({5}, {{0, 0, {{0, 1}, {1, 0}, {2, 2}, {1, 3}, {3, 1}}}});
  ASSERT_OK_AND_ASSIGN(const auto store, store_of(contents, temp / "graph"));

  ASSERT_OK_AND_ASSIGN(const auto graph, view_of(store));

  EXPECT_TRUE(graph.borrowed());
  EXPECT_EQ(graph.entries(), 4U);  // without the loop
  EXPECT_EQ(graph.entries_per_edge(), 1U);
  EXPECT_EQ(neighbours_of(graph, 1), (Ids{0, 3}));
  EXPECT_EQ(neighbours_of(graph, 2), Ids{});
  EXPECT_EQ(neighbours_of(graph, 4), Ids{});
}

TEST(Adjacency, PutsADirectedGraphTogetherFromBothEnds) {
  const TempDir temp;
  const auto contents =
      plain_contents({4}, {{0, 0, {{0, 1}, {0, 1}, {1, 0}, {2, 2}, {3, 0}}}});  // parallel, loop
  ASSERT_OK_AND_ASSIGN(const auto store, store_of(contents, temp / "graph"));

  ASSERT_OK_AND_ASSIGN(const auto graph, view_of(store));

  EXPECT_FALSE(graph.borrowed());
  EXPECT_EQ(graph.entries(), 8U);
  EXPECT_EQ(graph.entries_per_edge(), 2U);
  EXPECT_EQ(neighbours_of(graph, 0), (Ids{1, 1, 1, 3}));
  EXPECT_EQ(neighbours_of(graph, 1), (Ids{0, 0, 0}));
  EXPECT_EQ(neighbours_of(graph, 2), Ids{});
  EXPECT_EQ(neighbours_of(graph, 3), Ids{0});
}

TEST(Adjacency, AnEdgeMoreInOneDirectionIsNoSymmetricGraph) {
  const TempDir temp;
  const auto contents = plain_contents({3}, {{0, 0, {{0, 1}, {1, 0}, {0, 1}}}});
  ASSERT_OK_AND_ASSIGN(const auto store, store_of(contents, temp / "graph"));
  ASSERT_OK_AND_ASSIGN(const auto graph, view_of(store));
  EXPECT_FALSE(graph.borrowed());
}

TEST(Adjacency, TypesFollowEachOther) {
  const TempDir temp;
  const auto contents =
      plain_contents({2, 0, 3}, {{0, 2, {{0, 0}, {1, 2}, {0, 2}}}, {2, 2, {{0, 1}}}});
  ASSERT_OK_AND_ASSIGN(const auto store, store_of(contents, temp / "graph"));

  ASSERT_OK_AND_ASSIGN(const auto graph, view_of(store));

  EXPECT_EQ(graph.vertices(), 5U);
  EXPECT_EQ(graph.types(), 3U);
  EXPECT_EQ(graph.first_vertex(2), 2U);
  EXPECT_EQ(neighbours_of(graph, 0), (Ids{2, 4}));
  EXPECT_EQ(neighbours_of(graph, 2), (Ids{0, 3}));
  EXPECT_EQ(neighbours_of(graph, 4), (Ids{0, 1}));
}

TEST(Adjacency, BlocksInAScratchFileGiveTheSameListsInTheSameOrder) {
  const TempDir temp;
  ASSERT_OK_AND_ASSIGN(const auto store,
                       store_of(random_graph(50, 400, 3).contents, temp / "graph"));
  InlineExecutor executor;
  ASSERT_OK_AND_ASSIGN(const auto memory, Adjacency::make(store, {}, executor));
  const auto bytes = memory.lists().size() * memory.lists().width_bytes();

  // one vertex, some vertices, nearly all, all in a block
  for (const std::uint64_t block : {std::uint64_t{0}, bytes / 7, bytes - 1, bytes}) {
    ASSERT_OK_AND_ASSIGN(
        const auto file,
        view_of(store, {.memory_bytes = 0, .scratch = temp.path(), .least_block_bytes = block}));

    ASSERT_EQ(file.entries(), memory.entries());
    EXPECT_TRUE(std::ranges::equal(file.offsets(), memory.offsets()));
    for (std::size_t i = 0; i < memory.lists().size(); ++i) {
      ASSERT_EQ(file.lists()[i], memory.lists()[i]) << "block of " << block << " at " << i;
    }
  }
  for (const auto& name : files_below(temp.path())) {
    EXPECT_EQ(name.find("scratch"), std::string::npos) << name;  // it has no name any more
  }
}

TEST(Adjacency, AllowedMemoryDecidesWhereListsLie) {
  const TempDir temp;
  ASSERT_OK_AND_ASSIGN(const auto store,
                       store_of(random_graph(50, 400, 3).contents, temp / "graph"));
  ASSERT_OK_AND_ASSIGN(const auto memory, view_of(store));
  const auto bytes = memory.lists().size() * memory.lists().width_bytes();

  EXPECT_OK(view_of(store, {.memory_bytes = 2 * bytes, .scratch = temp / "none"}));
  EXPECT_ERROR(view_of(store, {.memory_bytes = 2 * bytes - 2, .scratch = temp / "none"}),
               Errc::not_found, "none");
}

TEST(Adjacency, AGraphWithoutEdgesHasEmptyLists) {
  const TempDir temp;
  ASSERT_OK_AND_ASSIGN(const auto store, store_of(plain_contents({3}, {}), temp / "graph"));
  ASSERT_OK_AND_ASSIGN(const auto graph, view_of(store));
  EXPECT_EQ(graph.entries(), 0U);
  EXPECT_EQ(graph.degree(2), 0U);
}

}  // namespace
}  // namespace troupe
