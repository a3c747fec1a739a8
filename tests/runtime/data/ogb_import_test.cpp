#include "runtime/data/ogb_import.hpp"

#include "tests/runtime/data/import_fixture.hpp"
#include "tests/support/file_text.hpp"

#include <cmath>
#include <sys/stat.h>
#include <zlib.h>

namespace troupe {
namespace {

using namespace testing;

void write_gz(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
}

class Ogb : public ImportTest {
 protected:
  void SetUp() override {
    raw("num-node-list", "4\n");
    raw("num-edge-list", "3\n");
    raw("edge", "0,1\n2,1\n3,0\n");
    raw("node-feat", "0.5,1\n2,-3e-2\n4,5\n6,7\n");
    raw("node-label", "2\n0\n1\n0\n");
    raw("node_year", "2010\n2011\n2012\n2013\n");
    gz("split/time/train", "3\n1\n");
    gz("split/time/valid", "0\n");
    gz("split/time/test", "2\n");
  }
  /// The heterogeneous form, in a folder of its own.
  void write_heterogeneous() {
    in_ = temp_ / "heterogeneous";
    raw("num-node-dict", "author,paper\n2,3\n");
    raw("triplet-type-list", "author,writes,paper\npaper,cites,paper\n");
    raw("nodetype-has-label", "author,paper\nFalse,True\n");
    raw("relations/author___writes___paper/edge", "0,2\n1,0\n");
    raw("relations/author___writes___paper/num-edge-list", "2\n");
    raw("relations/author___writes___paper/edge_reltype", "0\n0\n");
    raw("relations/paper___cites___paper/edge", "0,1\n");
    raw("relations/paper___cites___paper/num-edge-list", "1\n");
    raw("relations/paper___cites___paper/edge-feat", "0.25,8\n");
    raw("node-feat/paper/node-feat", "1,2\n3,4\n5,6\n");
    raw("node-label/paper/node-label", "0\n1\n0\n");
    gz("split/time/paper/train", "0\n1\n");
    gz("split/time/paper/valid", "2\n");
    gz("split/time/nodetype-has-split", "author,paper\nFalse,True\n");
  }
  void gz(const std::string& name, const std::string& text) {
    write_gz(in_ / (name + ".csv.gz"), text);
  }
  void raw(const std::string& name, const std::string& text) { gz("raw/" + name, text); }

  Result<GraphInfo> import(EdgeColumnNames columns = {}) {
    OgbOptions options{.columns = std::move(columns)};
    begin(options.import);
    ComputePool pool(2);
    return import_ogb(in_, out_, options, pool);
  }
  Result<GraphStore> store() { return opened(import()); }
};

TEST_F(Ogb, StoresFeaturesLabelsEdgesAndTheSplit) {
  ASSERT_OK_AND_ASSIGN(const auto graph, store());

  const auto& type = graph.info().node_types[0];
  EXPECT_EQ(type.count, 4U);
  EXPECT_EQ(type.labels->classes, 3U);
  EXPECT_TRUE(std::ranges::equal(graph.graph()->nodes[0].features->data.as<float>(),
                                 std::vector<float>{0.5F, 1, 2, -0.03F, 4, 5, 6, 7}));
  EXPECT_TRUE(
      std::ranges::equal(graph.graph()->nodes[0].labels, std::vector<std::int64_t>{2, 0, 1, 0}));
  EXPECT_TRUE(std::ranges::equal(graph.graph()->edges[0].in.offsets,
                                 std::vector<std::uint64_t>{0, 1, 3, 3, 3}));
  ASSERT_OK_AND_ASSIGN(const auto seeds, graph.seeds("", "train"));
  EXPECT_EQ(seeds.original, (std::vector<OriginalId>{OriginalId{1}, OriginalId{3}}));
  EXPECT_EQ(graph.info().find_split("")->roles.size(), 3U);
  EXPECT_EQ(left_out_, (std::vector<std::string>{"raw/node_year.csv.gz"}));
}

TEST_F(Ogb, SeveralLabelsAreTargets) {
  raw("node-label", "0,1\n1,0\n1,nan\n0,0\n");
  ASSERT_OK_AND_ASSIGN(const auto graph, store());

  EXPECT_EQ(graph.info().node_types[0].labels->kind, LabelInfo::Kind::targets);
  EXPECT_EQ(graph.graph()->nodes[0].targets[1], 1.0F);
  EXPECT_TRUE(std::isnan(graph.graph()->nodes[0].targets[5]));
  raw("node-label", "0,1\n1,0\n1,2\n0,0\n");
  EXPECT_ERROR(import(), Errc::invalid_argument, "row 2, column 1: expected a target 0 or 1");
}

TEST_F(Ogb, SeveralSplitsKeepTheirNames) {
  gz("split/random/train", "2\n");
  ASSERT_OK_AND_ASSIGN(const auto info, import());

  EXPECT_EQ(info.find_split(""), nullptr);
  EXPECT_EQ(info.find_split("random")->roles.at("train").count, 1U);
  EXPECT_EQ(info.find_split("time")->roles.at("test").count, 1U);
}

TEST_F(Ogb, HeterogeneousDataHaveTypesFromTheirLists) {
  write_heterogeneous();
  ASSERT_OK_AND_ASSIGN(const auto graph, store());

  const auto& info = graph.info();
  EXPECT_EQ(info.node_types[0].name, "author");
  EXPECT_FALSE(info.node_types[0].features);
  EXPECT_EQ(info.node_types[1].labels->classes, 2U);
  EXPECT_EQ(info.edge_types[0].name, "writes");
  EXPECT_EQ(info.edge_types[1].name, "cites");
  EXPECT_EQ(info.edge_types[1].features->cols, 2U);
  EXPECT_EQ(info.find_split("")->roles.at("train").node_type, NodeTypeId{1});
  EXPECT_EQ(
      left_out_,
      (std::vector<std::string>{"raw/relations/author___writes___paper/edge_reltype.csv.gz"}));
}

TEST_F(Ogb, RelationsOfSeveralTypesAreNamedInFull) {
  write_heterogeneous();
  raw("triplet-type-list", "author,writes,paper\nauthor,writes,author\n");
  raw("relations/author___writes___author/edge", "0,1\n");
  raw("relations/author___writes___author/num-edge-list", "1\n");
  ASSERT_OK_AND_ASSIGN(const auto info, import());

  EXPECT_EQ(info.edge_types[0].name, "author.writes.paper");
  EXPECT_EQ(info.edge_types[1].name, "author.writes.author");
}

TEST_F(Ogb, LinesThatDoNotFitAreNamed) {
  const auto invalid = Errc::invalid_argument;
  raw("edge", "0,1\n2,4\n3,0\n");
  EXPECT_ERROR(import(), invalid,
               "edge.csv.gz: line 2: expected an id below 4 in column 1, got \"4\", in \"2,4\"");
  raw("edge", "0,1\n2\n3,0\n");
  EXPECT_ERROR(import(), invalid, "line 2: expected 2 numbers, got 1");
  raw("edge", "0,1,2\n");
  EXPECT_ERROR(import(), invalid, "expected two ids per line, got 3 columns");
  raw("edge", "0,1\n-1,1\n3,0\n");
  EXPECT_ERROR(import(), invalid, "line 2: expected an id below 4 in column 0, got \"-1\"");
  SetUp();
  raw("node-feat", "0.5,1\n2,nan\n4,5\n6,7\n");
  EXPECT_ERROR(import(), invalid,
               "node-feat.csv.gz: line 2: expected a finite float32, got \"nan\"");
  raw("node-feat", "0.5,1\n2,3\n4,5,6\n6,7\n");
  EXPECT_ERROR(import(), invalid, "line 3: expected 2 numbers, got more");
  raw("node-feat", "0.5,1\n2,1e39\n4,5\n6,7\n");
  EXPECT_ERROR(import(), invalid, "line 2: expected a finite float32, got \"1e39\"");
  raw("node-feat", "1,5;2,5\n3,5;4,5\n5,5;6,5\n7,5;8,5\n");
  EXPECT_ERROR(import(), invalid, "node-feat.csv.gz: line 1: expected a point in decimal numbers");
  SetUp();
  raw("node-label", "2\n0.5\n1\n0\n");
  EXPECT_ERROR(import(), invalid, "node-label.csv.gz: line 2: expected an integer, got \"0.5\"");
}

TEST_F(Ogb, CountsThatDisagreeAreErrors) {
  const auto invalid = Errc::invalid_argument;
  raw("num-edge-list", "4\n");
  EXPECT_ERROR(import(), invalid, "edge type edge: expected 4 edges, as the source says, got 3");
  raw("num-edge-list", "3\n5\n");
  EXPECT_ERROR(import(), invalid, "raw/num-edge-list.csv.gz: expected one number, for one graph");
  raw("num-edge-list", "x\n");
  EXPECT_ERROR(import(), invalid, "expected a number up to");
  SetUp();
  raw("node-feat", "0.5,1\n2,3\n4,5\n");
  EXPECT_ERROR(import(), invalid,
               "raw/node-feat.csv.gz: expected 4 rows, one per node of type node, got 3");
  raw("node-feat", "1\n2\n3\n4\n5\n");
  EXPECT_ERROR(import(), invalid, "got more than 4");
  SetUp();
  raw("node-label", "1\n1\n");
  EXPECT_ERROR(import(), invalid, "raw/node-label.csv.gz: expected 4 rows");
}

TEST_F(Ogb, APipeIsRefusedRatherThanWaitedFor) {
  const auto path = in_ / "raw/node-feat.csv.gz";
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_ERROR(import(), Errc::failed_precondition, "node-feat.csv.gz: expected a regular file");
}

TEST_F(Ogb, MissingAndDamagedFilesAreErrors) {
  std::filesystem::remove(in_ / "raw/num-node-list.csv.gz");
  EXPECT_ERROR(import(), Errc::not_found, "expected raw/num-node-list.csv.gz, found none");
  SetUp();
  std::filesystem::remove(in_ / "raw/edge.csv.gz");
  EXPECT_ERROR(import(), Errc::not_found, "expected raw/edge.csv.gz");
  SetUp();
  auto cut = testing::file_text(in_ / "raw/node-feat.csv.gz");
  cut.resize(cut.size() - 6);
  write_all(in_ / "raw/node-feat.csv.gz", cut);
  EXPECT_ERROR(import(), Errc::data_corruption, "node-feat.csv.gz");
  write_heterogeneous();
  raw("triplet-type-list", "author,../x,paper\n");
  EXPECT_ERROR(import(), Errc::invalid_argument, "expected a name of 1 to 100");
  raw("triplet-type-list", "author,writes,book\n");
  EXPECT_ERROR(import(), Errc::invalid_argument, "expected the name of a node type");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(Ogb, AdditionalEdgeFilesCanBeWeightsAndTimes) {
  raw("edge_weight", "2\n1\n4\n");
  raw("edge_year", "2011\n2009\n2010\n");
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import({"edge_weight", "edge_year"})));

  EXPECT_EQ(edges_with_values(graph),
            (std::vector<std::string>{"0>1 2 2011", "2>1 1 2009", "3>0 4 2010"}));
  EXPECT_EQ(left_out_, (std::vector<std::string>{"raw/node_year.csv.gz"}));
  ASSERT_OK(import());
  EXPECT_EQ(left_out_, (std::vector<std::string>{"raw/edge_weight.csv.gz", "raw/edge_year.csv.gz",
                                                 "raw/node_year.csv.gz"}));
}

TEST_F(Ogb, OnlyCsvFilesThatAreThereCountAsArraysOfEdges) {
  write_all(in_ / "raw/edge-feat", "1\n");
  write_all(in_ / "raw/edge_weight.txt", "1\n");
  write_all(in_ / "raw/edge.weight.csv", "1\n");
  write_all(in_ / "raw/edge_year.csv", "1\n2\n3\n");
  EXPECT_OK(import());
  EXPECT_ERROR(import({"edge_weight", {}}), Errc::not_found,
               "raw: expected weights of edges named \"edge_weight\", found edge_year");
}

TEST_F(Ogb, ALinkToAMissingFileIsAnError) {
  for (const std::string file : {"raw/node-feat.csv.gz", "raw/node-label.csv.gz",
                                 "raw/edge-feat.csv", "split/time/valid.csv.gz"}) {
    std::filesystem::remove(in_ / file);
    std::filesystem::create_symlink("/nowhere/a.csv", in_ / file);
    EXPECT_ERROR(import(), Errc::not_found, file);
    EXPECT_ERROR(import(), Errc::not_found, "a link to /nowhere/a.csv, which is missing");
    std::filesystem::remove(in_ / file);
    SetUp();
  }
}

TEST_F(Ogb, EdgeFeaturesOfOneColumnCanBeWeights) {
  raw("edge-feat", "0.5\n1\n4\n");
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import({"edge-feat", {}})));
  EXPECT_FALSE(graph.info().edge_types[0].features);
  EXPECT_EQ(edges_with_values(graph), (std::vector<std::string>{"0>1 0.5", "2>1 1", "3>0 4"}));

  raw("edge-feat", "0.5,1\n1,1\n4,1\n");
  EXPECT_ERROR(import({"edge-feat", {}}), Errc::invalid_argument,
               "raw/edge-feat.csv.gz: expected one number per edge, got 2 columns");
}

TEST_F(Ogb, RelationsThatHaveTheFileHaveTheTimes) {
  write_heterogeneous();
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import({{}, "edge_reltype"})));
  EXPECT_EQ(edges_with_values(graph, 0), (std::vector<std::string>{"0>2 0", "1>0 0"}));
  EXPECT_EQ(edges_with_values(graph, 1), (std::vector<std::string>{"0>1"}));
  EXPECT_TRUE(graph.info().edge_types[1].features);

  EXPECT_ERROR(import({"edge_weight", {}}), Errc::not_found,
               "raw: expected weights of edges named \"edge_weight\", found edge-feat, "
               "edge_reltype");
}

}  // namespace
}  // namespace troupe
