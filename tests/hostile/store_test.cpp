// Files of a store changed after they were written: nothing that differs is ever used.
#include "runtime/data/npy_import.hpp"
#include "runtime/graph/graph_json.hpp"
#include "runtime/partition/add_features.hpp"
#include "runtime/partition/partitioner.hpp"
#include "tests/hostile/mutations.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"

#include "fuzz/self_checksum.hpp"

#include <sys/stat.h>

namespace troupe {
namespace {

using testing::Octets;

Octets octets(const std::string& text) {
  return {text.begin(), text.end()};
}
std::string text(const Octets& bytes) {
  return {bytes.begin(), bytes.end()};
}

/// A graph of 40 nodes, whole and in two parts, with features from the beginning or added later.
class HostileStore : public ::testing::Test {
 protected:
  HostileStore() {
    EXPECT_OK(write_graph_store(testing::random_graph(40, 90, 5).contents, dir_ / "graph"));
    const auto graph = GraphStore::open(dir_ / "graph", {});
    EXPECT_OK(graph);
    PartitionOptions options{"random", 2, 3, CompleteFor::both};
    EXPECT_OK(partition_store(*graph, options, dir_ / "parts"));
    options.features_later = true;
    EXPECT_OK(partition_store(*graph, options, dir_ / "later"));
    InlineExecutor executor;
    EXPECT_OK(add_features(dir_ / "graph", dir_ / "later", {}, executor));
  }

  Status open_whole() const {
    TROUPE_ASSIGN_OR_RETURN(const auto store, GraphStore::open(dir_ / "graph", {}));
    return store.info().node_types.size() == 1 ? ok_status()
                                               : Error(Errc::internal, "another graph");
  }
  Status open_parts(const std::string& parts = "parts") const {
    TROUPE_ASSIGN_OR_RETURN(const auto store, PartitionedStore::open(dir_ / parts, {}));
    TROUPE_ASSIGN_OR_RETURN(const auto seeds, store.seeds("", "train"));
    for (std::uint32_t part = 0; part < 2; ++part) {
      TROUPE_ASSIGN_OR_RETURN(const auto loaded, store.load_part(static_cast<PartId>(part)));
      TROUPE_ASSIGN_OR_RETURN(const auto with_ends, store.with_ends(*loaded, EdgeTypeId{0}));
    }
    return seeds.global.empty() ? Error(Errc::internal, "no seeds") : ok_status();
  }

  /// Puts worse files in the place of each file of the store: each is refused, by its name.
  template <class Open>
  void expect_refused(const std::string& store, std::size_t most, Open open) {
    testing::InputCount count(store);
    for (const auto& name : testing::files_below(dir_ / store)) {
      const auto path = dir_ / store / name;
      const auto good = octets(testing::file_text(path));
      testing::each_mutation(good, most, [&](const Octets& changed) {
        testing::write_all(path, text(changed));
        const auto status = open();
        count.add(!status.ok());
        if (changed == good) {
          return;
        }
        ASSERT_FALSE(status.ok()) << name << ": a change went unseen";
        EXPECT_NE(status.error().what().find(name), std::string::npos) << status.error().what();
      });
      testing::write_all(path, text(good));
      ASSERT_OK(open());
    }
  }

  testing::TempDir dir_;
};

TEST_F(HostileStore, EveryChangeOfAWholeStoreIsFoundWithTheFilesName) {
  expect_refused("graph", 120, [this] { return open_whole(); });
}

TEST_F(HostileStore, EveryChangeOfAPartitionedStoreIsFoundWithTheFilesName) {
  expect_refused("parts", 25, [this] { return open_parts(); });
}

TEST_F(HostileStore, EveryChangeOfFeaturesThatCameLaterIsFoundWithTheFilesName) {
  expect_refused("later", 25, [this] { return open_parts("later"); });
}

TEST_F(HostileStore, DeeplyNestedDocumentsAreRefused) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  testing::write_all(dir_ / "graph" / "graph.json", "{\"format\": " + deep + "}");
  EXPECT_ERROR(open_whole(), Errc::data_corruption, "graph.json: expected JSON of at most 64");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) {
    objects += "{\"a\":";
  }
  testing::write_all(dir_ / "parts" / "partition.json", objects);
  EXPECT_ERROR(open_parts(), Errc::data_corruption, "partition.json: expected JSON of at most 64");
}

TEST_F(HostileStore, BracketsInsideTextsAreNoNesting) {
  auto json = graph_to_json({});
  json.insert(json.find("\"node_types\""), "\"note\": \"" + std::string(500, '[') + "\\\"{\", ");
  EXPECT_OK(graph_from_json(fuzz::with_self_checksum(json), "graph.json"));
}

TEST_F(HostileStore, ARepeatedKeyIsRefused) {
  auto json = graph_to_json({});
  json.insert(json.find("\"node_types\""), "\"splits\": [], ");
  EXPECT_ERROR(graph_from_json(fuzz::with_self_checksum(json), "graph.json"), Errc::data_corruption,
               "graph.json: expected each key once, found /splits twice");
}

TEST_F(HostileStore, ACountThatNoArrayConfirmsIsRefusedBeforeMemoryIsTaken) {
  testing::GraphContents contents;
  contents.info.node_types.push_back({"node", 3, {}, {}, {}});
  contents.info.node_types.push_back({"source", 2, {}, {}, {}});
  EdgeTypeInfo edges;
  edges.name = "edge";
  edges.source = NodeTypeId{1};
  edges.count = 2;
  contents.info.edge_types.push_back(edges);
  contents.nodes.resize(2);
  contents.in_lists.push_back({{0, 1, 2, 2}, {1, 0}, {}});
  ASSERT_OK(testing::write_graph_store(contents, dir_ / "two"));
  ASSERT_OK(GraphStore::open(dir_ / "two", {}));
  ASSERT_OK_AND_ASSIGN(auto info,
                       graph_from_json(testing::file_text(dir_ / "two" / "graph.json"), "g"));
  info.node_types[1].count = std::uint64_t{1} << 31;  // 16 GiB of ids

  testing::write_all(dir_ / "two" / "graph.json", graph_to_json(info));

  EXPECT_ERROR(GraphStore::open(dir_ / "two", {}), Errc::data_corruption,
               "node type \"source\": expected a count near its 2 edges");
}

TEST_F(HostileStore, PipesInPlaceOfFilesDoNotBlock) {
  const auto victim = dir_ / "graph" / "nodes-node" / "labels.npy";
  std::filesystem::remove(victim);
  ASSERT_EQ(::mkfifo(victim.c_str(), 0600), 0);
  EXPECT_ERROR(open_whole(), Errc::failed_precondition, "labels.npy");

  std::filesystem::create_directories(dir_ / "npy");
  testing::save_npy<std::int64_t>(dir_ / "npy" / "edge_index.npy", {2, 1}, {0, 1});
  ASSERT_EQ(::mkfifo((dir_ / "npy" / "meta.json").c_str(), 0600), 0);
  EXPECT_ERROR(import_npy(dir_ / "npy", dir_ / "out"), Errc::invalid_argument, "meta.json");
  std::filesystem::remove(dir_ / "npy" / "meta.json");
  ASSERT_EQ(::mkfifo((dir_ / "npy" / "x.npy").c_str(), 0600), 0);
  EXPECT_FALSE(import_npy(dir_ / "npy", dir_ / "out").ok());
}

TEST_F(HostileStore, ADeeplyNestedMetaFileIsRefused) {
  testing::save_npy<std::int64_t>(dir_ / "npy" / "edge_index.npy", {2, 1}, {0, 1});
  testing::write_all(dir_ / "npy" / "meta.json", "{\"num_nodes\": " + std::string(100'000, '[') +
                                                     std::string(100'000, ']') + "}");
  EXPECT_ERROR(import_npy(dir_ / "npy", dir_ / "out"), Errc::invalid_argument,
               "meta.json: expected JSON of at most 64 levels");
}

TEST_F(HostileStore, AMetaFileThatIsNoObjectIsRefused) {
  testing::save_npy<std::int64_t>(dir_ / "npy" / "edge_index.npy", {2, 1}, {0, 1});
  testing::write_all(dir_ / "npy" / "meta.json", "[]");
  EXPECT_ERROR(import_npy(dir_ / "npy", dir_ / "out"), Errc::invalid_argument,
               "meta.json: expected a JSON object, found array");
}

}  // namespace
}  // namespace troupe
