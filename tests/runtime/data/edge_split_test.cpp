#include "runtime/data/edge_split.hpp"

#include "runtime/data/npy_import.hpp"
#include "runtime/data/triples_import.hpp"
#include "tests/runtime/data/import_fixture.hpp"
#include "tests/support/file_text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace troupe {
namespace {

using namespace testing;

using SplitEnds = std::pair<std::uint64_t, std::uint64_t>;

/// Random edges of one type: parallel ones, loops, some both ways.
RandomGraph edges_to_split() {
  auto graph = random_graph(100, 4000, 3);
  for (std::uint64_t i = 0; i < 500; ++i) {
    graph.sources.push_back(graph.destinations[i]);
    graph.destinations.push_back(graph.sources[i]);
  }
  return graph;
}

class EdgeSplitting : public ::testing::Test {
 protected:
  Result<GraphStore> written(const EdgeSplit& split, const EdgeTransforms& transforms = {},
                             std::size_t piece = 1000, const std::string& name = "store") {
    std::filesystem::remove_all(temp_ / name);
    StoreWriterOptions options;
    options.edge_split = split;
    TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(temp_ / name, options, executor_));
    TROUPE_ASSIGN_OR_RETURN(const auto node, writer.add_node_type({"node", 100, {}, {}}));
    NewEdgeType type{"edge", node, node, transforms};
    type.weights = true;
    type.times = !transforms.dedup;
    type.features = FeatureInfo{DType::f32, 1, 1};
    TROUPE_ASSIGN_OR_RETURN(const auto edge, writer.add_edge_type(type));
    const auto count = graph_.sources.size();
    for (std::size_t first = 0; first < count; first += piece) {
      const auto some = std::min(piece, count - first);
      std::vector<float> ids;
      std::vector<std::int64_t> times;
      for (auto i = first; i < first + some; ++i) {
        ids.push_back(static_cast<float>(i));
        times.push_back(static_cast<std::int64_t>(i));
      }
      TROUPE_RETURN_IF_ERROR(writer.add_edges(
          edge,
          {std::span(graph_.sources).subspan(first, some),
           std::span(graph_.destinations).subspan(first, some), ids,
           type.times ? std::span<const std::int64_t>(times) : std::span<const std::int64_t>()}));
      TROUPE_RETURN_IF_ERROR(writer.add_edge_features(edge, std::as_bytes(std::span(ids))));
    }
    TROUPE_RETURN_IF_ERROR(writer.finish());
    return GraphStore::open(temp_ / name, {});
  }

  static std::vector<SplitEnds> ends_of(const GraphStore& store, const std::string& role) {
    const auto links = store.links("", role);
    EXPECT_OK(links);
    std::vector<SplitEnds> ends;
    for (std::uint64_t i = 0; i < links->size(); ++i) {
      ends.emplace_back(raw(links->at(i).source), raw(links->at(i).destination));
    }
    return ends;
  }
  /// (source, destination) of the lists of a type, sorted.
  static std::vector<SplitEnds> edges_of(const GraphStore& store, std::size_t type = 0) {
    const auto& lists = store.graph()->edges[type].in;
    std::vector<SplitEnds> ends;
    for (std::uint64_t node = 0; node + 1 < lists.offsets.size(); ++node) {
      for (auto i = lists.offsets[node]; i < lists.offsets[node + 1]; ++i) {
        ends.emplace_back(raw(lists.neighbours[i]), node);
      }
    }
    std::ranges::sort(ends);
    return ends;
  }

  TempDir temp_;
  InlineExecutor executor_;
  RandomGraph graph_ = edges_to_split();
};

TEST_F(EdgeSplitting, EveryEdgeIsALinkOfOneRoleAndOnlyTrainingEdgesStay) {
  ASSERT_OK_AND_ASSIGN(const auto store, written({0.6, 0.1, 0.3}));

  const auto train = ends_of(store, "train");
  auto all = train;
  for (const auto* role : {"val", "test"}) {
    const auto more = ends_of(store, role);
    all.insert(all.end(), more.begin(), more.end());
  }
  std::vector<SplitEnds> given;
  for (std::size_t i = 0; i < graph_.sources.size(); ++i) {
    given.emplace_back(graph_.sources[i], graph_.destinations[i]);
  }
  std::ranges::sort(all);
  std::ranges::sort(given);
  EXPECT_EQ(all, given);
  EXPECT_EQ(edges_of(store), train);
  const auto edges = static_cast<double>(given.size());
  EXPECT_NEAR(static_cast<double>(train.size()) / edges, 0.6, 0.08);
  EXPECT_NEAR(static_cast<double>(ends_of(store, "test").size()) / edges, 0.3, 0.08);
}

TEST_F(EdgeSplitting, ParallelEdgesAndReversesHaveOneRole) {
  ASSERT_OK_AND_ASSIGN(const auto store, written({0.5, 0.25, 0.25}));

  std::map<SplitEnds, std::set<std::string>> roles;
  for (const std::string role : {"train", "val", "test"}) {
    for (const auto& [from, to] : ends_of(store, role)) {
      roles[std::minmax(from, to)].insert(role);
    }
  }
  for (const auto& [ends, of_pair] : roles) {
    EXPECT_EQ(of_pair.size(), 1U) << ends.first << " " << ends.second;
  }
}

TEST_F(EdgeSplitting, DataOfTheEdgesThatStayAndTimesOfLinksFollow) {
  ASSERT_OK_AND_ASSIGN(const auto store, written({0.5, 0.5, 0}));

  const auto& edges = store.graph()->edges[0];
  const auto features = edges.features->data.as<float>();
  for (std::size_t i = 0; i < edges.in.edge_ids.size(); ++i) {
    const auto id = edges.in.edge_ids[i];  // its place among the edges given
    EXPECT_EQ(graph_.sources[id], raw(edges.in.neighbours[i]));
    EXPECT_EQ(edges.in.weights[i], static_cast<float>(id));
    EXPECT_EQ(features[i], static_cast<float>(id));
  }
  ASSERT_OK_AND_ASSIGN(const auto val, store.links("", "val"));
  for (std::uint64_t i = 0; i < val.size(); ++i) {
    const auto id = static_cast<std::size_t>(val.times()[i]);
    EXPECT_EQ(graph_.sources[id], raw(val.at(i).source));
    EXPECT_EQ(graph_.destinations[id], raw(val.at(i).destination));
  }
  EXPECT_ERROR(store.links("", "test"), Errc::not_found, "\"train\", \"val\"");
}

TEST_F(EdgeSplitting, ReversesOfEdgesThatAreLeftOutAreLeftOutToo) {
  for (const auto& transforms :
       {EdgeTransforms{.symmetrize = true}, EdgeTransforms{.reverse_edges = true}}) {
    ASSERT_OK_AND_ASSIGN(const auto store, written({0.7, 0.1, 0.2}, transforms));
    auto expected = ends_of(store, "train");
    std::vector<SplitEnds> reversed;
    for (const auto& [from, to] : expected) {
      reversed.emplace_back(to, from);
    }
    std::ranges::sort(reversed);
    if (transforms.symmetrize) {
      expected.insert(expected.end(), reversed.begin(), reversed.end());
      std::ranges::sort(expected);
    } else {
      EXPECT_EQ(edges_of(store, 1), reversed);
    }
    EXPECT_EQ(edges_of(store), expected);
  }
}

TEST_F(EdgeSplitting, LinksAreOfTheEdgesThatTransformsKeep) {
  ASSERT_OK_AND_ASSIGN(const auto store,
                       written({0.6, 0.4, 0}, {.dedup = true, .drop_self_loops = true}));

  EXPECT_EQ(edges_of(store), ends_of(store, "train"));
  const auto val = ends_of(store, "val");
  EXPECT_EQ(std::set<SplitEnds>(val.begin(), val.end()).size(), val.size());
  EXPECT_TRUE(
      std::ranges::none_of(val, [](const auto& ends) { return ends.first == ends.second; }));
  EXPECT_FALSE(val.empty());
}

TEST_F(EdgeSplitting, ThePiecesDoNotMatterAndTheSeedDoes) {
  const EdgeSplit split{0.8, 0.1, 0.1};
  ASSERT_OK(written(split, {}, 1000, "a"));
  ASSERT_OK(written(split, {}, 77, "b"));
  auto other = split;
  other.seed = 1;
  ASSERT_OK(written(other, {}, 1000, "c"));

  const auto file = [&](const std::string& store, const std::string& name) {
    return testing::file_text(temp_ / store / name);
  };
  for (const auto& name : files_below(temp_ / "a")) {
    EXPECT_EQ(file("a", name), file("b", name)) << name;
  }
  EXPECT_NE(file("a", "splits/default.val.links.npy"), file("c", "splits/default.val.links.npy"));
}

TEST_F(EdgeSplitting, TimesDecideInPlaceOfShares) {
  EdgeSplit split;
  split.times = {2000, 3000};  // an edge's time is its place
  for (const bool symmetrize : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const auto store, written(split, {.symmetrize = symmetrize}));

    std::map<std::string, std::vector<std::int64_t>> times;
    for (const std::string role : {"train", "val", "test"}) {
      ASSERT_OK_AND_ASSIGN(const auto links, store.links("", role));
      times[role].assign(links.times().begin(), links.times().end());
      for (std::uint64_t i = 0; i < links.size(); ++i) {
        const auto id = static_cast<std::size_t>(links.times()[i]);
        EXPECT_EQ(graph_.sources[id], raw(links.at(i).source));
      }
    }
    EXPECT_EQ(times["train"].size(), 2000U);
    EXPECT_EQ(times["val"].size(), 1000U);
    EXPECT_EQ(times["test"].size(), graph_.sources.size() - 3000);
    EXPECT_EQ(*std::ranges::max_element(times["train"]), 1999);
    EXPECT_EQ(*std::ranges::min_element(times["val"]), 2000);
    EXPECT_EQ(*std::ranges::max_element(times["val"]), 2999);
    EXPECT_EQ(store.info().edge_types[0].count, symmetrize ? 4000U : 2000U);
    const auto& kept = store.graph()->edges[0].in.times;
    EXPECT_LT(*std::ranges::max_element(kept), 2000);
  }
}

TEST_F(EdgeSplitting, BetweenEqualTimesIsNoRole) {
  EdgeSplit split;
  split.times = {3000, 3000};
  ASSERT_OK_AND_ASSIGN(const auto store, written(split));
  EXPECT_EQ(ends_of(store, "train").size(), 3000U);
  EXPECT_EQ(ends_of(store, "test").size(), graph_.sources.size() - 3000);
  EXPECT_ERROR(store.links("", "val"), Errc::not_found, "\"test\", \"train\"");
}

TEST_F(EdgeSplitting, TimesThatCannotBeAreErrors) {
  EdgeSplit split;
  split.times = {3000, 2000};
  EXPECT_ERROR(written(split), Errc::invalid_argument,
               "expected the first time of val, then that of test, got 3000 and 2000");
  split.times = {2000, 3000};
  EXPECT_ERROR(written(split, {.dedup = true}), Errc::invalid_argument,
               "edge split by time: expected edges with times, got \"edge\" without");
  split.train = 1;
  EXPECT_ERROR(written(split), Errc::invalid_argument, "expected shares or times, got both");
}

TEST_F(EdgeSplitting, SharesThatCannotBeAreErrors) {
  for (const auto& split : {EdgeSplit{0.8, 0.1, 0.2}, EdgeSplit{1.1, -0.1, 0}, EdgeSplit{0, 0, 0},
                            EdgeSplit{std::nan(""), 0.5, 0.5}}) {
    EXPECT_ERROR(written(split), Errc::invalid_argument, "with the sum 1, got");
    EXPECT_FALSE(std::filesystem::exists(temp_ / "store"));
  }
  EXPECT_OK(check_edge_split({0.7, 0.2, 0.1}));
  EXPECT_OK(check_edge_split({1, 0, 0}));
  EXPECT_ERROR(written({0.5, 0.5, 0, "edges"}), Errc::invalid_argument,
               "expected the name of an edge type among edge, got \"edges\"");
}

TEST(EdgeRoles, AreDrawnInProportionAndOnlyAmongThoseThatAreUsed) {
  const stream_store::EdgeRoles roles({0.7, 0.2, 0.1}, false);
  const stream_store::EdgeRoles two({0.9, 0, 0.1}, false);
  const stream_store::EdgeRoles all({1, 0, 0}, false);
  std::array<int, 3> counts{};
  int differ = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    ++counts[roles.of(i % 300, i / 300)];
    differ += roles.of(i % 300, i / 300) != roles.of(i / 300, i % 300) ? 1 : 0;
    EXPECT_NE(two.of(i, i), 1);
    EXPECT_EQ(all.of(i, 7), 0);
  }
  EXPECT_NEAR(counts[0], 70'000, 700);
  EXPECT_NEAR(counts[1], 20'000, 700);
  EXPECT_NEAR(counts[2], 10'000, 700);
  EXPECT_GT(differ, 10'000) << "the ends are of different types";
  EXPECT_FALSE(two.used(1));
  EXPECT_TRUE(two.used(2));
  EXPECT_FALSE(all.used(2));
}

/// Two types are split at once: a link's label says whose edge it was.
TEST_F(EdgeSplitting, OfSeveralTypesHasTheirNumbersAsLabels) {
  const auto write = [&](const std::string& name, const EdgeSplit& split) -> Result<GraphStore> {
    StoreWriterOptions options;
    options.edge_split = split;
    TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(temp_ / name, options, executor_));
    TROUPE_ASSIGN_OR_RETURN(const auto node, writer.add_node_type({"node", 100, {}, {}}));
    TROUPE_ASSIGN_OR_RETURN(const auto thing, writer.add_node_type({"thing", 100, {}, {}}));
    TROUPE_ASSIGN_OR_RETURN(const auto knows, writer.add_edge_type({"knows", node, node, {}}));
    TROUPE_ASSIGN_OR_RETURN(const auto has, writer.add_edge_type({"has", node, thing, {}}));
    for (const auto& [type, first] : {std::pair{knows, 0U}, std::pair{has, 1000U}}) {
      TROUPE_RETURN_IF_ERROR(
          writer.add_edges(type, {std::span(graph_.sources).subspan(first, 1000),
                                  std::span(graph_.destinations).subspan(first, 1000)}));
    }
    TROUPE_RETURN_IF_ERROR(writer.finish());
    return GraphStore::open(temp_ / name, {});
  };
  EdgeSplit both{0.6, 0.2, 0.2, "has"};
  both.more_types = {"knows"};
  ASSERT_OK_AND_ASSIGN(const auto store, write("both", both));
  ASSERT_OK_AND_ASSIGN(const auto of_has, write("has", {0.6, 0.2, 0.2, "has"}));
  ASSERT_OK_AND_ASSIGN(const auto of_knows, write("knows", {0.6, 0.2, 0.2, "knows"}));
  EXPECT_EQ(edges_of(store, 0), edges_of(of_knows, 0));
  EXPECT_EQ(edges_of(store, 1), edges_of(of_has, 1));
  for (const char* role : {"train", "val", "test"}) {
    ASSERT_OK_AND_ASSIGN(const auto links, store.links("", role));
    std::array<std::vector<SplitEnds>, 2> by_type;
    for (std::uint64_t i = 0; i < links.size(); ++i) {
      by_type.at(static_cast<std::size_t>(links.labels()[i]))
          .emplace_back(raw(links.at(i).source), raw(links.at(i).destination));
    }
    EXPECT_EQ(by_type[0], ends_of(of_has, role));
    EXPECT_EQ(by_type[1], ends_of(of_knows, role));
    EXPECT_EQ(store.info().find_split("")->links.at(role).edge_types,
              (std::vector<EdgeTypeId>{EdgeTypeId{1}, EdgeTypeId{0}}));
  }
  both.more_types = {"has"};
  EXPECT_ERROR(write("twice", both), Errc::invalid_argument,
               "expected each edge type once, got \"has\" twice");
  both.more_types = {"likes"};
  EXPECT_ERROR(write("other", both), Errc::invalid_argument, "got \"likes\"");
}

TEST_F(EdgeSplitting, ImportersHandItToTheirStores) {
  const auto in = temp_ / "in";
  write_all(in / "train.txt", "a\tknows\tb\nb\tknows\tc\nc\tlikes\ta\n");
  ImportOptions options;
  options.writer.edge_split = EdgeSplit{0.5, 0.25, 0.25};
  const std::filesystem::path sources[] = {in};
  EXPECT_ERROR(import_triples(sources, temp_ / "out", {options, false}, executor_),
               Errc::invalid_argument, "among r0, r1, got none");
  EXPECT_ERROR(import_triples(sources, temp_ / "out", {options, true}, executor_),
               Errc::invalid_argument, "try: no edge split, as the data has links of its own");
  options.writer.edge_split->type = "r0";
  ASSERT_OK_AND_ASSIGN(const auto info,
                       import_triples(sources, temp_ / "out", {options, false}, executor_));
  std::uint64_t links = 0;
  for (const auto& role : info.splits.at(0).links) {
    EXPECT_EQ(role.second.edge_type, EdgeTypeId{0});
    links += role.second.count;
  }
  EXPECT_EQ(links, 2U);
  EXPECT_EQ(info.edge_types[0].count, info.splits[0].links.at("train").count);
  EXPECT_EQ(info.edge_types[1].count, 1U);
}

}  // namespace
}  // namespace troupe
