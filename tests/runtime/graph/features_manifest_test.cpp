// Parts whose features came later, and what can be wrong with their manifests.
#include "runtime/graph/graph_json.hpp"
#include "tests/runtime/graph/forge.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"

#include <array>

namespace troupe {
namespace {

using namespace testing;

/// Two parts of two nodes each, made by hand; the second one has no features yet.
class FeaturesManifest : public ::testing::Test {
 protected:
  using Ids = std::vector<std::uint64_t>;

  void SetUp() override {
    NodeTypeInfo node;
    node.name = "n";
    node.count = 4;
    node.features = FeatureInfo{DType::u8, 2, 1.0F};
    node.column_stats = ColumnStats{{0, 0}, {0, 0}};
    EdgeTypeInfo edge;
    edge.name = "e";
    edge.count = 2;
    edge.features = FeatureInfo{DType::u8, 1, 1.0F};
    GraphInfo graph;
    graph.node_types = {node};
    graph.edge_types = {edge};
    PartitionInfo partition;
    partition.parts = 2;
    partition.ranges.first_node = {{0, 2, 4}};
    partition.edges = {{1, 1}};
    partition.features_later = true;
    partition.graph_checksum = std::string(32, '0');
    for (const std::string part : {"part-0/", "part-1/"}) {
      const bool first = part == "part-0/";
      partition.files.push_back(
          save(part + "nodes-n/original_ids.npy", {2}, first ? Ids{0, 1} : Ids{2, 3}));
      partition.files.push_back(save(part + "nodes-n/halo_ids.npy", {0}, Ids{}));
      partition.files.push_back(save(part + "nodes-n/halo_original_ids.npy", {0}, Ids{}));
      partition.files.push_back(save(part + "edges-e/in/offsets.npy", {3}, Ids{0, 1, 1}));
      partition.files.push_back(save(part + "edges-e/in/neighbours.npy", {1},
                                     std::vector<std::uint32_t>{first ? 1U : 3U}));
    }
    added_ = {save("part-0/edges-e/in/features.npy", {1, 1}, std::vector<std::uint8_t>{9}),
              save("part-0/nodes-n/features.npy", {2, 2}, std::vector<std::uint8_t>{1, 2, 3, 4})};
    write_all(dir_ / "graph.json", graph_to_json(graph));
    write_all(dir_ / "partition.json", partition_to_json(partition, graph));
    write_all(manifest_, features_to_json(added_));
  }

  template <class T>
  FileInfo save(const std::string& path, std::vector<std::uint64_t> shape,
                const std::vector<T>& values) const {
    save_npy(dir_ / path, std::move(shape), values);
    const auto text = testing::file_text(dir_ / path);
    return {path, text.size(), to_string(digest_of(std::as_bytes(std::span(text))))};
  }
  Result<std::shared_ptr<const Part>> load(std::uint32_t part, StoreOptions options = {}) const {
    TROUPE_ASSIGN_OR_RETURN(const auto store, PartitionedStore::open(dir_, options));
    return store.load_part(static_cast<PartId>(part));
  }

  TempDir temp_;
  std::filesystem::path dir_ = temp_ / "store";
  std::filesystem::path manifest_ = dir_ / "part-0/features.json";
  std::vector<FileInfo> added_;
};

/// The manifest lists them all the same.
TEST_F(FeaturesManifest, FeaturesOfNodesCanBeLeftOut) {
  ASSERT_OK_AND_ASSIGN(const auto whole, PartitionedStore::open(dir_, {}));

  const auto store = whole.without_features(std::array{NodeTypeId{0}});

  EXPECT_FALSE(store.info().node_types[0].features);
  EXPECT_FALSE(store.info().node_types[0].column_stats);
  EXPECT_TRUE(whole.info().node_types[0].features);
  ASSERT_OK_AND_ASSIGN(const auto part, store.load_part(PartId{0}));
  EXPECT_FALSE(part->nodes[0].features);
  EXPECT_EQ(part->edges[0].features->row(0)[0], std::byte{9});
  EXPECT_ERROR(store.load_part(PartId{1}), Errc::failed_precondition, "still to be added");
  ASSERT_OK_AND_ASSIGN(const auto added, store.added_files(PartId{0}));
  EXPECT_EQ(added.size(), 3U);
  const auto again = store.without_features(std::array{NodeTypeId{0}});
  EXPECT_EQ(again.feature_files(PartId{0}), whole.feature_files(PartId{0}));
}

TEST_F(FeaturesManifest, FeaturesAreReadWhereItIs) {
  ASSERT_OK_AND_ASSIGN(const auto part, load(0));

  EXPECT_EQ(part->nodes[0].features->row(1)[0], std::byte{3});
  EXPECT_EQ(part->edges[0].features->row(0)[0], std::byte{9});
  ASSERT_OK_AND_ASSIGN(const auto store, PartitionedStore::open(dir_, {}));
  ASSERT_OK_AND_ASSIGN(const auto added, store.added_files(PartId{0}));
  ASSERT_EQ(added.size(), 3U);
  EXPECT_EQ(added[1].checksum, added_[1].checksum);
  EXPECT_EQ(added[2].path, "part-0/features.json");
  EXPECT_EQ(added[2].bytes, std::filesystem::file_size(manifest_));
}

TEST_F(FeaturesManifest, WithoutItOnlyFeaturesAreMissing) {
  EXPECT_ERROR(load(1), Errc::failed_precondition, "expected the features of part 1, found that");
  EXPECT_ERROR(load(1), Errc::failed_precondition, "--part 1");
  ASSERT_OK_AND_ASSIGN(const auto store, PartitionedStore::open(dir_, {}));
  EXPECT_OK(store.load_lists(PartId{1}));
  EXPECT_OK(store.load_without_features(PartId{1}));
  ASSERT_OK_AND_ASSIGN(const auto added, store.added_files(PartId{1}));
  EXPECT_TRUE(added.empty());
}

TEST_F(FeaturesManifest, DamageIsFoundWithTheFilesName) {
  for (const std::string file :
       {"part-0/features.json", "part-0/nodes-n/features.npy", "part-0/edges-e/in/features.npy"}) {
    const auto size = std::filesystem::file_size(dir_ / file);
    for (const auto at : {std::uintmax_t{0}, size / 2, size - 1}) {
      flip_byte(dir_ / file, at);
      EXPECT_ERROR(load(0), Errc::data_corruption, file);
      flip_byte(dir_ / file, at);
    }
    const auto text = testing::file_text(dir_ / file);
    write_all(dir_ / file, text.substr(0, text.size() - 1));
    EXPECT_ERROR(load(0, {.verify = Verify::sizes}), Errc::data_corruption, file);
    write_all(dir_ / file, text);
  }
  EXPECT_OK(load(0));
}

TEST_F(FeaturesManifest, AForgedOneIsAnError) {
  const auto original = testing::file_text(manifest_);
  struct Case {
    std::string from;
    std::string to;
    std::string message;
  };
  const Case cases[] = {
      {added_[1].checksum, std::string(32, 'a'), "expected checksum " + std::string(32, 'a')},
      {"part-0/nodes-n/features.npy", "../nodes-n/features.npy", "a path inside the store"},
      {"part-0/nodes-n/features.npy", "/etc/passwd", "a path inside the store"},
      {"part-0/nodes-n/features.npy", "part-1/nodes-n/features.npy",
       "expected part-0/nodes-n/features.npy in \"files\", found part-1/nodes-n/features.npy"},
      {"part-0/nodes-n/features.npy", "part-0/nodes-n/original_ids.npy", "found part-0/nodes-n/o"},
      {"part-0/nodes-n/features.npy", "part-0/edges-e/in/features.npy", "each path once"},
      {"\"bytes\": ", "\"bytes\": 1", "expected 1"},
      {"\"bytes\": ", "\"bytes\": -", "an integer"},
      {"\"files\": [", "\"flies\": [", "an object with \"files\""},
      {"troupe features", "troupe partition", "\"format\": \"troupe features\""},
  };
  for (const auto& test : cases) {
    forge(manifest_, test.from, test.to);
    EXPECT_ERROR(load(0), Errc::data_corruption, test.message);
    EXPECT_ERROR(load(0), Errc::data_corruption, "part-0/");
    write_all(manifest_, original);
  }
  forge(manifest_, "\"version\": 1", "\"version\": 2");
  EXPECT_ERROR(load(0), Errc::unimplemented, "expected format version 1, found 2");
}

TEST_F(FeaturesManifest, ListsEveryArrayAndNoOther) {
  write_all(manifest_, features_to_json({added_[0]}));
  EXPECT_ERROR(load(0), Errc::data_corruption,
               "expected part-0/nodes-n/features.npy in \"files\", found no more");

  added_.push_back(save("part-0/nodes-n/more.npy", {1}, Ids{1}));
  write_all(manifest_, features_to_json(added_));
  EXPECT_ERROR(load(0), Errc::data_corruption,
               "expected no more in \"files\", found part-0/nodes-n/more.npy");
}

TEST_F(FeaturesManifest, WhatIsNotJsonIsAnError) {
  for (const std::string text : {"", "{", "features", "[]", "null"}) {
    write_all(manifest_, text);
    EXPECT_ERROR(load(0), Errc::data_corruption, "features.json");
  }
  std::filesystem::remove(manifest_);
  std::filesystem::create_directory(manifest_);
  EXPECT_FALSE(load(0).ok());
}

TEST_F(FeaturesManifest, APartitionSaysThatFeaturesComeLaterOrIsOfTheFirstVersion) {
  const auto path = dir_ / "partition.json";
  const auto original = testing::file_text(path);
  forge(path, "\"later\"", "\"never\"");
  EXPECT_ERROR(load(0), Errc::data_corruption, "\"features\": \"later\"");
  write_all(path, original);
  forge(path, "\"graph_checksum\"", "\"checksum\"");
  EXPECT_ERROR(load(0), Errc::data_corruption, "graph_checksum");
  write_all(path, original);
  forge(path, "\"version\": 2", "\"version\": 3");
  EXPECT_ERROR(load(0), Errc::unimplemented, "expected format version up to 2, found 3");
  write_all(path, original);
  forge(path, "\"version\": 2", "\"version\": 0");
  EXPECT_ERROR(load(0), Errc::unimplemented, "found 0");
}

}  // namespace
}  // namespace troupe
