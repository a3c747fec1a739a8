#include "runtime/graph/store.hpp"

#include "runtime/graph/column_stats.hpp"
#include "runtime/graph/graph_json.hpp"
#include "tests/runtime/graph/forge.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"

#include <cmath>
#include <fmt/format.h>

namespace troupe {
namespace {

using namespace testing;

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    graph_ = random_graph(20, 60, 1);
    ASSERT_OK(write_graph_store(graph_.contents, dir_));
  }
  Result<GraphStore> open(StoreOptions options = {}) const {
    return GraphStore::open(dir_, options);
  }

  TempDir temp_;
  std::filesystem::path dir_ = temp_ / "store";
  RandomGraph graph_;
};

TEST_F(StoreTest, WhatWasWrittenComesBackMappedAndCopied) {
  for (const auto memory : {StoreMemory::mapped, StoreMemory::copied}) {
    ASSERT_OK_AND_ASSIGN(const auto store, open({.memory = memory}));

    const auto& nodes = store.graph()->nodes_of(NodeTypeId{0});
    const auto& lists = store.graph()->edges_of(EdgeTypeId{0}).in;
    const auto& written = graph_.contents.in_lists[0];
    EXPECT_EQ(nodes.count, 20U);
    EXPECT_EQ(nodes.original_ids[19], 19U);
    EXPECT_TRUE(std::ranges::equal(nodes.labels, graph_.contents.nodes[0].labels));
    EXPECT_TRUE(
        std::ranges::equal(nodes.features->data.bytes, graph_.contents.nodes[0].features.bytes));
    EXPECT_EQ(nodes.features->info.scale, 0.5F);
    EXPECT_TRUE(std::ranges::equal(lists.offsets, written.offsets));
    EXPECT_TRUE(std::ranges::equal(lists.edge_ids, written.edge_ids));
    EXPECT_EQ(lists.neighbours.width_bytes(), 4);
    for (std::size_t i = 0; i < written.neighbours.size(); ++i) {
      EXPECT_EQ(raw(lists.neighbours[i]), written.neighbours[i]);
    }
    EXPECT_GT(store.graph()->bytes, 20U * 3U);
    EXPECT_TRUE(nodes.halo_ids.empty());
  }
}

TEST_F(StoreTest, SeedsAreSortedAndUnknownNamesListWhatExists) {
  ASSERT_OK_AND_ASSIGN(const auto store, open());

  ASSERT_OK_AND_ASSIGN(const auto seeds, store.seeds("", "train"));

  ASSERT_EQ(seeds.original.size(), 7U);
  EXPECT_EQ(raw(seeds.original[2]), 6U);
  EXPECT_EQ(raw(seeds.global[2]), 6U);
  EXPECT_ERROR(store.seeds("x", "train"), Errc::not_found, "split \"x\": expected one of \"\"");
  EXPECT_ERROR(store.seeds("", "val"), Errc::not_found, "expected one of \"train\"");
}

TEST_F(StoreTest, InfoSurvivesTheJson) {
  ASSERT_OK_AND_ASSIGN(const auto store, open());
  const auto text = graph_to_json(store.info());

  EXPECT_EQ(text, testing::file_text(dir_ / "graph.json"));
  ASSERT_OK_AND_ASSIGN(const auto again, graph_from_json(text, "graph.json"));
  EXPECT_EQ(graph_to_json(again), text);
}

TEST_F(StoreTest, AnyFlippedByteIsFoundWithTheFilesName) {
  for (const auto& file : files_below(dir_)) {
    const auto size = std::filesystem::file_size(dir_ / file);
    for (const auto at : {std::uintmax_t{0}, size / 2, size - 1}) {
      flip_byte(dir_ / file, at);
      EXPECT_ERROR(open(), Errc::data_corruption, file);
      EXPECT_ERROR(open({.memory = StoreMemory::copied}), Errc::data_corruption, file);
      flip_byte(dir_ / file, at);
    }
  }
  EXPECT_OK(open());
}

TEST_F(StoreTest, MissingAndTruncatedFilesAreFoundEvenWithoutChecksums) {
  for (const auto& file : files_below(dir_)) {
    const auto text = testing::file_text(dir_ / file);
    write_all(dir_ / file, text.substr(0, text.size() - 1));
    EXPECT_ERROR(open({.verify = Verify::sizes}), Errc::data_corruption, file);
    std::filesystem::remove(dir_ / file);
    const bool of_role = file.starts_with("splits/");  // A role that is there is not absent
    EXPECT_ERROR(open({.verify = Verify::sizes}), of_role ? Errc::data_corruption : Errc::not_found,
                 file);
    write_all(dir_ / file, text);
  }
}

TEST_F(StoreTest, AForgedGraphJsonIsAnError) {
  const auto path = dir_ / "graph.json";
  const auto original = testing::file_text(path);
  struct Case {
    std::string from;
    std::string to;
    std::string message;
  };
  const Case cases[] = {
      {"\"count\": 20", "\"count\": -1", "expected an integer in 0.."},
      {"\"count\": 20", "\"count\": 1e3", "expected an integer"},
      {"\"count\": 20", "\"count\": 21", "expected an array of"},
      {"\"count\": 20", "\"count\": 281474976710657", "expected an integer in 0..281474976710656"},
      {"\"count\": 20", "\"count\": 281474976710655", "expected an array of"},
      {"\"count\": 60", "\"count\": 59", "neighbours.npy: expected an array"},
      {"\"cols\": 3", "\"cols\": 4", "mean"},
      {"\"cols\": 3", "\"cols\": 99999999", "expected an integer"},
      {"\"dtype\": \"u8\"", "\"dtype\": \"f64\"", "dtype of features"},
      {"\"dtype\": \"u8\"", "\"dtype\": \"f16\"", "expected an array of <f2"},
      {"\"kind\": \"classes\"", "\"kind\": \"x\"", "kind of labels"},
      {"\"classes\": 4", "\"classes\": 3", "expected a label from -1 to 2"},
      {"\"source\": \"node\"", "\"source\": \"x\"", "name of a node type"},
      {"\"edge_ids\": true", "\"edge_ids\": 1", "true or false"},
      {"nodes-node/labels.npy", "../labels.npy", "a path inside the store"},
      {"nodes-node/labels.npy", "/etc/passwd", "a path inside the store"},
      {"nodes-node/labels.npy", "nodes-node//labels.npy", "a path inside the store"},
      {"nodes-node/labels.npy", "nodes-node/features.npy", "each path once"},
      {"nodes-node/labels.npy", "nodes-node/label.npy",
       "labels.npy: expected the file in the list"},
      {"\"name\": \"node\"", "\"name\": \"..\"", "expected a name"},
      {"\"train\": {", "\"trian\": {", "a role among"},
      {"\"files\": [", "\"flies\": [", "an object with \"files\""},
      {"\"format\": \"troupe graph\"", "\"format\": 1", "expected a string"},
      {"\"mean\": [", "\"mean\": [0.0,", "3 numbers"},
  };
  for (const auto& test : cases) {
    forge(path, test.from, test.to);
    const auto result = open();
    EXPECT_ERROR(result, Errc::data_corruption, test.message);
    write_all(path, original);
  }
  forge(path, "\"version\": 1", "\"version\": 2");
  EXPECT_ERROR(open(), Errc::unimplemented, "expected format version 1, found 2");
  write_all(path, original);
  forge(path, "\"weights\": false", "\"weights\": true");
  EXPECT_ERROR(open(), Errc::data_corruption, "edges-edge/in/weights.npy");
}

TEST_F(StoreTest, TruncatedOrForeignJsonIsAnError) {
  const auto path = dir_ / "graph.json";
  const auto original = testing::file_text(path);
  for (std::size_t size = 0; size + 1 < original.size(); size += 37) {
    write_all(path, original.substr(0, size));
    EXPECT_ERROR(open(), Errc::data_corruption, "graph.json");
  }
  for (const auto* text : {"[]", "null", "{}", "7", "\"troupe graph\""}) {
    write_all(path, text);
    EXPECT_ERROR(open(), Errc::data_corruption, "format");
  }
  write_all(path, std::string(100000, '['));
  EXPECT_ERROR(open(), Errc::data_corruption, "graph.json");
}

TEST_F(StoreTest, ContentsThatWouldMisleadLaterCodeAreErrorsDespiteValidChecksums) {
  const auto neighbours = "edges-edge/in/neighbours.npy";
  const auto offsets = "edges-edge/in/offsets.npy";
  const auto& lists = graph_.contents.in_lists[0];
  const auto original = temp_ / "original";
  std::filesystem::copy(dir_, original, std::filesystem::copy_options::recursive);
  const auto restore = [&] {
    std::filesystem::remove_all(dir_);
    std::filesystem::copy(original, dir_, std::filesystem::copy_options::recursive);
  };

  std::vector<std::uint32_t> ids(60, 0);
  ids[7] = 20;
  forge_array(dir_, neighbours, {60}, ids);
  EXPECT_ERROR(open(), Errc::data_corruption,
               "neighbours.npy: element 7: expected an id below 20, found 20");

  restore();
  auto jumping = lists.offsets;
  jumping[4] = 1000;
  forge_array(dir_, offsets, {21}, jumping);
  EXPECT_ERROR(open({.verify = Verify::sizes}), Errc::data_corruption, "offsets.npy: element 5");

  restore();
  auto shorter = lists.offsets;
  shorter.back() = 59;
  forge_array(dir_, offsets, {21}, shorter);
  EXPECT_ERROR(open(), Errc::data_corruption, "expected offsets from 0 to 60, found 0 to 59");

  restore();
  forge_array(dir_, "edges-edge/in/edge_ids.npy", {60}, std::vector<std::uint64_t>(60, 60));
  EXPECT_ERROR(open(), Errc::data_corruption, "edge_ids.npy: element 0");

  restore();
  forge_array(dir_, "splits/default.train.npy", {7},
              std::vector<std::uint64_t>{3, 2, 1, 0, 4, 5, 6});
  EXPECT_ERROR(open(), Errc::data_corruption, "order of original ids");

  restore();
  forge_array(dir_, "splits/default.train.npy", {7},
              std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 20});
  EXPECT_ERROR(open(), Errc::data_corruption, "default.train.npy: element 6");
}

TEST_F(StoreTest, RefusesTargetsThatAreNeitherZeroNorOneNorUnknown) {
  const std::string path = "nodes-node/targets.npy";
  auto contents = random_graph(20, 60, 3).contents;
  contents.info.node_types[0].labels = LabelInfo{LabelInfo::Kind::targets, 2};
  contents.nodes[0].labels.clear();
  contents.nodes[0].targets.assign(40, NAN);
  ASSERT_OK(write_graph_store(contents, temp_ / "targets"));
  EXPECT_OK(GraphStore::open(temp_ / "targets", {}));

  contents.nodes[0].targets[5] = 0.5F;
  forge_array(temp_ / "targets", path, {20, 2}, contents.nodes[0].targets);

  EXPECT_ERROR(GraphStore::open(temp_ / "targets", {}), Errc::data_corruption,
               "targets.npy: element 5: expected a target 0 or 1, or NaN, found 0.5");
}

TEST_F(StoreTest, KindsAreToldApart) {
  EXPECT_EQ(store_kind(temp_ / "nothing"), StoreKind::none);
  EXPECT_EQ(store_kind(dir_), StoreKind::graph);
  EXPECT_ERROR(GraphStore::open(temp_ / "nothing", {}), Errc::not_found, "no graph.json");
  EXPECT_ERROR(PartitionedStore::open(dir_, {}), Errc::failed_precondition, "not partitioned");
  EXPECT_ERROR(PartitionedStore::open(temp_ / "nothing", {}), Errc::not_found, "no graph.json");
}

TEST_F(StoreTest, AnExistingStoreIsNotReplaced) {
  EXPECT_ERROR(write_graph_store(graph_.contents, dir_), Errc::failed_precondition, "exists");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(temp_.path()), {}), 1);
}

TEST(GraphStore, EmptyTypesAndZeroEdgesWork) {
  const TempDir temp;
  GraphContents contents;
  NodeTypeInfo type;
  type.name = "nobody";
  type.features = FeatureInfo{DType::f32, 2, 1.0F};
  contents.info.node_types = {type};
  EdgeTypeInfo edges;
  edges.name = "nothing";
  contents.info.edge_types = {edges};
  contents.nodes.resize(1);
  contents.in_lists = {build_in_lists({}, 0, 0)};
  ASSERT_OK(write_graph_store(contents, temp / "s"));

  ASSERT_OK_AND_ASSIGN(const auto store, GraphStore::open(temp / "s", {}));

  EXPECT_EQ(store.graph()->nodes[0].count, 0U);
  EXPECT_TRUE(store.graph()->edges[0].in.present());
  EXPECT_EQ(store.info().node_types[0].column_stats->mean, (std::vector<double>{0.0, 0.0}));
}

TEST(CompleteFor, IsReadAsItIsPrinted) {
  for (const auto complete : {CompleteFor::in, CompleteFor::out, CompleteFor::both}) {
    EXPECT_EQ(parse_complete_for(to_string(complete)), complete);
  }
  EXPECT_FALSE(parse_complete_for("In"));
}

TEST(DType, AValueOutsideTheTableHasNoName) {
  EXPECT_EQ(to_string(DType::boolean), "bool");
  const auto bad = static_cast<DType>(200);
  EXPECT_EQ(to_string(bad), "?");
  EXPECT_EQ(size_bytes(bad), 0U);
}

TEST(GraphInfo, IsReadWithoutTheArrays) {
  const TempDir temp;
  ASSERT_OK_AND_ASSIGN(const auto written,
                       write_graph_store(random_graph(20, 60, 2).contents, temp / "s"));
  std::filesystem::remove(temp / "s" / written.files.front().path);

  ASSERT_OK_AND_ASSIGN(const auto info, read_graph_info(temp / "s"));

  EXPECT_EQ(info.node_types[0].count, 20U);
  EXPECT_ERROR(read_graph_info(temp / "none"), Errc::not_found, "found no graph.json there");
}

TEST(NeighbourLists, AreInOrderOfNeighbourThenEdge) {
  const std::vector<std::uint64_t> sources{3, 1, 3, 0, 2, 1};
  const std::vector<std::uint64_t> destinations{0, 0, 0, 2, 2, 0};

  const auto in = build_in_lists({sources, destinations}, 4, 3);

  EXPECT_EQ(in.offsets, (std::vector<std::uint64_t>{0, 4, 4, 6}));
  EXPECT_EQ(in.neighbours, (std::vector<std::uint64_t>{1, 1, 3, 3, 0, 2}));
  EXPECT_EQ(in.edge_ids, (std::vector<std::uint64_t>{1, 5, 0, 2, 3, 4}));
}

TEST(ColumnStats, AgreeWithTheirDefinitionForEveryDtype) {
  // values 1, 2, 3, 4 in column 0, all 2 in column 1
  const auto check = [](DType dtype, float scale, Segment data) {
    const auto stats = column_stats({{dtype, 2, scale}, 4, std::move(data)});
    EXPECT_DOUBLE_EQ(stats.mean[0], 2.5);
    EXPECT_DOUBLE_EQ(stats.sd[0], std::sqrt(5.0 / 3.0));
    EXPECT_DOUBLE_EQ(stats.mean[1], 2.0);
    EXPECT_EQ(stats.sd[1], 0.0);
  };
  check(DType::f32, 1.0F, Segment::of(std::vector<float>{1, 2, 2, 2, 3, 2, 4, 2}));
  check(DType::u8, 0.5F, Segment::of(std::vector<std::uint8_t>{2, 4, 4, 4, 6, 4, 8, 4}));
  check(DType::f16, 1.0F,
        Segment::of(std::vector<std::uint16_t>{0x3C00, 0x4000, 0x4000, 0x4000, 0x4200, 0x4000,
                                               0x4400, 0x4000}));
  check(DType::bf16, 1.0F,
        Segment::of(std::vector<std::uint16_t>{0x3F80, 0x4000, 0x4000, 0x4000, 0x4040, 0x4000,
                                               0x4080, 0x4000}));
}

TEST(ColumnStats, SumsAreAddedPerChunkOf512Rows) {
  std::vector<float> values(1300);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = 1.0F / static_cast<float>(i + 1);
  }
  double total = 0;
  for (std::size_t begin = 0; begin < values.size(); begin += 512) {
    double partial = 0;
    for (auto i = begin; i < std::min<std::size_t>(begin + 512, values.size()); ++i) {
      partial += static_cast<double>(values[i]);
    }
    total += partial;
  }

  const auto stats = column_stats({{DType::f32, 1, 1.0F}, 1300, Segment::of(values)});

  EXPECT_EQ(stats.mean[0], total / 1300.0);
}

TEST(ColumnStats, HalfPrecisionIsExact) {
  EXPECT_EQ(f16_to_float(0x0001), 0x1p-24F);
  EXPECT_EQ(f16_to_float(0x83FF), -1023.0F * 0x1p-24F);
  EXPECT_EQ(f16_to_float(0x7BFF), 65504.0F);
  EXPECT_EQ(f16_to_float(0x0400), 0x1p-14F);
  EXPECT_TRUE(std::signbit(f16_to_float(0x8000)));
  EXPECT_TRUE(std::isinf(f16_to_float(0x7C00)));
  EXPECT_TRUE(std::isnan(f16_to_float(0x7E00)));
}

}  // namespace
}  // namespace troupe
