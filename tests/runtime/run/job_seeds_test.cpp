#include "runtime/run/job_seeds.hpp"

#include "runtime/partition/partitioner.hpp"
#include "runtime/run/given_pairs.hpp"
#include "runtime/run/node_request.hpp"
#include "tests/runtime/graph/forge.hpp"
#include "tests/support/expect.hpp"

#include <map>
#include <set>

namespace troupe {
namespace {

using namespace testing;
using Ids = std::vector<std::int64_t>;
constexpr std::uint64_t nodes_here = 61;
constexpr std::uint32_t parts_here = 4;

class JobSeeds : public ::testing::Test {
 protected:
  void SetUp() override {
    auto contents = random_graph(nodes_here, 300, 5).contents;
    // A split to score nodes of, one to score links of, and one to train on alone
    contents.seeds[{"hard", "val"}] = {2, 11, 60};
    contents.seeds[{"hard", "test"}] = {0, 59};
    contents.seed_times[{"hard", "test"}] = {7, -3};
    contents.info.splits.push_back(
        {"hard", {{"val", {NodeTypeId{0}, 3}}, {"test", {NodeTypeId{0}, 2, true}}}});
    contents.links[{"linked", "val"}] = {{1, 2, 5, 4, 5, 9}, {}, {0, 2, 1}};
    contents.info.splits.push_back({"linked", {}});
    contents.info.splits.back().links["val"] = {EdgeTypeId{0}, 3, false, true, 3};
    contents.seeds[{"trained", "train"}] = {1};
    contents.info.splits.push_back({"trained", {{"train", {NodeTypeId{0}, 1}}}});
    ASSERT_OK(write_graph_store(contents, temp_ / "graph"));
    ASSERT_OK_AND_ASSIGN(const auto graph, GraphStore::open(temp_ / "graph", {}));
    ASSERT_OK(partition_store(graph, {.parts = parts_here, .seed = 9}, temp_ / "parts"));
  }
  PartitionedStore store() const {
    return *PartitionedStore::open(temp_ / "parts", {.verify = Verify::sizes});
  }
  /// A file of ids for a role.
  void give(const std::string& role, const Ids& ids) {
    const auto file = temp_ / (role + ".npy");
    save_npy(file, {ids.size()}, ids);
    job_.dataset.seeds[role].ids = file;
  }
  void give_text(const std::string& role, const std::string& text) {
    const auto file = temp_ / (role + ".txt");
    write_all(file, text);
    job_.dataset.seeds[role].ids = file;
  }
  void give_times(const std::string& role, const Ids& times) {
    const auto file = temp_ / (role + "_times.npy");
    save_npy(file, {times.size()}, times);
    job_.dataset.seeds[role].times = file;
  }
  /// By original id, from the parts.
  static std::map<std::uint64_t, NodeId> ids_of_parts(const PartitionedStore& store) {
    std::map<std::uint64_t, NodeId> global;
    for (std::uint32_t p = 0; p < store.partition().parts; ++p) {
      const auto part = store.load_part(static_cast<PartId>(p));
      const auto& own = (*part)->nodes[0];
      for (std::uint64_t i = 0; i < own.count; ++i) {
        global[own.original_ids[i]] = advance(own.first, i);
      }
    }
    return global;
  }
  Result<PartitionedStore> own() const { return with_own_seeds(job_, store()); }
  Result<GraphInfo> counted() const {
    auto info = store().info();
    TROUPE_RETURN_IF_ERROR(count_own_seeds(job_, info));
    return info;
  }

  TempDir temp_;
  Job job_;
};

std::vector<std::uint64_t> originals(const SeedList& seeds) {
  std::vector<std::uint64_t> ids;
  for (const auto id : seeds.original) {
    ids.push_back(raw(id));
  }
  return ids;
}

TEST_F(JobSeeds, AreSortedWithTheirTimesAndRepeatedOnesStay) {
  give("train", {42, 0, 7, 42, 13, 7});
  give_times("train", {5, -1, 9, 3, 0, 2});
  ASSERT_OK_AND_ASSIGN(const auto with, own());
  ASSERT_OK_AND_ASSIGN(const auto seeds, with.seeds("", "train"));

  EXPECT_EQ(originals(seeds), (std::vector<std::uint64_t>{0, 7, 7, 13, 42, 42}));
  EXPECT_EQ(seeds.times, (Ids{-1, 9, 2, 0, 5, 3}));
  const auto global = ids_of_parts(with);
  for (std::size_t i = 0; i < seeds.global.size(); ++i) {
    EXPECT_EQ(seeds.global[i], global.at(raw(seeds.original[i])));
  }
}

TEST_F(JobSeeds, OtherRolesAndOtherSplitsStayAsTheyAre) {
  const auto before = store();
  ASSERT_NE(before.info().find_split(""), nullptr);
  job_.dataset.split = "mine";
  give("val", {3});
  ASSERT_OK_AND_ASSIGN(const auto with, own());
  EXPECT_EQ(with.info().find_split("mine")->roles.size(), 1U);
  EXPECT_EQ(with.info().find_split("")->roles.size(), before.info().find_split("")->roles.size());
  ASSERT_OK_AND_ASSIGN(const auto train, with.seeds("", "train"));
  ASSERT_OK_AND_ASSIGN(const auto same, before.seeds("", "train"));
  EXPECT_EQ(train.original, same.original);
  EXPECT_ERROR(with.seeds("mine", "train"), Errc::not_found, "");
  EXPECT_ERROR(before.seeds("mine", "val"), Errc::not_found, "mine");
}

TEST_F(JobSeeds, CountsAreThoseOfTheFiles) {
  give_text("train", "# mine\n5\n1\n\n1\n");
  give("test", {2});
  give_times("test", {8});
  ASSERT_OK_AND_ASSIGN(const auto info, counted());
  ASSERT_OK_AND_ASSIGN(const auto with, own());
  for (const auto& graph : {info, with.info()}) {
    const auto& roles = graph.find_split("")->roles;
    EXPECT_EQ(roles.at("train").count, 3U);
    EXPECT_FALSE(roles.at("train").has_times);
    EXPECT_EQ(roles.at("test").count, 1U);
    EXPECT_TRUE(roles.at("test").has_times);
  }
}

TEST_F(JobSeeds, AnotherSplitGivesWhatIsScored) {
  job_.eval.split = "hard";
  ASSERT_OK_AND_ASSIGN(const auto info, counted());
  ASSERT_OK_AND_ASSIGN(const auto with, own());
  for (const auto& graph : {info, with.info()}) {
    const auto& roles = graph.find_split("")->roles;
    EXPECT_EQ(roles.at("val").count, 3U);
    EXPECT_EQ(roles.at("test").count, 2U);
    EXPECT_TRUE(roles.at("test").has_times);
    EXPECT_EQ(roles.at("train").count, store().info().find_split("")->roles.at("train").count);
  }
  ASSERT_OK_AND_ASSIGN(const auto val, with.seeds("", "val"));
  EXPECT_EQ(originals(val), (std::vector<std::uint64_t>{2, 11, 60}));
  ASSERT_OK_AND_ASSIGN(const auto test, with.seeds("", "test"));
  EXPECT_EQ(test.times, (Ids{7, -3}));
  const auto global = ids_of_parts(with);
  EXPECT_EQ(test.global[1], global.at(59));
}

TEST_F(JobSeeds, FilesCountBeforeAnotherSplit) {
  job_.eval.split = "hard";
  give("val", {5});
  ASSERT_OK_AND_ASSIGN(const auto info, counted());
  ASSERT_OK_AND_ASSIGN(const auto with, own());
  ASSERT_OK_AND_ASSIGN(const auto val, with.seeds("", "val"));
  EXPECT_EQ(originals(val), (std::vector<std::uint64_t>{5}));
  ASSERT_OK_AND_ASSIGN(const auto test, with.seeds("", "test"));
  EXPECT_EQ(originals(test), (std::vector<std::uint64_t>{0, 59}));
  EXPECT_EQ(info.find_split("")->roles.at("val").count, 1U);
}

TEST_F(JobSeeds, LinksOfAnotherSplitKeepTheirRelations) {
  job_.dataset.split = "trained";
  job_.eval.split = "linked";
  job_.task.kind = "knowledge";
  ASSERT_OK_AND_ASSIGN(const auto with, own());
  const auto& links = with.info().find_split("trained")->links;
  ASSERT_TRUE(links.contains("val"));
  EXPECT_EQ(links.at("val").relations, 3U);
  ASSERT_OK_AND_ASSIGN(const auto list, with.links("trained", "val"));
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list.labels()[1], 2.0F);
  EXPECT_EQ(raw(list.at(2).original_destination), 9U);
}

TEST_F(JobSeeds, ASplitWithNothingToScoreIsRefused) {
  const auto info = store().info();
  job_.eval.split = "harder";
  EXPECT_ERROR(check_seed_keys(job_, info), Errc::invalid_argument,
               "of \"\", \"hard\", \"linked\", \"trained\", found \"harder\"");
  EXPECT_OK(counted());  // predictions of other data need none
  EXPECT_OK(own());
  job_.eval.split = "trained";
  EXPECT_ERROR(check_seed_keys(job_, info), Errc::invalid_argument,
               "found \"trained\", which has neither");
  job_.eval.split = job_.dataset.split;
  EXPECT_OK(check_seed_keys(job_, info));
  job_.eval.split = "hard";
  EXPECT_OK(check_seed_keys(job_, info));
}

TEST_F(JobSeeds, KeysThatNameTypesAreCheckedWithoutFiles) {
  auto info = store().info();
  give("train", {1, 61});  // which is not in the graph
  EXPECT_OK(check_seed_keys(job_, info));
  job_.dataset.seeds_type = "book";
  EXPECT_ERROR(check_seed_keys(job_, info), Errc::invalid_argument,
               "/dataset/seeds/type: expected one of node, found \"book\"");
  job_.dataset.seeds.clear();
  EXPECT_OK(check_seed_keys(job_, info));
  job_.task.kind = "unsupervised";
  job_.task.edges = "lends";
  EXPECT_ERROR(check_seed_keys(job_, info), Errc::invalid_argument,
               "/task/edges: expected one of the graph's 1 edge types (\"edge\"), found \"lends\"");
}

TEST_F(JobSeeds, FilesThatDoNotFitAreNamedWithTheirKey) {
  const auto invalid = Errc::invalid_argument;
  give("train", {1, 61});
  EXPECT_ERROR(counted(), invalid,
               "/dataset/seeds/train: train.npy: row 1: expected a node id below 61, got 61");
  EXPECT_ERROR(own(), invalid, "row 1: expected a node id below 61, got 61");
  give("train", {-1});
  EXPECT_ERROR(counted(), invalid, "row 0: expected a node id below 61, got -1");
  give("train", {});
  EXPECT_ERROR(counted(), invalid, "train.npy: expected one seed or more, found none");
  give_text("train", "# nothing\n");
  EXPECT_ERROR(counted(), invalid, "train.txt: expected one seed or more, found none");
  give_text("train", "1\nx\n");
  EXPECT_ERROR(counted(), invalid,
               "train.txt: line 2: expected an id below 61 in column 0, got \"x\"");
  give_text("train", "1 2\n");
  EXPECT_ERROR(counted(), invalid, "expected one node id per row, [seeds], got 2 columns");
  save_npy<float>(temp_ / "train.npy", {2}, {1, 2});
  job_.dataset.seeds["train"].ids = temp_ / "train.npy";
  EXPECT_ERROR(counted(), invalid, "train.npy: expected integers, got dtype <f4");
  save_npy<std::uint8_t>(temp_ / "train.npy", {'b', 1}, {61}, std::vector<std::uint8_t>(61, 1));
  EXPECT_ERROR(counted(), invalid, "got dtype bool\ntry: numpy.flatnonzero of a mask of nodes");
  save_npy<std::int64_t>(temp_ / "train.npy", {2, 1}, {1, 2});
  EXPECT_ERROR(counted(), invalid, "expected one node id per row, [seeds], got [2, 1]");
  give("train", {1, 2});
  give_times("train", {1});
  EXPECT_ERROR(
      counted(), invalid,
      "/dataset/seeds/times/train: train_times.npy: expected 2 times, one per seed, got 1");
  job_.dataset.seeds["train"] = {temp_ / "none.npy", {}};
  EXPECT_ERROR(counted(), Errc::not_found, "/dataset/seeds/train: ");
  job_.dataset.seeds_type = "book";
  EXPECT_ERROR(counted(), invalid, "/dataset/seeds/type: expected one of node, found \"book\"");
}

TEST_F(JobSeeds, LinksAreSortedByTheirEndsAndFoundInTheParts) {
  job_.task.kind = "link";
  save_npy<std::int64_t>(temp_ / "links.npy", {5, 2}, {9, 3, 0, 60, 9, 1, 0, 60, 2, 2});
  job_.dataset.seeds["train"].ids = temp_ / "links.npy";
  save_npy<std::int32_t>(temp_ / "times.npy", {5}, {1, 2, 3, 4, 5});
  job_.dataset.seeds["train"].times = temp_ / "times.npy";
  ASSERT_OK_AND_ASSIGN(const auto with, own());
  ASSERT_OK_AND_ASSIGN(const auto links, with.links("", "train"));

  EXPECT_TRUE(std::ranges::equal(links.times(), Ids{2, 4, 5, 3, 1}));
  const std::vector<std::array<std::uint64_t, 2>> expected{
      {0, 60}, {0, 60}, {2, 2}, {9, 1}, {9, 3}};
  ASSERT_EQ(links.size(), expected.size());
  const auto global = ids_of_parts(with);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto link = links.at(i);
    EXPECT_EQ(raw(link.original_source), expected[i][0]);
    EXPECT_EQ(raw(link.original_destination), expected[i][1]);
    EXPECT_EQ(link.source, global.at(expected[i][0]));
    EXPECT_EQ(link.destination, global.at(expected[i][1]));
  }
  EXPECT_EQ(with.info().find_split("")->links.at("train").count, 5U);
  EXPECT_TRUE(with.info().find_split("")->links.at("train").has_times);
  ASSERT_OK_AND_ASSIGN(const auto info, counted());
  EXPECT_EQ(info.find_split("")->links.at("train").count, 5U);

  give("train", {1, 2});
  EXPECT_ERROR(counted(), Errc::invalid_argument,
               "expected the two ends of a link per row, [links, 2], got [2]");
  save_npy<std::int64_t>(temp_ / "links.npy", {1, 2}, {9, 61});
  job_.dataset.seeds["train"].ids = temp_ / "links.npy";
  EXPECT_ERROR(counted(), Errc::invalid_argument, "row 0: expected a node id below 61, got 61");
}

/// Original ends of all pairs of a role, one after the other.
Ids ends_of(const LinkList& links) {
  Ids ends;
  for (std::uint64_t i = 0; i < links.size(); ++i) {
    ends.push_back(static_cast<std::int64_t>(raw(links.at(i).original_source)));
    ends.push_back(static_cast<std::int64_t>(raw(links.at(i).original_destination)));
  }
  return ends;
}

TEST_F(JobSeeds, CandidatesStayWithTheirLinksAndFalseLinksComeLast) {
  job_.task.kind = "link";
  save_npy<std::int64_t>(temp_ / "links.npy", {3, 2}, {9, 3, 0, 60, 2, 2});
  job_.dataset.seeds["val"].ids = temp_ / "links.npy";
  ASSERT_OK_AND_ASSIGN(const auto with, own());
  ASSERT_OK_AND_ASSIGN(const auto links, with.links("", "val"));
  ASSERT_OK_AND_ASSIGN(const auto none, given_pairs(job_, with, "val", links));
  EXPECT_FALSE(none);

  save_npy<std::int32_t>(temp_ / "candidates.npy", {3, 2}, {10, 11, 20, 21, 30, 31});
  save_npy<std::int64_t>(temp_ / "false.npy", {2, 2}, {5, 6, 7, 8});
  job_.eval.candidate_files["val"] = {temp_ / "candidates.npy"};
  job_.eval.negative_files["val"] = {temp_ / "false.npy"};
  ASSERT_OK_AND_ASSIGN(const auto pairs, given_pairs(job_, with, "val", links));

  ASSERT_TRUE(pairs);
  EXPECT_EQ(pairs->given.at(0).rows(), 11U);
  EXPECT_EQ(ends_of(pairs->list),
            (Ids{0, 60, 0, 20, 0, 21, 2, 2, 2, 30, 2, 31, 9, 3, 9, 10, 9, 11, 5, 6, 7, 8}));
  const auto global = ids_of_parts(with);
  EXPECT_EQ(pairs->list.at(4).destination, global.at(30));
  // Without a file of own seeds rows are in the order of the store's links.
  job_.dataset.seeds.clear();
  ASSERT_OK_AND_ASSIGN(const auto stored, given_pairs(job_, with, "val", links));
  EXPECT_EQ(raw(stored->list.at(1).original_destination), 10U);
  EXPECT_EQ(raw(stored->list.at(7).original_destination), 30U);
}

TEST_F(JobSeeds, FilesOfPairsThatDoNotFitAreRefused) {
  constexpr auto invalid = Errc::invalid_argument;
  job_.task.kind = "link";
  save_npy<std::int64_t>(temp_ / "links.npy", {2, 2}, {9, 3, 0, 60});
  job_.dataset.seeds["val"].ids = temp_ / "links.npy";
  ASSERT_OK_AND_ASSIGN(const auto with, own());
  ASSERT_OK_AND_ASSIGN(const auto links, with.links("", "val"));
  const auto candidates = [&](const std::vector<std::uint64_t>& shape, const Ids& ids) {
    save_npy<std::int64_t>(temp_ / "candidates.npy", shape, ids);
    job_.eval.candidate_files["val"] = {temp_ / "candidates.npy"};
    return given_pairs(job_, with, "val", links);
  };
  EXPECT_ERROR(candidates({3, 1}, {1, 2, 3}), invalid, "expected candidates of 2 links");
  EXPECT_ERROR(candidates({2, 1}, {1, 61}), invalid, "expected a node id below 61, got 61");
  EXPECT_ERROR(candidates({2, 1}, {1, -1}), invalid, "expected a node id below 61, got -1");
  EXPECT_OK(candidates({2, 1}, {1, 60}));
  save_npy<float>(temp_ / "candidates.npy", {2, 1}, {1, 2});
  EXPECT_ERROR(given_pairs(job_, with, "val", links), invalid, "expected integers");
  job_.eval.candidate_files.clear();
  save_npy<std::int64_t>(temp_ / "false.npy", {2, 3}, {1, 2, 3, 4, 5, 6});
  job_.eval.negative_files["val"] = {temp_ / "false.npy"};
  EXPECT_ERROR(given_pairs(job_, with, "val", links), invalid,
               "expected the two ends of a link per row, [links, 2], got [2, 3]");
  job_.eval.negative_files["val"] = {temp_ / "nothing.npy"};
  EXPECT_ERROR(given_pairs(job_, with, "val", links), Errc::not_found, "nothing.npy");
}

TEST_F(JobSeeds, NodesAreFoundTheSameWithoutDirectories) {
  Ids all;
  for (std::int64_t i = 0; i < 61; ++i) {
    all.push_back(i * 17 % 61);
  }
  give("train", all);
  ASSERT_OK_AND_ASSIGN(const auto with, own());
  ASSERT_OK_AND_ASSIGN(const auto seeds, with.seeds("", "train"));
  forge(temp_ / "parts/partition.json", "\"directory\": true", "\"directory\": false");
  ASSERT_FALSE(store().partition().directory);
  ASSERT_OK_AND_ASSIGN(const auto old, own());
  ASSERT_OK_AND_ASSIGN(const auto same, old.seeds("", "train"));

  EXPECT_EQ(seeds.global.size(), nodes_here);
  EXPECT_EQ(seeds.global, same.global);
  EXPECT_EQ(seeds.original, same.original);
  EXPECT_ERROR(store().load_directory(PartId{0}, NodeTypeId{0}), Errc::failed_precondition,
               "expected directories of nodes");
}

TEST_F(JobSeeds, ADirectoryWithIdsPastTheEndIsDamaged) {
  const auto slice = *map_npy(temp_ / "parts/part-1/nodes-node/directory.npy");
  std::vector<std::uint32_t> wrong(slice.shape[0], 61);
  forge_array(temp_ / "parts", "part-1/nodes-node/directory.npy", {wrong.size()}, wrong,
              "partition.json");
  give("train", {0});
  EXPECT_OK(own());
  give("train", {0, 20});
  EXPECT_ERROR(own(), Errc::data_corruption, "expected each of 2 nodes in one part, found 1");
}

TEST_F(JobSeeds, TheTypeIsStatedOrThatOfTheSplitOrTheOnlyOne) {
  GraphInfo info;
  info.node_types = {{"author", 5, {}, {}, {}}, {"paper", 9, {}, {}, {}}};
  give("val", {7});
  EXPECT_ERROR(count_own_seeds(job_, info), Errc::invalid_argument,
               "/dataset/seeds/type: expected one of the data's 2 types, as the split \"\" has no "
               "seeds, found none");
  info.splits = {{"", {{"test", {NodeTypeId{0}, 1}}, {"train", {NodeTypeId{1}, 1}}}}};
  ASSERT_OK(count_own_seeds(job_, info));
  EXPECT_EQ(info.splits[0].roles.at("val").node_type, NodeTypeId{1});
  job_.dataset.seeds_type = "author";
  EXPECT_ERROR(count_own_seeds(job_, info), Errc::invalid_argument, "expected a node id below 5");
  give("val", {4});
  ASSERT_OK(count_own_seeds(job_, info));
  EXPECT_EQ(info.splits[0].roles.at("val").node_type, NodeTypeId{0});
}

TEST_F(JobSeeds, TheDigestIsThatOfRolesTypesAndBytes) {
  EXPECT_EQ(*own_seeds_digest(job_), "");
  std::set<std::string> digests;
  const auto add = [&] { return digests.insert(*own_seeds_digest(job_)).second; };
  give("train", {1, 2});
  EXPECT_TRUE(add());
  EXPECT_FALSE(add());
  give("train", {2, 1});
  EXPECT_TRUE(add());
  give_times("train", {1, 2});
  EXPECT_TRUE(add());
  job_.dataset.seeds_type = "node";
  EXPECT_TRUE(add());
  give("val", {2, 1});
  EXPECT_TRUE(add());
  job_.dataset.seeds["test"] = job_.dataset.seeds["val"];
  EXPECT_TRUE(add());
  job_.dataset.seeds.erase("val");
  EXPECT_TRUE(add());
  job_.dataset.seeds["train"].ids = temp_ / "none";
  EXPECT_ERROR(own_seeds_digest(job_), Errc::not_found, "none");
}

}  // namespace
}  // namespace troupe
