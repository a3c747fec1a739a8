// Named columns of the nodes and edges of a batch: bytes as they are stored, whatever the partitioning.
#include "tests/runtime/feature/collect.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe {
namespace {

using testing::Answers;
using testing::collect;
using testing::cut_graph;
using testing::CutGraph;
using testing::drive;
using testing::test_column;

const std::vector<std::uint64_t> column_seeds = {3, 14, 3, 0, 27};
constexpr BatchKey column_key{.epoch = 2, .number = 1};

/// Papers that cite and that authors write; authors and writing have no features.
testing::TestGraph graph_with_columns() {
  testing::TestGraph graph;
  graph.nodes = {{.name = "paper", .count = 40}, {.name = "author", .count = 15}};
  testing::add_features(graph.nodes[0], 3);
  graph.edges = {{.name = "writes", .source = 1, .destination = 0},
                 {.name = "cites", .source = 0, .destination = 0}};
  for (std::uint64_t i = 0; i < 40; ++i) {
    for (std::uint64_t k = 0; k < 1 + i % 4; ++k) {
      graph.edges[0].edges.push_back({(i * 3 + k * 5) % 15, i});
    }
    for (std::uint64_t k = 0; k < i % 7; ++k) {
      graph.edges[1].edges.push_back({(i * i + 11 * k) % 40, i});
    }
  }
  graph.nodes[0].columns = {test_column({"year", DType::i64, {}}, 40, 1),
                            test_column({"place", DType::f64, {2, 3}}, 40, 2)};
  graph.nodes[1].columns = {test_column({"kind", DType::u8, {3}}, 15, 3)};
  graph.edges[0].columns = {test_column({"rank", DType::i32, {}}, graph.edges[0].edges.size(), 4)};
  graph.edges[1].columns = {test_column({"why", DType::bf16, {5}}, graph.edges[1].edges.size(), 5),
                            test_column({"sure", DType::f16, {}}, graph.edges[1].edges.size(), 6)};
  return graph;
}

/// All of them.
std::shared_ptr<CollectOptions> collect_with_columns(const CutGraph& cut) {
  auto options = testing::collect_options(cut);
  const auto add = [&](TableName::Kind kind, const auto& types) {
    for (std::uint16_t t = 0; t < types.size(); ++t) {
      for (std::uint16_t c = 0; c < types[t].columns.size(); ++c) {
        options->columns.push_back({{kind, t, c}, types[t].columns[c]});
      }
    }
  };
  add(TableName::Kind::node_column, cut.info.node_types);
  add(TableName::Kind::edge_column, cut.info.edge_types);
  return options;
}

SampleOptions options_with_entries() {
  SampleOptions options;
  options.fanout = {{3, 2}, {2, 4}};
  options.edge_data.edge_ids = true;
  options.entries_of = {EdgeTypeId{0}, EdgeTypeId{1}};
  options.job_seed = 42;
  return options;
}

void expect_row_of(const BatchColumn& column, std::uint64_t row, const testing::TestColumn& whole,
                   std::uint64_t original) {
  const auto bytes = whole.info.row_bytes();
  EXPECT_TRUE(std::ranges::equal(column.values.bytes.subspan(row * bytes, bytes),
                                 std::span(whole.bytes).subspan(original * bytes, bytes)));
}

void expect_columns(const Batch& batch, const CutGraph& cut, const testing::TestGraph& graph) {
  ASSERT_EQ(batch.columns.size(), 6U);
  for (std::uint16_t t = 0; t < graph.nodes.size(); ++t) {
    const auto& ids = batch.sampled->nodes[t].ids;
    for (const auto& whole : graph.nodes[t].columns) {
      const auto* column = find_column(batch, NodeTypeId{t}, whole.info.name);
      ASSERT_NE(column, nullptr);
      EXPECT_EQ(column->info, whole.info);
      ASSERT_EQ(column->rows, ids.size());
      for (std::uint64_t i = 0; i < ids.size(); ++i) {
        expect_row_of(*column, i, whole, cut.original(ids[i], t));
      }
    }
  }
  for (std::uint16_t e = 0; e < graph.edges.size(); ++e) {
    const auto& ids = batch.sampled->edges[e].edge_ids;
    for (const auto& whole : graph.edges[e].columns) {
      const auto* column = find_column(batch, EdgeTypeId{e}, whole.info.name);
      ASSERT_NE(column, nullptr);
      ASSERT_EQ(column->rows, ids.size());
      for (std::uint64_t i = 0; i < ids.size(); ++i) {
        expect_row_of(*column, i, whole, raw(ids[i]));
      }
    }
  }
  EXPECT_GT(find_column(batch, EdgeTypeId{1}, "why")->rows, 5U);
  EXPECT_EQ(find_column(batch, NodeTypeId{1}, "year"), nullptr);
  EXPECT_EQ(find_column(batch, EdgeTypeId{0}, "year"), nullptr);
}

TEST(Columns, AreThoseOfTheGraphWhateverTheWayAndThePartitioning) {
  const auto graph = graph_with_columns();
  for (const auto dir : {EdgeDir::in, EdgeDir::out}) {
    for (const auto frontier : {Frontier::fresh, Frontier::all}) {
      for (const bool other : {false, true}) {
        auto options = options_with_entries();
        options.dir = dir;
        options.frontier = frontier;
        options.replace = other;
        options.disjoint = other;
        std::optional<Digest> digest;
        for (const std::uint32_t parts : {1U, 2U, 5U}) {
          auto cut = cut_graph(graph, parts);
          if (dir == EdgeDir::out) {
            testing::keep_out_lists(cut, graph);
          }
          for (const auto answers : {Answers::replies, Answers::parts}) {
            const Batch batch = collect(cut, collect_with_columns(cut),
                                        drive(cut, options, column_key, column_seeds, 0), answers);
            expect_columns(batch, cut, graph);
            const auto its = digest_batch(batch, DigestMode::full);
            EXPECT_EQ(digest.value_or(its), its) << parts;
            digest = its;
          }
        }
      }
    }
  }
}

TEST(Columns, ComeOnlyWhereAskedFor) {
  const auto graph = graph_with_columns();
  const auto cut = cut_graph(graph, 2);
  auto options = options_with_entries();
  options.entries_of.clear();
  const auto sampled = drive(cut, options, column_key, column_seeds, 0);
  EXPECT_TRUE(sampled.edges[1].entries.empty());
  auto wanted = collect_with_columns(cut);
  wanted->columns.resize(1);
  const Batch one = collect(cut, wanted, sampled);
  ASSERT_EQ(one.columns.size(), 1U);
  EXPECT_EQ(one.columns[0].info.name, "year");
  EXPECT_EQ(one.columns[0].as<std::int64_t>().size(), sampled.nodes[0].ids.size());
  wanted = collect_with_columns(cut);
  wanted->seeds_only = true;
  wanted->digest = DigestMode::off;
  EXPECT_TRUE(collect(cut, wanted, sampled).columns.empty());
  const Batch none = collect(cut, testing::collect_options(cut), sampled);
  EXPECT_NE(digest_batch(none, DigestMode::full), digest_batch(one, DigestMode::full));
  EXPECT_EQ(digest_batch(none, DigestMode::ids), digest_batch(one, DigestMode::ids));
}

TEST(Columns, RowsThatAPartDoesNotHaveAreRefused) {
  const auto cut = cut_graph(graph_with_columns(), 2);
  const auto& part = *cut.parts[0];
  RowRequest request;
  const auto refused = [&](TableName table, std::vector<std::uint64_t> rows,
                           const std::string& text) {
    request.tables = {{table, std::move(rows)}};
    EXPECT_ERROR(read_part_rows(part, request), Errc::invalid_argument, text);
  };
  using Kind = TableName::Kind;
  const auto papers = part.nodes[0].count;
  refused({Kind::node_column, 0, 1}, {papers},
          fmt::format("column 1 of node type 0: expected rows below {0}, got {0}", papers));
  refused({Kind::node_column, 0, 2}, {}, "no table \"column 2 of node type 0\"");
  refused({Kind::node_column, 2, 0}, {}, "no table \"column 0 of node type 2\"");
  refused({Kind::edge_column, 1, 2}, {}, "no table \"column 2 of edge type 1\"");
  refused({Kind::edge_column, 2, 0}, {}, "no table \"column 0 of edge type 2\"");
  refused({Kind::edge_column, 0, 0}, {~std::uint64_t{0}}, "got 18446744073709551615");
  request.tables = {{{Kind::edge_column, 0, 0}, {}}, {{Kind::node_column, 0, 0}, {}}};
  EXPECT_ERROR(read_part_rows(part, request), Errc::invalid_argument, "in ascending order");
}

TEST(Columns, RepliesOfOtherSizesAreRefused) {
  const auto cut = cut_graph(graph_with_columns(), 1);
  const auto sampled = std::make_shared<const SampledBatch>(
      drive(cut, options_with_entries(), column_key, column_seeds, 0));
  RowCollection collection(*cut.book, collect_with_columns(cut), sampled);
  const auto& question = collection.questions().at(0);
  ASSERT_OK_AND_ASSIGN(const auto good, read_part_rows(*cut.parts[0], question.request));
  ASSERT_EQ(good.tables.size(), 6U);
  const auto corrupt = [&](const std::string& text, const std::function<void(RowReply&)>& spoil) {
    RowReply bad = good;
    spoil(bad);
    EXPECT_ERROR(collection.answer(0, bad), Errc::data_corruption, text);
  };
  corrupt("column 0 of node type 0: expected rows of 8 bytes, got 4", [](RowReply& reply) {
    reply.tables[0].row_bytes = 4;
    reply.tables[0].rows *= 2;
  });
  corrupt("expected 6 tables, got 7", [](RowReply& reply) { reply.tables.push_back({0, 8}); });
  corrupt("row reply", [](RowReply& reply) { ++reply.tables[5].rows; });
  EXPECT_OK(collection.answer(0, good));
  EXPECT_TRUE(collection.done());
}

}  // namespace
}  // namespace troupe
