#include "runtime/partition/partitioner.hpp"

#include "runtime/base/self_checksum.hpp"
#include "runtime/graph/graph_json.hpp"
#include "runtime/partition/partition_book.hpp"
#include "tests/runtime/partition/partition_fixture.hpp"
#include "tests/support/file_text.hpp"

#include <algorithm>
#include <ctime>
#include <set>
#include <tuple>

namespace troupe {
namespace {

using namespace testing;

using Edge =
    std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;  // source, destination, edge id

/// One partitioned store with all of its parts loaded.
struct Loaded {
  PartitionedStore store;
  std::vector<std::shared_ptr<const Part>> parts;
  std::vector<std::uint64_t> original_of;  ///< [global id], from the parts' own arrays
};

Result<Loaded> load(const std::filesystem::path& dir, StoreOptions options = {}) {
  TROUPE_ASSIGN_OR_RETURN(auto store, PartitionedStore::open(dir, options));
  Loaded loaded{std::move(store), {}, {}};
  for (std::uint32_t part = 0; part < loaded.store.partition().parts; ++part) {
    TROUPE_ASSIGN_OR_RETURN(auto data, loaded.store.load_part(static_cast<PartId>(part)));
    const auto& ids = data->nodes[0].original_ids;
    loaded.original_of.insert(loaded.original_of.end(), ids.begin(), ids.end());
    loaded.parts.push_back(std::move(data));
  }
  return loaded;
}

TEST(PartitionStore, AnOutputThatExistsIsRefusedBeforeTheGraphIsCut) {
  const TempDir temp;
  ASSERT_OK(write_graph_store(random_graph(20, 60, 2).contents, temp / "graph"));
  ASSERT_OK_AND_ASSIGN(const auto store, GraphStore::open(temp / "graph", {}));
  bool cut = false;
  PartitionOptions options{.method = "mine"};
  options.own = [&](const GraphStore& graph, std::uint32_t, Executor&) -> Result<Assignment> {
    cut = true;
    return Assignment{std::vector<PartId>(graph.info().node_types[0].count)};
  };
  std::filesystem::create_directories(temp / "there");

  EXPECT_ERROR(partition_store(store, options, temp / "there"), Errc::failed_precondition,
               "expected a name that is free");
  EXPECT_FALSE(cut);
  options.parts = 21;  // more than nodes
  EXPECT_ERROR(partition_store(store, options, temp / "out"), Errc::invalid_argument,
               "1 to 20 parts");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(temp.path()), {}), 2);
}

TEST(PartitionStore, ManyPartsAreLoadedInTimeInProportion) {
  const TempDir temp;
  constexpr std::uint32_t many = 800;
  ASSERT_OK(write_graph_store(random_graph(many, 2 * many, 2).contents, temp / "graph"));
  ASSERT_OK_AND_ASSIGN(const auto store, GraphStore::open(temp / "graph", {}));
  ASSERT_OK(partition_store(store, {.parts = many}, temp / "parts"));

  const auto began = std::clock();
  ASSERT_OK_AND_ASSIGN(const auto loaded, load(temp / "parts"));
  const auto seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;

  EXPECT_EQ(loaded.original_of.size(), many);
  EXPECT_LT(seconds, 8) << "of a processor";
}

struct Setting {
  std::uint32_t parts;
  CompleteFor complete_for;
  bool edge_ids;
};

class Partitioning : public ::testing::TestWithParam<Setting> {
 protected:
  static constexpr std::uint64_t nodes = 43;
  static constexpr std::uint64_t edges = 300;

  void SetUp() override {
    graph_ = random_graph(nodes, edges, 5, GetParam().edge_ids);
    ASSERT_OK(write_graph_store(graph_.contents, temp_ / "graph"));
    ASSERT_OK_AND_ASSIGN(const auto store, GraphStore::open(temp_ / "graph", {}));
    const PartitionOptions options{
        .parts = GetParam().parts, .seed = 9, .complete_for = GetParam().complete_for};
    ASSERT_OK_AND_ASSIGN(written_, partition_store(store, options, temp_ / "parts"));
    auto loaded = load(temp_ / "parts");
    ASSERT_OK(loaded);
    loaded_.emplace(*std::move(loaded));
  }

  /// The edges that the parts' lists of one direction hold, in original ids; without edge ids these
  /// are 0.
  std::multiset<Edge> edges_of(EdgeDir dir) const {
    std::multiset<Edge> all;
    for (const auto& part : loaded_->parts) {
      const auto& lists = part->edges[0].lists(dir);
      for (std::uint64_t node = 0; node < part->nodes[0].count; ++node) {
        for (auto i = lists.offsets[node]; i < lists.offsets[node + 1]; ++i) {
          const auto own = part->nodes[0].original_ids[node];
          const auto other = loaded_->original_of[raw(lists.neighbours[i])];
          const auto id = lists.edge_ids.empty() ? 0 : lists.edge_ids[i];
          all.insert(dir == EdgeDir::in ? Edge{other, own, id} : Edge{own, other, id});
        }
      }
    }
    return all;
  }

  TempDir temp_;
  RandomGraph graph_;
  PartitionInfo written_;
  std::optional<Loaded> loaded_;
};

TEST_P(Partitioning, EveryNodeIsOwnedOnceInContiguousRangesOfEvenSize) {
  std::uint64_t next = 0;
  for (const auto& part : loaded_->parts) {
    const auto& own = part->nodes[0];
    EXPECT_EQ(raw(own.first), next);
    EXPECT_GE(own.count, nodes / GetParam().parts);
    EXPECT_LE(own.count, nodes / GetParam().parts + 1);
    next += own.count;
  }
  EXPECT_EQ(next, nodes);
  auto ids = loaded_->original_of;
  std::ranges::sort(ids);
  for (std::uint64_t i = 0; i < nodes; ++i) {
    EXPECT_EQ(ids[i], i);
  }
}

TEST_P(Partitioning, EndsMapBackToTheOriginalMultigraph) {
  std::multiset<Edge> original;
  for (std::uint64_t i = 0; i < edges; ++i) {
    original.insert({graph_.sources[i], graph_.destinations[i], GetParam().edge_ids ? i : 0});
  }
  for (const auto dir : directions(GetParam().complete_for)) {
    EXPECT_EQ(edges_of(dir), original) << to_string(dir);
  }
  EXPECT_EQ(loaded_->parts[0]->edges[0].in.present(), GetParam().complete_for != CompleteFor::out);
  EXPECT_EQ(loaded_->parts[0]->edges[0].out.present(), GetParam().complete_for != CompleteFor::in);
}

TEST_P(Partitioning, ListsAreOrderedByOriginalNeighbourThenEdge) {
  for (const auto dir : directions(GetParam().complete_for)) {
    for (const auto& part : loaded_->parts) {
      const auto& lists = part->edges[0].lists(dir);
      for (std::uint64_t node = 0; node < part->nodes[0].count; ++node) {
        for (auto i = lists.offsets[node] + 1; i < lists.offsets[node + 1]; ++i) {
          const auto key = [&](std::uint64_t at) {
            return std::pair(loaded_->original_of[raw(lists.neighbours[at])],
                             lists.edge_ids.empty() ? at : lists.edge_ids[at]);
          };
          EXPECT_LT(key(i - 1), key(i));
        }
      }
    }
  }
}

TEST_P(Partitioning, PartsAreHottestFirstTiesByOriginalId) {
  std::vector<std::uint64_t> degree(nodes, 0);
  for (const auto destination : graph_.destinations) {
    ++degree[destination];
  }
  for (const auto& part : loaded_->parts) {
    const auto& ids = part->nodes[0].original_ids;
    for (std::size_t i = 1; i < ids.size(); ++i) {
      const auto before = std::pair(degree[ids[i - 1]], ids[i]);
      const auto after = std::pair(degree[ids[i]], ids[i - 1]);
      EXPECT_GT(before, after);
    }
  }
}

TEST_P(Partitioning, RowsAndLabelsFollowTheirNodes) {
  const auto& original = graph_.contents.nodes[0];
  for (const auto& part : loaded_->parts) {
    const auto& own = part->nodes[0];
    for (std::uint64_t i = 0; i < own.count; ++i) {
      const auto id = own.original_ids[i];
      EXPECT_TRUE(
          std::ranges::equal(own.features->row(i), original.features.bytes.subspan(id * 3, 3)));
      EXPECT_EQ(own.labels[i], original.labels[id]);
    }
    EXPECT_EQ(own.features->info.scale, 0.5F);
  }
}

TEST_P(Partitioning, TheHaloIsExactlyTheForeignNeighbours) {
  for (const auto& part : loaded_->parts) {
    std::set<std::uint64_t> foreign;
    for (const auto dir : directions(GetParam().complete_for)) {
      const auto& lists = part->edges[0].lists(dir);
      for (std::size_t i = 0; i < lists.neighbours.size(); ++i) {
        if (!part->nodes[0].owns(lists.neighbours[i])) {
          foreign.insert(raw(lists.neighbours[i]));
        }
      }
    }
    const auto& own = part->nodes[0];
    EXPECT_TRUE(std::ranges::equal(own.halo_ids, foreign));
    for (std::size_t i = 0; i < own.halo_ids.size(); ++i) {
      EXPECT_EQ(own.halo_original_ids[i], loaded_->original_of[own.halo_ids[i]]);
    }
  }
}

TEST_P(Partitioning, SeedsAreMappedAndSortedByOriginalId) {
  ASSERT_OK_AND_ASSIGN(const auto seeds, loaded_->store.seeds("", "train"));
  ASSERT_EQ(seeds.original.size(), 15U);
  for (std::size_t i = 0; i < seeds.original.size(); ++i) {
    EXPECT_EQ(raw(seeds.original[i]), 3 * i);
    EXPECT_EQ(loaded_->original_of[raw(seeds.global[i])], 3 * i);
  }
}

TEST_P(Partitioning, CountsInThePartitionJsonAreTrue) {
  const auto& info = loaded_->store.partition();
  const PartitionBook book(info.ranges);
  std::vector<std::uint64_t> global_of(nodes);
  for (std::uint64_t id = 0; id < nodes; ++id) {
    global_of[loaded_->original_of[id]] = id;
  }
  const auto owner = [&](std::uint64_t original) {
    return raw(book.owner(NodeTypeId{0}, static_cast<NodeId>(global_of[original])));
  };
  std::uint64_t cut = 0;
  std::vector<std::uint64_t> per_part(GetParam().parts, 0);
  for (std::uint64_t i = 0; i < edges; ++i) {
    const auto source = owner(graph_.sources[i]);
    const auto destination = owner(graph_.destinations[i]);
    cut += source != destination ? 1 : 0;
    ++per_part[GetParam().complete_for == CompleteFor::out ? source : destination];
  }
  EXPECT_EQ(info.cut_edges, cut);
  EXPECT_EQ(info.edges[0], per_part);
  EXPECT_EQ(info.method, "random");
  EXPECT_EQ(info.complete_for, GetParam().complete_for);
  EXPECT_EQ(partition_to_json(info, loaded_->store.info()),
            partition_to_json(written_, loaded_->store.info()));
}

TEST_P(Partitioning, ASecondRunGivesTheSameFiles) {
  ASSERT_OK_AND_ASSIGN(const auto store,
                       GraphStore::open(temp_ / "graph", {.memory = StoreMemory::copied}));
  const PartitionOptions options{
      .parts = GetParam().parts, .seed = 9, .complete_for = GetParam().complete_for};
  ASSERT_OK(partition_store(store, options, temp_ / "again"));

  const auto files = files_below(temp_ / "parts");
  EXPECT_EQ(files_below(temp_ / "again"), files);
  for (const auto& file : files) {
    EXPECT_EQ(testing::file_text(temp_ / "again" / file),
              testing::file_text(temp_ / "parts" / file))
        << file;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Settings, Partitioning,
    ::testing::Values(Setting{1, CompleteFor::in, true}, Setting{2, CompleteFor::in, true},
                      Setting{3, CompleteFor::out, true}, Setting{5, CompleteFor::both, true},
                      Setting{7, CompleteFor::in, true}, Setting{7, CompleteFor::both, false},
                      Setting{11, CompleteFor::in, true}),
    [](const auto& setting) {
      return "Parts" + std::to_string(setting.param.parts) +
             std::string(to_string(setting.param.complete_for)) +
             (setting.param.edge_ids ? "" : "NoEdgeIds");
    });

class PartitionedStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(write_graph_store(random_graph(20, 60, 2).contents, temp_ / "graph"));
    auto store = GraphStore::open(temp_ / "graph", {});
    ASSERT_OK(store);
    graph_ = *std::move(store);
    ASSERT_OK(partition_store(graph_, {.parts = 2, .complete_for = CompleteFor::both}, dir_));
  }
  Status load_all(StoreOptions options = {}) const {
    TROUPE_ASSIGN_OR_RETURN(const auto loaded, load(dir_, options));
    TROUPE_RETURN_IF_ERROR(loaded.store.seeds("", "train"));
    for (std::uint32_t p = 0; p < loaded.store.partition().parts; ++p) {
      TROUPE_ASSIGN_OR_RETURN(const auto lists, loaded.store.load_lists(static_cast<PartId>(p)));
      for (std::uint16_t type = 0; type < lists->edges.size(); ++type) {
        TROUPE_RETURN_IF_ERROR(loaded.store.with_ends(*lists, EdgeTypeId{type}));
      }
    }
    return ok_status();
  }

  TempDir temp_;
  std::filesystem::path dir_ = temp_ / "parts";
  GraphStore graph_;
};

TEST_F(PartitionedStoreTest, AnyFlippedByteIsFoundWithTheFilesName) {
  for (const auto& file : files_below(dir_)) {
    const auto size = std::filesystem::file_size(dir_ / file);
    for (const auto at : {std::uintmax_t{0}, size / 2, size - 1}) {
      flip_byte(dir_ / file, at);
      EXPECT_ERROR(load_all(), Errc::data_corruption, file);
      EXPECT_ERROR(load_all({.memory = StoreMemory::copied}), Errc::data_corruption, file);
      flip_byte(dir_ / file, at);
    }
  }
  EXPECT_OK(load_all());
}

TEST_F(PartitionedStoreTest, KindsAndPartsThatDoNotExistAreErrors) {
  EXPECT_EQ(store_kind(dir_), StoreKind::partitioned);
  EXPECT_ERROR(GraphStore::open(dir_, {}), Errc::failed_precondition, "partitioned store");
  ASSERT_OK_AND_ASSIGN(const auto store, PartitionedStore::open(dir_, {}));
  EXPECT_ERROR(store.load_part(PartId{2}), Errc::invalid_argument,
               "expected a part below 2, got 2");
  EXPECT_ERROR(store.seeds("", "test"), Errc::not_found, "train");
}

TEST_F(PartitionedStoreTest, TruncatedPartitionJsonIsAnError) {
  const auto path = dir_ / "partition.json";
  const auto text = testing::file_text(path);
  for (std::size_t size = 0; size + 1 < text.size(); size += 101) {
    write_all(path, text.substr(0, size));
    EXPECT_ERROR(load_all(), Errc::data_corruption, "partition.json");
  }
}

TEST_F(PartitionedStoreTest, PartitionJsonThatDisagreesWithTheGraphIsAnError) {
  const auto& info = graph_.info();
  ASSERT_OK_AND_ASSIGN(const auto store, PartitionedStore::open(dir_, {}));
  const auto reread = [&](auto change) {
    auto partition = store.partition();
    change(partition);
    return partition_from_json(partition_to_json(partition, info), info, "partition.json");
  };
  const auto corrupt = Errc::data_corruption;
  EXPECT_OK(reread([](auto&) {}));
  EXPECT_ERROR(reread([](auto& p) { p.parts = 0; }), corrupt, "at least one part");
  EXPECT_ERROR(reread([](auto& p) { p.parts = 4000000000U; }), corrupt,
               "4000000001 ascending node ids");
  EXPECT_ERROR(reread([](auto& p) { p.ranges.first_node[0] = {0, 21, 20}; }), corrupt, "ascending");
  EXPECT_ERROR(reread([](auto& p) {
                 p.ranges.first_node[0] = {0, 10, 21};
               }),
               corrupt, "from 0 to 20");
  EXPECT_ERROR(reread([](auto& p) { p.ranges.first_node[0].clear(); }), corrupt, "first_node");
  EXPECT_ERROR(reread([](auto& p) { p.edges[0][0] += 1; }), corrupt, "sum to 60");
  EXPECT_ERROR(reread([](auto& p) { p.files[0].path = "../x"; }), corrupt, "inside the store");
}

TEST_F(PartitionedStoreTest, ImpossibleOptionsAreErrorsThatSayWhatWorks) {
  const auto out = temp_ / "other";
  EXPECT_ERROR(partition_store(graph_, {.method = "magic"}, out), Errc::invalid_argument,
               "expected a method of random");
  EXPECT_ERROR(partition_store(graph_, {.parts = 21}, out), Errc::invalid_argument,
               "1 to 20 parts");
  EXPECT_ERROR(partition_store(graph_, {.parts = 0}, out), Errc::invalid_argument, "got 0");
  EXPECT_ERROR(partition_store(graph_, {}, dir_), Errc::failed_precondition, "exists");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(PartitionedStoreTest, TheHashTellsOptionsAndGraphsApart) {
  const auto hash = [&](const PartitionOptions& options) {
    const auto result = partition_hash(temp_ / "graph", options);
    return result.ok() ? *result : error_text(result);
  };
  ASSERT_OK(write_graph_store(random_graph(20, 60, 3).contents, temp_ / "other"));
  std::set<std::string> hashes{hash({}), hash({.method = "metis"}), hash({.parts = 2}),
                               hash({.seed = 1}), hash({.complete_for = CompleteFor::out})};
  hashes.insert(*partition_hash(temp_ / "other", {}));
  EXPECT_EQ(hashes.size(), 6U);
  ASSERT_OK_AND_ASSIGN(const auto store, PartitionedStore::open(dir_, {}));
  EXPECT_EQ(store.partition().options_hash, hash({.parts = 2, .complete_for = CompleteFor::both}));
  EXPECT_ERROR(partition_hash(temp_ / "nothing", {}), Errc::not_found, "graph.json");
}

TEST_F(PartitionedStoreTest, TheHashTellsMethodOptionsAndFilesApart) {
  const auto hash = [&](const MethodOptions& more, const std::string& method = "fennel") {
    const auto result =
        partition_hash(temp_ / "graph", {.method = method, .parts = 2, .more = more});
    return result.ok() ? *result : error_text(result);
  };
  MethodOptions passes;
  passes.passes = 4;
  MethodOptions imbalance;
  imbalance.imbalance = 1.2;
  MethodOptions edges;
  edges.balance = {"edges"};
  MethodOptions train;
  train.balance = {"train"};
  std::set<std::string> hashes{hash({}), hash(passes), hash(imbalance), hash(edges), hash(train)};
  EXPECT_EQ(hashes.size(), 5U);
  EXPECT_EQ(hash(passes, "random"), hash({}, "random"));  // which makes no passes

  MethodOptions file;
  file.file = temp_ / "assignment.npy";
  save_npy(file.file, {2}, std::vector<std::int32_t>{0, 1});
  const auto one = hash(file, "file");
  save_npy(file.file, {2}, std::vector<std::int32_t>{1, 1});
  EXPECT_NE(hash(file, "file"), one);
}

TEST_F(PartitionedStoreTest, EveryMethodWritesAStoreWithItsOptionsAndMeasures) {
  for (const std::string method : {"hash", "ldg", "fennel"}) {
    const auto out = temp_ / method;
    PartitionOptions options{.method = method, .parts = 3, .seed = 4};
    options.more.balance = {"edges", "train"};
    ASSERT_OK_AND_ASSIGN(const auto written, partition_store(graph_, options, out));
    ASSERT_OK_AND_ASSIGN(const auto loaded, load(out));

    const auto& info = loaded.store.partition();
    EXPECT_EQ(info.method, method);
    EXPECT_EQ(info.options,
              options_of({.method = method, .parts = 3, .seed = 4, .more = options.more}));
    EXPECT_EQ(info.communication_volume, written.communication_volume);
    ASSERT_EQ(info.balance.size(), 3U);
    EXPECT_EQ(info.balance[0].name, "nodes");
    EXPECT_EQ(info.balance[0].total, 20U);
    EXPECT_EQ(info.balance[1].name, "edges");
    EXPECT_EQ(info.balance[1].largest, std::ranges::max(info.edges[0]));
    EXPECT_EQ(partition_to_json(info, loaded.store.info()),
              partition_to_json(written, loaded.store.info()));
    auto ids = loaded.original_of;
    std::ranges::sort(ids);
    for (std::uint64_t i = 0; i < 20; ++i) {
      EXPECT_EQ(ids[i], i);
    }
  }
}

TEST_F(PartitionedStoreTest, PartsWithoutNodesAreWrittenAndRead) {
  MethodOptions file;
  file.file = temp_ / "assignment.npy";
  save_npy(file.file, {20}, std::vector<std::int32_t>(20, 1));
  ASSERT_OK(partition_store(graph_, {.method = "file", .parts = 3, .more = file}, temp_ / "out"));
  ASSERT_OK_AND_ASSIGN(const auto loaded, load(temp_ / "out"));
  EXPECT_EQ(loaded.parts[0]->nodes[0].count, 0U);
  EXPECT_EQ(loaded.parts[1]->nodes[0].count, 20U);
  EXPECT_EQ(loaded.parts[2]->nodes[0].count, 0U);
  EXPECT_EQ(loaded.store.partition().cut_edges, 0U);
}

TEST_F(PartitionedStoreTest, StoresFromBeforeThereWereMeasuresAreRead) {
  auto text = testing::file_text(dir_ / "partition.json");
  for (const std::string key : {"options", "communication_volume", "balance"}) {
    const auto at = text.find("\"" + key + "\"");
    ASSERT_NE(at, std::string::npos) << key;
    text.replace(at + 1, 3, "xxx");  // a key that readers do not know
  }
  const std::string seal = "\"self_checksum\": \"";
  text.replace(text.find(seal) + seal.size(), unsealed.size(), unsealed);
  write_all(dir_ / "partition.json", seal_text(std::move(text)));
  ASSERT_OK_AND_ASSIGN(const auto loaded, load(dir_));
  EXPECT_FALSE(loaded.store.partition().communication_volume.has_value());
  EXPECT_TRUE(loaded.store.partition().balance.empty());
  EXPECT_TRUE(loaded.store.partition().options.empty());
}

TEST(AssignRandom, DependsOnTheSeedAndOnTheTypeOnly) {
  GraphInfo info;
  info.node_types.resize(2);
  info.node_types[0].count = 100;
  info.node_types[1].count = 100;
  ASSERT_OK_AND_ASSIGN(const auto one, assign_random(info, 3, 1));
  ASSERT_OK_AND_ASSIGN(const auto again, assign_random(info, 3, 1));
  ASSERT_OK_AND_ASSIGN(const auto other, assign_random(info, 3, 2));
  EXPECT_EQ(one, again);
  EXPECT_NE(one, other);
  EXPECT_NE(one[0], one[1]);
}

TEST(AssignRandom, SmallTypesMayLeavePartsEmpty) {
  GraphInfo info;
  info.node_types.resize(2);
  info.node_types[0].count = 10;
  info.node_types[1].count = 2;
  ASSERT_OK_AND_ASSIGN(const auto assignment, assign_random(info, 5, 1));
  EXPECT_NE(assignment[1][0], assignment[1][1]);
}

TEST(PartitionStore, SeveralTypesKeepTheirOwnRangesAndTargets) {
  // 3 authors write 5 papers; papers have targets
  const TempDir temp;
  GraphContents contents;
  contents.info.node_types.resize(2);
  contents.info.node_types[0].name = "author";
  contents.info.node_types[0].count = 3;
  contents.info.node_types[1].name = "paper";
  contents.info.node_types[1].count = 5;
  contents.info.node_types[1].labels = LabelInfo{LabelInfo::Kind::targets, 2};
  EdgeTypeInfo writes;
  writes.name = "writes";
  writes.destination = NodeTypeId{1};
  writes.count = 4;
  writes.has_edge_ids = true;
  contents.info.edge_types = {writes};
  contents.nodes.resize(2);
  const std::vector<float> targets{0, 0, 0, 1, 1, 0, 1, 1, 1, 0};
  contents.nodes[1].targets = targets;
  const std::vector<std::uint64_t> sources{0, 2, 2, 1};
  const std::vector<std::uint64_t> destinations{4, 4, 0, 1};
  contents.in_lists = {build_in_lists({sources, destinations}, 3, 5)};
  ASSERT_OK(write_graph_store(contents, temp / "graph"));
  ASSERT_OK_AND_ASSIGN(const auto graph, GraphStore::open(temp / "graph", {}));
  ASSERT_OK(
      partition_store(graph, {.parts = 5, .complete_for = CompleteFor::both}, temp / "parts"));

  ASSERT_OK_AND_ASSIGN(const auto store, PartitionedStore::open(temp / "parts", {}));
  std::uint64_t papers = 0;
  std::uint64_t authors = 0;
  for (std::uint32_t p = 0; p < 5; ++p) {
    ASSERT_OK_AND_ASSIGN(const auto part, store.load_part(static_cast<PartId>(p)));
    authors += part->nodes[0].count;
    papers += part->nodes[1].count;
    EXPECT_EQ(part->edges[0].in.offsets.size(), part->nodes[1].count + 1);
    EXPECT_EQ(part->edges[0].out.offsets.size(), part->nodes[0].count + 1);
    for (std::uint64_t i = 0; i < part->nodes[1].count; ++i) {
      const auto original = part->nodes[1].original_ids[i];
      EXPECT_EQ(part->nodes[1].targets[2 * i], targets[2 * original]);
      EXPECT_EQ(part->nodes[1].targets[2 * i + 1], targets[2 * original + 1]);
    }
  }
  EXPECT_EQ(authors, 3U);
  EXPECT_EQ(papers, 5U);
}

TEST(NodeOrder, IsReadAsItIsPrinted) {
  for (const auto order : {NodeOrder::degree, NodeOrder::hotness, NodeOrder::original}) {
    EXPECT_EQ(parse_node_order(to_string(order)), order);
  }
  EXPECT_FALSE(parse_node_order("random"));
}

}  // namespace
}  // namespace troupe
