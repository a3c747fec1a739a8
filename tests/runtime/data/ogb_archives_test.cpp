#include "runtime/data/ogb_import.hpp"
#include "tests/runtime/data/import_fixture.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/npz_writer.hpp"

#include <cmath>
#include <limits>

namespace troupe {
namespace {

using namespace testing;

constexpr float nan_label = std::numeric_limits<float>::quiet_NaN();
using Int64s = std::vector<std::int64_t>;
using Float32s = std::vector<float>;

/// Data as ogbn-papers100M has them.
class OgbArchive : public ImportTest {
 protected:
  void SetUp() override {
    data_ = {{"edge_index", npy_text<std::int64_t>({2, 3}, {0, 2, 3, 1, 1, 0})},
             {"num_edges_list", npy_text<std::int64_t>({1}, {3})},
             {"num_nodes_list", npy_text<std::int64_t>({1}, {4})},
             {"node_year", npy_text<std::int64_t>({4, 1}, {2010, 2011, 2012, 2013})},
             {"node_feat", npy_text<float>({4, 2}, {0.5F, 1, 2, -0.03F, 4, 5, 6, 7})}};
    labels_ = {{"node_label", npy_text<float>({4, 1}, {2, nan_label, 1, 0})}};
    split("split/time/train.csv", "3\n1\n");
    split("split/time/valid.csv", "0\n");
    split("split/time/test.csv", "2\n");
  }
  void split(const std::string& file, const std::string& text) { write_all(in_ / file, text); }
  void set(const std::string& name, std::string npy) {
    std::erase_if(data_, [&](const NpzArray& array) { return array.name == name; });
    if (!npy.empty()) {
      data_.push_back({name, std::move(npy)});
    }
  }
  void write() {
    write_all(in_ / "raw/data.npz", npz_text(data_, deflate_));
    write_all(in_ / "raw/node-label.npz", npz_text(labels_, deflate_));
  }

  Result<GraphInfo> import_written(EdgeColumnNames columns = {}) {
    OgbOptions options{.columns = std::move(columns)};
    begin(options.import);
    ComputePool pool(2);
    return import_ogb(in_, out_, options, pool);
  }
  Result<GraphInfo> import(EdgeColumnNames columns = {}) {
    write();
    return import_written(std::move(columns));
  }
  Result<GraphStore> store(EdgeColumnNames columns = {}) {
    return opened(import(std::move(columns)));
  }

  std::vector<NpzArray> data_;
  std::vector<NpzArray> labels_;
  bool deflate_ = false;
};

TEST_F(OgbArchive, GivesTheStoreThatTextGives) {
  // the same graph as csv files
  const auto text = temp_ / "text";
  write_all(text / "raw/num-node-list.csv", "4\n");
  write_all(text / "raw/num-edge-list.csv", "3\n");
  write_all(text / "raw/edge.csv", "0,1\n2,1\n3,0\n");
  write_all(text / "raw/node-feat.csv", "0.5,1\n2,-0.03\n4,5\n6,7\n");
  write_all(text / "raw/node-label.csv", "2\n-1\n1\n0\n");
  for (const auto* role : {"train", "valid", "test"}) {
    const auto file = fmt::format("split/time/{}.csv", role);
    write_all(text / file, testing::file_text(in_ / file));
  }
  InlineExecutor executor;
  ASSERT_OK(import_ogb(text, temp_ / "from_text", {}, executor));

  for (const bool deflate : {false, true}) {
    deflate_ = deflate;
    ASSERT_OK(import());
    const auto files = files_below(out_);
    EXPECT_EQ(files, files_below(temp_ / "from_text"));
    for (const auto& file : files) {
      EXPECT_TRUE(testing::file_text(out_ / file) == testing::file_text(temp_ / "from_text" / file))
          << file;
    }
    EXPECT_EQ(left_out_, (std::vector<std::string>{"raw/data.npz: node_year.npy"}));
  }
}

TEST_F(OgbArchive, LargeArraysComeInBlocks) {
  constexpr std::uint64_t nodes = 300'000;
  constexpr std::uint64_t edges = 2'500'001;
  Int64s pairs(2 * edges);
  for (std::uint64_t i = 0; i < pairs.size(); ++i) {
    pairs[i] = static_cast<std::int64_t>((i * i + 7 * i) % nodes);
  }
  std::vector<std::int32_t> years(edges);
  Float32s rows(5 * nodes);
  for (std::uint64_t i = 0; i < edges; ++i) {
    years[i] = static_cast<std::int32_t>(i % 1000);
  }
  for (std::uint64_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<float>(i);
  }
  set("edge_index", npy_text({2, edges}, pairs));
  set("edge_year", npy_text({edges, 1}, years));
  set("node_feat", npy_text({nodes, 5}, rows));
  set("num_edges_list", npy_text({1}, Int64s{edges}));
  set("num_nodes_list", npy_text({1}, Int64s{nodes}));
  set("node_year", "");
  labels_.clear();
  for (const bool deflate : {false, true}) {
    deflate_ = deflate;
    ASSERT_OK_AND_ASSIGN(const auto graph, store({{}, "edge_year"}));

    EXPECT_TRUE(std::ranges::equal(graph.graph()->nodes[0].features->data.as<float>(), rows));
    const auto& lists = graph.graph()->edges[0].in;
    std::uint64_t wrong = 0;
    for (std::uint64_t node = 0; node < nodes; ++node) {
      for (auto i = lists.offsets[node]; i < lists.offsets[node + 1]; ++i) {
        const auto edge = lists.edge_ids[i];
        const bool right = pairs[edges + edge] == static_cast<std::int64_t>(node) &&
                           static_cast<std::uint64_t>(pairs[edge]) ==
                               static_cast<std::uint64_t>(raw(lists.neighbours[i])) &&
                           lists.times[i] == years[edge];
        wrong += right ? 0 : 1;
      }
    }
    EXPECT_EQ(lists.offsets[nodes], edges);
    EXPECT_EQ(wrong, 0U);
  }
}

TEST_F(OgbArchive, ArraysOfEdgesCanBeWeightsTimesAndFeatures) {
  set("edge_weight", npy_text<double>({3}, {2, 1, 4}));
  set("edge_year", npy_text<std::int16_t>({3, 1}, {2011, 2009, -5}));
  set("edge_feat", npy_text<std::uint8_t>({3, 2}, {1, 2, 3, 4, 5, 6}));
  ASSERT_OK_AND_ASSIGN(const auto graph, store({"edge_weight", "edge_year"}));

  EXPECT_EQ(edges_with_values(graph),
            (std::vector<std::string>{"0>1 2 2011", "2>1 1 2009", "3>0 4 -5"}));
  EXPECT_EQ(graph.info().edge_types[0].features->dtype, DType::u8);
  EXPECT_EQ(left_out_, (std::vector<std::string>{"raw/data.npz: node_year.npy"}));
  EXPECT_ERROR(import({"price", {}}), Errc::not_found,
               "raw: expected weights of edges named \"price\", found edge_feat, edge_weight, "
               "edge_year");
}

TEST_F(OgbArchive, LabelsAreClassesOrTargets) {
  labels_ = {{"node_label", npy_text<std::int64_t>({4}, {5, -1, 0, 0})}};
  ASSERT_OK_AND_ASSIGN(const auto integers, store());
  EXPECT_EQ(integers.info().node_types[0].labels->classes, 6U);
  EXPECT_TRUE(std::ranges::equal(integers.graph()->nodes[0].labels, Int64s{5, -1, 0, 0}));

  labels_ = {{"node_label", npy_text<float>({4, 2}, {0, 1, 1, 0, 1, nan_label, 0, 0})}};
  ASSERT_OK_AND_ASSIGN(const auto targets, store());
  EXPECT_EQ(targets.info().node_types[0].labels->kind, LabelInfo::Kind::targets);
  EXPECT_TRUE(std::isnan(targets.graph()->nodes[0].targets[5]));

  labels_ = {{"node_label", npy_text<float>({4, 1}, {nan_label, nan_label, nan_label, -1})}};
  ASSERT_OK_AND_ASSIGN(const auto none, store());
  EXPECT_EQ(none.info().node_types[0].labels->classes, 0U);

  const auto invalid = Errc::invalid_argument;
  labels_ = {{"node_label", npy_text<float>({4, 1}, {0, 1, 1.5F, 0})}};
  EXPECT_ERROR(import(), invalid,
               "raw/node-label.npz: node_label: row 2: expected a label, an integer from -1 (none) "
               "to 16777215, or NaN, got 1.5");
  labels_ = {{"node_label", npy_text<float>({4, 1}, {0, -2, 1, 0})}};
  EXPECT_ERROR(import(), invalid, "row 1: expected a label");
  labels_ = {{"node_label", npy_text<float>({4, 1}, {0, 0, 0, 16777216.0F})}};
  EXPECT_ERROR(import(), invalid, "row 3: expected a label");
  labels_ = {{"node_label", npy_text<float>({3, 1}, {0, 1, 1})}};
  EXPECT_ERROR(import(), invalid,
               "raw/node-label.npz: node_label: expected rows for 4 nodes, as in raw/data.npz: "
               "num_nodes_list, got 3");
}

TEST_F(OgbArchive, ArraysThatDoNotFitAreNamed) {
  const auto invalid = Errc::invalid_argument;
  set("edge_index", npy_text<std::int64_t>({2, 3}, {0, 2, 3, 1, 4, 0}));
  EXPECT_ERROR(import(), invalid,
               "raw/data.npz: edge_index: row 1: expected a destination's node id below 4, got 4");
  set("edge_index", npy_text<std::int64_t>({2, 3}, {0, 2, -3, 1, 3, 0}));
  EXPECT_ERROR(import(), invalid, "row 2: expected a source's node id below 4, got -3");
  set("edge_index", npy_text<float>({2, 3}, {0, 2, 3, 1, 1, 0}));
  EXPECT_ERROR(import(), invalid, "expected integers, got dtype <f4");
  set("edge_index", npy_text<std::int64_t>({3, 2}, {0, 2, 3, 1, 1, 0}));
  EXPECT_ERROR(import(), invalid, "edge_index: expected shape [2, edges], got [3, 2]");
  set("edge_index", npy_text<std::int64_t>({2, 2}, {0, 2, 3, 1}));
  EXPECT_ERROR(import(), invalid, "edge type edge: expected 3 edges, as the source says, got 2");
  set("edge_index", "");
  EXPECT_ERROR(import(), Errc::not_found, "raw/data.npz: expected an array edge_index, found none");
  SetUp();
  set("num_nodes_list", npy_text<std::int64_t>({2}, {2, 2}));
  EXPECT_ERROR(import(), invalid, "expected one number, for one graph, got shape [2]");
  set("num_nodes_list", npy_text<std::int64_t>({1}, {-1}));
  EXPECT_ERROR(import(), invalid,
               "num_nodes_list: expected a number up to 281474976710656, got -1");
  set("num_nodes_list", npy_text<std::int64_t>({1}, {5}));
  EXPECT_ERROR(import(), invalid,
               "raw/data.npz: node_feat: expected rows for 5 nodes, as in raw/data.npz: "
               "num_nodes_list, got 4");
  set("num_nodes_list", "no array at all");
  EXPECT_ERROR(import(), invalid, "raw/data.npz: num_nodes_list: expected a NumPy array (.npy)");
  SetUp();
  set("node_feat", npy_text<float>({4, 2}, {0, 1, 2, nan_label, 4, 5, 6, 7}));
  EXPECT_ERROR(import(), invalid,
               "raw/data.npz: node_feat: row 1, column 1: expected a finite float32, got nan");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(OgbArchive, DamageThatOnlyTheChecksumShowsIsAnError) {
  for (const auto* array : {"edge_index", "node_feat", "num_nodes_list"}) {
    ZipWriter writer;
    for (const auto& [name, npy] : data_) {
      ZipPart part{.name = name + ".npy", .bytes = npy};
      if (name == array) {
        part.checksum = 1;
      }
      writer.add(part);
    }
    write_all(in_ / "raw/data.npz", writer.finish().text());
    EXPECT_ERROR(import_written(), Errc::data_corruption,
                 fmt::format("raw/data.npz: {}.npy: expected checksum 00000001", array));
  }
  write_all(in_ / "raw/data.npz", "PK");
  EXPECT_ERROR(import_written(), Errc::data_corruption, "raw/data.npz: expected a ZIP archive");
}

TEST_F(OgbArchive, ALabelsArchiveAloneIsRefused) {
  write_all(in_ / "raw/node-label.npz", npz_text(labels_, false));
  EXPECT_ERROR(import_written(), Errc::invalid_argument,
               "raw/node-label.npz: expected raw/data.npz or raw/edge_index_dict.npz beside it");
}

TEST_F(OgbArchive, SplitsOfTorchAreRefusedUnlessTheyWereExported) {
  std::filesystem::remove_all(in_ / "split");
  split("split/time/split_dict.pt", "a pickle");
  EXPECT_ERROR(import(), Errc::unimplemented,
               "split/time/split_dict.pt: expected train, valid and test as .csv.gz, .csv or .npy, "
               "found a pickled file of torch, which is never read\n"
               "try: in that folder: python3 -c");
  save_npy<std::int64_t>(in_ / "split/time/train.npy", {2}, {2, 0});
  ASSERT_OK_AND_ASSIGN(const auto graph, store());
  ASSERT_OK_AND_ASSIGN(const auto seeds, graph.seeds("", "train"));
  EXPECT_EQ(seeds.original, (std::vector<OriginalId>{OriginalId{0}, OriginalId{2}}));
  EXPECT_EQ(left_out_,
            (std::vector<std::string>{"raw/data.npz: node_year.npy", "split/time/split_dict.pt"}));
}

TEST_F(OgbArchive, LinksAreArraysThatUsersExported) {
  std::filesystem::remove_all(in_ / "split");
  split("split/time/train.pt", "a pickle");
  EXPECT_ERROR(import(), Errc::unimplemented,
               "split/time/train.pt: expected train_links.npy, valid_links.npy and test_links.npy, "
               "found a pickled file of torch");
  save_npy<std::int64_t>(in_ / "split/time/train_links.npy", {2, 2}, {3, 1, 0, 2});
  save_npy<std::int64_t>(in_ / "split/time/valid_links.npy", {1, 2}, {1, 1});
  save_npy<float>(in_ / "split/time/valid_links_labels.npy", {1}, {0.5F});
  save_npy<std::int64_t>(in_ / "split/time/test_links.npy", {1, 2}, {1, 4});
  EXPECT_ERROR(import(), Errc::invalid_argument,
               "split/time/test_links.npy: row 0: expected a destination's node id below 4, got 4");
  std::filesystem::remove(in_ / "split/time/test_links.npy");
  ASSERT_OK_AND_ASSIGN(const auto graph, store());

  ASSERT_OK_AND_ASSIGN(const auto train, graph.links("", "train"));
  EXPECT_EQ(train.size(), 2U);
  ASSERT_OK_AND_ASSIGN(const auto valid, graph.links("", "val"));
  EXPECT_EQ(valid.size(), 1U);
  EXPECT_EQ(left_out_,
            (std::vector<std::string>{"raw/data.npz: node_year.npy", "split/time/train.pt"}));
}

TEST_F(OgbArchive, AnEdgeSplitNeedsNoOtherSplit) {
  std::filesystem::remove_all(in_ / "split");
  split("split/time/train.pt", "a pickle");
  write();
  OgbOptions options;
  begin(options.import);
  options.import.writer.edge_split = EdgeSplit{0.5, 0.25, 0.25};
  InlineExecutor executor;
  EXPECT_OK(import_ogb(in_, out_, options, executor));
}

/// Data of several types, as OGB's DatasetSaver writes them.
class OgbTypedArchives : public ImportTest {
 protected:
  void SetUp() override {
    archive("num_nodes_dict", {{"author", npy_text<std::int64_t>({1}, {2})},
                               {"paper", npy_text<std::int64_t>({1}, {3})}});
    archive("num_edges_dict", {{writes_, npy_text<std::int64_t>({1}, {2})},
                               {cites_, npy_text<std::int64_t>({1}, {1})}});
    archive("edge_index_dict", {{cites_, npy_text<std::int64_t>({2, 1}, {0, 1})},
                                {writes_, npy_text<std::int64_t>({2, 2}, {0, 1, 2, 0})}});
    archive("node_feat_dict", {{"paper", npy_text<float>({3, 2}, {1, 2, 3, 4, 5, 6})}});
    archive("node_year_dict", {{"paper", npy_text<std::int64_t>({3, 1}, {1, 2, 3})}});
    archive("edge_reltype_dict", {{writes_, npy_text<std::int64_t>({2, 1}, {7, 8})}});
    archive("edge_feat_dict", {{cites_, npy_text<float>({1, 2}, {0.25F, 8})}});
    archive("node-label", {{"paper", npy_text<std::int64_t>({3, 1}, {0, 1, 0})}});
    write_all(in_ / "split/time/paper/train.csv", "0\n1\n");
    write_all(in_ / "split/time/paper/valid.csv", "2\n");
    write_all(in_ / "split/time/nodetype-has-split.csv", "author,paper\nFalse,True\n");
  }
  void archive(const std::string& name, const std::vector<NpzArray>& arrays) {
    write_all(in_ / fmt::format("raw/{}.npz", name), npz_text(arrays, true));
  }
  Result<GraphInfo> import(EdgeColumnNames columns = {}) {
    OgbOptions options{.columns = std::move(columns)};
    begin(options.import);
    ComputePool pool(2);
    return import_ogb(in_, out_, options, pool);
  }

  const std::string writes_ = "author___writes___paper";
  const std::string cites_ = "paper___cites___paper";
};

TEST_F(OgbTypedArchives, HaveTypesFromTheirCounts) {
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import({{}, "edge_reltype"})));

  const auto& info = graph.info();
  EXPECT_EQ(info.node_types[0].name, "author");
  EXPECT_FALSE(info.node_types[0].features);
  EXPECT_EQ(info.node_types[1].labels->classes, 2U);
  EXPECT_EQ(info.node_types[1].features->cols, 2U);
  EXPECT_EQ(info.edge_types[0].name, "writes");
  EXPECT_EQ(info.edge_types[1].name, "cites");
  EXPECT_EQ(info.edge_types[1].features->cols, 2U);
  EXPECT_EQ(edges_with_values(graph, 0), (std::vector<std::string>{"0>2 7", "1>0 8"}));
  EXPECT_EQ(edges_with_values(graph, 1), (std::vector<std::string>{"0>1"}));
  EXPECT_EQ(info.find_split("")->roles.at("train").node_type, NodeTypeId{1});
  EXPECT_EQ(left_out_, (std::vector<std::string>{"raw/node_year_dict.npz: paper.npy"}));
  ASSERT_OK(import());
  EXPECT_EQ(left_out_, (std::vector<std::string>{"raw/edge_reltype_dict.npz: "
                                                 "author___writes___paper.npy",
                                                 "raw/node_year_dict.npz: paper.npy"}));
}

TEST_F(OgbTypedArchives, CountsThatNothingConfirmsAreErrors) {
  archive("num_nodes_dict", {{"author", npy_text<std::int64_t>({1}, {4'000'000'000})},
                             {"paper", npy_text<std::int64_t>({1}, {3})}});
  EXPECT_ERROR(
      import(), Errc::invalid_argument,
      "node type author: expected a number of nodes near that of its 2 edges, as it has no "
      "features, no labels and no edges that end there, got 4000000000");
  EXPECT_FALSE(std::filesystem::exists(out_));
  archive("num_nodes_dict", {{"author", npy_text<std::int64_t>({1}, {1'000'000})},
                             {"paper", npy_text<std::int64_t>({1}, {3})}});
  EXPECT_OK(opened(import()));
}

TEST_F(OgbTypedArchives, NamesThatDoNotFitAreErrors) {
  const auto invalid = Errc::invalid_argument;
  archive("num_edges_dict", {{"author___writes", npy_text<std::int64_t>({1}, {2})}});
  EXPECT_ERROR(import(), invalid,
               "raw/num_edges_dict.npz: expected source___relation___destination, got "
               "\"author___writes\"");
  archive("num_edges_dict", {{"author___writes___book", npy_text<std::int64_t>({1}, {2})}});
  EXPECT_ERROR(import(), invalid, "expected the name of a node type, found \"book\"");
  archive("num_edges_dict", {{"author___../x___paper", npy_text<std::int64_t>({1}, {2})}});
  EXPECT_ERROR(import(), invalid, "expected a name of 1 to 100");
  archive("num_edges_dict", {{"author___likes___paper", npy_text<std::int64_t>({1}, {2})}});
  EXPECT_ERROR(import(), Errc::not_found,
               "raw/edge_index_dict.npz: expected an array author___likes___paper, found none");
  archive("num_nodes_dict", {{"a b", npy_text<std::int64_t>({1}, {2})}});
  EXPECT_ERROR(import(), invalid, "raw/num_nodes_dict.npz: expected a name of 1 to 100");
  std::filesystem::remove(in_ / "raw/num_nodes_dict.npz");
  EXPECT_ERROR(import(), Errc::not_found, "num_nodes_dict.npz");
}

}  // namespace
}  // namespace troupe
