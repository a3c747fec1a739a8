// Features of the sampled edges: rows that come by entry number, against the edge list.
#include "tests/runtime/feature/collect.hpp"
#include "tests/runtime/feature/hostile_replies.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe {
namespace {

using testing::Answers;
using testing::collect;
using testing::collect_with_edges;
using testing::cut_graph;
using testing::CutGraph;
using testing::drive;

const std::vector<std::uint64_t> edge_seeds = {3, 14, 3, 0, 27, 39};
constexpr BatchKey edge_key{.epoch = 1, .number = 5};

/// Papers that cite papers and that authors write; the reverse of writing has no features.
testing::TestGraph graph_with_edge_features() {
  auto graph = testing::papers_and_authors();
  testing::add_features(graph.nodes[0], 3);
  for (auto& type : graph.edges) {
    testing::add_weights(type);
  }
  testing::add_times(graph.edges[1]);
  testing::add_edge_features(graph.edges[0], 5);
  testing::add_edge_features(graph.edges[1], 1);
  return graph;
}

/// A way of sampling.
struct EdgeFeatureWay {
  const char* name = "";
  EdgeDir dir = EdgeDir::in;
  bool replace = false;
  Frontier frontier = Frontier::fresh;
  bool disjoint = false;
  const char* choice = "uniform";
  bool timed = false;
  std::vector<std::vector<std::int32_t>> fanout = {{3, 2, 2}, {2, 4, 3}, {2, 2, 2}};
};

SampleOptions options_of_way(const EdgeFeatureWay& way) {
  SampleOptions options;
  options.fanout = way.fanout;
  options.choice = place_of_kind(choice_kinds(), way.choice);
  options.replace = way.replace;
  options.edge_data = {.edge_ids = true, .entries = true};
  options.dir = way.dir;
  options.frontier = way.frontier;
  options.disjoint = way.disjoint || way.timed;
  if (way.timed) {
    options.time.emplace();
    options.seed_time = std::int64_t{6} << 33;
  }
  options.job_seed = 42;
  return options;
}

std::vector<EdgeFeatureWay> ways_of_sampling() {
  std::vector<EdgeFeatureWay> ways = {
      {.name = "plain"},
      {.name = "replace", .replace = true},
      {.name = "all so far", .frontier = Frontier::all},
      {.name = "disjoint", .disjoint = true},
      {.name = "disjoint, all so far", .frontier = Frontier::all, .disjoint = true},
      {.name = "weighted", .choice = "weighted"},
      {.name = "weighted, replace", .replace = true, .choice = "weighted"},
      {.name = "timed", .timed = true},
      {.name = "whole lists", .fanout = {{all_neighbours, 2, 0}, {0, all_neighbours, 3}}},
      {.name = "not every hop", .fanout = {{0, 2, 1}, {2, 0, 1}, {0, 0, 1}}}};
  const auto in = ways.size();
  for (std::size_t i = 0; i < in; ++i) {
    ways.push_back(ways[i]);
    ways.back().dir = EdgeDir::out;
  }
  return ways;
}

CutGraph cut_for(const testing::TestGraph& graph, std::uint32_t parts, const EdgeFeatureWay& way) {
  auto cut = cut_graph(graph, parts);
  if (way.dir == EdgeDir::out) {
    testing::keep_out_lists(cut, graph);
  }
  testing::add_alias_tables(cut, way.dir);
  return cut;
}

/// Each edge has the row of its original id.
void expect_rows_of_edges(const Batch& batch, const testing::TestGraph& graph) {
  ASSERT_EQ(batch.edge_features.size(), graph.edges.size());
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    const auto& edges = batch.sampled->edges[e];
    const auto& type = graph.edges[e];
    const auto rows = batch.edge_features[e].view();
    ASSERT_EQ(rows.cols, type.cols);
    ASSERT_EQ(rows.rows, type.cols == 0 ? 0 : edges.sources.size());
    for (std::size_t i = 0; i < rows.rows; ++i) {
      const auto* expected = type.features.data() + raw(edges.edge_ids[i]) * type.cols;
      EXPECT_TRUE(std::equal(rows.row(i).begin(), rows.row(i).end(), expected)) << i;
    }
  }
}

TEST(EdgeFeatures, AreThoseOfTheEdgeListWhateverTheWayAndThePartitioning) {
  const auto graph = graph_with_edge_features();
  std::uint64_t rows = 0;
  for (const auto& way : ways_of_sampling()) {
    auto options = options_of_way(way);
    const auto reference =
        testing::ReferenceSampler(graph, options, edge_key).sample(edge_seeds, 0);
    std::optional<Digest> digest;
    for (const std::uint32_t parts : {1U, 2U, 5U}) {
      SCOPED_TRACE(fmt::format("{} {}, {} parts", way.name, to_string(way.dir), parts));
      options.max_edges_per_reply = parts == 5 ? 7 : ~std::uint64_t{0};
      const auto cut = cut_for(graph, parts, way);
      for (const auto answers : {Answers::replies, Answers::parts}) {
        const Batch batch = collect(
            cut, collect_with_edges(cut),
            drive(cut, options, edge_key, edge_seeds, 0, testing::Arrival::shuffled), answers);
        EXPECT_EQ(testing::plain(*batch.sampled, cut), reference);
        expect_rows_of_edges(batch, graph);
        const auto its = digest_batch(batch, DigestMode::full);
        EXPECT_EQ(digest.value_or(its), its);
        digest = its;
        rows += batch.edge_features[0].rows();
      }
    }
  }
  EXPECT_GT(rows, 1000U);
}

TEST(EdgeFeatures, BatchesOfOneTypeWithoutNodeFeaturesHaveThem) {
  auto graph = testing::skewed_graph(60, 6);
  testing::add_edge_features(graph.edges[0], 2);
  auto options = testing::fanouts({4, 3});
  options.edge_data.entries = true;
  for (const std::uint32_t parts : {1U, 3U}) {
    const auto cut = cut_graph(graph, parts);
    auto wanted = collect_with_edges(cut);
    wanted->with_labels = false;
    wanted->with_original_ids = false;
    wanted->digest = DigestMode::off;
    expect_rows_of_edges(
        collect(cut, wanted, drive(cut, options, edge_key, {5, 1, 20}), Answers::replies), graph);
    EXPECT_EQ(collect(cut, wanted, drive(cut, options, edge_key, {})).edge_features[0].cols(), 2U);
  }
}

TEST(EdgeFeatures, EachPartIsAskedOnceForNodesAndEdges) {
  const auto graph = graph_with_edge_features();
  const auto cut = cut_graph(graph, 3);
  const auto sampled =
      std::make_shared<const SampledBatch>(drive(cut, options_of_way({}), edge_key, edge_seeds, 0));

  const RowCollection collection(*cut.book, collect_with_edges(cut), sampled);

  std::set<PartId> parts;
  std::vector<std::uint64_t> rows(graph.edges.size());
  for (const auto& question : collection.questions()) {
    EXPECT_TRUE(parts.insert(question.part).second);
    EXPECT_TRUE(std::ranges::is_sorted(question.request.tables, {}, &TableSection::table));
    for (const auto& table : question.request.tables) {
      rows[table.table.type] += table.rows.size();
      EXPECT_EQ(table.row_bytes, graph.edges[table.table.type].cols * sizeof(float));
    }
  }
  EXPECT_EQ(rows, (std::vector<std::uint64_t>{sampled->edges[0].sources.size(),
                                              sampled->edges[1].sources.size(), 0}));
}

TEST(EdgeFeatures, ComeOnlyWhereAskedFor) {
  const auto graph = graph_with_edge_features();
  const auto cut = cut_graph(graph, 2);
  const auto sampled = drive(cut, options_of_way({}), edge_key, edge_seeds, 0);
  auto wanted = collect_with_edges(cut);
  wanted->edge_decoders[1] = {};
  const Batch one = collect(cut, wanted, sampled);
  EXPECT_EQ(one.edge_features[0].rows(), sampled.edges[0].sources.size());
  EXPECT_EQ(one.edge_features[1].cols(), 0U);

  wanted = collect_with_edges(cut);
  wanted->seeds_only = true;
  wanted->digest = DigestMode::off;
  EXPECT_TRUE(collect(cut, wanted, sampled).edge_features.empty());
  wanted = collect_with_edges(cut);
  wanted->edge_decoders.clear();
  EXPECT_TRUE(collect(cut, wanted, sampled).edge_features.empty());
}

Digest digest_with_features(const testing::TestGraph& graph, bool with_features, DigestMode mode) {
  const auto cut = cut_graph(graph, 2);
  auto options = options_of_way({});
  options.edge_data.entries = with_features;
  auto wanted = collect_with_edges(cut);
  if (!with_features) {
    wanted->edge_decoders.clear();
  }
  wanted->digest = mode;
  wanted->digest_here = true;
  const Batch batch = collect(cut, wanted, drive(cut, options, edge_key, edge_seeds, 0));
  EXPECT_EQ(batch.digest.value, digest_batch(batch, mode));
  return batch.digest.value;
}

TEST(EdgeFeatures, FullDigestsCoverThemAndIdsDoNot) {
  const auto graph = graph_with_edge_features();
  auto other = graph;
  for (float& number : other.edges[1].features) {
    number += 1;
  }
  EXPECT_NE(digest_with_features(graph, true, DigestMode::full),
            digest_with_features(other, true, DigestMode::full));
  EXPECT_NE(digest_with_features(graph, true, DigestMode::full),
            digest_with_features(graph, false, DigestMode::full));
  EXPECT_EQ(digest_with_features(graph, true, DigestMode::ids),
            digest_with_features(graph, false, DigestMode::ids));
  EXPECT_EQ(digest_with_features(graph, false, DigestMode::full),
            digest_with_features(other, false, DigestMode::full));
}

/// One collection over two parts, along one edge type with features, and its correct replies.
class HostileEdgeRows : public testing::HostileReplies {
 protected:
  HostileEdgeRows()
      : HostileReplies(cut_graph(graph_with_edge_features(), 2), collect_with_edges,
                       [](const CutGraph& cut) {
                         return drive(cut, options_of_way({}), edge_key, edge_seeds, 0);
                       }) {}
};

TEST_F(HostileEdgeRows, SizesThatDoNotFitTheRequestAreRefused) {
  expect_corrupt("expected 2 tables, got 1", [](RowReply& reply) {
    ASSERT_OK_AND_ASSIGN(const auto tables, tables_of(reply));
    const auto* end = tables[0].rows.data() + tables[0].rows.size();
    reply.rows.bytes = {reply.rows.bytes.data(), end};
    reply.tables.pop_back();
  });
  expect_corrupt("expected 2 tables, got 3", [](RowReply& reply) {
    reply.tables.push_back({0, 20});
  });
  expect_corrupt("rows of 4 bytes or more", [](RowReply& reply) { ++reply.tables[1].rows; });
  expect_corrupt("expected rows of 20 bytes, got 4", [](RowReply& reply) {
    reply.tables[0].row_bytes = 4;
    reply.tables[0].rows *= 5;
  });
  expect_corrupt("features of edge type 1: expected rows of 4 bytes, got 2", [](RowReply& reply) {
    reply.tables[1].row_bytes = 2;
    reply.tables[1].rows *= 2;
  });
  expect_corrupt("bytes of rows", [](RowReply& reply) { --reply.tables[1].rows; });
  EXPECT_OK(collection_.answer(0, replies_[0]));
}

TEST_F(HostileEdgeRows, RowsThatAPartDoesNotHaveAreRefused) {
  const auto& part = *cut_.parts[0];
  const std::uint64_t edges = part.edges[0].in.neighbours.size();
  RowRequest request;
  const auto refused = [&](TableSection table, const std::string& text) {
    request.tables = {std::move(table)};
    EXPECT_ERROR(read_part_rows(part, request), Errc::invalid_argument, text);
  };
  const auto features_of = [](std::uint16_t type) {
    return TableName{TableName::Kind::edge_features, type};
  };
  refused({features_of(0), {0, edges}},
          fmt::format("features of edge type 0: expected rows below {0}, got {0}", edges));
  refused({features_of(0), {~std::uint64_t{0}}}, "got 18446744073709551615");
  refused({features_of(2), {}}, "there is no table \"features of edge type 2\"");
  refused({features_of(3), {}}, "there is no table \"features of edge type 3\"");
  request.tables = {{features_of(1), {}}, {features_of(1), {}}};
  EXPECT_ERROR(read_part_rows(part, request), Errc::invalid_argument, "in ascending order");
  request.tables = {{features_of(0), {edges - 1, 0, 0}}, {features_of(1), {}}};
  ASSERT_OK_AND_ASSIGN(const auto reply, read_part_rows(part, request));
  ASSERT_OK_AND_ASSIGN(const auto tables, tables_of(reply));
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].rows.size(), 3 * 20U);
  EXPECT_TRUE(std::ranges::equal(tables[0].rows.subspan(20, 20), tables[0].rows.subspan(40, 20)));
}

TEST_F(HostileEdgeRows, APartWithOtherFeaturesIsRefused) {
  Part part = *cut_.parts[0];
  part.edges[0].features->info.cols = 4;
  EXPECT_ERROR(collection_.answer_from(0, part), Errc::data_corruption,
               "features of edge type 0: expected rows of 20 bytes, got 16");
  part.edges[0].features.reset();
  EXPECT_ERROR(collection_.answer_from(0, part), Errc::invalid_argument,
               "there is no table \"features of edge type 0\"");
}

}  // namespace
}  // namespace troupe
