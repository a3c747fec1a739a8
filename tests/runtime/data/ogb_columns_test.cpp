// Columns that users name in OGB's layouts.
#include "runtime/data/ogb_import.hpp"
#include "tests/runtime/data/import_fixture.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/npz_writer.hpp"

namespace troupe {
namespace {

using namespace testing;

class OgbNamed : public ImportTest {
 protected:
  Result<GraphInfo> import(const std::vector<std::string>& names, OgbOptions options = {}) {
    TROUPE_ASSIGN_OR_RETURN(options.named, parse_named_columns(names));
    begin(options.import);
    ComputePool pool(2);
    return import_ogb(in_, out_, options, pool);
  }
  void raw(const std::string& name, const std::string& text) {
    write_all(in_ / fmt::format("raw/{}.csv", name), text);
  }
  void archive(const std::string& name, const std::vector<NpzArray>& arrays) {
    write_all(in_ / fmt::format("raw/{}.npz", name), npz_text(arrays, true));
  }
  /// Papers 0 to 2 of 2 types: authors 0 and 1 write 2 and 0, paper 0 cites 1.
  void write_heterogeneous() {
    raw("num-node-dict", "author,paper\n2,3\n");
    raw("triplet-type-list", "author,writes,paper\npaper,cites,paper\n");
    raw("relations/author___writes___paper/edge", "0,2\n1,0\n");
    raw("relations/author___writes___paper/num-edge-list", "2\n");
    raw("relations/author___writes___paper/edge_reltype", "7\n8\n");
    raw("relations/paper___cites___paper/edge", "0,1\n");
    raw("relations/paper___cites___paper/num-edge-list", "1\n");
    raw("node-feat/paper/node-feat", "1,2\n3,4\n5,6\n");
    raw("node_year/paper/node_year", "2010\n2011\n2012\n");
  }
};

TEST_F(OgbNamed, TextIsKept) {
  raw("num-node-list", "3\n");
  raw("num-edge-list", "2\n");
  raw("edge", "0,1\n2,1\n");
  raw("node-feat", "1,2\n3,4\n5,6\n");
  raw("node_year", "2010\n2011\n2012\n");
  raw("edge_share", "0.5\n0.25\n");
  OgbOptions options;
  options.import.edges = {.symmetrize = true};
  ASSERT_OK_AND_ASSIGN(const auto graph,
                       opened(import({"node_year:i32", "edge_share", "node-feat"}, options)));

  const auto& info = graph.info();
  EXPECT_EQ(info.node_types[0].columns,
            (ColumnInfos{{"node-feat", DType::f32, {2}}, {"node_year", DType::i32, {}}}));
  EXPECT_FALSE(info.node_types[0].features);
  EXPECT_EQ(column_values<std::int32_t>(graph.graph()->nodes[0].columns[1]),
            (std::vector<std::int32_t>{2010, 2011, 2012}));
  EXPECT_EQ(values_by_edge<float>(graph, 0, 0),
            (std::map<std::uint64_t, float>{{0, 0.5F}, {1, 0.25F}, {2, 0.5F}, {3, 0.25F}}));
  EXPECT_TRUE(left_out_.empty());
  EXPECT_ERROR(import({"node_yaer"}), Errc::not_found,
               "raw: expected an array of nodes or edges named \"node_yaer\", found edge_share, "
               "node-feat, node_year");
  raw("node_year", "2010\n2011\n");
  EXPECT_ERROR(import({"node_year"}), Errc::invalid_argument,
               "raw/node_year.csv: expected 3 rows, one per node of type node, got 2");
}

TEST_F(OgbNamed, TextOfTypesIsKept) {
  write_heterogeneous();
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import({"node_year:i64", "edge_reltype:u8"})));
  const auto& info = graph.info();
  EXPECT_TRUE(info.node_types[0].columns.empty());
  EXPECT_EQ(info.node_types[1].columns, (ColumnInfos{{"node_year", DType::i64, {}}}));
  EXPECT_TRUE(info.node_types[1].features);
  EXPECT_EQ(values_by_edge<std::uint8_t>(graph, 0, 0),
            (std::map<std::uint64_t, std::uint8_t>{{0, 7}, {1, 8}}));
  EXPECT_TRUE(info.edge_types[1].columns.empty());
  EXPECT_TRUE(left_out_.empty());
}

TEST_F(OgbNamed, AnArchiveIsKept) {
  const std::vector<NpzArray> data{{"edge_index", npy_text<std::int64_t>({2, 2}, {0, 2, 1, 1})},
                                   {"num_edges_list", npy_text<std::int64_t>({1}, {2})},
                                   {"num_nodes_list", npy_text<std::int64_t>({1}, {3})},
                                   {"node_year", npy_text<std::int64_t>({3, 1}, {10, 11, 12})},
                                   {"node_bits", npy_text<std::uint16_t>({3}, {1, 2, 3})},
                                   {"edge_kind", npy_text<std::uint8_t>({2, 1, 2}, {1, 2, 3, 4})}};
  archive("data", data);
  archive("node-label", {{"node_label", npy_text<float>({3, 1}, {2, 0, 1})}});
  ASSERT_OK_AND_ASSIGN(const auto graph,
                       opened(import({"node_year", "edge_kind", "node_label", "node_bits:bf16"})));
  const auto& info = graph.info();
  EXPECT_EQ(info.node_types[0].columns, (ColumnInfos{{"node_year", DType::i64, {1}},
                                                     {"node_bits", DType::bf16, {}},
                                                     {"node_label", DType::f32, {1}}}));
  EXPECT_FALSE(info.node_types[0].labels);
  EXPECT_EQ(info.edge_types[0].columns, (ColumnInfos{{"edge_kind", DType::u8, {1, 2}}}));
  EXPECT_EQ(column_values<std::uint16_t>(graph.graph()->nodes[0].columns[1]),
            (std::vector<std::uint16_t>{1, 2, 3}));
  EXPECT_EQ(column_values<std::uint8_t>(graph.graph()->edges[0].columns[0]),
            (std::vector<std::uint8_t>{1, 2, 3, 4}));
  EXPECT_TRUE(left_out_.empty());
  EXPECT_ERROR(import({"node_bits"}), Errc::invalid_argument,
               "raw/data.npz: node_bits: expected an array of uint8");
  EXPECT_ERROR(import({"node_x"}), Errc::not_found, "found edge_kind, node_bits, node_label");
}

TEST_F(OgbNamed, AnArchiveWithOtherRowsOrDamagedBytesIsRefused) {
  std::vector<std::int64_t> years(100'000);
  const auto write = [&](std::uint64_t rows) {
    years.resize(rows);
    archive("data", {{"edge_index", npy_text<std::int64_t>({2, 1}, {0, 99'999})},
                     {"num_edges_list", npy_text<std::int64_t>({1}, {1})},
                     {"num_nodes_list", npy_text<std::int64_t>({1}, {100'000})},
                     {"node_year", npy_text<std::int64_t>({rows}, years)}});
  };
  write(100'000);
  ASSERT_OK(import({"node_year"}));
  auto text = testing::file_text(in_ / "raw/data.npz");
  text[text.find("node_year") + 200] ^= 0x10;
  write_all(in_ / "raw/data.npz", text);
  EXPECT_FALSE(import({"node_year"}).ok());
  write(99'999);
  EXPECT_ERROR(import({"node_year"}), Errc::invalid_argument,
               "expected rows for 100000 nodes, as in raw/data.npz: num_nodes_list, got 99999");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(OgbNamed, ArchivesOfTypesAreKept) {
  const std::string writes = "author___writes___paper";
  archive("num_nodes_dict", {{"author", npy_text<std::int64_t>({1}, {2})},
                             {"paper", npy_text<std::int64_t>({1}, {3})}});
  archive("num_edges_dict", {{writes, npy_text<std::int64_t>({1}, {2})}});
  archive("edge_index_dict", {{writes, npy_text<std::int64_t>({2, 2}, {0, 1, 2, 0})}});
  archive("node_feat_dict", {{"paper", npy_text<float>({3, 2}, {1, 2, 3, 4, 5, 6})}});
  archive("node_year_dict", {{"paper", npy_text<std::int64_t>({3, 1}, {1, 2, 3})},
                             {"author", npy_text<std::int32_t>({2}, {4, 5})}});
  archive("edge_reltype_dict", {{writes, npy_text<std::int64_t>({2}, {7, 8})}});
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import({"node_year", "edge_reltype"})));
  const auto& info = graph.info();
  EXPECT_EQ(info.node_types[0].columns, (ColumnInfos{{"node_year", DType::i32, {}}}));
  EXPECT_EQ(info.node_types[1].columns, (ColumnInfos{{"node_year", DType::i64, {1}}}));
  EXPECT_TRUE(info.node_types[1].features);
  EXPECT_EQ(values_by_edge<std::int64_t>(graph, 0, 0),
            (std::map<std::uint64_t, std::int64_t>{{0, 7}, {1, 8}}));
  EXPECT_TRUE(left_out_.empty());
}

TEST_F(OgbNamed, FilesOfMag240mAreKept) {
  const auto processed = in_ / "processed";
  save_npy<float>(processed / "paper/node_feat.npy", {3, 1}, {1, 2, 3});
  save_npy<std::int32_t>(processed / "paper/node_year.npy", {3}, {2018, 2019, 2020});
  const auto writes = processed / "author___writes___paper";
  save_npy<std::int64_t>(writes / "edge_index.npy", {2, 2}, {0, 1, 2, 0});
  save_npy<double>(writes / "edge_share.npy", {2}, {0.5, 0.25});
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import({"node_year", "edge_share"})));
  const auto& info = graph.info();
  EXPECT_EQ(info.node_types[1].columns, (ColumnInfos{{"node_year", DType::i32, {}}}));
  EXPECT_TRUE(info.node_types[1].features);
  EXPECT_EQ(values_by_edge<double>(graph, 0, 0),
            (std::map<std::uint64_t, double>{{0, 0.5}, {1, 0.25}}));
  EXPECT_TRUE(left_out_.empty());
  save_npy<std::int32_t>(processed / "paper/node_year.npy", {2}, {2018, 2019});
  EXPECT_ERROR(import({"node_year"}), Errc::invalid_argument,
               "processed/paper/node_year.npy: expected rows for 3 nodes, as in");
  EXPECT_ERROR(import({"x"}), Errc::not_found,
               "processed: expected an array of nodes or edges named \"x\", found");
}

}  // namespace
}  // namespace troupe
