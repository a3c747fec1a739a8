// Links of splits and times of seeds, as a store of either kind gives them.
#include "runtime/graph/directory.hpp"
#include "runtime/graph/graph_json.hpp"
#include "runtime/graph/store.hpp"
#include "tests/runtime/graph/forge.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"

#include <fmt/format.h>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace testing;

using Ends = std::pair<std::uint64_t, std::uint64_t>;

std::vector<Ends> original_ends(const LinkList& links) {
  std::vector<Ends> ends;
  for (std::uint64_t i = 0; i < links.size(); ++i) {
    ends.emplace_back(raw(links.at(i).original_source), raw(links.at(i).original_destination));
  }
  return ends;
}

/// Users and items, "buys" between them, links in three roles of the default split.
GraphContents shop_contents() {
  GraphContents contents;
  auto& info = contents.info;
  for (const auto& [name, count] : {std::pair("user", 5), std::pair("item", 3)}) {
    NodeTypeInfo type;
    type.name = name;
    type.count = static_cast<std::uint64_t>(count);
    info.node_types.push_back(type);
  }
  EdgeTypeInfo buys;
  buys.name = "buys";
  buys.destination = NodeTypeId{1};
  buys.count = 2;
  info.edge_types.push_back(buys);
  contents.nodes.resize(2);
  const std::vector<std::uint64_t> sources{0, 4};
  const std::vector<std::uint64_t> destinations{2, 1};
  contents.in_lists.push_back(build_in_lists({sources, destinations}, 5, 3));
  contents.in_lists.back().edge_ids.clear();
  SplitInfo split;
  split.roles["train"] = {NodeTypeId{0}, 3, true};
  split.links["train"] = {EdgeTypeId{0}, 4, true, true};
  split.links["val"] = {EdgeTypeId{0}, 1, false, false};
  split.links["test"] = {EdgeTypeId{0}, 0, false, true};
  info.splits.push_back(split);
  contents.seeds[{"", "train"}] = {1, 1, 4};
  contents.seed_times[{"", "train"}] = {7, -7, 0};
  contents.links[{"", "train"}] = {{0, 2, 3, 0, 3, 0, 4, 2}, {5, -1, 9, 5}, {0.5F, 1, 2, -3}};
  contents.links[{"", "val"}] = {{4, 0}};
  contents.links[{"", "test"}] = {};
  return contents;
}

class LinksTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(write_graph_store(shop_contents(), dir_)); }
  Result<GraphStore> open(StoreOptions options = {}) const {
    return GraphStore::open(dir_, options);
  }
  /// Replaces an array of the split and expects that the store does not open.
  template <class T>
  void expect_refused(const std::string& path, std::vector<std::uint64_t> shape,
                      const std::vector<T>& values, const std::string& message) {
    const auto array = testing::file_text(dir_ / path);
    const auto json = testing::file_text(dir_ / "graph.json");
    forge_array(dir_, path, std::move(shape), values);
    EXPECT_ERROR(open(), Errc::data_corruption, message);
    EXPECT_ERROR(open({.verify = Verify::sizes}), Errc::data_corruption, message);
    write_all(dir_ / path, array);
    write_all(dir_ / "graph.json", json);
  }

  TempDir temp_;
  std::filesystem::path dir_ = temp_ / "store";
};

TEST_F(LinksTest, ComeBackWithTimesAndLabelsMappedAndCopied) {
  for (const auto memory : {StoreMemory::mapped, StoreMemory::copied}) {
    LinkList train;
    {
      ASSERT_OK_AND_ASSIGN(const auto store, open({.memory = memory}));
      ASSERT_OK_AND_ASSIGN(train, store.links("", "train"));
    }  // the list outlives the store

    EXPECT_EQ(train.edge_type(), EdgeTypeId{0});
    EXPECT_EQ(original_ends(train), (std::vector<Ends>{{0, 2}, {3, 0}, {3, 0}, {4, 2}}));
    EXPECT_EQ(raw(train.at(3).source), 4U);
    EXPECT_EQ(raw(train.at(3).destination), 2U);
    EXPECT_TRUE(std::ranges::equal(train.times(), std::vector<std::int64_t>{5, -1, 9, 5}));
    EXPECT_TRUE(std::ranges::equal(train.labels(), std::vector<float>{0.5F, 1, 2, -3}));
  }
}

TEST_F(LinksTest, MayHaveNeitherTimesNorLabelsNorAnyLink) {
  ASSERT_OK_AND_ASSIGN(const auto store, open());

  ASSERT_OK_AND_ASSIGN(const auto val, store.links("", "val"));
  ASSERT_OK_AND_ASSIGN(const auto test, store.links("", "test"));

  EXPECT_EQ(original_ends(val), (std::vector<Ends>{{4, 0}}));
  EXPECT_TRUE(val.times().empty());
  EXPECT_TRUE(val.labels().empty());
  EXPECT_EQ(test.size(), 0U);
  EXPECT_TRUE(test.labels().empty());
  EXPECT_EQ(LinkList().size(), 0U);
}

TEST_F(LinksTest, UnknownNamesListWhatExists) {
  ASSERT_OK_AND_ASSIGN(const auto store, open());

  EXPECT_ERROR(store.links("x", "train"), Errc::not_found, "split \"x\": expected one of \"\"");
  EXPECT_ERROR(store.links("", "dev"), Errc::not_found,
               "role of links \"dev\": expected one of \"test\", \"train\", \"val\"");
  EXPECT_ERROR(store.seeds("", "val"), Errc::not_found, "role \"val\": expected one of \"train\"");
}

// A run goes without a role that a split lacks; a file that is lost must not look like that.
TEST_F(LinksTest, AFileThatIsLostIsNoAbsentRole) {
  ASSERT_OK_AND_ASSIGN(const auto store, open());
  for (const std::string file : {"val.links", "train.links.labels", "train.links.times"}) {
    const auto name = fmt::format("splits/default.{}.npy", file);
    std::filesystem::remove(dir_ / name);
    const auto role = file.substr(0, file.find('.'));
    EXPECT_ERROR(store.links("", role), Errc::data_corruption, name);
    EXPECT_ERROR(store.links("", role), Errc::data_corruption, "try: remove the store and make it");
  }
  for (const std::string file : {"train.times", "train"}) {
    const auto name = fmt::format("splits/default.{}.npy", file);
    std::filesystem::remove(dir_ / name);
    EXPECT_ERROR(store.seeds("", "train"), Errc::data_corruption, name);
  }
}

TEST_F(LinksTest, SeedsHaveTimesOnlyWhereTheSplitHas) {
  ASSERT_OK_AND_ASSIGN(const auto store, open());
  ASSERT_OK_AND_ASSIGN(const auto seeds, store.seeds("", "train"));

  EXPECT_EQ(seeds.times, (std::vector<std::int64_t>{7, -7, 0}));

  ASSERT_OK(write_graph_store(random_graph(20, 60, 1).contents, temp_ / "plain"));
  ASSERT_OK_AND_ASSIGN(const auto plain, GraphStore::open(temp_ / "plain", {}));
  ASSERT_OK_AND_ASSIGN(const auto without, plain.seeds("", "train"));
  EXPECT_TRUE(without.times.empty());
}

TEST_F(LinksTest, StoresWithoutThemHaveTheJsonOfOlderPrograms) {
  ASSERT_OK(write_graph_store(random_graph(20, 60, 1).contents, temp_ / "plain"));

  const auto json = testing::file_text(temp_ / "plain/graph.json");

  EXPECT_EQ(json.find("links"), std::string::npos);
  EXPECT_NE(json.find("\"node_type\": \"node\",\n     \"count\": 7\n"), std::string::npos) << json;
  ASSERT_OK_AND_ASSIGN(const auto store, GraphStore::open(temp_ / "plain", {}));
  EXPECT_ERROR(store.links("", "train"), Errc::not_found, "the store has no such");
}

TEST_F(LinksTest, TheirInfoSurvivesTheJson) {
  ASSERT_OK_AND_ASSIGN(const auto store, open());
  const auto text = graph_to_json(store.info());

  ASSERT_OK_AND_ASSIGN(const auto again, graph_from_json(text, "graph.json"));

  EXPECT_EQ(graph_to_json(again), text);
  EXPECT_TRUE(again.splits[0].roles.at("train").has_times);
  EXPECT_TRUE(again.splits[0].links.at("test").has_labels);
  EXPECT_FALSE(again.splits[0].links.at("test").has_times);
  EXPECT_EQ(again.splits[0].links.at("train").count, 4U);
}

TEST_F(LinksTest, AForgedGraphJsonIsAnError) {
  const auto path = dir_ / "graph.json";
  const auto original = testing::file_text(path);
  struct Case {
    std::string from;
    std::string to;
    std::string message;
  };
  const Case cases[] = {
      {"\"edge_type\": \"buys\"", "\"edge_type\": \"x\"", "name of an edge type"},
      {"\"edge_type\": \"buys\"", "\"edge_tipe\": \"buys\"", "an object with \"edge_type\""},
      {"\"val\": {", "\"dev\": {", "a role among"},
      {"\"labels\": true", "\"labels\": 1", "true or false"},
      {"\"links\": {", "\"links\": 7, \"l\": {", "an object"},
      {"\"count\": 4,\n     \"times\": true", "\"count\": 5,\n     \"times\": true",
       "links.npy: expected an array of <u8 [5, 2], found <u8 [4, 2]"},
      {"\"count\": 4,\n     \"times\": true", "\"count\": 281474976710657,\n     \"times\": true",
       "expected an integer in 0.."},
      {"\"count\": 1,\n     \"times\": false", "\"count\": 1,\n     \"times\": true",
       "default.val.links.times.npy: expected the file in the list"},
  };
  for (const auto& test : cases) {
    forge(path, test.from, test.to);
    EXPECT_ERROR(open(), Errc::data_corruption, test.message);
    write_all(path, original);
  }
  EXPECT_OK(open());
}

TEST_F(LinksTest, AnyFlippedByteIsFoundWithTheFilesName) {
  for (const auto& file : files_below(dir_ / "splits")) {
    const auto path = dir_ / "splits" / file;
    for (const auto at : {std::uintmax_t{0}, std::filesystem::file_size(path) - 1}) {
      flip_byte(path, at);
      EXPECT_ERROR(open(), Errc::data_corruption, file);
      flip_byte(path, at);
    }
  }
  EXPECT_OK(open());
}

TEST_F(LinksTest, ContentsThatWouldMisleadLaterCodeAreErrorsDespiteValidChecksums) {
  using Ids = std::vector<std::uint64_t>;
  const std::string links = "splits/default.train.links.npy";

  expect_refused(links, {4, 2}, Ids{0, 2, 3, 0, 5, 0, 4, 2},
                 "row 2: expected a source of type user below 5, found 5");
  expect_refused(links, {4, 2}, Ids{0, 3, 3, 0, 3, 0, 4, 2},
                 "row 0: expected a destination of type item below 3, found 3");
  expect_refused(links, {4, 2}, Ids{0, 2, 3, 1, 3, 0, 4, 2},
                 "row 2: expected links in order of original ids, from (3, 1) on, found (3, 0)");
  expect_refused(links, {2, 4}, Ids{0, 2, 3, 0, 3, 0, 4, 2}, "expected an array of <u8 [4, 2]");
  expect_refused("splits/default.train.links.times.npy", {3}, std::vector<std::int64_t>{1, 2, 3},
                 "expected an array of <i8 [4]");
  expect_refused("splits/default.train.times.npy", {2}, std::vector<std::int64_t>{1, 2},
                 "expected an array of <i8 [3]");
  for (const auto bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    expect_refused("splits/default.train.links.labels.npy", {4}, std::vector<float>{1, bad, 1, 1},
                   "links.labels.npy: row 1: expected a finite label");
  }
}

TEST(DirectorySlices, AreEvenAndHaveEachNodeOnce) {
  for (const std::uint64_t nodes : {0U, 1U, 2U, 6U, 7U, 8U, 100U}) {
    for (const std::uint32_t parts : {1U, 2U, 3U, 7U, 8U, 64U}) {
      const DirectorySlices slices{nodes, parts};
      EXPECT_EQ(slices.first(0), 0U);
      EXPECT_EQ(slices.first(parts), nodes);
      for (std::uint32_t part = 0; part < parts; ++part) {
        const auto size = slices.first(part + 1) - slices.first(part);
        EXPECT_GE(size, nodes / parts);
        EXPECT_LE(size, nodes / parts + 1);
        for (auto id = slices.first(part); id < slices.first(part + 1); ++id) {
          EXPECT_EQ(raw(slices.part_of(static_cast<OriginalId>(id))), part);
        }
      }
    }
  }
}

/// Triples among users: relations are edge types, or the numbers of one type's links.
GraphContents triple_contents(bool types) {
  GraphContents contents;
  auto& info = contents.info;
  NodeTypeInfo user;
  user.name = "user";
  user.count = 4;
  info.node_types.push_back(user);
  for (const auto* name : {"r0", "between", "r1"}) {
    EdgeTypeInfo type;
    type.name = name;
    info.edge_types.push_back(type);
    contents.in_lists.push_back(build_in_lists({{}, {}}, 4, 4));
  }
  contents.nodes.resize(1);
  auto& role = info.splits.emplace_back().links["test"];
  role = {EdgeTypeId{0}, 3, false, true, 2};
  if (types) {
    role.edge_types = {EdgeTypeId{0}, EdgeTypeId{2}};
  }
  contents.links[{"", "test"}] = {{0, 2, 0, 2, 3, 1}, {}, {1, 0, 1}};
  return contents;
}

class TriplesOfStores : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override { ASSERT_OK(write_graph_store(triple_contents(GetParam()), dir_)); }

  TempDir temp_;
  std::filesystem::path dir_ = temp_ / "store";
};

TEST_P(TriplesOfStores, ComeBackWithTheirRelations) {
  ASSERT_OK_AND_ASSIGN(const auto store, GraphStore::open(dir_, {}));
  ASSERT_OK_AND_ASSIGN(const auto links, store.links("", "test"));

  EXPECT_EQ(original_ends(links), (std::vector<Ends>{{0, 2}, {0, 2}, {3, 1}}));
  EXPECT_TRUE(std::ranges::equal(links.labels(), std::vector<float>{1, 0, 1}));
  const auto& role = store.info().find_split("")->links.at("test");
  EXPECT_EQ(role.relations, 2U);
  EXPECT_TRUE(role.has_labels);
  EXPECT_EQ(role.edge_types, triple_contents(GetParam()).info.splits[0].links["test"].edge_types);
}

TEST_P(TriplesOfStores, OnlyThoseOfOneTypeAreLinksForOlderPrograms) {
  const auto json = testing::file_text(dir_ / "graph.json");

  EXPECT_EQ(json.find("\"links\": {") != std::string::npos, !GetParam());
  EXPECT_EQ(json.find("\"triples\": {") != std::string::npos, GetParam());
}

TEST_P(TriplesOfStores, ALabelThatIsNoRelationIsAnError) {
  const auto original = testing::file_text(dir_ / "graph.json");
  const auto labels = testing::file_text(dir_ / "splits/default.test.links.labels.npy");
  for (const float label : {2.0F, -1.0F, 0.5F, std::numeric_limits<float>::quiet_NaN()}) {
    forge_array(dir_, "splits/default.test.links.labels.npy", {3}, std::vector<float>{1, label, 0});
    EXPECT_ERROR(GraphStore::open(dir_, {}), Errc::data_corruption,
                 "links.labels.npy: row 1: expected a relation below 2");
    write_all(dir_ / "graph.json", original);
    write_all(dir_ / "splits/default.test.links.labels.npy", labels);
  }
}

INSTANTIATE_TEST_SUITE_P(Relations, TriplesOfStores, ::testing::Bool());

TEST(TriplesOfStores, AForgedGraphJsonIsAnError) {
  const TempDir temp;
  struct Case {
    bool types;
    std::string from;
    std::string to;
    std::string message;
  };
  const Case cases[] = {
      {true, "\"r1\"\n", "\"r7\"\n", "the name of an edge type"},
      {true, "\"triples\": {",
       "\"triples\": {\"val\": {\"edge_types\": [], \"count\": 0, \"times\": false}, ",
       "at least one edge type"},
      {true, "\"triples\": {", "\"triples\": 7, \"t\": {", "an object"},
      {true, "\"triples\": {",
       "\"links\": {\"test\": {\"edge_type\": \"r0\", \"count\": 0, \"times\": false, "
       "\"labels\": false}}, \"triples\": {",
       "a role of links or of triples"},
      {false, "\"relations\": 2", "\"relations\": 0", "\"relations\" from 1 on"},
      {false, "\"relations\": 2", "\"relations\": 16777217", "an integer in 0..16777216"},
      {false, "\"labels\": true", "\"labels\": false", "\"relations\" from 1 on"},
  };
  for (const auto& test : cases) {
    const auto dir = temp / fmt::format("{}", &test - cases);
    ASSERT_OK(write_graph_store(triple_contents(test.types), dir));
    forge(dir / "graph.json", test.from, test.to);
    EXPECT_ERROR(GraphStore::open(dir, {}), Errc::data_corruption, test.message);
  }
}

/// Relation 1 leads to another node type, of which there are two.
TEST(TriplesOfStores, EndsAreOfTheTypesOfTheirRelations) {
  const TempDir temp;
  auto contents = triple_contents(true);
  contents.info.node_types.push_back(contents.info.node_types[0]);
  contents.info.node_types[1].name = "item";
  contents.info.node_types[1].count = 2;
  contents.info.edge_types[2].destination = NodeTypeId{1};
  contents.in_lists[2] = build_in_lists({{}, {}}, 4, 2);
  contents.nodes.resize(2);
  ASSERT_OK(write_graph_store(contents, temp / "bad"));
  EXPECT_ERROR(GraphStore::open(temp / "bad", {}), Errc::data_corruption,
               "row 0: expected a destination of type item below 2, found 2");

  contents.links[{"", "test"}] = {{0, 1, 0, 2, 3, 1}, {}, {1, 0, 1}};
  ASSERT_OK(write_graph_store(contents, temp / "good"));
  ASSERT_OK_AND_ASSIGN(const auto store, GraphStore::open(temp / "good", {}));
  EXPECT_EQ(store.info().find_split("")->links.at("test").edge_types.size(), 2U);
}

}  // namespace
}  // namespace troupe
