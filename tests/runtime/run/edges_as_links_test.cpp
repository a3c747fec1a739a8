#include "runtime/run/edges_as_links.hpp"

#include "runtime/base/buffer.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/partition/partitioner.hpp"
#include "runtime/run/job_seeds.hpp"
#include "tests/runtime/partition/partition_fixture.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <map>
#include <memory>

namespace troupe {
namespace {

using testing::EdgePairs;
using Nodes = std::map<std::uint64_t, NodeId>;  // global by original id

/// Edges between nodes of two types, some of them twice, few of them from most nodes and many from one.
EdgePairs drawn_edges(std::uint64_t count, std::uint64_t sources, std::uint64_t destinations,
                      std::uint64_t seed) {
  DrawStream draw(stream_key(seed, {.domain = Domain::generators}), 0);
  EdgePairs edges;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto source = i % 3 == 0 ? 2 : draw.below(static_cast<std::uint32_t>(sources));
    const auto destination = draw.below(static_cast<std::uint32_t>(destinations));
    edges.emplace_back(source, destination);
    if (i % 5 == 0) {
      edges.emplace_back(source, destination);
    }
  }
  return edges;
}

class EdgesAsLinks : public ::testing::Test {
 protected:
  void SetUp() override {
    edges_ = {{0, 1, drawn_edges(150, 17, 40, 1)},
              {1, 0, drawn_edges(60, 40, 17, 2)},
              {0, 0, {}},
              {1, 1, drawn_edges(200, 40, 40, 3)},
              {0, 2, {{16, 0}, {0, 0}, {16, 0}}}};
    ASSERT_OK(write_graph_store(testing::plain_contents(counts_, edges_), temp_ / "graph"));
  }

  Result<PartitionedStore> parts(const PartitionOptions& options) {
    TROUPE_ASSIGN_OR_RETURN(const auto graph, GraphStore::open(temp_ / "graph", {}));
    const auto folder = temp_ / ("parts-" + std::to_string(made_++));
    TROUPE_ASSIGN_OR_RETURN(const auto made, partition_store(graph, options, folder));
    static_cast<void>(made);
    return PartitionedStore::open(folder, {.verify = Verify::sizes});
  }
  static Nodes nodes_of(const PartitionedStore& store, std::uint16_t type) {
    Nodes nodes;
    for (std::uint32_t p = 0; p < store.partition().parts; ++p) {
      const auto part = store.load_lists(PartId{p});
      const auto& own = (*part)->nodes_of(NodeTypeId{type});
      for (std::uint64_t i = 0; i < own.count; ++i) {
        nodes[own.original_ids[i]] = advance(own.first, i);
      }
    }
    return nodes;
  }
  /// From the lists that the store was made of.
  std::vector<Link> expected(const PartitionedStore& store, std::size_t edge_type) const {
    auto [source, destination, edges] = edges_[edge_type];
    std::ranges::sort(edges);
    const auto sources = nodes_of(store, source);
    const auto destinations = nodes_of(store, destination);
    std::vector<Link> links;
    for (const auto& [from, to] : edges) {
      links.push_back({OriginalId{from}, OriginalId{to}, sources.at(from), destinations.at(to)});
    }
    return links;
  }
  static std::vector<Link> all(const LinkList& list) {
    std::vector<Link> links;
    for (std::uint64_t i = 0; i < list.size(); ++i) {
      links.push_back(list.at(i));
    }
    return links;
  }

  testing::TempDir temp_;
  std::vector<std::uint64_t> counts_{17, 40, 1};
  std::vector<testing::PlainEdgeType> edges_;
  int made_ = 0;
};

TEST_F(EdgesAsLinks, AreAllEdgesInOrderOfOriginalIdsHoweverTheStoreIsCut) {
  for (const auto complete : {CompleteFor::in, CompleteFor::out, CompleteFor::both}) {
    for (const std::uint32_t count : {1U, 4U}) {
      ASSERT_OK_AND_ASSIGN(const auto store,
                           parts({.parts = count, .seed = count, .complete_for = complete}));
      for (std::size_t type = 0; type < edges_.size(); ++type) {
        const std::vector types{static_cast<EdgeTypeId>(type)};
        ASSERT_OK_AND_ASSIGN(const auto links, edges_as_links(store, types));

        EXPECT_EQ(all(links), expected(store, type)) << type << " in " << count;
        EXPECT_EQ(links.edge_type(), types.front());
        EXPECT_TRUE(links.groups().empty());
      }
    }
  }
}

TEST_F(EdgesAsLinks, OfSeveralTypesComeTypeByType) {
  ASSERT_OK_AND_ASSIGN(const auto store, parts({.parts = 3, .seed = 5}));
  const std::vector types{EdgeTypeId{3}, EdgeTypeId{2}, EdgeTypeId{0}, EdgeTypeId{4}};
  ASSERT_OK_AND_ASSIGN(const auto links, edges_as_links(store, types));

  std::vector<Link> wanted;
  std::vector<LinkGroup> groups;
  for (const auto type : types) {
    const auto of_type = expected(store, raw(type));
    groups.push_back({type, wanted.size(), of_type.size()});
    wanted.insert(wanted.end(), of_type.begin(), of_type.end());
  }
  EXPECT_EQ(all(links), wanted);
  EXPECT_EQ(links.groups(), groups);
  EXPECT_EQ(all(links.slice(200, 150)),
            std::vector<Link>(wanted.begin() + 200, wanted.begin() + 350));
}

TEST_F(EdgesAsLinks, OfAJobAreCountedAndMadeWhenTheyAreAskedFor) {
  ASSERT_OK_AND_ASSIGN(const auto store, parts({.parts = 2, .seed = 6}));
  Job job;
  job.task.kind = "unsupervised";
  job.task.edges = "e3";
  job.task.more_edges = {"e0"};
  ASSERT_OK_AND_ASSIGN(const auto own, with_own_seeds(job, store));
  auto info = store.info();
  ASSERT_OK(count_own_seeds(job, info));

  const auto& counted = info.find_split("")->links.at("train");
  const auto& of_store = own.info().find_split("")->links.at("train");
  for (const auto* links : {&counted, &of_store}) {
    EXPECT_EQ(links->count, edges_[3].edges.size() + edges_[0].edges.size());
    EXPECT_EQ(links->edge_types, (std::vector{EdgeTypeId{3}, EdgeTypeId{0}}));
    EXPECT_EQ(links->relations, 2U);
    EXPECT_FALSE(links->has_labels);
  }
  ASSERT_OK_AND_ASSIGN(const auto links, own.links("", "train"));
  EXPECT_EQ(links.size(), counted.count);
  // Parts are read when somebody asks, and not before.
  std::filesystem::remove_all(store.dir() / "part-1");
  EXPECT_OK(with_own_seeds(job, store));
  EXPECT_ERROR(own.links("", "train"), Errc::not_found, "part-1/");
}

TEST_F(EdgesAsLinks, NodesAreLinkedToThemselves) {
  ASSERT_OK_AND_ASSIGN(const auto store, parts({.parts = 4, .seed = 7}));
  ASSERT_OK_AND_ASSIGN(const auto links, nodes_as_links(store, NodeTypeId{1}, EdgeTypeId{1}));

  ASSERT_EQ(links.size(), 40U);
  const auto nodes = nodes_of(store, 1);
  for (std::uint64_t id = 0; id < 40; ++id) {
    EXPECT_EQ(links.at(id), (Link{OriginalId{id}, OriginalId{id}, nodes.at(id), nodes.at(id)}));
  }
  EXPECT_EQ(links.pairs_of(), NodeTypeId{1});
  EXPECT_EQ(links.edge_type(), EdgeTypeId{1});
}

TEST(LinksInGroups, KeepTheirOrderAndTimesTypeByType) {
  const auto ends = Segment::of(std::vector<std::uint64_t>{0, 1, 0, 2, 1, 1, 3, 0, 3, 0});
  const auto times = Segment::of(std::vector<std::int64_t>{10, 11, 12, 13, 14});
  const auto labels = Segment::of(std::vector<float>{2, 0, 2, 0, 2});
  const LinkList links(EdgeTypeId{9}, ends.as<std::uint64_t>(), 2, times.as<std::int64_t>(),
                       labels.as<float>(), {ends.owner, times.owner, labels.owner});
  const std::vector types{EdgeTypeId{9}, EdgeTypeId{4}, EdgeTypeId{6}};

  const auto grouped = links_in_groups(links, types);

  EXPECT_EQ(grouped.groups(),
            (std::vector<LinkGroup>{
                {EdgeTypeId{9}, 0, 2}, {EdgeTypeId{4}, 2, 0}, {EdgeTypeId{6}, 2, 3}}));
  EXPECT_TRUE(grouped.labels().empty());
  const std::vector<std::uint64_t> from{1, 3, 0, 2, 4};
  ASSERT_EQ(grouped.size(), from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(grouped.at(i), links.at(from[i])) << i;
    EXPECT_EQ(grouped.times()[i], links.times()[from[i]]) << i;
  }
}

}  // namespace
}  // namespace troupe
