// Bad input that other systems crash on, hang on or silently accept, with Troupe's answer, at the
// level of classes. The same cases through the program are in program_test.cpp.
#include "runtime/graph/store.hpp"
#include "runtime/partition/partitioner.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/runtime/sample/drive.hpp"
#include "tests/support/one_section.hpp"

#include <numeric>
#include <set>

namespace troupe {
namespace {

using testing::cut_graph;
using testing::CutGraph;
using testing::drive;
using testing::drive_plain;
using testing::fanouts;

/// Node i of `nodes` has in-edges from the `degree` nodes behind it on a ring.
testing::TestGraph ring(std::uint64_t nodes, std::uint64_t degree) {
  std::vector<testing::TestEdge> edges;
  for (std::uint64_t i = 0; i < nodes; ++i) {
    for (std::uint64_t k = 1; k <= degree; ++k) {
      edges.push_back({(i + k) % nodes, i});
    }
  }
  return testing::plain_graph(nodes, std::move(edges));
}

TEST(WhatPeersDo, AFrontierOfOverAMillionNodesIsSampledWhole) {
  constexpr std::uint64_t nodes = 1'100'000;
  const CutGraph cut = cut_graph(ring(nodes, 2), 1);
  HopRequest request = testing::one_hop_request();
  request.sections[0].fanout = 1;
  for (std::uint64_t i = 0; i < nodes; ++i) {
    request.frontiers[0].nodes.push_back(static_cast<NodeId>(i));
  }

  ASSERT_OK_AND_ASSIGN(const auto reply, sample_one_hop(*cut.parts[0], request));

  EXPECT_EQ(reply.counts.size(), nodes);
  const auto neighbors = testing::neighbors_of(reply);
  ASSERT_EQ(neighbors.size(), nodes);
  for (std::uint64_t i = 0; i < nodes; i += 9'973) {
    const auto behind =
        (cut.original(NodeId{neighbors[i]}) + nodes - cut.original(request.frontiers[0].nodes[i])) %
        nodes;
    EXPECT_TRUE(behind == 1 || behind == 2) << i;
  }
}

TEST(WhatPeersDo, ABatchOfTwoMillionSeedsOfAThousandNodesHasEachNodeOnce) {
  const CutGraph cut = cut_graph(ring(1000, 5), 2);
  std::vector<std::uint64_t> seeds(2'000'000);
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    seeds[i] = i * 7919 % 1000;
  }

  const auto batch = drive(cut, fanouts({3}), {}, seeds);

  EXPECT_EQ(batch.seed_index.size(), seeds.size());
  EXPECT_EQ(batch.nodes[0].hop_end.front(), 1000U);
  EXPECT_EQ(batch.num_edges(), 3000U);
}

TEST(WhatPeersDo, TheSameSeedsTwiceGiveTheSameSample) {
  const CutGraph cut = cut_graph(testing::skewed_graph(500, 20), 3);
  const std::vector<std::uint64_t> seeds{1, 2, 3, 499, 2};

  const auto first = drive_plain(cut, fanouts({5, 5}), {}, seeds);
  const auto other = drive_plain(cut, fanouts({5, 5}), {.number = 1}, seeds);
  const auto again = drive_plain(cut, fanouts({5, 5}), {}, seeds);

  EXPECT_EQ(first, again);
  EXPECT_NE(first, other) << "another batch of the same seeds draws anew";
}

TEST(WhatPeersDo, NarrowIdsLoseNoNeighboursInAnyBatch) {
  const auto graph = testing::skewed_graph(300, 10);
  const CutGraph narrow = cut_graph(graph, 2, false);
  const CutGraph wide = cut_graph(graph, 2, true);
  for (std::uint64_t number = 0; number < 20; ++number) {
    const BatchKey key{.epoch = 1, .number = number};
    const auto options = fanouts({all_neighbours, 3});
    const std::vector<std::uint64_t> seeds{number, 1, 299 - number};
    const auto expected = testing::ReferenceSampler(graph, options, key).sample(seeds);
    EXPECT_EQ(drive_plain(narrow, options, key, seeds), expected) << number;
    EXPECT_EQ(drive_plain(wide, options, key, seeds), expected) << number;
  }
}

TEST(WhatPeersDo, ListsThatAreNotWholeAreNotSampled) {
  // Assigned by source, a part has only some of a node's in-edges: GLT samples what is there.
  testing::TempDir dir;
  ASSERT_OK(write_graph_store(testing::random_graph(60, 200, 9).contents, dir / "graph"));
  ASSERT_OK_AND_ASSIGN(const auto graph, GraphStore::open(dir / "graph", {}));
  ASSERT_OK(partition_store(graph, {"random", 2, 1, CompleteFor::out}, dir / "parts"));
  ASSERT_OK_AND_ASSIGN(const auto store, PartitionedStore::open(dir / "parts", {}));
  ASSERT_OK_AND_ASSIGN(const auto part, store.load_part(PartId{0}));
  HopRequest request = testing::one_hop_request();
  request.sections[0].fanout = 5;
  request.frontiers[0].nodes = {part->nodes[0].first};

  EXPECT_ERROR(sample_one_hop(*part, request), Errc::failed_precondition,
               "no whole lists for direction in");
  request.dir = EdgeDir::out;
  EXPECT_OK(sample_one_hop(*part, request));
}

TEST(WhatPeersDo, AHalfCompleteListStoredAnywayIsNotSampledEither) {
  const CutGraph cut = cut_graph(ring(10, 2), 2);
  Part part = *cut.parts[0];  // holds lists of both directions
  part.complete_for = CompleteFor::out;
  HopRequest request = testing::one_hop_request();
  request.frontiers[0].nodes = {part.nodes[0].first};

  EXPECT_ERROR(sample_one_hop(part, request), Errc::failed_precondition, "direction in");
}

TEST(WhatPeersDo, TheCutOfARandomPartitionIsCountedRight) {
  testing::TempDir dir;
  const auto graph_arrays = testing::random_graph(200, 1000, 4);
  ASSERT_OK(write_graph_store(graph_arrays.contents, dir / "graph"));
  ASSERT_OK_AND_ASSIGN(const auto graph, GraphStore::open(dir / "graph", {}));
  ASSERT_OK_AND_ASSIGN(const auto info,
                       partition_store(graph, {"random", 4, 7, CompleteFor::in}, dir / "parts"));
  ASSERT_OK_AND_ASSIGN(const auto store, PartitionedStore::open(dir / "parts", {}));
  std::vector<std::uint32_t> part_of(200);
  for (std::uint32_t p = 0; p < 4; ++p) {
    ASSERT_OK_AND_ASSIGN(const auto part, store.load_part(static_cast<PartId>(p)));
    for (const auto original : part->nodes[0].original_ids) {
      part_of[original] = p;
    }
  }
  std::uint64_t cut = 0;
  for (std::size_t e = 0; e < graph_arrays.sources.size(); ++e) {
    cut += part_of[graph_arrays.sources[e]] != part_of[graph_arrays.destinations[e]] ? 1U : 0U;
  }

  EXPECT_EQ(info.cut_edges, cut);
  EXPECT_EQ(store.partition().cut_edges, cut);
  EXPECT_GT(cut, 500U) << "three of four edges of a random partition, less the loops";
}

TEST(WhatPeersDo, OddFanoutsAndEmptyBatchesAreWhatTheySay) {
  const CutGraph cut = cut_graph(ring(50, 4), 2);

  const auto none = drive(cut, fanouts({0, 5}), {}, {1, 2, 3});
  EXPECT_EQ(none.num_edges(), 0U);
  EXPECT_EQ(none.num_nodes(), 3U);
  const auto empty = drive(cut, fanouts({5, 5}), {}, {});
  EXPECT_EQ(empty.num_nodes(), 0U);
  const auto repeated = drive(cut, fanouts({2}), {}, {1, 1, 2});
  EXPECT_EQ(repeated.seed_index, (std::vector<std::uint32_t>{0, 0, 1}));
  HopRequest request = testing::one_hop_request();
  request.sections[0].fanout = -5;
  EXPECT_ERROR(sample_one_hop(*cut.parts[0], request), Errc::invalid_argument, "got -5");
}

TEST(WhatPeersDo, WithoutReplacementNoNeighbourComesTwice) {
  const CutGraph cut = cut_graph(ring(1000, 30), 2);
  std::vector<std::uint64_t> seeds(200);
  std::iota(seeds.begin(), seeds.end(), std::uint64_t{0});

  const auto batch = drive(cut, fanouts({20}), {}, seeds);

  const auto& edges = batch.edges[0];
  ASSERT_EQ(edges.sources.size(), 4000U);
  for (std::size_t row = 0; row + 1 < edges.offsets.size(); ++row) {
    const std::set<std::uint32_t> distinct(edges.sources.begin() + edges.offsets[row],
                                           edges.sources.begin() + edges.offsets[row + 1]);
    EXPECT_EQ(distinct.size(), 20U) << row;
  }
}

}  // namespace
}  // namespace troupe
