#include "runtime/data/stream_store.hpp"

#include "runtime/graph/store.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"

#include <fmt/format.h>
#include <limits>

namespace troupe {
namespace {

using namespace testing;

using Ids = std::vector<std::uint64_t>;
using StoredFiles = std::map<std::string, std::string>;

StoredFiles stored(const std::filesystem::path& store) {
  StoredFiles files;
  for (const auto& file : files_below(store)) {
    files[file] = testing::file_text(store / file);
  }
  return files;
}

/// How the same graph is handed to the writer.
struct Way {
  std::uint64_t memory_bytes = 1U << 30;
  std::size_t threads = 1;
  std::size_t piece = 1000;  ///< edges and rows at a time
};

template <class T>
std::span<const T> piece_of(std::span<const T> all, std::size_t first, std::size_t size) {
  return all.subspan(first, std::min(size, all.size() - first));
}

Status write(const RandomGraph& graph, const EdgeTransforms& transforms, const Way& way,
             const std::filesystem::path& out) {
  ComputePool pool(way.threads);
  TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(out, {way.memory_bytes, {}}, pool));
  const auto& type = graph.contents.info.node_types[0];
  TROUPE_ASSIGN_OR_RETURN(
      const auto nodes, writer.add_node_type({type.name, type.count, type.features, type.labels}));
  TROUPE_ASSIGN_OR_RETURN(const auto edges,
                          writer.add_edge_type({"edge", nodes, nodes, transforms}));
  const std::span<const std::uint64_t> sources(graph.sources);
  const std::span<const std::uint64_t> destinations(graph.destinations);
  const auto& arrays = graph.contents.nodes[0];
  TROUPE_RETURN_IF_ERROR(
      writer.set_seeds("", "train", nodes, graph.contents.seeds.at({"", "train"})));
  for (std::size_t i = 0; i < sources.size(); i += way.piece) {
    TROUPE_RETURN_IF_ERROR(writer.add_edges(edges, piece_of(sources, i, way.piece),
                                            piece_of(destinations, i, way.piece)));
  }
  for (std::size_t i = 0; i < type.count; i += way.piece) {
    TROUPE_RETURN_IF_ERROR(
        writer.add_features(nodes, piece_of(arrays.features.bytes, 3 * i, 3 * way.piece)));
    TROUPE_RETURN_IF_ERROR(writer.add_labels(
        nodes, piece_of(std::span<const std::int64_t>(arrays.labels), i, way.piece)));
  }
  TROUPE_RETURN_IF_ERROR(writer.finish());
  return ok_status();
}

/// An edge with its id, as a transform leaves it.
struct Edge {
  std::uint64_t destination;
  std::uint64_t source;
  std::uint64_t id;
  friend auto operator<=>(const Edge&, const Edge&) = default;
};

std::vector<Edge> forward_edges(const RandomGraph& graph) {
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < graph.sources.size(); ++i) {
    edges.push_back({graph.destinations[i], graph.sources[i], i});
  }
  return edges;
}

std::vector<Edge> reversed_edges(const RandomGraph& graph) {
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < graph.sources.size(); ++i) {
    edges.push_back({graph.sources[i], graph.destinations[i], graph.sources.size() + i});
  }
  return edges;
}

void sort_and_dedup(std::vector<Edge>& edges) {
  std::ranges::sort(edges);
  const auto same = [](const Edge& a, const Edge& b) {
    return a.destination == b.destination && a.source == b.source;
  };
  edges.erase(std::unique(edges.begin(), edges.end(), same), edges.end());
}

ListArrays lists_of(std::vector<Edge> edges, std::uint64_t nodes) {
  std::ranges::sort(edges);
  ListArrays lists;
  lists.offsets.assign(nodes + 1, 0);
  for (const auto& edge : edges) {
    ++lists.offsets[edge.destination + 1];
    lists.neighbours.push_back(edge.source);
    lists.edge_ids.push_back(edge.id);
  }
  for (std::uint64_t i = 0; i < nodes; ++i) {
    lists.offsets[i + 1] += lists.offsets[i];
  }
  return lists;
}

/// What the writer of whole graphs makes of these edges.
StoredFiles expected_store(RandomGraph graph, const std::vector<std::vector<Edge>>& types,
                           std::uint64_t id_end, const std::filesystem::path& out) {
  auto& contents = graph.contents;
  contents.in_lists.clear();
  contents.info.edge_types.resize(types.size(), contents.info.edge_types[0]);
  for (std::size_t i = 0; i < types.size(); ++i) {
    contents.in_lists.push_back(lists_of(types[i], contents.info.node_types[0].count));
    auto& info = contents.info.edge_types[i];
    info.count = types[i].size();
    info.name = i == 0 ? "edge" : "rev_edge";
    const auto end = i == 0 ? id_end : 2 * graph.sources.size();
    info.edge_id_end = end == info.count ? 0 : end;
    info.edge_id_begin = i == 0 ? 0 : graph.sources.size();
  }
  EXPECT_OK(write_graph_store(contents, out));
  EXPECT_OK(GraphStore::open(out, {}));
  return stored(out);
}

class StreamStore : public ::testing::Test {
 protected:
  StoredFiles written(const RandomGraph& graph, const EdgeTransforms& transforms, const Way& way) {
    std::filesystem::remove_all(temp_ / "store");
    EXPECT_OK(write(graph, transforms, way, temp_ / "store"));
    EXPECT_OK(GraphStore::open(temp_ / "store", {}));
    return stored(temp_ / "store");
  }
  /// A writer of a type "node" of `count` nodes with edges "edge", for tests of errors.
  StoreWriter writer(std::optional<std::uint64_t> count, const EdgeTransforms& transforms = {}) {
    auto writer = *StoreWriter::create(temp_ / "store", {}, executor_);
    EXPECT_OK(writer.add_node_type({"node", count, {}, {}}));
    EXPECT_OK(writer.add_edge_type({"edge", node_type, node_type, transforms}));
    return writer;
  }

  TempDir temp_;
  InlineExecutor executor_;
  static constexpr NodeTypeId node_type{0};
  static constexpr EdgeTypeId edge_type{0};
};

TEST_F(StreamStore, EqualsTheStoreOfAWholeGraphWhateverMemoryThreadsAndPieces) {
  const auto graph = random_graph(500, 20'000, 1);
  ASSERT_OK(write_graph_store(graph.contents, temp_ / "whole"));
  const auto expected = stored(temp_ / "whole");

  for (const auto& way :
       {Way{}, Way{1U << 16, 1, 777}, Way{1U << 12, 3, 100'000}, Way{0, 2, 5000}}) {
    EXPECT_EQ(written(graph, {}, way), expected) << way.memory_bytes;
  }
}

TEST_F(StreamStore, EveryTransformEqualsThatOfAWholeGraph) {
  const auto graph = random_graph(60, 3000, 2);  // dense: many parallel edges and loops
  const auto edges = graph.sources.size();
  int number = 0;
  for (const bool symmetrize : {false, true}) {
    for (const bool dedup : {false, true}) {
      for (const bool drop : {false, true}) {
        auto expected = forward_edges(graph);
        if (symmetrize) {
          const auto reversed = reversed_edges(graph);
          expected.insert(expected.end(), reversed.begin(), reversed.end());
        }
        if (drop) {
          std::erase_if(expected, [](const Edge& e) { return e.source == e.destination; });
        }
        if (dedup) {
          sort_and_dedup(expected);
        }
        const auto whole = expected_store(graph, {expected}, symmetrize ? 2 * edges : edges,
                                          temp_ / std::to_string(number++));
        for (const auto& way : {Way{}, Way{1U << 13, 2, 300}}) {
          EXPECT_EQ(written(graph, {symmetrize, dedup, drop, false}, way), whole)
              << symmetrize << dedup << drop << way.memory_bytes;
        }
      }
    }
  }
}

TEST_F(StreamStore, ReverseEdgesAreATypeOfTheirOwn) {
  const auto graph = random_graph(80, 2000, 3);
  const auto whole = expected_store(graph, {forward_edges(graph), reversed_edges(graph)},
                                    graph.sources.size(), temp_ / "whole");
  EXPECT_EQ(written(graph, {.reverse_edges = true}, {}), whole);
  EXPECT_EQ(written(graph, {.reverse_edges = true}, {1U << 12, 2, 99}), whole);

  auto forward = forward_edges(graph);
  auto reversed = reversed_edges(graph);
  sort_and_dedup(forward);
  sort_and_dedup(reversed);
  const auto single =
      expected_store(graph, {forward, reversed}, graph.sources.size(), temp_ / "single");
  EXPECT_EQ(written(graph, {.dedup = true, .reverse_edges = true}, {1U << 12, 1, 1000}), single);
}

TEST_F(StreamStore, TypesOfDifferentSizesAndTargetsAreWritten) {
  auto writer = *StoreWriter::create(temp_ / "store", {.memory_bytes = 1000}, executor_);
  const auto users = *writer.add_node_type({"user", 3, {}, {}});
  const LabelInfo two_targets{LabelInfo::Kind::targets, 2};
  const auto items = *writer.add_node_type({"item", 2, FeatureInfo{DType::f16, 1}, two_targets});
  const auto buys = *writer.add_edge_type({"buys", users, items, {.reverse_edges = true}});
  ASSERT_OK(writer.add_edges(buys, Ids{2, 0, 2}, Ids{1, 1, 0}));
  const std::vector<float> targets{1, 0, std::numeric_limits<float>::quiet_NaN(), 1};
  ASSERT_OK(writer.add_targets(items, targets));
  ASSERT_OK(writer.add_features(items, std::as_bytes(std::span("\x00\x3C\x00\x00", 4))));
  ASSERT_OK(writer.set_seeds("a", "test", items, {1, 0, 1}));
  ASSERT_OK_AND_ASSIGN(const auto info, writer.finish());

  ASSERT_OK_AND_ASSIGN(const auto store, GraphStore::open(temp_ / "store", {}));
  EXPECT_EQ(info.edge_types[1].name, "rev_buys");
  EXPECT_EQ(info.edge_types[1].destination, users);
  const auto& edges = store.graph()->edges;
  EXPECT_TRUE(std::ranges::equal(edges[0].in.offsets, Ids{0, 1, 3}));
  EXPECT_TRUE(std::ranges::equal(edges[0].in.edge_ids, Ids{2, 1, 0}));
  EXPECT_TRUE(std::ranges::equal(edges[1].in.offsets, Ids{0, 1, 1, 3}));
  EXPECT_TRUE(std::ranges::equal(edges[1].in.edge_ids, Ids{4, 5, 3}));
  EXPECT_EQ(info.node_types[1].column_stats->mean, (std::vector<double>{0.5}));
  ASSERT_OK_AND_ASSIGN(const auto seeds, store.seeds("a", "test"));
  EXPECT_EQ(seeds.original, (std::vector<OriginalId>{OriginalId{0}, OriginalId{1}, OriginalId{1}}));
}

TEST_F(StreamStore, ANumberOfNodesThatIsNotStatedComesFromTheEdges) {
  auto counting = writer(std::nullopt);
  ASSERT_OK(counting.add_edges(edge_type, Ids{4}, Ids{9}));
  ASSERT_OK_AND_ASSIGN(const auto info, counting.finish());
  EXPECT_EQ(info.node_types[0].count, 10U);
  EXPECT_OK(GraphStore::open(temp_ / "store", {}));
}

TEST_F(StreamStore, MoreNodesThanThirtyTwoBitsHoldAreSortedByWholeIds) {
  TempDir other;  // destinations have few nodes: their lists are small, the sources' ids are not
  auto wide = *StoreWriter::create(other / "store", {.memory_bytes = 100}, executor_);
  const auto many = *wide.add_node_type({"many", std::uint64_t{1} << 40, {}, {}});
  const auto few = *wide.add_node_type({"few", 2, {}, {}});
  const auto edges = *wide.add_edge_type({"edge", many, few, {}});
  Ids sources;
  for (std::uint64_t i = 0; i < 50; ++i) {
    sources.push_back((std::uint64_t{1} << 40) - 1 - i);
  }
  ASSERT_OK(wide.add_edges(edges, sources, Ids(50, 1)));
  ASSERT_OK(wide.finish());
  ASSERT_OK_AND_ASSIGN(const auto ids, map_npy(other / "store/edges-edge/in/neighbours.npy"));
  std::ranges::sort(sources);
  EXPECT_TRUE(std::ranges::equal(ids.as<std::uint64_t>(), sources));
}

TEST_F(StreamStore, IdsPastTheCountAreNamedByTypeAndRow) {
  auto counted = writer(5);
  ASSERT_OK(counted.add_edges(edge_type, Ids{0, 1}, Ids{4, 4}));
  EXPECT_ERROR(counted.add_edges(edge_type, Ids{1, 5}, Ids{4, 9}), Errc::invalid_argument,
               "edge type edge: row 3: expected a source's id below 5, the number of nodes of type "
               "node, got 5");
  EXPECT_ERROR(counted.add_edges(edge_type, Ids{1}, Ids{~0ULL}), Errc::invalid_argument,
               "row 2: expected a destination's id");
  EXPECT_ERROR(counted.add_edges(edge_type, Ids{1}, Ids{}), Errc::invalid_argument,
               "as many sources");
  EXPECT_ERROR(counted.add_edges(EdgeTypeId{7}, Ids{1}, Ids{1}), Errc::invalid_argument, "got 7");
}

TEST_F(StreamStore, AnAbsurdIdWithoutACountIsAnError) {
  auto far = writer(std::nullopt);
  EXPECT_ERROR(far.add_edges(edge_type, Ids{1}, Ids{1ULL << 32}), Errc::invalid_argument,
               "not stated, got 4294967296");
  ASSERT_OK(far.add_edges(edge_type, Ids{1}, Ids{1ULL << 31}));
  EXPECT_ERROR(
      far.finish(), Errc::invalid_argument,
      "near the number of edges, 1, got 2147483648\ntry: state the number of nodes, or --ids text");
}

TEST_F(StreamStore, WhatNoDiskHoldsIsRefusedBeforeItIsWritten) {
  auto huge = writer(1ULL << 47);
  ASSERT_OK(huge.add_edges(edge_type, Ids{1}, Ids{2}));
  EXPECT_ERROR(huge.finish(), Errc::failed_precondition,
               "offsets.npy: expected 1125899906842632 bytes of free space");
  auto rows = *StoreWriter::create(temp_ / "rows", {}, executor_);
  EXPECT_ERROR(rows.add_node_type({"node", 1ULL << 44, FeatureInfo{DType::u8, 16}, {}}),
               Errc::failed_precondition, "features.npy: expected 281474976710656 bytes");
}

TEST_F(StreamStore, FeaturesOfEdgesWithoutAreErrors) {
  auto bare = writer(5);
  EXPECT_ERROR(bare.add_edge_features(edge_type, {}), Errc::invalid_argument,
               "expected an edge type with features, got edge");
}

TEST_F(StreamStore, RowsThatDoNotFitAreErrors) {
  auto rows = *StoreWriter::create(temp_ / "store", {}, executor_);
  const LabelInfo classes{LabelInfo::Kind::classes, 3};
  const auto node = *rows.add_node_type({"node", 2, FeatureInfo{DType::f32, 1}, classes});
  const std::vector<float> three{1, 2, 3};
  EXPECT_ERROR(rows.add_features(node, std::as_bytes(std::span(three))), Errc::invalid_argument,
               "nodes-node/features.npy: expected 2 rows, one per node of type node, got 3");
  EXPECT_ERROR(rows.add_features(node, std::as_bytes(std::span(three)).first(5)),
               Errc::invalid_argument, "row 0: expected whole rows of 4 bytes, got 5");
  EXPECT_ERROR(rows.add_labels(node_type, std::vector<std::int64_t>{2, 3}), Errc::invalid_argument,
               "labels.npy: row 1: expected a label from -1 (none) to 2, got 3");
  EXPECT_ERROR(rows.add_targets(node_type, three), Errc::invalid_argument,
               "node type with targets");
  ASSERT_OK(rows.add_features(node_type, std::as_bytes(std::span(three)).first(4)));
  EXPECT_ERROR(rows.finish(), Errc::invalid_argument, "expected 2 rows, one per node of type node");
}

TEST_F(StreamStore, TypesThatCannotBeAreErrors) {
  auto types = writer(5);
  const auto other = *types.add_node_type({"other", 5, {}, {}});
  const auto code = Errc::invalid_argument;
  EXPECT_ERROR(types.add_node_type({"node", 5, {}, {}}), code, "there already");
  EXPECT_ERROR(types.add_node_type({"a b", 5, {}, {}}), code, "\"a b\"");
  EXPECT_ERROR(types.add_node_type({"c", {}, FeatureInfo{}, {}}), code, "a count beside");
  EXPECT_ERROR(types.add_node_type({"c", 5, FeatureInfo{DType::f64, 2}, {}}), code, "f64");
  EXPECT_ERROR(types.add_node_type({"c", 1ULL << 60, {}, {}}), code, "a count of at most");
  EXPECT_ERROR(types.add_edge_type({"edge", node_type, node_type, {}}), code, "there already");
  EXPECT_ERROR(types.add_edge_type({"x", node_type, NodeTypeId{9}, {}}), code, "got 0 and 9");
  EXPECT_ERROR(types.add_edge_type({"x", node_type, other, {.symmetrize = true}}), code,
               "try: reverse_edges");
  EXPECT_ERROR(
      types.add_edge_type({"x", node_type, node_type, {.symmetrize = true, .reverse_edges = true}}),
      code, "got both");
  ASSERT_OK(types.add_edges(edge_type, Ids{1}, Ids{2}));
  EXPECT_ERROR(types.add_node_type({"late", 5, {}, {}}), Errc::failed_precondition, "before");
}

TEST_F(StreamStore, FeaturesTooWideForTheStoresDescriptionAreErrors) {
  constexpr std::uint64_t widest = std::uint64_t{1} << 20;
  ASSERT_OK_AND_ASSIGN(auto writer, StoreWriter::create(temp_ / "wide", {}, executor_));
  EXPECT_ERROR(writer.add_node_type({"wide", 1, FeatureInfo{DType::u8, widest + 1, 1.0F}, {}}),
               Errc::invalid_argument, "expected 1 to 1048576 features");

  const std::vector<std::byte> row(widest);
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK_AND_ASSIGN(
        const auto type,
        writer.add_node_type(
            {fmt::format("wide{}", i), 1, FeatureInfo{DType::u8, widest, 1.0F}, {}}));
    ASSERT_OK(writer.add_features(type, row));
  }

  EXPECT_ERROR(writer.finish(), Errc::invalid_argument,
               "at most 4194304 columns of all node types together, got 5242880");
}

TEST_F(StreamStore, SeedsThatCannotBeAreErrors) {
  auto seeds = writer(5);
  EXPECT_ERROR(seeds.set_seeds("default", "train", node_type, {}), Errc::invalid_argument,
               "default");
  EXPECT_ERROR(seeds.set_seeds("", "dev", node_type, {}), Errc::invalid_argument, "dev");
  EXPECT_ERROR(seeds.set_seeds("", "val", node_type, {4, 5}), Errc::invalid_argument,
               "role val: row 1: expected a node of type node below 5, got 5");
  ASSERT_OK(seeds.set_seeds("", "val", node_type, {4}));
  EXPECT_ERROR(seeds.set_seeds("", "val", node_type, {}), Errc::invalid_argument, "twice");
}

TEST_F(StreamStore, SeedsPastTheLargestNodeOfAnEdgeAreErrors) {
  auto seeds = writer(std::nullopt);
  ASSERT_OK(seeds.set_seeds("", "val", node_type, {4, 5}));
  ASSERT_OK(seeds.add_edges(edge_type, Ids{1}, Ids{4}));
  EXPECT_ERROR(seeds.finish(), Errc::invalid_argument,
               "role val: row 1: expected a node of type node below 5, got 5");
}

TEST_F(StreamStore, FurtherFilesAreListedWithTheirChecksums) {
  auto further = writer(1);
  const std::vector<std::string> pieces{"a", "\n"};
  ASSERT_OK(further.add_file("nodes-node/names.txt", pieces));
  EXPECT_ERROR(further.add_file("../x", {}), Errc::invalid_argument, "../x");
  for (const auto* own : {"graph.json", "splits/x.txt", "edges-edge/in/x.npy", "part-0/x",
                          "nodes-node/labels.npy", "nodes-node", "nodes-node/names.txt"}) {
    EXPECT_ERROR(further.add_file(own, pieces), Errc::invalid_argument,
                 fmt::format("file \"{}\": expected a path that no other file", own));
  }
  ASSERT_OK_AND_ASSIGN(const auto info, further.finish());
  EXPECT_EQ(info.files.back().path, "nodes-node/names.txt");
  EXPECT_EQ(info.files.back().bytes, 2U);
  EXPECT_EQ(testing::file_text(temp_ / "store/nodes-node/names.txt"), "a\n");
}

TEST_F(StreamStore, CallsAfterTheEndAreErrors) {
  const std::vector<std::string> pieces{"a"};
  for (const std::uint64_t seed : {9U, 1U}) {
    auto ended = writer(std::nullopt);
    ASSERT_OK(ended.add_edges(edge_type, Ids{1}, Ids{2}));
    ASSERT_OK(ended.set_seeds("", "train", node_type, {seed}));
    EXPECT_EQ(ended.finish().ok(), seed < 3);

    for (const auto& status :
         {ended.add_edges(edge_type, Ids{1}, Ids{2}), ended.set_seeds("", "val", node_type, {1}),
          ended.add_file("x", pieces), Status(ended.add_node_type({"other", 1, {}, {}}).error()),
          Status(ended.finish().error())}) {
      EXPECT_ERROR(status, Errc::failed_precondition, "expected no call after finish()");
    }
  }
}

TEST_F(StreamStore, WhatIsDroppedOrFailsLeavesNothing) {
  {
    auto dropped = writer(5);
    ASSERT_OK(dropped.add_edges(edge_type, Ids{1}, Ids{2}));
  }
  EXPECT_TRUE(std::filesystem::is_empty(temp_.path()));
  write_all(temp_ / "store", "");
  EXPECT_ERROR(StoreWriter::create(temp_ / "store", {}, executor_), Errc::failed_precondition,
               "exists");
}

TEST_F(StreamStore, ProgressSaysStageAndHowMuch) {
  std::vector<std::string> stages;
  std::uint64_t last = 0;
  const auto report = [&](const ImportProgress& progress) {
    stages.emplace_back(progress.stage);
    last = progress.done;
    EXPECT_EQ(progress.total, 2U);
  };
  auto reported = *StoreWriter::create(temp_ / "store", {1000, report}, executor_);
  EXPECT_OK(reported.add_node_type({"node", 5, {}, {}}));
  EXPECT_OK(reported.add_edge_type({"edge", node_type, node_type, {}}));
  ASSERT_OK(reported.add_edges(edge_type, Ids{1, 2}, Ids{2, 2}));
  ASSERT_OK(reported.finish());
  EXPECT_EQ(stages.back(), "writing lists of edge");
  EXPECT_EQ(last, 2U);
}

}  // namespace
}  // namespace troupe
