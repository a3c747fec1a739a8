// Links, times of seeds and directories of partitioned stores.
#include "runtime/graph/directory.hpp"
#include "runtime/partition/partitioner.hpp"
#include "tests/runtime/graph/forge.hpp"
#include "tests/runtime/partition/partition_fixture.hpp"

#include <vector>

namespace troupe {
namespace {

using namespace testing;

/// Three node types (one smaller than most numbers of parts, one empty) and links of two edge types.
GraphContents linked_contents() {
  auto contents = plain_contents(
      {43, 2, 0},
      {{0, 0, grouped_edges(1, 43, 90, 0)}, {0, 1, {{0, 0}, {7, 1}, {7, 1}, {42, 0}}}, {2, 0, {}}});
  auto& split = contents.info.splits[0];
  split.roles["train"].has_times = true;
  auto& times = contents.seed_times[{"", "train"}];
  for (const auto id : contents.seeds.at({"", "train"})) {
    times.push_back(5 - static_cast<std::int64_t>(id));
  }
  auto& train = contents.links[{"", "train"}];
  for (std::uint64_t i = 0; i < 43; ++i) {
    for (const auto other : {i / 2, i / 2, 42 - i / 3}) {  // one of them twice
      train.ends.insert(train.ends.end(), {i, other});
      train.times.push_back(static_cast<std::int64_t>(train.times.size()) * 3 - 50);
      train.labels.push_back(static_cast<float>(i) / 4);
    }
  }
  split.links["train"] = {EdgeTypeId{0}, train.times.size(), true, true};
  contents.links[{"", "val"}] = {{0, 1, 7, 0, 7, 0, 42, 1}};
  split.links["val"] = {EdgeTypeId{1}, 4, false, false};
  contents.links[{"", "test"}] = {};
  split.links["test"] = {EdgeTypeId{2}, 0, true, true};
  SplitInfo triples;
  triples.name = "t";
  triples.links["val"] = {EdgeTypeId{0}, 3, false, true, 1, {EdgeTypeId{0}}};
  contents.info.splits.push_back(triples);
  contents.links[{"t", "val"}] = {{4, 42, 5, 5, 30, 0}, {}, {0, 0, 0}};
  SplitInfo links_only;
  links_only.name = "b";
  links_only.links["test"] = {EdgeTypeId{1}, 1, false, false};
  contents.info.splits.push_back(links_only);
  contents.links[{"b", "test"}] = {{3, 1}};
  return contents;
}

/// Global ids of a type by original id, as the parts' directories say.
std::vector<NodeId> all_directories(const PartitionedStore& store, std::size_t type) {
  std::vector<NodeId> ids;
  for (std::uint32_t p = 0; p < store.partition().parts; ++p) {
    const auto part = store.load_lists(static_cast<PartId>(p));
    EXPECT_OK(part);
    const auto& directory = (*part)->nodes[type].directory;
    for (std::size_t i = 0; i < directory.size(); ++i) {
      ids.push_back(directory[i]);
    }
  }
  return ids;
}

class SplitLinks : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const auto graph, store_of(contents_, temp_ / "graph"));
    ASSERT_OK(partition_store(graph, {.parts = GetParam(), .seed = 3}, temp_ / "parts"));
  }
  Result<PartitionedStore> open(StoreOptions options = {}) const {
    return PartitionedStore::open(temp_ / "parts", options);
  }

  TempDir temp_;
  GraphContents contents_ = linked_contents();
};

TEST_P(SplitLinks, PartsHaveTheirSlicesOfDirectories) {
  ASSERT_OK_AND_ASSIGN(const auto store, open());
  EXPECT_TRUE(store.partition().directory);
  for (std::uint32_t p = 0; p < GetParam(); ++p) {
    const auto id = static_cast<PartId>(p);
    ASSERT_OK_AND_ASSIGN(const auto whole, store.load_part(id));
    ASSERT_OK_AND_ASSIGN(const auto without, store.load_without_features(id));
    ASSERT_OK_AND_ASSIGN(const auto lists, store.load_lists(id));
    for (std::size_t type = 0; type < 3; ++type) {
      const DirectorySlices slices{contents_.info.node_types[type].count, GetParam()};
      const auto size = slices.first(p + 1) - slices.first(p);
      EXPECT_EQ(whole->nodes[type].directory.size(), size);
      EXPECT_EQ(without->nodes[type].directory.size(), size);
      EXPECT_EQ(lists->nodes[type].directory.size(), size);
    }
  }
  for (std::size_t type = 0; type < 3; ++type) {
    const auto global_of = all_directories(store, type);
    ASSERT_EQ(global_of.size(), contents_.info.node_types[type].count);
    for (std::uint32_t p = 0; p < GetParam(); ++p) {
      ASSERT_OK_AND_ASSIGN(const auto part, store.load_part(static_cast<PartId>(p)));
      const auto& nodes = part->nodes[type];
      for (std::uint64_t i = 0; i < nodes.count; ++i) {
        EXPECT_EQ(raw(global_of[nodes.original_ids[i]]), raw(nodes.first) + i);
      }
    }
  }
}

// Every number of an edge names the node that it ends at, in order of original ids.
TEST_P(SplitLinks, EndsOfEdgesAreThoseOfTheGraph) {
  for (const auto memory : {StoreMemory::mapped, StoreMemory::copied}) {
    ASSERT_OK_AND_ASSIGN(const auto store, open({.memory = memory}));
    ASSERT_EQ(store.partition().ends.size(), 3U);
    ASSERT_OK_AND_ASSIGN(const auto graph, GraphStore::open(temp_ / "graph", {}));
    for (std::uint16_t e = 0; e < 3; ++e) {
      const auto& type = contents_.info.edge_types[e];
      const auto& lists = graph.graph()->edges[e].in;
      std::vector<std::uint64_t> destinations;
      std::vector<std::uint64_t> sources;
      for (std::uint64_t node = 0; node + 1 < lists.offsets.size(); ++node) {
        for (auto at = lists.offsets[node]; at < lists.offsets[node + 1]; ++at) {
          destinations.push_back(node);
          sources.push_back(raw(lists.neighbours[at]));
        }
      }
      std::ranges::sort(sources);
      for (const auto dir : {EdgeDir::in, EdgeDir::out}) {
        const bool in = dir == EdgeDir::in;
        const auto nodes =
            contents_.info.node_types[raw(in ? type.destination : type.source)].count;
        const DirectorySlices slices{nodes, GetParam()};
        std::vector<std::uint64_t> found;
        for (std::uint32_t p = 0; p < GetParam(); ++p) {
          ASSERT_OK_AND_ASSIGN(const auto bare, store.load_lists(static_cast<PartId>(p)));
          EXPECT_TRUE(bare->edges[e].ends(dir).empty()) << "only where a job draws by degree";
          ASSERT_OK_AND_ASSIGN(const auto part, store.with_ends(*bare, EdgeTypeId{e}));
          const auto& stated = in ? store.partition().ends[e].in : store.partition().ends[e].out;
          for (std::uint64_t number = 0; number < stated.edges[p]; ++number) {
            const auto place = place_of_edge(part->edges[e].ends(dir), number);
            ASSERT_TRUE(place);
            found.push_back(slices.first(p) + *place);
          }
          EXPECT_FALSE(place_of_edge(part->edges[e].ends(dir), stated.edges[p]));
        }
        EXPECT_EQ(found, in ? destinations : sources) << "type " << e;
      }
    }
  }
}

TEST_P(SplitLinks, StoresOfOlderProgramsHaveNoEndsOfEdges) {
  forge(temp_ / "parts/partition.json", "\"ends\":", "\"else\":");
  ASSERT_OK_AND_ASSIGN(const auto store, open());
  ASSERT_OK_AND_ASSIGN(const auto part, store.load_part(PartId{0}));
  EXPECT_TRUE(store.partition().ends.empty());
  EXPECT_ERROR(store.with_ends(*part, EdgeTypeId{0}), Errc::failed_precondition,
               "try: partition the graph again");
}

TEST_P(SplitLinks, LinksKeepTheirOrderTimesAndLabelsAndGetGlobalIds) {
  for (const auto memory : {StoreMemory::mapped, StoreMemory::copied}) {
    ASSERT_OK_AND_ASSIGN(const auto store, open({.memory = memory}));
    for (const auto& [name, written] : contents_.links) {
      ASSERT_OK_AND_ASSIGN(const auto links, store.links(name.first, name.second));
      const auto& type = contents_.info.edge_types[raw(links.edge_type())];
      const auto sources = all_directories(store, raw(type.source));
      const auto destinations = all_directories(store, raw(type.destination));
      ASSERT_EQ(2 * links.size(), written.ends.size());
      for (std::uint64_t i = 0; i < links.size(); ++i) {
        const auto link = links.at(i);
        EXPECT_EQ(raw(link.original_source), written.ends[2 * i]);
        EXPECT_EQ(raw(link.original_destination), written.ends[2 * i + 1]);
        EXPECT_EQ(link.source, sources[raw(link.original_source)]);
        EXPECT_EQ(link.destination, destinations[raw(link.original_destination)]);
      }
      EXPECT_TRUE(std::ranges::equal(links.times(), written.times));
      EXPECT_TRUE(std::ranges::equal(links.labels(), written.labels));
    }
  }
}

// Triples of val and test were dropped once.
TEST_P(SplitLinks, TriplesKeepTheirRelations) {
  ASSERT_OK_AND_ASSIGN(const auto store, open());

  const auto& role = store.info().find_split("t")->links.at("val");

  EXPECT_EQ(role.relations, 1U);
  EXPECT_EQ(role.edge_types, std::vector{EdgeTypeId{0}});
  EXPECT_EQ(role.count, 3U);
}

TEST_P(SplitLinks, SeedsKeepTheirTimes) {
  ASSERT_OK_AND_ASSIGN(const auto store, open());

  ASSERT_OK_AND_ASSIGN(const auto seeds, store.seeds("", "train"));

  EXPECT_EQ(seeds.times, (contents_.seed_times.at({"", "train"})));
  EXPECT_ERROR(store.links("b", "val"), Errc::not_found, "expected one of \"test\"");
  EXPECT_ERROR(store.seeds("b", "test"), Errc::not_found, "expected one of none");
}

TEST_P(SplitLinks, StoresOfOlderProgramsHaveNoDirectories) {
  forge(temp_ / "parts/partition.json", "\"directory\": true", "\"something\": true");
  ASSERT_OK_AND_ASSIGN(const auto store, open());

  ASSERT_OK_AND_ASSIGN(const auto part, store.load_part(PartId{0}));

  EXPECT_FALSE(store.partition().directory);
  EXPECT_TRUE(part->nodes[0].directory.empty());
  EXPECT_EQ(all_directories(store, 0).size(), 0U);
}

INSTANTIATE_TEST_SUITE_P(All, SplitLinks, ::testing::Values(1U, 3U, 7U, 43U));

class DamagedLinks : public SplitLinks {};

TEST_P(DamagedLinks, AreErrorsWithFileAndRow) {
  using Ids = std::vector<std::uint64_t>;
  const auto dir = temp_ / "parts";
  const std::string val = "splits/default.val.links.npy";
  ASSERT_OK_AND_ASSIGN(const auto before, open());
  ASSERT_OK_AND_ASSIGN(const auto links, before.links("", "val"));
  Ids ends;
  for (std::uint64_t i = 0; i < 4; ++i) {
    const auto link = links.at(i);
    ends.insert(ends.end(), {raw(link.original_source), raw(link.original_destination),
                             raw(link.source), raw(link.destination)});
  }
  const auto expect = [&](std::size_t at, std::uint64_t value, const std::string& message) {
    auto forged = ends;
    forged[at] = value;
    forge_array(dir, val, {4, 4}, forged);
    ASSERT_OK_AND_ASSIGN(const auto store, open());
    EXPECT_ERROR(store.links("", "val"), Errc::data_corruption, message);
  };
  expect(4 * 2 + 2, 43, "val.links.npy: row 2: expected a source of type t0 below 43, found 43");
  expect(4 * 1 + 3, 2, "val.links.npy: row 1: expected a destination of type t1 below 2, found 2");
  expect(4 * 3, 6, "row 3: expected links in order of original ids, from (7, 0) on, found (6, 1)");

  flip_byte(dir / "splits/default.train.links.times.npy", 200);
  ASSERT_OK_AND_ASSIGN(const auto store, open());
  EXPECT_ERROR(store.links("", "train"), Errc::data_corruption, "default.train.links.times.npy");
}

TEST_P(DamagedLinks, ADirectoryOfOtherIdsOrSizeIsAnError) {
  const auto dir = temp_ / "parts";
  const std::string path = "part-1/nodes-t0/directory.npy";
  std::vector<std::uint32_t> ids(14, 3);  // 43 over 3 parts: 15, 14, 14
  ids[5] = 43;
  forge_array(dir, path, {14}, ids, "partition.json");
  ASSERT_OK_AND_ASSIGN(auto store, open());
  EXPECT_ERROR(store.load_lists(PartId{1}), Errc::data_corruption,
               "directory.npy: element 5: expected an id below 43, found 43");

  forge_array(dir, path, {13}, std::vector<std::uint32_t>(13, 3), "partition.json");
  ASSERT_OK_AND_ASSIGN(store, open({.verify = Verify::sizes}));
  EXPECT_ERROR(store.load_part(PartId{1}), Errc::data_corruption, "expected an array of <u4 [14]");

  std::filesystem::remove(dir / path);
  EXPECT_ERROR(store.load_part(PartId{1}), Errc::not_found, path);
}

TEST_P(DamagedLinks, EndsOfEdgesThatCannotBeAreErrors) {
  const auto dir = temp_ / "parts";
  const std::string path = "part-1/edges-e0/in/ends.npy";
  ASSERT_OK_AND_ASSIGN(const auto before, open());
  ASSERT_OK_AND_ASSIGN(const auto bare, before.load_lists(PartId{1}));
  ASSERT_OK_AND_ASSIGN(const auto part, before.with_ends(*bare, EdgeTypeId{0}));
  std::vector<std::uint64_t> numbers;
  for (const auto& [place, edges_end] : part->edges[0].in_ends) {
    numbers.insert(numbers.end(), {place, edges_end});
  }
  ASSERT_GE(numbers.size(), 6U);
  const auto expect = [&](std::size_t at, std::uint64_t value, const std::string& message) {
    auto forged = numbers;
    forged[at] = value;
    forge_array(dir, path, {forged.size() / 2, 2}, forged, "partition.json");
    ASSERT_OK_AND_ASSIGN(const auto store, open());
    EXPECT_ERROR(store.with_ends(*bare, EdgeTypeId{0}), Errc::data_corruption, message);
  };
  expect(2, numbers[0], "ends.npy: element 1: expected ascending places below 14 and numbers");
  expect(numbers.size() - 2, 14, "expected ascending places below 14");
  expect(3, numbers[1], "ends.npy: element 1");
  expect(1, 0, "ends.npy: element 0");
  expect(numbers.size() - 1, numbers.back() + 1, "edges, found");
}

INSTANTIATE_TEST_SUITE_P(Three, DamagedLinks, ::testing::Values(3U));

}  // namespace
}  // namespace troupe
