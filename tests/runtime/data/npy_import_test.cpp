#include "runtime/data/npy_import.hpp"

#include "runtime/graph/store.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"

#include <cmath>

namespace troupe {
namespace {

using namespace testing;

/// A valid directory of 4 nodes and 5 edges; each test changes what it is about.
class NpyImport : public ::testing::Test {
 protected:
  void SetUp() override {
    save_npy<std::int32_t>(in_ / "edge_index.npy", {2, 5}, {0, 1, 1, 3, 3, /* to */ 1, 0, 0, 2, 1});
    save_npy<float>(in_ / "x.npy", {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
    save_npy<std::int8_t>(in_ / "y.npy", {4}, {0, 2, -1, 1});
    save_npy<std::int32_t>(in_ / "train_idx.npy", {2}, {3, 0});
  }
  void remove(const std::string& file) { std::filesystem::remove(in_ / file); }
  Result<GraphInfo> import() {
    std::filesystem::remove_all(out_);
    return import_npy(in_, out_);
  }
  /// Imports and opens.
  Result<GraphStore> store() {
    TROUPE_RETURN_IF_ERROR(import());
    return GraphStore::open(out_, {});
  }
  /// All files of the store that the directory gives.
  std::map<std::string, std::string> stored() {
    EXPECT_OK(import());
    std::map<std::string, std::string> files;
    for (const auto& file : files_below(out_)) {
      files[file] = testing::file_text(out_ / file);
    }
    return files;
  }

  TempDir temp_;
  std::filesystem::path in_ = temp_ / "in";
  std::filesystem::path out_ = temp_ / "out";
};

TEST_F(NpyImport, StoresWhatTheFilesSay) {
  ASSERT_OK_AND_ASSIGN(const auto graph, store());

  const auto& type = graph.info().node_types[0];
  EXPECT_EQ(type.name, "node");
  EXPECT_EQ(type.count, 4U);
  EXPECT_EQ(type.features->dtype, DType::f32);
  EXPECT_EQ(type.labels->classes, 3U);
  EXPECT_EQ(type.column_stats->mean, (std::vector<double>{3.0, 4.0}));
  EXPECT_DOUBLE_EQ(type.column_stats->sd[0], std::sqrt(20.0 / 3.0));
  EXPECT_EQ(graph.info().edge_types[0].name, "edge");
  EXPECT_TRUE(graph.info().edge_types[0].has_edge_ids);
  const auto& in = graph.graph()->edges[0].in;
  EXPECT_TRUE(std::ranges::equal(in.offsets, std::vector<std::uint64_t>{0, 2, 4, 5, 5}));
  const std::vector<std::uint64_t> neighbours{1, 1, 0, 3, 3};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(raw(in.neighbours[i]), neighbours[i]);
  }
  EXPECT_TRUE(std::ranges::equal(in.edge_ids, std::vector<std::uint64_t>{1, 2, 0, 4, 3}));
  EXPECT_TRUE(
      std::ranges::equal(graph.graph()->nodes[0].labels, std::vector<std::int64_t>{0, 2, -1, 1}));
  ASSERT_OK_AND_ASSIGN(const auto seeds, graph.seeds("", "train"));
  EXPECT_EQ(seeds.original, (std::vector<OriginalId>{OriginalId{0}, OriginalId{3}}));
}

TEST_F(NpyImport, TwiceGivesTheSameBytes) {
  EXPECT_EQ(stored(), stored());
}

TEST_F(NpyImport, BothEdgeLayoutsAndPiecesGiveTheSameStore) {
  save_npy<std::int32_t>(in_ / "edge_index.npy", {2, 5}, {1, 1, 0, 3, 3, /* to */ 0, 0, 1, 1, 2});
  const auto from_list = stored();
  remove("edge_index.npy");
  save_npy<std::uint64_t>(in_ / "indptr.npy", {5}, {0, 2, 4, 5, 5});
  save_npy<std::int16_t>(in_ / "indices.npy", {5}, {1, 1, 0, 3, 3});
  const auto from_csr = stored();
  remove("indices.npy");
  save_npy<std::int16_t>(in_ / "indices-0.npy", {3}, {1, 1, 0});
  save_npy<std::int64_t>(in_ / "indices-1.npy", {2}, {3, 3});

  EXPECT_EQ(from_list, from_csr);
  EXPECT_EQ(stored(), from_csr);
}

TEST_F(NpyImport, EveryIntegerDtypeOfIdsGivesTheSameStore) {
  const auto expected = stored();
  const auto check = [&]<class T>(T) {
    save_npy<T>(in_ / "edge_index.npy", {2, 5}, {0, 1, 1, 3, 3, 1, 0, 0, 2, 1});
    save_npy<T>(in_ / "train_idx.npy", {2}, {0, 3});
    EXPECT_EQ(stored(), expected) << to_string(npy_type_of<T>());
  };
  check(std::int8_t{});
  check(std::int16_t{});
  check(std::int64_t{});
  check(std::uint8_t{});
  check(std::uint16_t{});
  check(std::uint32_t{});
  check(std::uint64_t{});
}

TEST_F(NpyImport, SparseFeaturesAreStoredDense) {
  save_npy<std::uint8_t>(in_ / "x.npy", {4, 3}, {1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 1, 1});
  const auto dense = stored();
  remove("x.npy");
  save_npy<std::int32_t>(in_ / "x_indptr.npy", {5}, {0, 2, 2, 3, 6});
  save_npy<std::int16_t>(in_ / "x_indices.npy", {6}, {2, 0, 1, 0, 1, 2});
  EXPECT_EQ(stored(), dense);

  save_npy<std::int64_t>(in_ / "x_data.npy", {6}, {1, 1, 1, 1, 1, 1});
  EXPECT_EQ(stored(), dense);

  save_npy<double>(in_ / "x_data.npy", {6}, {1, 1, 0.5, 1, 1, 1});
  write_all(in_ / "meta.json", R"({"num_features": 5})");
  ASSERT_OK_AND_ASSIGN(const auto graph, store());
  const auto& table = *graph.graph()->nodes[0].features;
  EXPECT_EQ(table.info.dtype, DType::f32);
  EXPECT_EQ(table.info.cols, 5U);
  EXPECT_EQ(table.data.as<float>()[11], 0.5F);
}

TEST_F(NpyImport, FeatureDtypesAreConverted) {
  const auto dtype = [&]() -> std::string {
    auto info = import();
    return info.ok() ? std::string(to_string(info->node_types[0].features->dtype))
                     : error_text(info);
  };
  save_npy<double>(in_ / "x.npy", {4, 1}, {0.1, 1, 2, 3});
  EXPECT_EQ(dtype(), "f32");
  ASSERT_OK_AND_ASSIGN(const auto graph, store());
  EXPECT_EQ(graph.graph()->nodes[0].features->data.as<float>()[0], 0.1F);
  save_npy<std::uint16_t>(in_ / "x.npy", {'f', 2}, {4, 1}, {0x3C00, 0, 0, 0});
  EXPECT_EQ(dtype(), "f16");
  save_npy<std::uint8_t>(in_ / "x.npy", {'b', 1}, {4, 1}, {1, 0, 0, 1});
  EXPECT_EQ(dtype(), "u8");
  save_npy<std::int64_t>(in_ / "x.npy", {4, 1}, {0, 255, 3, 4});
  EXPECT_EQ(dtype(), "u8");
  save_npy<std::int64_t>(in_ / "x.npy", {4, 1}, {0, -256, 3, 4});
  EXPECT_EQ(dtype(), "f32");
}

TEST_F(NpyImport, FloatLabelMatricesAreTargets) {
  save_npy<double>(in_ / "y.npy", {4, 2}, {1, 0, 0, 1, 1, 1, 0, 0});
  ASSERT_OK_AND_ASSIGN(const auto graph, store());

  EXPECT_EQ(graph.info().node_types[0].labels->kind, LabelInfo::Kind::targets);
  EXPECT_EQ(graph.graph()->nodes[0].targets[3], 1.0F);
  EXPECT_TRUE(graph.graph()->nodes[0].labels.empty());
}

TEST_F(NpyImport, UnknownTargetsAreNanWhateverTheirSpelling) {
  const auto targets = [&] {
    const auto graph = store();
    EXPECT_OK(graph);
    const auto values = graph->graph()->nodes[0].targets;
    return std::vector<float>(values.begin(), values.end());
  };
  save_npy<std::int8_t>(in_ / "y.npy", {4, 2}, {1, 0, -1, 1, 0, -1, 1, 1});
  const auto from_integers = targets();
  save_npy<float>(in_ / "y.npy", {4, 2}, {1, 0, NAN, 1, 0, -NAN, 1, 1});
  const auto from_floats = targets();
  save_npy<double>(in_ / "y.npy", {4, 2}, {1, -0.0, -1, 1, 0, NAN, 1, 1});
  const auto from_doubles = targets();

  EXPECT_TRUE(std::isnan(from_integers[2]) && std::isnan(from_integers[5]));
  EXPECT_EQ(from_integers[0], 1.0F);
  const auto bytes = [](const std::vector<float>& values) {
    const auto view = std::as_bytes(std::span(values));
    return std::vector<std::byte>(view.begin(), view.end());
  };
  EXPECT_EQ(bytes(from_integers), bytes(from_floats));  // digests cover the bytes
  EXPECT_EQ(bytes(from_integers), bytes(from_doubles));
}

TEST_F(NpyImport, RefusesTargetsOtherThanZeroAndOne) {
  save_npy<float>(in_ / "y.npy", {4, 2}, {1, 0, 0, 0.5F, 1, 1, 0, 0});
  EXPECT_ERROR(import(), Errc::invalid_argument,
               "y.npy: row 1, column 1: expected a target 0 or 1, or -1 or NaN where it is "
               "unknown, got 0.5");
  save_npy<std::uint8_t>(in_ / "y.npy", {4, 2}, {1, 0, 0, 1, 1, 1, 0, 255});
  EXPECT_ERROR(import(), Errc::invalid_argument, "row 3, column 1");
  save_npy<float>(in_ / "y.npy", {4, 1}, {1, 0, INFINITY, 1});
  EXPECT_ERROR(import(), Errc::invalid_argument, "row 2, column 0");
}

TEST_F(NpyImport, NamedSplitsAndMasksBecomeSplits) {
  save_npy<std::int64_t>(in_ / "train_idx_20pc.npy", {1}, {2});
  save_npy<std::int64_t>(in_ / "val_idx_20pc.npy", {2}, {1, 1});
  save_npy<std::uint8_t>(in_ / "test_masks.npy", {'b', 1}, {2, 4}, {0, 1, 1, 0, 1, 0, 0, 0});
  ASSERT_OK_AND_ASSIGN(const auto graph, store());

  std::vector<std::string> names;
  for (const auto& split : graph.info().splits) {
    names.push_back(split.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"", "20pc", "mask0", "mask1"}));
  ASSERT_OK_AND_ASSIGN(const auto twice, graph.seeds("20pc", "val"));
  EXPECT_EQ(twice.original.size(), 2U);  // duplicates are kept
  ASSERT_OK_AND_ASSIGN(const auto mask, graph.seeds("mask0", "test"));
  EXPECT_EQ(mask.global, (std::vector<NodeId>{NodeId{1}, NodeId{2}}));
}

TEST_F(NpyImport, MasksAsPygNamesThemAreTheDefaultSplit) {
  remove("train_idx.npy");
  save_npy<std::uint8_t>(in_ / "train_mask.npy", {'b', 1}, {4}, {0, 1, 1, 1});
  save_npy<std::uint8_t>(in_ / "test_mask.npy", {4}, {1, 0, 0, 0});
  ASSERT_OK_AND_ASSIGN(const auto graph, store());

  ASSERT_OK_AND_ASSIGN(const auto test, graph.seeds("", "test"));
  EXPECT_EQ(graph.info().find_split("")->roles.at("train").count, 3U);
  EXPECT_EQ(test.global, (std::vector<NodeId>{NodeId{0}}));

  save_npy<std::uint8_t>(in_ / "test_masks.npy", {'b', 1}, {4}, {1, 0, 0, 0});
  EXPECT_ERROR(import(), Errc::invalid_argument,
               "test_mask.npy: expected no such file beside test_masks.npy");
  remove("test_masks.npy");
  save_npy<std::uint8_t>(in_ / "test_mask.npy", {4}, {1, 0, 2, 0});
  EXPECT_ERROR(import(), Errc::invalid_argument, "test_mask.npy: row 2: expected 0 or 1, got 2");
  save_npy<std::uint8_t>(in_ / "test_mask.npy", {'b', 1}, {1, 4}, {1, 0, 1, 0});
  EXPECT_ERROR(import(), Errc::invalid_argument, "test_mask.npy: expected bool or uint8 [4], got");
}

TEST_F(NpyImport, MasksInColumnsAreRefusedWithTheWayToTurnThem) {
  remove("train_idx.npy");
  const std::string advice = "\ntry: numpy.ascontiguousarray(masks.T).astype(bool)";
  for (const std::string file : {"val_mask.npy", "val_masks.npy"}) {
    save_npy<std::uint8_t>(in_ / file, {'b', 1}, {4, 3}, std::vector<std::uint8_t>(12, 1));
    EXPECT_ERROR(import(), Errc::invalid_argument,
                 "|b1 [4, 3]" + advice + (file == "val_mask.npy" ? " as val_masks.npy" : ""));
    remove(file);
  }
}

TEST_F(NpyImport, ErrorsNameTheFolderWhateverItsName) {
  for (const std::string folder : {"x", "x.", "edge_index"}) {
    const auto in = temp_ / folder;
    std::filesystem::copy(in_, in);
    save_npy<float>(in / "x.npy", {4, 1}, {0, 1, NAN, 3});
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(temp_.path());
    const auto imported = import_npy(folder, "out");
    const auto with_slash = import_npy(folder + "/", "out");
    std::filesystem::current_path(before);
    EXPECT_ERROR(imported, Errc::invalid_argument, "x.npy: row 2");
    EXPECT_TRUE(imported.error().what().starts_with(folder + ": x.npy: "));
    EXPECT_TRUE(with_slash.error().what().starts_with(folder + "/: x.npy: "));
  }
}

TEST_F(NpyImport, ALabelFarFromTheOthersIsNoted) {
  std::vector<std::string> notes;
  ImportOptions options;
  options.writer.note = [&](const std::string& what) { notes.push_back(what); };
  InlineExecutor executor;
  ASSERT_OK(import_npy(in_, out_, options, executor));
  EXPECT_EQ(notes, std::vector<std::string>());  // three of three classes

  save_npy<std::int64_t>(in_ / "y.npy", {4}, {0, 1, 1'000'000, -1});
  std::filesystem::remove_all(out_);
  ASSERT_OK(import_npy(in_, out_, options, executor));
  EXPECT_EQ(notes, (std::vector<std::string>{
                       "node type node has 1000001 classes, as node 2 has the label 1000000, but "
                       "nodes are of 3 of them alone"}));

  notes.clear();
  write_all(in_ / "meta.json", R"({"num_classes": 2000000})");
  std::filesystem::remove_all(out_);
  ASSERT_OK(import_npy(in_, out_, options, executor));
  EXPECT_EQ(notes, std::vector<std::string>());
}

TEST_F(NpyImport, MoreMasksThanAStoreHasSplitsAreRefused) {
  remove("train_idx.npy");
  remove("x.npy");
  remove("y.npy");
  save_npy<std::int64_t>(in_ / "edge_index.npy", {2, 0}, {});
  save_npy<std::uint8_t>(in_ / "train_masks.npy", {'b', 1}, {1'000'000'000'000, 0}, {});
  EXPECT_ERROR(import(), Errc::invalid_argument,
               "train_masks.npy: expected at most 65536 masks, got 1000000000000");
  save_npy<std::uint8_t>(in_ / "train_masks.npy", {'b', 1}, {65'536, 0}, {});
  save_npy<std::int64_t>(in_ / "val_idx.npy", {0}, {});
  EXPECT_ERROR(import(), Errc::invalid_argument, "expected at most 65536 splits, got 65537");
}

TEST_F(NpyImport, FilesThatAreNotTakenAreReported) {
  save_npy<float>(in_ / "edge_weight.npy", {5}, {1, 2, 3, 4, 5});
  save_npy<float>(in_ / "train_idxs.npy", {1}, {1});
  save_npy<std::int64_t>(in_ / "val_idx_a.npy", {1}, {1});
  save_npy<std::uint8_t>(in_ / "test_masks.npy", {'b', 1}, {1, 4}, {0, 1, 1, 0});
  write_all(in_ / "README.md", "no array");
  std::vector<std::string> left_out;
  ImportOptions options;
  options.left_out = [&](const std::string& what) { left_out.push_back(what); };
  InlineExecutor executor;
  ASSERT_OK(import_npy(in_, out_, options, executor));

  EXPECT_EQ(left_out, (std::vector<std::string>{"edge_weight.npy", "train_idxs.npy"}));
}

TEST_F(NpyImport, ALinkToAMissingFileIsAnError) {
  for (const std::string file : {"x.npy", "y.npy", "meta.json", "train_idx.npy", "test_masks.npy",
                                 "val_links.npy", "arrays.json"}) {
    remove(file);
    std::filesystem::create_symlink("/nowhere/a.npy", in_ / file);
    EXPECT_ERROR(import(), Errc::not_found, file);
    EXPECT_ERROR(import(), Errc::not_found, "a link to /nowhere/a.npy, which is missing");
    remove(file);
    SetUp();
  }
  remove("x.npy");
  save_npy<std::int32_t>(in_ / "x_indptr.npy", {5}, {0, 1, 1, 1, 1});
  save_npy<std::int32_t>(in_ / "x_indices.npy", {1}, {1});
  std::filesystem::create_symlink("/nowhere/a.npy", in_ / "x_data.npy");
  EXPECT_ERROR(import(), Errc::not_found, "x_data.npy");
}

TEST_F(NpyImport, ASlashMayEndTheStoresName) {
  ImportOptions options;
  options.features.normalize = Normalize::column;
  InlineExecutor executor;
  EXPECT_OK(import_npy(in_, temp_ / "new/store/", options, executor));
  EXPECT_TRUE(std::filesystem::exists(temp_ / "new/store/graph.json"));
}

TEST_F(NpyImport, FilesWinOverMasksOfOneDimension) {
  save_npy<std::uint8_t>(in_ / "train_masks.npy", {'b', 1}, {4}, {0, 1, 1, 1});
  ASSERT_OK_AND_ASSIGN(const auto with_files, import());
  EXPECT_EQ(with_files.find_split("")->roles.at("train").count, 2U);
  remove("train_idx.npy");
  ASSERT_OK_AND_ASSIGN(const auto with_mask, import());
  EXPECT_EQ(with_mask.find_split("")->roles.at("train").count, 3U);
}

TEST_F(NpyImport, NamesComeFromMetaJson) {
  write_all(in_ / "meta.json",
            R"({"node_type": "paper", "edge_type": "cites", "num_classes": 9, "other": [1]})");
  ASSERT_OK_AND_ASSIGN(const auto info, import());
  EXPECT_EQ(info.node_types[0].name, "paper");
  EXPECT_EQ(info.edge_types[0].name, "cites");
  EXPECT_EQ(info.node_types[0].labels->classes, 9U);
}

TEST_F(NpyImport, EdgesAloneAreEnoughEvenNone) {
  remove("x.npy");
  remove("y.npy");
  remove("train_idx.npy");
  ASSERT_OK_AND_ASSIGN(const auto info, import());
  EXPECT_EQ(info.node_types[0].count, 4U);
  save_npy<std::int64_t>(in_ / "edge_index.npy", {2, 0}, {});
  ASSERT_OK_AND_ASSIGN(const auto none, store());
  EXPECT_EQ(none.info().node_types[0].count, 0U);
}

TEST_F(NpyImport, WrongIdsAreNamedByFileAndRow) {
  const auto invalid = Errc::invalid_argument;
  save_npy<std::int32_t>(in_ / "edge_index.npy", {2, 2}, {0, 4, 1, 1});
  EXPECT_ERROR(import(), invalid,
               "edge_index.npy: row 1: expected a source's node id below 4, got 4");
  save_npy<std::int32_t>(in_ / "edge_index.npy", {2, 2}, {0, 1, -1, 1});
  EXPECT_ERROR(import(), invalid, "row 0: expected a destination's node id below 4, got -1");
  save_npy<std::int32_t>(in_ / "edge_index.npy", {2, 2}, {0, 1, 1, 1});
  save_npy<std::uint64_t>(in_ / "train_idx.npy", {2}, {0, ~std::uint64_t{0}});
  EXPECT_ERROR(import(), invalid,
               "train_idx.npy: row 1: expected a node id below 4, got 18446744073709551615");
}

TEST_F(NpyImport, WrongShapesAndDtypesAreErrors) {
  const auto invalid = Errc::invalid_argument;
  save_npy<std::int32_t>(in_ / "edge_index.npy", {5, 2}, std::vector<std::int32_t>(10, 0));
  EXPECT_ERROR(import(), invalid,
               "edge_index.npy: expected shape [2, edges], got [5, 2]\ntry: numpy.asc");
  save_npy<float>(in_ / "edge_index.npy", {2, 1}, {0, 0});
  EXPECT_ERROR(import(), invalid, "edge_index.npy: expected integers, got dtype <f4");
  write_all(in_ / "edge_index.npy", "no array");
  EXPECT_ERROR(import(), invalid, "edge_index.npy: expected a NumPy array");
  SetUp();
  save_npy<float>(in_ / "x.npy", {8}, std::vector<float>(8, 0));
  EXPECT_ERROR(import(), invalid, "x.npy: expected shape [nodes, features], got [8]");
  save_npy<float>(in_ / "x.npy", {3, 1}, {1, 2, 3});
  EXPECT_ERROR(import(), invalid, "y.npy: expected rows for 3 nodes, as in x.npy, got 4");
  SetUp();
  save_npy<float>(in_ / "y.npy", {4}, {1, 2, 3, 4});
  EXPECT_ERROR(import(), invalid,
               "y.npy: expected integers [nodes] or targets [nodes, labels], got <f4 [4]");
  EXPECT_ERROR(import(), invalid, "try: integers for classes");
  EXPECT_ERROR(import(), invalid, R"("labels": "numbers" in meta.json for numbers to predict)");
  save_npy<std::int64_t>(in_ / "y.npy", {4, 1}, {0, 5, 1, 0});
  EXPECT_ERROR(import(), invalid, "y.npy: row 1, column 0: expected a target 0 or 1");
  EXPECT_ERROR(import(), invalid, "try: shape [nodes] for classes");
  SetUp();
  save_npy<std::int32_t>(in_ / "train_idx.npy", {1, 1}, {0});
  EXPECT_ERROR(import(), invalid, "train_idx.npy: expected shape [seeds], got [1, 1]");
  SetUp();
  save_npy<std::uint8_t>(in_ / "val_masks.npy", {2, 4}, std::vector<std::uint8_t>(8, 0));
  EXPECT_ERROR(import(), invalid, "val_masks.npy: expected bool");
  save_npy<std::uint8_t>(in_ / "val_masks.npy", {'b', 1}, {2, 3}, std::vector<std::uint8_t>(6, 0));
  EXPECT_ERROR(import(), invalid, "val_masks.npy: expected bool [masks, 4]");
}

TEST_F(NpyImport, WrongFeatureValuesAreNamedByFileRowAndColumn) {
  const auto invalid = Errc::invalid_argument;
  save_npy<float>(in_ / "x.npy", {4, 2}, {0, 1, 2, 3, 4, NAN, 6, 7});
  EXPECT_ERROR(import(), invalid, "x.npy: row 2, column 1: expected a finite float32, got nan");
  save_npy<float>(in_ / "x.npy", {4, 2}, {0, 1, 2, 3, 4, 5, INFINITY, 7});
  EXPECT_ERROR(import(), invalid, "row 3, column 0: expected a finite float32, got inf");
  save_npy<double>(in_ / "x.npy", {4, 1}, {0, 1e300, 2, 3});
  EXPECT_ERROR(import(), invalid, "row 1, column 0: expected a finite float32, got 1e+300");
  save_npy<std::uint16_t>(in_ / "x.npy", {'f', 2}, {4, 1}, {0, 0, 0x7E00, 0});
  EXPECT_ERROR(import(), invalid, "row 2, column 0: expected a finite float16, got nan");
  save_npy<std::int64_t>(in_ / "x.npy", {4, 1}, {0, 1, 2, 16777217});
  EXPECT_ERROR(import(), invalid,
               "row 3, column 0: expected an integer that float32 holds exactly");
}

TEST_F(NpyImport, WrongLabelsAreNamedByRow) {
  save_npy<std::int64_t>(in_ / "y.npy", {4}, {0, 1, -2, 0});
  EXPECT_ERROR(import(), Errc::invalid_argument,
               "y.npy: row 2: expected a label from -1 (none) to 16777215, got -2");
  save_npy<std::uint64_t>(in_ / "y.npy", {4}, {0, ~std::uint64_t{0}, 0, 0});
  EXPECT_ERROR(import(), Errc::invalid_argument, "y.npy: row 1");
  save_npy<std::int64_t>(in_ / "y.npy", {4}, {0, 1, 2, 0});
  write_all(in_ / "meta.json", R"({"num_classes": 2})");
  EXPECT_ERROR(import(), Errc::invalid_argument,
               "row 2: expected a label from -1 (none) to 1, got 2");
}

TEST_F(NpyImport, WrongCompressedRowsAreErrors) {
  const auto invalid = Errc::invalid_argument;
  remove("edge_index.npy");
  save_npy<std::int32_t>(in_ / "indices.npy", {3}, {1, 1, 0});
  save_npy<std::int32_t>(in_ / "indptr.npy", {5}, {0, 2, 1, 3, 3});
  EXPECT_ERROR(import(), invalid,
               "indptr.npy: row 2: expected at least 2, as the row before, got 1");
  save_npy<std::int32_t>(in_ / "indptr.npy", {5}, {1, 2, 2, 3, 3});
  EXPECT_ERROR(import(), invalid, "indptr.npy: row 0: expected 0, got 1");
  save_npy<std::int32_t>(in_ / "indptr.npy", {5}, {0, 2, 2, 2, 2});
  EXPECT_ERROR(import(), invalid, "indptr.npy: row 4: expected 3, the number of indices, got 2");
  save_npy<std::int32_t>(in_ / "indptr.npy", {4}, {0, 2, 3, 3});
  EXPECT_ERROR(import(), invalid, "indptr.npy: expected 5 rows for 4 nodes, got 4");
  SetUp();
  EXPECT_ERROR(import(), invalid, "found both");
  remove("indptr.npy");
  remove("x.npy");
  save_npy<std::int32_t>(in_ / "x_indptr.npy", {5}, {0, 2, 2, 2, 3});
  EXPECT_ERROR(import(), Errc::not_found, "x_indices.npy");
  save_npy<std::int32_t>(in_ / "x_indices.npy", {3}, {1, 1, 0});
  EXPECT_ERROR(import(), invalid, "x_indices.npy: row 0: expected each column once, got 1 twice");
  save_npy<std::int32_t>(in_ / "x_indices.npy", {4}, {1, 0, 0, 0});
  EXPECT_ERROR(import(), invalid, "x_indptr.npy: row 5");
  // Statistics of all columns stand in graph.json, which would be too long to be opened again.
  save_npy<std::int32_t>(in_ / "x_indices.npy", {3}, {1, 0, 1 << 20});
  EXPECT_ERROR(import(), invalid, "x_indices.npy: row 2: expected a column below 1048576");
  save_npy<std::int32_t>(in_ / "x_indices.npy", {3}, {1, 0, 0});
  save_npy<float>(in_ / "x_data.npy", {2}, {1, 1});
  EXPECT_ERROR(import(), invalid, "x_data.npy: expected shape [3]");
}

TEST_F(NpyImport, WrongMetaIsAnError) {
  const auto invalid = Errc::invalid_argument;
  write_all(in_ / "meta.json", "{");
  EXPECT_ERROR(import(), invalid, "meta.json");
  write_all(in_ / "meta.json", R"({"num_nodes": {"author": 3}})");
  EXPECT_ERROR(import(), invalid, "meta.json: /num_nodes: expected an integer");
  write_all(in_ / "meta.json", R"({"num_nodes": 5})");
  EXPECT_ERROR(import(), invalid,
               "x.npy: expected rows for 5 nodes, as in meta.json (num_nodes), got 4");
  write_all(in_ / "meta.json", R"({"num_features": 5})");
  EXPECT_ERROR(import(), invalid, "x.npy: expected 5 columns");
  write_all(in_ / "meta.json", R"({"node_type": "../x"})");
  EXPECT_ERROR(import(), invalid, "/node_type: expected a name");
}

TEST_F(NpyImport, MissingFilesAndAnExistingStoreAreErrors) {
  remove("edge_index.npy");
  EXPECT_ERROR(import(), Errc::not_found, "expected edge_index.npy, or indptr.npy and indices.npy");
  save_npy<std::int32_t>(in_ / "indptr.npy", {5}, {0, 0, 0, 0, 0});
  EXPECT_ERROR(import(), Errc::not_found, "expected indices.npy beside indptr.npy");
  EXPECT_ERROR(import_npy(temp_ / "nothing", out_), Errc::not_found, "nothing");
  remove("indptr.npy");
  SetUp();
  EXPECT_OK(import_npy(in_, out_));
  EXPECT_ERROR(import_npy(in_, out_), Errc::failed_precondition, "exists");
}

TEST_F(NpyImport, AnAbsurdIdWithoutANumberOfNodesIsAnError) {
  for (const auto* file : {"x.npy", "y.npy", "train_idx.npy"}) {
    remove(file);
  }
  save_npy<std::int64_t>(in_ / "edge_index.npy", {2, 1}, {0, std::int64_t{1} << 47});
  EXPECT_ERROR(import(), Errc::invalid_argument, "state num_nodes in meta.json");
  save_npy<std::int64_t>(in_ / "edge_index.npy", {2, 1}, {0, std::int64_t{1} << 48});
  EXPECT_ERROR(import(), Errc::invalid_argument, "row 0");
}

TEST_F(NpyImport, AFailedImportLeavesNothingBehind) {
  save_npy<std::int64_t>(in_ / "y.npy", {4}, {0, 1, -2, 0});
  EXPECT_FALSE(import().ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(temp_.path()), {}), 1);
}

TEST(NpyImportExamples, TheCommittedGraphsImport) {
  struct Case {
    std::string name;
    std::uint64_t nodes;
    std::uint64_t edges;
    std::uint64_t cols;
    std::uint64_t classes;
    std::size_t splits;
  };
  const TempDir temp;
  for (const auto& expected :
       {Case{"cora", 2708, 10556, 1433, 7, 1}, Case{"amazon_computers", 13752, 491722, 767, 10, 2},
        Case{"tolokers", 11758, 1038000, 10, 2, 11}}) {
    const auto dir = std::filesystem::path(TROUPE_SOURCE_DIR) / "examples/data" / expected.name;
    ASSERT_OK_AND_ASSIGN(const auto info, import_npy(dir, temp / expected.name));
    EXPECT_EQ(info.node_types[0].count, expected.nodes);
    EXPECT_EQ(info.node_types[0].features->cols, expected.cols);
    EXPECT_EQ(info.node_types[0].labels->classes, expected.classes);
    EXPECT_EQ(info.edge_types[0].count, expected.edges);
    EXPECT_EQ(info.splits.size(), expected.splits);
    EXPECT_OK(GraphStore::open(temp / expected.name, {}));
  }
}

}  // namespace
}  // namespace troupe
