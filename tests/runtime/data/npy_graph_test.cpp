#include "runtime/data/npy_graph.hpp"

#include "runtime/data/npy_import.hpp"
#include "runtime/graph/half.hpp"
#include "runtime/graph/store.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"

#include <cmath>

namespace troupe {
namespace {

using namespace testing;

/// Papers with authors and venues. Each test changes what it is about.
class NpyGraph : public ::testing::Test {
 protected:
  void SetUp() override {
    write("venue", R"("venue": {"count": 2, "features": "one-hot"})");
    write("splits", R"("": {"train": {"paper": "train.npy"}}, "40": {"val": {"author": "v.npy"}})");
    save_npy<float>(in_ / "x_author.npy", {3, 2}, {0, 1, 2, 3, 4, 5});
    save_npy<std::int64_t>(in_ / "y_author.npy", {3}, {1, -1, 0});
    save_npy<std::int64_t>(in_ / "indptr.npy", {5}, {0, 1, 1, 3, 3});
    save_npy<std::int32_t>(in_ / "indices.npy", {3}, {2, 0, 1});
    save_npy<float>(in_ / "data.npy", {3}, {0.5F, 2, 3});
    save_npy<std::int32_t>(in_ / "wrote.npy", {2, 3}, {0, 1, 2, /* to */ 3, 3, 0});
    save_npy<std::int64_t>(in_ / "in.npy", {3, 2}, {0, 1, 3, 0, 2, 1});
    save_npy<std::int64_t>(in_ / "cites.npy", {2, 2}, {0, 1, /* to */ 2, 3});
    save_npy<float>(in_ / "w.npy", {3}, {0.25F, 1, 4});
    save_npy<std::int64_t>(in_ / "t.npy", {3}, {30, 20, 10});
    save_npy<double>(in_ / "e.npy", {3, 1}, {7, 8, 9});
    save_npy<std::int64_t>(in_ / "train.npy", {2}, {3, 1});
    save_npy<std::int64_t>(in_ / "v.npy", {1}, {2});
  }

  void write(const std::string& part, const std::string& text) {
    parts_[part] = text;
    std::string nodes =
        R"("author": {"count": 3, "features": "x_author.npy", "labels": "y_author.npy"},
           "paper": {"count": 4, "features": {"indptr": "indptr.npy", "indices": "indices.npy",
                     "data": "data.npy", "columns": 5}}, )";
    std::string edges =
        R"("cites": {"source": "paper", "destination": "paper", "edges": "cites.npy"},
           "in": {"source": "paper", "destination": "venue", "edges": "in.npy",
                  "reverse_edges": true},
           "wrote": {"source": "author", "destination": "paper", "edges": "wrote.npy",
                     "weights": "w.npy", "times": "t.npy", "features": "e.npy"})";
    write_all(in_ / "graph.json", R"({"node_types": {)" + nodes + parts_["venue"] +
                                      R"(}, "edge_types": {)" + edges + R"(}, "splits": {)" +
                                      parts_["splits"] + "}}");
  }

  Result<GraphInfo> import(const ImportOptions& options = {}) {
    std::filesystem::remove_all(out_);
    InlineExecutor executor;
    return import_npy(in_ / "graph.json", out_, options, executor);
  }
  Result<GraphStore> store(const ImportOptions& options = {}) {
    TROUPE_RETURN_IF_ERROR(import(options));
    return GraphStore::open(out_, {});
  }
  void replace(const std::string& text) { write_all(in_ / "graph.json", text); }

  TempDir temp_;
  std::filesystem::path in_ = temp_ / "in";
  std::filesystem::path out_ = temp_ / "out";
  std::map<std::string, std::string> parts_;
};

TEST_F(NpyGraph, StoresTypesRowsEdgesAndSplits) {
  ASSERT_OK_AND_ASSIGN(const auto graph, store());

  const auto& info = graph.info();
  ASSERT_EQ(info.node_types.size(), 3U);
  EXPECT_EQ(info.node_types[0].name, "author");
  EXPECT_EQ(info.node_types[0].labels->classes, 2U);
  EXPECT_EQ(info.node_types[1].features->cols, 5U);
  EXPECT_EQ(info.node_types[2].features->dtype, DType::u8);
  const auto& nodes = graph.graph()->nodes;
  EXPECT_EQ(nodes[0].features->data.as<float>()[5], 5.0F);
  EXPECT_EQ(nodes[1].features->data.as<float>()[2], 0.5F);
  EXPECT_EQ(nodes[1].features->data.as<float>()[11], 3.0F);
  EXPECT_TRUE(std::ranges::equal(nodes[2].features->data.as<std::uint8_t>(),
                                 std::vector<std::uint8_t>{1, 0, 0, 1}));
  std::vector<std::string> names;
  for (const auto& type : info.edge_types) {
    names.push_back(type.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"cites", "in", "rev_in", "wrote"}));
  EXPECT_TRUE(info.edge_types[3].has_weights && info.edge_types[3].has_times);
  EXPECT_EQ(info.find_split("")->roles.at("train").node_type, NodeTypeId{1});
  EXPECT_EQ(info.find_split("40")->roles.at("val").node_type, NodeTypeId{0});
}

TEST_F(NpyGraph, PairsLieByColumnOrByRow) {
  ASSERT_OK_AND_ASSIGN(const auto graph, store());

  const auto& edges = graph.graph()->edges;
  EXPECT_TRUE(std::ranges::equal(edges[0].in.offsets, std::vector<std::uint64_t>{0, 0, 0, 1, 2}))
      << "[2, 2] is [2, edges]";
  EXPECT_TRUE(std::ranges::equal(edges[1].in.offsets, std::vector<std::uint64_t>{0, 1, 3}));
  EXPECT_EQ(raw(edges[1].in.neighbours[0]), 3U);
  EXPECT_EQ(raw(edges[1].in.neighbours[1]), 0U);
}

TEST_F(NpyGraph, WhatLiesOnEdgesFollowsThemIntoTheLists) {
  ASSERT_OK(import());

  ASSERT_OK_AND_ASSIGN(const auto weights, map_npy(out_ / "edges-wrote/in/weights.npy"));
  ASSERT_OK_AND_ASSIGN(const auto times, map_npy(out_ / "edges-wrote/in/times.npy"));
  EXPECT_TRUE(std::ranges::equal(weights.as<float>(), std::vector<float>{4, 1, 0.25F}))
      << "the list of paper 3 is in order of time";
  EXPECT_TRUE(std::ranges::equal(times.as<std::int64_t>(), std::vector<std::int64_t>{10, 20, 30}));
}

TEST_F(NpyGraph, AMaskIsNoListOfSeeds) {
  save_npy<std::uint8_t>(in_ / "train.npy", {.kind = 'b', .bytes = 1}, {4}, {1, 0, 0, 1});
  EXPECT_ERROR(import(), Errc::invalid_argument,
               "train.npy: expected ids, got dtype bool\ntry: numpy.flatnonzero");
}

TEST_F(NpyGraph, UnknownKeysAreNamedByPointerWithTheNearest) {
  replace(R"({"node_types": {"a": {"cuont": 1}}, "edge_types": {}})");
  EXPECT_ERROR(
      import(), Errc::invalid_argument,
      "/node_types/a/cuont: expected one of count, features, labels, columns, found an unknown "
      "key\ntry: \"count\"");
  replace(R"({"node_types": {}, "edge_types": {}, "split": {}})");
  EXPECT_ERROR(import(), Errc::invalid_argument, "/split: expected one of");
  write("splits", R"("": {"valid": {"paper": "train.npy"}})");
  EXPECT_ERROR(import(), Errc::invalid_argument,
               "/splits//valid: expected one of train, val, test");
}

TEST_F(NpyGraph, WrongValuesAreNamedByPointer) {
  const auto invalid = Errc::invalid_argument;
  replace("{");
  EXPECT_ERROR(import(), invalid, "expected JSON: line 1, column 2");
  replace(R"({"node_types": {"a": {}, "a": {}}, "edge_types": {}})");
  EXPECT_ERROR(import(), invalid, ": expected each key once, found /node_types/a twice");
  replace(R"({"node_types": []})");
  EXPECT_ERROR(import(), invalid, "/node_types: expected an object");
  replace(R"({"node_types": {"a": {"count": -1}}, "edge_types": {}})");
  EXPECT_ERROR(import(), invalid, "/node_types/a/count: expected an integer");
  replace(R"({"node_types": {"a": {}}, "edge_types": {"e": {"source": "b", "destination": "a",
              "edges": "in.npy"}}})");
  EXPECT_ERROR(import(), invalid, "/edge_types/e/source: expected the name of a node type");
  write("splits", R"("": {"train": {"paper": "train.npy", "author": "v.npy"}})");
  EXPECT_ERROR(import(), invalid, "/splits//train: expected an object with one node type");
}

TEST_F(NpyGraph, CountsThatDisagreeNameTheFile) {
  const auto invalid = Errc::invalid_argument;
  save_npy<float>(in_ / "x_author.npy", {2, 2}, {0, 1, 2, 3});
  EXPECT_ERROR(import(), invalid,
               "x_author.npy: expected rows for 3 nodes, as in /node_types/author/count, got 2");
  SetUp();
  save_npy<float>(in_ / "w.npy", {2}, {1, 2});
  EXPECT_ERROR(import(), invalid, "w.npy: expected shape [3], one value per edge, got [2]");
  SetUp();
  save_npy<double>(in_ / "e.npy", {4, 1}, {7, 8, 9, 10});
  EXPECT_ERROR(import(), invalid, "e.npy: expected 3 rows, one per edge of type wrote");
  SetUp();
  write("venue", R"("venue": {"count": 65537, "features": "one-hot"})");
  EXPECT_ERROR(import(), invalid, "one-hot: expected 1 to 65536 nodes, got 65537");
}

TEST_F(NpyGraph, WrongIdsAndNumbersAreNamedByFileAndRow) {
  const auto invalid = Errc::invalid_argument;
  save_npy<std::int64_t>(in_ / "in.npy", {3, 2}, {0, 1, 3, 2, 2, 1});
  EXPECT_ERROR(import(), invalid, "in.npy: row 1: expected a destination's node id below 2, got 2");
  save_npy<std::int64_t>(in_ / "in.npy", {3, 3}, std::vector<std::int64_t>(9, 0));
  EXPECT_ERROR(import(), invalid, "in.npy: expected shape [2, edges] or [edges, 2], got [3, 3]");
  SetUp();
  save_npy<float>(in_ / "w.npy", {3}, {1, NAN, 1});
  EXPECT_ERROR(import(), invalid, "w.npy: row 1, column 0: expected a finite float32");
  SetUp();
  save_npy<float>(in_ / "t.npy", {3}, {1, 1, 1});
  EXPECT_ERROR(import(), invalid, "t.npy: expected integers, got dtype <f4");
  SetUp();
  save_npy<std::int64_t>(in_ / "train.npy", {2}, {3, 4});
  EXPECT_ERROR(import(), invalid, "train.npy: row 1: expected a node id below 4, got 4");
  std::filesystem::remove(in_ / "e.npy");
  EXPECT_ERROR(import(), Errc::not_found, "e.npy");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(temp_.path()), {}), 1)
      << "nothing is left behind";
}

TEST_F(NpyGraph, CountsComeFromRowsOrEdgesWhereTheyAreNotStated) {
  replace(R"({"node_types": {"author": {"features": "x_author.npy"}, "paper": {}},
              "edge_types": {"wrote": {"source": "author", "destination": "paper",
                                       "edges": "wrote.npy"}}})");
  ASSERT_OK_AND_ASSIGN(const auto info, import());

  EXPECT_EQ(info.node_types[0].count, 3U);
  EXPECT_EQ(info.node_types[1].count, 4U);
}

TEST_F(NpyGraph, TransformsAskedForAllTypesTakeThoseThatCan) {
  ImportOptions options;
  options.edges.symmetrize = true;
  replace(R"({"node_types": {"author": {"count": 3}, "paper": {"count": 4}},
      "edge_types": {"cites": {"source": "paper", "destination": "paper", "edges": "cites.npy"},
      "wrote": {"source": "author", "destination": "paper", "edges": "wrote.npy"}}})");
  ASSERT_OK_AND_ASSIGN(const auto info, import(options));

  EXPECT_EQ(info.edge_types[0].count, 4U);
  EXPECT_EQ(info.edge_types[1].count, 3U);
}

TEST_F(NpyGraph, AFolderIsReadByItsDocument) {
  std::filesystem::rename(in_ / "graph.json", in_ / "arrays.json");
  InlineExecutor executor;
  ASSERT_OK_AND_ASSIGN(const auto info, import_npy(in_, out_, {}, executor));
  EXPECT_EQ(info.node_types.size(), 3U);
}

TEST_F(NpyGraph, FilesOfAFolderAreThoseThatItsDocumentNames) {
  const auto names = [&] {
    std::vector<std::string> found;
    const auto files = files_of_npy(in_);
    EXPECT_OK(files);
    for (const auto& file : files ? *files : std::vector<std::filesystem::path>()) {
      found.push_back(file.lexically_relative(in_).string());
    }
    return found;
  };
  write_all(in_ / "notes.txt", "");
  EXPECT_EQ(names(),
            (std::vector<std::string>{"cites.npy", "data.npy", "e.npy", "graph.json", "in.npy",
                                      "indices.npy", "indptr.npy", "t.npy", "train.npy", "v.npy",
                                      "w.npy", "wrote.npy", "x_author.npy", "y_author.npy"}));
  std::filesystem::create_directory(temp_ / "beside");
  write_all(temp_ / "beside" / "pairs", "");
  write_all(in_ / "arrays.json", R"({
      "node_types": {"author": {"features": "x_author.npy", "labels": "x_author.npy"}},
      "edge_types": {"knows": {"source": "author", "destination": "author",
                               "edges": "../beside/pairs"}}})");
  EXPECT_EQ(names(), (std::vector<std::string>{"../beside/pairs", "arrays.json", "x_author.npy"}));
  write_all(in_ / "arrays.json", "{");
  EXPECT_ERROR(files_of_npy(in_), Errc::invalid_argument, "arrays.json");
  EXPECT_ERROR(files_of_npy(temp_ / "none"), Errc::not_found, "none: expected a folder");
}

TEST_F(NpyGraph, FeaturesAreNarrowedAndNormalisedWhileImporting) {
  ImportOptions options;
  options.features = {DType::f16, Normalize::row};
  ASSERT_OK_AND_ASSIGN(const auto rows, store(options));
  options.features = {std::nullopt, Normalize::column};
  ASSERT_OK_AND_ASSIGN(const auto columns, store(options));

  const auto author = rows.graph()->nodes[0].features->data.as<std::uint16_t>();
  EXPECT_EQ(f16_to_float(author[3]), f16_to_float(float_to_f16(0.6F)));
  const auto scaled = columns.graph()->nodes[0].features->data.as<float>();
  EXPECT_EQ(scaled[0], -1.0F);
  EXPECT_EQ(scaled[2], 0.0F);
  EXPECT_EQ(scaled[5], 1.0F);
  EXPECT_EQ(columns.info().node_types[2].features->dtype, DType::f32);
}

}  // namespace
}  // namespace troupe
