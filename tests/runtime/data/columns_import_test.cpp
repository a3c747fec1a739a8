// Named columns of nodes and edges: from .npy files by a JSON document into a store.
#include "runtime/data/npy_import.hpp"
#include "runtime/graph/store.hpp"
#include "tests/runtime/graph/forge.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace troupe {
namespace {

using namespace testing;

class ColumnsImport : public ::testing::Test {
 protected:
  void SetUp() override {
    save_npy<std::int64_t>(in_ / "ids.npy", {3}, {70, -80, 90});
    save_npy<double>(in_ / "places.npy", {3, 2}, {0.1, 0.2, 0.3, 0.4, 0.5, 0.6});
    save_npy<std::uint8_t>(in_ / "flags.npy", {3, 1, 2, 2},
                           {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    save_npy<std::uint16_t>(in_ / "half.npy", {3}, {0x3F80, 0x4000, 0xC000});
    save_npy<std::int32_t>(in_ / "kinds.npy", {4}, {10, 11, 12, 13});
    save_npy<float>(in_ / "rates.npy", {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
    // Into 2: edges 0 and 3, from 1 and 0. Into 0: edge 1. Into 1: edge 2.
    save_npy<std::int64_t>(in_ / "e.npy", {2, 4}, {1, 2, 0, 0, /* to */ 2, 0, 1, 2});
    write(R"({"id": "ids.npy", "place": "places.npy", "flag": "flags.npy",
              "half": {"file": "half.npy", "dtype": "bf16"}})",
          R"({"kind": "kinds.npy", "rate.s": "rates.npy"})");
  }
  void write(const std::string& of_nodes, const std::string& of_edges,
             const std::string& more = R"(, "reverse_edges": true)") {
    write_all(in_ / "graph.json", R"({"node_types": {"a": {"columns": )" + of_nodes +
                                      R"(}}, "edge_types": {"e": {"source": "a",
        "destination": "a", "edges": "e.npy", "columns": )" +
                                      of_edges + more + "}}}");
  }
  Result<GraphStore> store() {
    std::filesystem::remove_all(out_);
    InlineExecutor executor;
    TROUPE_RETURN_IF_ERROR(import_npy(in_ / "graph.json", out_, {}, executor));
    return GraphStore::open(out_, {});
  }
  void expect_refused(const std::string& text) {
    EXPECT_ERROR(store(), Errc::invalid_argument, text);
    EXPECT_FALSE(std::filesystem::exists(out_));
  }

  TempDir temp_;
  std::filesystem::path in_ = temp_ / "in";
  std::filesystem::path out_ = temp_ / "out";
};

template <class T>
std::vector<T> values_of(const FeatureTable& table) {
  const auto values = table.data.as<T>();
  return {values.begin(), values.end()};
}

TEST_F(ColumnsImport, AreStoredAsTheyAreInTheOrderOfNodesAndLists) {
  ASSERT_OK_AND_ASSIGN(const auto graph, store());

  const auto& info = graph.info();
  EXPECT_EQ(info.node_types[0].count, 3U) << "the rows say it";
  EXPECT_EQ(info.node_types[0].columns, (std::vector<ColumnInfo>{{"flag", DType::u8, {1, 2, 2}},
                                                                 {"half", DType::bf16, {}},
                                                                 {"id", DType::i64, {}},
                                                                 {"place", DType::f64, {2}}}));
  const auto& nodes = graph.graph()->nodes[0].columns;
  EXPECT_EQ(values_of<std::uint8_t>(nodes[0]),
            (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(nodes[0].row_bytes(), 4U);
  EXPECT_EQ(values_of<std::uint16_t>(nodes[1]),
            (std::vector<std::uint16_t>{0x3F80, 0x4000, 0xC000}));
  EXPECT_EQ(values_of<std::int64_t>(nodes[2]), (std::vector<std::int64_t>{70, -80, 90}));
  EXPECT_EQ(values_of<double>(nodes[3]), (std::vector<double>{0.1, 0.2, 0.3, 0.4, 0.5, 0.6}));
  ASSERT_EQ(info.edge_types.size(), 2U);
  for (const auto& type : info.edge_types) {
    EXPECT_EQ(type.columns,
              (std::vector<ColumnInfo>{{"kind", DType::i32, {}}, {"rate.s", DType::f32, {2}}}));
  }
  const auto& edges = graph.graph()->edges;
  EXPECT_EQ(values_of<std::int32_t>(edges[0].columns[0]),
            (std::vector<std::int32_t>{11, 12, 13, 10}));
  EXPECT_EQ(values_of<float>(edges[0].columns[1]), (std::vector<float>{2, 3, 4, 5, 6, 7, 0, 1}));
  // Reversed: 0 has 1 (edge 2) and 2 (edge 3), 1 has 2 (edge 0), 2 has 0 (edge 1).
  EXPECT_EQ(values_of<std::int32_t>(edges[1].columns[0]),
            (std::vector<std::int32_t>{12, 13, 10, 11}));
}

TEST_F(ColumnsImport, WhatIsNoColumnIsRefusedByItsFile) {
  const std::string none = "{}";
  save_npy<std::uint8_t>(in_ / "b.npy", NpyType{'b', 1}, {3}, {1, 0, 1});
  save_npy<std::uint16_t>(in_ / "u2.npy", {3}, {1, 2, 3});
  save_npy<float>(in_ / "deep.npy", {3, 1, 1, 1, 1}, {1, 2, 3});
  save_npy<float>(in_ / "empty.npy", {3, 0}, {});
  save_npy<float>(in_ / "scalar.npy", {}, {1});
  write(R"({"x": "b.npy"})", none);
  expect_refused("b.npy: expected an array of uint8, float16, float32, float64, int32 or int64");
  write(R"({"x": "u2.npy"})", none);
  expect_refused("\"dtype\": \"bf16\"} for bfloat16 as uint16");
  write(R"({"x": {"file": "ids.npy", "dtype": "bf16"}})", none);
  expect_refused("ids.npy: expected an array of u16 for bf16, got <i8");
  write(R"({"x": {"file": "ids.npy", "dtype": "i64"}})", none);
  expect_refused("/node_types/a/columns/x: expected \"dtype\": \"bf16\"");
  write(R"({"x": "deep.npy"})", none);
  expect_refused("deep.npy: expected a column's rows of up to 3 extents");
  write(R"({"x": "empty.npy"})", none);
  expect_refused("empty.npy: expected a column's rows of up to 3 extents above 0");
  write(R"({"x": "scalar.npy"})", none);
  expect_refused("scalar.npy: expected an array with rows");
  write(R"({"../x": "ids.npy"})", none);
  expect_refused("ids.npy: expected a column's name of 1 to 100 of");
  write(R"({"x": "kinds.npy", "y": "ids.npy"})", none);
  expect_refused("ids.npy: expected rows for 4 nodes, as in kinds.npy, got 3");
  write(none, R"({"x": "ids.npy"})");
  expect_refused("ids.npy: expected 4 rows, one per edge of type e, got 3");
  write(none, R"({"x": "nosuch.npy"})");
  EXPECT_ERROR(store(), Errc::not_found, "nosuch.npy");
}

TEST_F(ColumnsImport, DerivedEdgesHaveTheRowsOfTheirs) {
  write("{}", R"({"kind": "kinds.npy"})", R"(, "symmetrize": true, "dedup": true)");
  ASSERT_OK_AND_ASSIGN(const auto graph, store());
  const auto& edges = graph.graph()->edges[0];
  const auto kinds = values_of<std::int32_t>(edges.columns[0]);
  ASSERT_EQ(kinds.size(), edges.in.edge_ids.size());
  ASSERT_GT(kinds.size(), 4U);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    EXPECT_EQ(kinds[i], static_cast<std::int32_t>(10 + edges.in.edge_ids[i] % 4));
  }
}

TEST_F(ColumnsImport, AGraphJsonThatSaysOtherwiseThanTheArraysIsRefused) {
  ASSERT_OK(store());
  const auto damage = [&](const std::string& from, const std::string& to, const std::string& text) {
    const auto damaged = temp_ / "damaged";
    std::filesystem::remove_all(damaged);
    std::filesystem::copy(out_, damaged, std::filesystem::copy_options::recursive);
    forge(damaged / "graph.json", from, to);
    const auto opened = GraphStore::open(damaged, {});
    EXPECT_ERROR(opened, Errc::data_corruption, text);
  };
  const std::string whole = R"("shape": [])";  // first of "half"
  damage(R"("dtype": "i64")", R"("dtype": "f64")", "columns/id.npy: expected an array of <f8");
  damage(R"("dtype": "i64")", R"("dtype": "u64")", "a column's dtype (u8, f16");
  damage(whole, R"("shape": [2])", "columns/half.npy: expected an array of <u2 [3, 2]");
  damage(whole, R"("shape": [0])", "a column's rows of up to 3 extents");
  damage(whole, R"("shape": [1,1,1,1])", "a column's rows of up to 3 extents");
  damage(whole, R"("shape": [16777216,2])", "a column's rows of up to 3 extents");
  damage(R"("name": "id")", R"("name": "place")", "each name once");
  damage(R"("name": "id")", R"("name": "other")",
         "columns/other.npy: expected the file in the list");
  damage(R"("name": "id")", R"("name": "../id")", "a column's name");
}

}  // namespace
}  // namespace troupe
