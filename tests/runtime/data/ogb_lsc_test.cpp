#include "runtime/data/ogb_import.hpp"
#include "tests/runtime/data/import_fixture.hpp"

#include <limits>

namespace troupe {
namespace {

using namespace testing;

/// A folder as MAG240M has it.
class OgbLscFolder : public ImportTest {
 protected:
  void SetUp() override {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    save_npy<std::uint16_t>(paper("node_feat"), {'f', 2}, {3, 2},
                            {0x3C00, 0x4000, 0x3800, 0, 0xC000, 0x4200});
    save_npy<float>(paper("node_label"), {3}, {1, nan, 0});
    save_npy<std::int32_t>(paper("node_year"), {3}, {2018, 2019, 2020});
    save_npy<std::int64_t>(edges("author___writes___paper"), {2, 2}, {0, 1, 2, 0});
    save_npy<std::int64_t>(edges("author___affiliated_with___institution"), {2, 1}, {1, 0});
    save_npy<std::int64_t>(edges("paper___cites___paper"), {2, 1}, {0, 1});
    write_all(in_ / "meta.pt", "a pickle");
    write_all(in_ / "split_dict.pt", "a pickle");
    save_npy<std::int64_t>(in_ / "train.npy", {1}, {0});
    save_npy<std::int64_t>(in_ / "valid.npy", {1}, {2});
    save_npy<std::int64_t>(in_ / "test-dev.npy", {1}, {1});
  }
  std::filesystem::path paper(const std::string& name) const {
    return in_ / fmt::format("processed/paper/{}.npy", name);
  }
  std::filesystem::path edges(const std::string& type, const std::string& name = "edge_index") {
    return in_ / fmt::format("processed/{}/{}.npy", type, name);
  }
  Result<GraphInfo> import(OgbOptions options = {}) {
    begin(options.import);
    ComputePool pool(2);
    return import_ogb(in_, out_, options, pool);
  }
};

TEST_F(OgbLscFolder, HasTypesFromItsFolders) {
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import()));

  const auto& info = graph.info();
  ASSERT_EQ(info.node_types.size(), 3U);
  EXPECT_EQ(info.node_types[0].name, "author");
  EXPECT_EQ(info.node_types[0].count, 2U);
  EXPECT_EQ(info.node_types[1].name, "institution");
  EXPECT_EQ(info.node_types[1].count, 1U);
  EXPECT_EQ(info.node_types[2].name, "paper");
  EXPECT_EQ(info.node_types[2].count, 3U);
  EXPECT_EQ(info.node_types[2].features->dtype, DType::f16);
  EXPECT_TRUE(
      std::ranges::equal(graph.graph()->nodes[2].features->data.as<std::uint16_t>(),
                         std::vector<std::uint16_t>{0x3C00, 0x4000, 0x3800, 0, 0xC000, 0x4200}));
  EXPECT_TRUE(
      std::ranges::equal(graph.graph()->nodes[2].labels, std::vector<std::int64_t>{1, -1, 0}));
  ASSERT_EQ(info.edge_types.size(), 3U);
  EXPECT_EQ(info.edge_types[0].name, "affiliated_with");
  EXPECT_EQ(info.edge_types[1].name, "writes");
  EXPECT_EQ(edges_with_values(graph, 1), (std::vector<std::string>{"0>2", "1>0"}));
  EXPECT_EQ(info.find_split("")->roles.at("train").node_type, NodeTypeId{2});
  EXPECT_EQ(info.find_split("")->roles.size(), 2U);
  EXPECT_EQ(left_out_, (std::vector<std::string>{"processed/paper/node_year.npy"}));
}

TEST_F(OgbLscFolder, CountsCanBeStated) {
  ASSERT_OK_AND_ASSIGN(auto counts, parse_node_counts("author=5,institution=4,paper=3"));
  ASSERT_OK_AND_ASSIGN(const auto info, import({.counts = counts}));
  EXPECT_EQ(info.node_types[0].count, 5U);
  EXPECT_EQ(info.node_types[1].count, 4U);

  const auto invalid = Errc::invalid_argument;
  EXPECT_ERROR(import({.counts = {{"paper", 4}}}), invalid,
               "processed/paper/node_feat.npy: expected rows for 4 nodes, as in --counts, got 3");
  EXPECT_ERROR(import({.counts = {{"author", 1}}}), invalid,
               "expected a source's node id below 1, got 1");
  EXPECT_ERROR(
      import({.counts = {{"book", 1}}}), invalid,
      "--counts: expected node types of processed/ (author, institution, paper), got book");
  EXPECT_ERROR(parse_node_counts("author"), invalid, "--counts: expected TYPE=NUMBER,...");
  EXPECT_ERROR(parse_node_counts("a=1,"), invalid, "got \"\"");
  EXPECT_ERROR(parse_node_counts("a=x"), invalid, "--counts: expected a number up to");
  EXPECT_ERROR(parse_node_counts("a=1,a=2"), invalid, "expected each type once, got a twice");
}

TEST_F(OgbLscFolder, CountsAreForDataThatDoNotStateThem) {
  std::filesystem::remove_all(in_);
  write_all(in_ / "raw/num-node-list.csv", "1\n");
  EXPECT_ERROR(import({.counts = {{"node", 1}}}), Errc::invalid_argument,
               "--counts: expected folders");
}

TEST_F(OgbLscFolder, ArraysOfEdgesCanBeWeightsTimesAndFeatures) {
  save_npy<float>(edges("author___writes___paper", "edge_share"), {2}, {0.5F, 1});
  save_npy<float>(edges("author___writes___paper", "edge_feat"), {2, 1}, {3, 4});
  ASSERT_OK_AND_ASSIGN(const auto graph, opened(import({.columns = {"edge_share", {}}})));
  EXPECT_EQ(edges_with_values(graph, 1), (std::vector<std::string>{"0>2 0.5", "1>0 1"}));
  EXPECT_EQ(graph.info().edge_types[1].features->cols, 1U);
  ASSERT_OK(import());
  EXPECT_EQ(left_out_, (std::vector<std::string>{"processed/author___writes___paper/edge_share.npy",
                                                 "processed/paper/node_year.npy"}));
}

TEST_F(OgbLscFolder, PicklesAreNeverRead) {
  std::filesystem::remove(in_ / "train.npy");
  std::filesystem::remove(in_ / "valid.npy");
  EXPECT_ERROR(import(), Errc::unimplemented,
               "split_dict.pt: expected train, valid and test as .csv.gz, .csv or .npy, found a "
               "pickled file of torch, which is never read");
  std::filesystem::remove(in_ / "split_dict.pt");
  EXPECT_OK(import());
}

TEST_F(OgbLscFolder, WhatDoesNotFitIsNamed) {
  const auto invalid = Errc::invalid_argument;
  std::filesystem::remove(paper("node_label"));
  EXPECT_ERROR(import(), invalid, "train.npy: expected labels of one node type, got those of 0");
  SetUp();
  save_npy<std::int64_t>(in_ / "train.npy", {1}, {3});
  EXPECT_ERROR(import(), invalid, "train.npy: row 0: expected a node id below 3, got 3");
  SetUp();
  std::filesystem::create_directories(in_ / "processed/a b");
  EXPECT_ERROR(import(), invalid, "processed/a b: expected a name of 1 to 100");
  std::filesystem::remove(in_ / "processed/a b");
  std::filesystem::create_directories(in_ / "processed/a___b");
  EXPECT_ERROR(import(), invalid, "processed/a___b: expected source___relation___destination");
  std::filesystem::remove(in_ / "processed/a___b");
  std::filesystem::create_directories(in_ / "processed/a___b___c");
  EXPECT_ERROR(import(), Errc::not_found, "processed/a___b___c/edge_index.npy");
}

}  // namespace
}  // namespace troupe
