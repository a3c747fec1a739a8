// Columns that users name: the options, and the arrays of dgl and graphbolt.
#include "runtime/data/named_columns.hpp"

#include "runtime/data/dgl_import.hpp"
#include "runtime/data/graphbolt_import.hpp"
#include "tests/runtime/data/import_fixture.hpp"

#include <nlohmann/json.hpp>

namespace troupe {
namespace {

using namespace testing;
using nlohmann::json;
using Names = std::vector<std::string>;

constexpr auto invalid_column = Errc::invalid_argument;

TEST(ParseNamedColumns, TakesNamesAndDtypes) {
  ASSERT_OK_AND_ASSIGN(const auto columns, parse_named_columns(Names{"year", "x-1.b:bf16"}));
  ASSERT_EQ(columns.size(), 2U);
  EXPECT_EQ(columns[0].name, "year");
  EXPECT_FALSE(columns[0].dtype);
  EXPECT_EQ(columns[1].name, "x-1.b");
  EXPECT_EQ(columns[1].dtype, DType::bf16);
  EXPECT_OK(parse_named_columns(Names{}));
}

TEST(ParseNamedColumns, WhatIsNoColumnIsNamed) {
  const auto refused = [](const Names& texts, const std::string& what) {
    EXPECT_ERROR(parse_named_columns(texts), invalid_column, "--named-columns: " + what);
  };
  refused({""}, "expected a column's name of 1 to 100 of");
  refused({"../x"}, "expected a column's name of 1 to 100 of");
  refused({"a", "b", "a:f32"}, "expected each name once, got a twice");
  for (const std::string dtype : {"", "u64", "bool", "F32", "f32:f32"}) {
    refused({"a:" + dtype},
            "expected a dtype of u8, f16, bf16, f32, f64, i32, i64 after ':', got "
            "\"a:" +
                dtype + "\"");
  }
}

TEST(ParseLineColumns, TakesNamesFieldsAndDtypes) {
  ASSERT_OK_AND_ASSIGN(const auto columns, parse_line_columns(Names{"a=0", "b=4294967295:i64"}));
  ASSERT_EQ(columns.size(), 2U);
  EXPECT_EQ(columns[0].name, "a");
  EXPECT_EQ(columns[0].field, 0U);
  EXPECT_EQ(columns[0].dtype, DType::f32);
  EXPECT_EQ(columns[1].field, 4294967295U);
  EXPECT_EQ(columns[1].dtype, DType::i64);
}

TEST(ParseLineColumns, WhatIsNoColumnIsNamed) {
  for (const std::string text : {"a", "a=", "a=:f32", "a=x", "a=-1", "a=4294967296", "a=1 "}) {
    EXPECT_ERROR(parse_line_columns(Names{text}), invalid_column,
                 "--edge-columns: expected NAME=FIELD or NAME=FIELD:DTYPE with a field's number, "
                 "counted from 0, got \"" +
                     text + "\"");
  }
  EXPECT_ERROR(parse_line_columns(Names{"=1"}), invalid_column, "expected a column's name");
  EXPECT_ERROR(parse_line_columns(Names{"a=1:u16"}), invalid_column, "expected a dtype of u8");
  EXPECT_ERROR(parse_line_columns(Names{"a=1", "a=2"}), invalid_column, "got a twice");
}

/// Papers cite papers (three edges), authors write them (two).
class DglNamed : public ImportTest {
 protected:
  void SetUp() override {
    save_npy<std::int64_t>(in_ / "cites.npy", {3, 2}, {0, 1, 2, 1, 3, 0});
    save_npy<std::int64_t>(in_ / "writes.npy", {2, 2}, {0, 3, 1, 2});
    save_npy<double>(in_ / "p0.npy", {3, 2}, {0.1, 0.2, 0.3, 0.4, 0.5, 0.6});
    save_npy<double>(in_ / "p1.npy", {1, 2}, {0.7, 0.8});
    write_all(in_ / "year.csv", "2010\n-3\n# three\n2012\n2013\n");
    save_npy<std::uint8_t>(in_ / "kind.npy", {3, 1, 2}, {1, 2, 3, 4, 5, 6});
    write_all(in_ / "w0.csv", "1.5 2\n");
    write_all(in_ / "w1.csv", "3 4\n");
    save_npy<float>(in_ / "feat.npy", {4}, {1, 2, 3, 4});
    meta_ = {{"node_type", {"author", "paper"}},
             {"num_nodes_per_chunk", {{2}, {4}}},
             {"edge_type", {"paper:cites:paper", "author:writes:paper"}},
             {"num_edges_per_chunk", {{3}, {2}}},
             {"edges",
              {{"paper:cites:paper", array({"cites.npy"})},
               {"author:writes:paper", array({"writes.npy"})}}},
             {"node_data",
              {{"paper",
                {{"feat", array({"feat.npy"})},
                 {"place", array({"p0.npy", "p1.npy"})},
                 {"year", array({"year.csv"}, "csv")}}}}},
             {"edge_data",
              {{"paper:cites:paper", {{"kind", array({"kind.npy"})}}},
               {"author:writes:paper", {{"share", array({"w0.csv", "w1.csv"}, "csv")}}}}}};
  }
  static json array(std::vector<std::string> files, const std::string& format = "numpy") {
    return {{"format", {{"name", format}}}, {"data", std::move(files)}};
  }
  Result<GraphInfo> import(const Names& names, DglOptions options = {}) {
    write_all(in_ / "metadata.json", meta_.dump());
    TROUPE_ASSIGN_OR_RETURN(options.named, parse_named_columns(names));
    begin(options.import);
    ComputePool pool(2);
    return import_dgl(in_, out_, options, pool);
  }

  json meta_;
};

TEST_F(DglNamed, ArraysAreKeptAsTheyAreWhereTheyAre) {
  DglOptions options;
  options.import.edges = {.symmetrize = true};
  ASSERT_OK_AND_ASSIGN(const auto graph,
                       opened(import({"place", "year:i64", "kind", "share:f64"}, options)));

  const auto& info = graph.info();
  EXPECT_TRUE(info.node_types[0].columns.empty());
  EXPECT_EQ(info.node_types[1].columns,
            (ColumnInfos{{"place", DType::f64, {2}}, {"year", DType::i64, {}}}));
  EXPECT_EQ(info.edge_types[0].columns, (ColumnInfos{{"kind", DType::u8, {1, 2}}}));
  EXPECT_EQ(info.edge_types[1].columns, (ColumnInfos{{"share", DType::f64, {2}}}));
  EXPECT_TRUE(info.node_types[1].features);
  const auto& papers = graph.graph()->nodes[1].columns;
  EXPECT_EQ(column_values<double>(papers[0]),
            (std::vector<double>{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}));
  EXPECT_EQ(column_values<std::int64_t>(papers[1]),
            (std::vector<std::int64_t>{2010, -3, 2012, 2013}));
  const auto kinds = values_by_edge<std::array<std::uint8_t, 2>>(graph, 0, 0);
  ASSERT_EQ(kinds.size(), 6U) << "reverses have the rows of theirs";
  for (const auto& [edge, row] : kinds) {
    const auto first = static_cast<std::uint8_t>(2 * (edge % 3) + 1);
    EXPECT_EQ(row[0], first);
    EXPECT_EQ(row[1], first + 1);
  }
  EXPECT_TRUE(left_out_.empty());
}

TEST_F(DglNamed, TextIsF32UnlessStated) {
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import({"year"})));
  EXPECT_EQ(graph.info().node_types[1].columns, (ColumnInfos{{"year", DType::f32, {}}}));
  EXPECT_EQ(column_values<float>(graph.graph()->nodes[1].columns[0]),
            (std::vector<float>{2010, -3, 2012, 2013}));
}

TEST_F(DglNamed, AnArrayIsTakenAsMoreOnlyIfNamedForThat) {
  ASSERT_OK_AND_ASSIGN(const auto info, import({"feat"}));
  EXPECT_FALSE(info.node_types[1].features);
  EXPECT_EQ(info.node_types[1].columns, (ColumnInfos{{"feat", DType::f32, {}}}));
  DglOptions options;
  options.features = "feat";
  options.labels = "year";
  write_all(in_ / "year.csv", "1\n0\n2\n-1\n");
  ASSERT_OK_AND_ASSIGN(const auto both, import({"feat", "year"}, options));
  EXPECT_TRUE(both.node_types[1].features);
  EXPECT_EQ(both.node_types[1].labels->classes, 3U);
  EXPECT_EQ(both.node_types[1].columns.size(), 2U);
  save_npy<float>(in_ / "kind.npy", {3}, {1, 2, 3});
  ASSERT_OK_AND_ASSIGN(const auto weights, import({"kind"}, {.columns = {"kind", {}}}));
  EXPECT_TRUE(weights.edge_types[0].has_weights);
  EXPECT_EQ(weights.edge_types[0].columns, (ColumnInfos{{"kind", DType::f32, {}}}));
}

TEST_F(DglNamed, ANameThatNoTypeHasIsAnErrorWithThoseThereAre) {
  EXPECT_ERROR(import({"year", "yaer"}), Errc::not_found,
               "/node_data, /edge_data: expected an array of nodes or edges named \"yaer\", found "
               "feat, kind, place, share, year");
  meta_.erase("node_data");
  meta_.erase("edge_data");
  EXPECT_ERROR(import({"year"}), Errc::not_found, "named \"year\", found none");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(DglNamed, ArraysThatCannotBeColumnsAreNamed) {
  save_npy<double>(in_ / "p1.npy", {1, 3}, {0.7, 0.8, 0.9});
  EXPECT_ERROR(import({"place"}), invalid_column,
               "p1.npy: expected rows of <f8 of shape [2], as p0.npy has, got <f8 of shape [3]");
  save_npy<float>(in_ / "p1.npy", {1, 2}, {0.7F, 0.8F});
  EXPECT_ERROR(import({"place"}), invalid_column, "got <f4 of shape [2]");
  save_npy<double>(in_ / "p1.npy", {}, {0.7});
  EXPECT_ERROR(import({"place"}), invalid_column, "p1.npy: expected an array with rows");
  EXPECT_ERROR(import({"kind:i32"}), invalid_column,
               "kind.npy: expected an array of <i4 for i32, got |u1");
  EXPECT_ERROR(import({"kind:bf16"}), invalid_column,
               "kind.npy: expected an array of u16 for bf16, got |u1");
  save_npy<std::uint16_t>(in_ / "kind.npy", {3}, {1, 2, 3});
  EXPECT_ERROR(import({"kind"}), invalid_column,
               "got <u2\ntry: --named-columns NAME:bf16 for bfloat16 as uint16");
  ASSERT_OK_AND_ASSIGN(const auto info, import({"kind:bf16"}));
  EXPECT_EQ(info.edge_types[0].columns, (ColumnInfos{{"kind", DType::bf16, {}}}));
  save_npy<float>(in_ / "kind.npy", {3, 0}, {});
  EXPECT_ERROR(import({"kind"}), invalid_column, "kind.npy: expected a column's rows of up to 3");
  save_npy<float>(in_ / "kind.npy", {3, 1, 1, 1, 1}, {1, 2, 3});
  EXPECT_ERROR(import({"kind"}), invalid_column, "kind.npy: expected a column's rows of up to 3");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(DglNamed, RowsThatAreNotAsManyAreAnError) {
  save_npy<double>(in_ / "p1.npy", {2, 2}, {0.7, 0.8, 0.9, 1});
  EXPECT_ERROR(import({"place"}), invalid_column,
               "p0.npy: expected rows for 4 nodes, as in metadata.json, got 5");
  save_npy<std::uint8_t>(in_ / "kind.npy", {2}, {1, 2});
  EXPECT_ERROR(import({"kind"}), invalid_column,
               "kind.npy: expected 3 rows, one per edge of type cites, got 2");
  write_all(in_ / "w1.csv", "");
  EXPECT_ERROR(import({"share"}), invalid_column,
               "w0.csv: expected 2 rows, one per edge of type writes, got 1");
  write_all(in_ / "w1.csv", "3 4\n5 6\n");
  EXPECT_ERROR(import({"share"}), invalid_column,
               "w0.csv: expected 2 rows, one per edge of type writes, got more than 2");
  write_all(in_ / "year.csv", "");
  EXPECT_ERROR(import({"year"}), invalid_column,
               "year.csv: expected 4 rows, one per node of type paper, got 0");
}

TEST_F(DglNamed, TextThatTheDtypeDoesNotHoldIsNamed) {
  struct Case {
    const char* dtype;
    std::vector<std::string> good;
    std::vector<std::string> bad;
    const char* expected;
  };
  const std::vector<Case> cases{
      {"u8", {"0", "255"}, {"256", "-1", "1.5", "x", "nan"}, "an integer of u8"},
      {"i32", {"-2147483648", "2147483647"}, {"2147483648", "1e3"}, "an integer of i32"},
      {"i64",
       {"-9223372036854775808", "9223372036854775807"},
       {"9223372036854775808", "nan"},
       "an integer of i64"},
      {"f16", {"65504", "-1e-9"}, {"65520", "inf", "nan"}, "a finite f16"},
      {"bf16", {"3e38"}, {"3.4e38", "nan"}, "a finite bf16"},
      {"f32", {"3.4e38"}, {"3.5e38", "inf"}, "a finite f32"},
      {"f64", {"1e308"}, {"1e309", "nan", "-inf", "1x"}, "a finite f64"}};
  for (const auto& [dtype, good, bad, expected] : cases) {
    for (const auto& text : good) {
      write_all(in_ / "year.csv", "1\n1\n1\n" + text + "\n");
      EXPECT_OK(import({fmt::format("year:{}", dtype)})) << dtype << ": " << text;
    }
    for (const auto& text : bad) {
      write_all(in_ / "year.csv", "1\n\n" + text + "\n1\n1\n");
      EXPECT_ERROR(import({fmt::format("year:{}", dtype)}), invalid_column,
                   fmt::format("year.csv: line 3: expected {}, got \"{}\"", expected, text));
    }
  }
  write_all(in_ / "year.csv", "1\n1 2\n1\n1\n");
  EXPECT_ERROR(import({"year"}), invalid_column, "line 2: expected 1 numbers, got more");
  write_all(in_ / "w1.csv", "3\n");
  EXPECT_ERROR(import({"share"}), invalid_column, "w1.csv");
}

TEST_F(DglNamed, ManyRowsOfTextComeInBlocks) {
  constexpr std::uint64_t count = 200'000;
  std::string text;
  std::vector<std::int64_t> expected;
  for (std::uint64_t i = 0; i < count; ++i) {
    expected.push_back(static_cast<std::int64_t>(i * 7919 % 100'003) - 50'000);
    text += fmt::format("{}\n", expected.back());
  }
  write_all(in_ / "year.csv", text);
  meta_["num_nodes_per_chunk"][1] = {count};
  meta_["node_data"]["paper"].erase("feat");
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import({"year:i64"})));
  EXPECT_EQ(column_values<std::int64_t>(graph.graph()->nodes[1].columns[0]), expected);
}

class GraphboltNamed : public ImportTest {
 protected:
  void SetUp() override {
    write_all(in_ / "cites.csv", "0,1\n2,1\n3,0\n");
    write_all(in_ / "rate.csv", "0.5\n-1\n2\n");
    save_npy<std::int64_t>(in_ / "year.npy", {4, 1}, {1, 2, 3, 4});
    yaml_ = R"(
graph:
  nodes: [{type: paper, num: 4}]
  edges: [{type: "paper:cites:paper", format: csv, path: cites.csv}]
  feature_data:
    - {domain: edge, type: "paper:cites:paper", name: rate, format: csv, path: rate.csv}
feature_data:
  - {domain: node, type: paper, name: year, format: numpy, path: year.npy}
  - {domain: graph, name: year, format: numpy, path: none.npy}
)";
  }
  Result<GraphInfo> import(const Names& names, GraphboltOptions options = {}) {
    write_all(in_ / "metadata.yaml", yaml_);
    TROUPE_ASSIGN_OR_RETURN(options.named, parse_named_columns(names));
    begin(options.import);
    InlineExecutor executor;
    return import_graphbolt(in_, out_, options, executor);
  }

  std::string yaml_;
};

TEST_F(GraphboltNamed, ArraysOfBothListsAreKept) {
  GraphboltOptions options;
  options.import.edges = {.reverse_edges = true};
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import({"year", "rate"}, options)));

  const auto& info = graph.info();
  EXPECT_EQ(info.node_types[0].columns, (ColumnInfos{{"year", DType::i64, {1}}}));
  EXPECT_EQ(info.edge_types[0].columns, (ColumnInfos{{"rate", DType::f32, {}}}));
  EXPECT_EQ(info.edge_types[1].columns, (ColumnInfos{{"rate", DType::f32, {}}}));
  EXPECT_EQ(column_values<std::int64_t>(graph.graph()->nodes[0].columns[0]),
            (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(values_by_edge<float>(graph, 0, 0),
            (std::map<std::uint64_t, float>{{0, 0.5F}, {1, -1}, {2, 2}}));
  const auto reversed = values_by_edge<float>(graph, 1, 0);
  ASSERT_EQ(reversed.size(), 3U);
  EXPECT_EQ(reversed.begin()->second, 0.5F);
  EXPECT_EQ(left_out_, (Names{"feature_data year of graph"}));
}

TEST_F(GraphboltNamed, NamesAndArraysThatCannotBeAreNamed) {
  EXPECT_ERROR(import({"x"}), Errc::not_found,
               "/feature_data: expected an array of nodes or edges named \"x\", found rate, year");
  EXPECT_ERROR(import({"year:f32"}), invalid_column,
               "year.npy: expected an array of <f4 for f32, got <i8");
  save_npy<std::int64_t>(in_ / "year.npy", {3}, {1, 2, 3});
  EXPECT_ERROR(import({"year"}), invalid_column,
               "year.npy: expected rows for 4 nodes, as in metadata.yaml, got 3");
  write_all(in_ / "rate.csv", "0.5\n-1\n");
  EXPECT_ERROR(import({"rate"}), invalid_column,
               "rate.csv: expected 3 rows, one per edge of type cites, got 2");
  yaml_ += R"(  - {domain: edge, type: "paper:cites:paper", name: rate, format: csv, path: rate.csv}
)";
  EXPECT_ERROR(import({"rate"}), invalid_column,
               "rate.csv: expected column rate of type cites once, got a second array");
  yaml_ += R"(  - {domain: node, type: book, name: late, format: csv, path: rate.csv}
)";
  EXPECT_ERROR(import({"late"}), invalid_column, "expected the name of a node type");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

}  // namespace
}  // namespace troupe
