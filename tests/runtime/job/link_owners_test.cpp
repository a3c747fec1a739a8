#include "runtime/job/link_owners.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace troupe {
namespace {

/// Links [i, 10 + i] for i < 7.
LinkList links_of_owners() {
  std::vector<std::uint64_t> ends;
  for (std::uint64_t i = 0; i < 7; ++i) {
    ends.insert(ends.end(), {i, 10 + i});
  }
  const auto rows = Segment::of(std::move(ends));
  return LinkList(EdgeTypeId{1}, rows.as<std::uint64_t>(), 2, {}, {}, {rows.owner});
}

TEST(LinkOwners, AreTheNodesWhoseListsTheyAreIn) {
  GraphInfo graph;
  graph.node_types.resize(3);
  graph.edge_types.resize(2);
  graph.edge_types[0].source = NodeTypeId{0};
  graph.edge_types[0].destination = NodeTypeId{1};
  graph.edge_types[1].source = NodeTypeId{1};
  graph.edge_types[1].destination = NodeTypeId{0};
  // Two parts: of the types the first 4, 12 and 14 nodes are in part 0.
  const PartitionBook book({{{0, 4, 20}, {0, 12, 20}, {0, 14, 20}}});
  const auto all = links_of_owners().in_groups({{EdgeTypeId{0}, 0, 5}, {EdgeTypeId{1}, 5, 2}});
  const auto parts = [](const std::vector<std::uint32_t>& of) {
    std::vector<PartId> owners;
    std::ranges::transform(of, std::back_inserter(owners), [](auto p) { return PartId{p}; });
    return owners;
  };

  EXPECT_EQ(owners_of_links(all, graph, book, EdgeDir::in), parts({0, 0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(owners_of_links(all, graph, book, EdgeDir::out), parts({0, 0, 0, 0, 1, 0, 0}));
  const auto pairs = links_of_owners().as_pairs_of(NodeTypeId{2});
  EXPECT_EQ(owners_of_links(pairs, graph, book, EdgeDir::in), parts({0, 0, 0, 0, 1, 1, 1}))
      << "both ends are of the type";
}

}  // namespace
}  // namespace troupe
