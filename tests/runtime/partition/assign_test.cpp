#include "runtime/partition/assign.hpp"

#include "runtime/partition/adjacency.hpp"
#include "runtime/partition/assign_file.hpp"
#include "runtime/partition/assign_range.hpp"
#include "runtime/partition/methods.hpp"
#include "runtime/partition/metis.hpp"
#include "tests/runtime/partition/partition_fixture.hpp"

#include <cmath>
#include <set>

namespace troupe {
namespace {

using namespace testing;

Result<Assigned> assign_alone(const GraphStore& graph, const AssignOptions& options) {
  InlineExecutor executor;
  return assign(graph, options, executor);
}

bool needs_metis(const std::string& method) {
  return find_kind(partition_methods(), method)->metis;
}

bool has_metis() {
#ifdef TROUPE_HAVE_METIS
  return true;
#else
  return false;
#endif
}

/// A graph of groups with hubs, parallel edges, loops and isolated nodes; heterogeneous: a second type of
/// 70 nodes that name the first, an empty type, and a small one.
GraphContents mixed_graph(bool heterogeneous) {
  auto edges = grouped_edges(6, 90, 900, 500);
  for (std::uint64_t i = 0; i < 200; ++i) {
    edges.emplace_back(i, 7);  // a hub
    edges.emplace_back(9, 8);  // parallel
  }
  if (!heterogeneous) {
    return plain_contents({560}, {{0, 0, edges}});
  }
  EdgePairs named;
  for (std::uint64_t i = 0; i < 400; ++i) {
    named.emplace_back(i % 70, (i * 7) % 540);
  }
  return plain_contents({560, 70, 0, 8}, {{0, 0, edges}, {1, 0, named}, {0, 3, {{0, 1}, {5, 7}}}});
}

struct AssignSetting {
  std::string method;
  bool heterogeneous;
  std::uint32_t parts;
};
void PrintTo(const AssignSetting& setting, std::ostream* out) {
  *out << setting.method << (setting.heterogeneous ? "Heterogeneous" : "Plain") << setting.parts;
}

class Assigning : public ::testing::TestWithParam<AssignSetting> {
 protected:
  void SetUp() override {
    if (needs_metis(GetParam().method) && !has_metis()) {
      GTEST_SKIP() << "built without METIS";
    }
    auto store = store_of(mixed_graph(GetParam().heterogeneous), temp_ / "graph");
    ASSERT_OK(store);
    store_ = *std::move(store);
    options_ = {.method = GetParam().method, .parts = GetParam().parts, .seed = 5};
    options_.more.imbalance = 1.05;
    if (options_.method == "file") {
      options_.more.file = temp_ / "parts.npy";
      const auto files = node_files(store_.info(), options_.more.file);
      for (std::size_t type = 0; type < files.size(); ++type) {
        std::vector<std::int32_t> parts;
        for (std::uint64_t i = 0; i < store_.info().node_types[type].count; ++i) {
          parts.push_back(static_cast<std::int32_t>(i % GetParam().parts));
        }
        save_npy(files[type], {parts.size()}, parts);
      }
    }
  }
  void expect_limits(const Assigned& assigned) const {
    BalanceOptions balance{options_.more.balance, "", options_.more.imbalance};
    ASSERT_OK_AND_ASSIGN(const auto constraints, Constraints::make(store_, balance));
    ASSERT_EQ(assigned.measures.balance.size(), constraints.size());
    for (std::size_t c = 0; c < constraints.size(); ++c) {
      const auto& entry = assigned.measures.balance[c];
      EXPECT_EQ(entry.total, constraints.total(c));
      EXPECT_LE(entry.largest, constraints.limit(c, options_.parts)) << entry.name;
      EXPECT_GE(entry.largest * options_.parts, entry.total) << entry.name;
    }
  }

  TempDir temp_;
  GraphStore store_;
  AssignOptions options_;
};

TEST_P(Assigning, EveryNodeHasOnePart) {
  ASSERT_OK_AND_ASSIGN(const auto assigned, assign_alone(store_, options_));
  const auto& types = store_.info().node_types;
  ASSERT_EQ(assigned.parts.size(), types.size());
  for (std::size_t type = 0; type < types.size(); ++type) {
    ASSERT_EQ(assigned.parts[type].size(), types[type].count);
    for (const auto part : assigned.parts[type]) {
      EXPECT_LT(raw(part), options_.parts);
    }
  }
}

/// Methods that promise balance.
class Balancing : public Assigning {};

TEST_P(Balancing, LimitsAreKept) {
  ASSERT_OK_AND_ASSIGN(const auto assigned, assign_alone(store_, options_));
  expect_limits(assigned);
}

TEST_P(Balancing, LimitsOfSeveralConstraintsAreKept) {
  options_.more.balance = {"edges", "train"};
  options_.more.imbalance = 1.1;
  ASSERT_OK_AND_ASSIGN(const auto assigned, assign_alone(store_, options_));
  expect_limits(assigned);
}

TEST_P(Assigning, ThreadsAndASecondRunChangeNothing) {
  options_.more.balance = {"edges"};
  options_.more.passes = 4;
  ASSERT_OK_AND_ASSIGN(const auto one, assign_alone(store_, options_));
  for (const std::size_t threads : {1U, 4U}) {
    ComputePool pool(threads);
    ASSERT_OK_AND_ASSIGN(const auto again, assign(store_, options_, pool));
    EXPECT_EQ(again.parts, one.parts) << threads;
    EXPECT_EQ(again.measures.cut_edges, one.measures.cut_edges);
    EXPECT_EQ(again.measures.communication_volume, one.measures.communication_volume);
  }
}

class Seeding : public Assigning {};

TEST_P(Seeding, AnotherSeedGivesAnotherAssignmentWhereTheMethodDraws) {
  const bool draws =
      options_.method == "random" || options_.method == "hash" || options_.method == "metis";
  ASSERT_OK_AND_ASSIGN(const auto one, assign_alone(store_, options_));
  options_.seed = 6;
  ASSERT_OK_AND_ASSIGN(const auto other, assign_alone(store_, options_));
  EXPECT_EQ(other.parts != one.parts, draws && options_.parts > 1);
}

TEST_P(Assigning, MeasuresAreTrue) {
  ASSERT_OK_AND_ASSIGN(const auto assigned, assign_alone(store_, options_));
  std::uint64_t cut = 0;
  std::vector<std::set<std::uint32_t>> foreign;  // [vertex] other parts among its neighbours
  std::vector<std::uint64_t> first{0};
  for (const auto& type : store_.info().node_types) {
    first.push_back(first.back() + type.count);
  }
  foreign.resize(first.back());
  for (std::size_t e = 0; e < store_.info().edge_types.size(); ++e) {
    const std::size_t from = raw(store_.info().edge_types[e].source);
    const std::size_t to = raw(store_.info().edge_types[e].destination);
    const auto& lists = store_.graph()->edges[e].in;
    for (std::uint64_t v = 0; v < assigned.parts[to].size(); ++v) {
      for (auto i = lists.offsets[v]; i < lists.offsets[v + 1]; ++i) {
        const auto u = raw(lists.neighbours[i]);
        const auto source = raw(assigned.parts[from][u]);
        const auto destination = raw(assigned.parts[to][v]);
        if (source != destination) {
          ++cut;
          foreign[first[from] + u].insert(destination);
          foreign[first[to] + v].insert(source);
        }
      }
    }
  }
  std::uint64_t volume = 0;
  for (const auto& parts : foreign) {
    volume += parts.size();
  }
  EXPECT_EQ(assigned.measures.cut_edges, cut);
  EXPECT_EQ(assigned.measures.communication_volume, volume);
}

std::vector<AssignSetting> settings(const std::vector<std::string>& methods) {
  std::vector<AssignSetting> all;
  for (const auto& method : methods) {
    for (const bool heterogeneous : {false, true}) {
      for (const std::uint32_t parts : {1U, 2U, 4U, 7U}) {
        all.push_back({method, heterogeneous, parts});
      }
    }
  }
  return all;
}

std::string assign_name(const ::testing::TestParamInfo<AssignSetting>& setting) {
  return ::testing::PrintToString(setting.param);
}

INSTANTIATE_TEST_SUITE_P(Settings, Assigning,
                         ::testing::ValuesIn(settings({"random", "hash", "range", "ldg", "fennel",
                                                       "metis", "multilevel", "file"})),
                         assign_name);
// Not "multilevel": METIS draws on its graph of clusters, which is small here: it may find the same.
INSTANTIATE_TEST_SUITE_P(Settings, Seeding,
                         ::testing::ValuesIn(settings({"random", "hash", "ldg", "fennel", "metis",
                                                       "file"})),
                         assign_name);
INSTANTIATE_TEST_SUITE_P(Settings, Balancing,
                         ::testing::ValuesIn(settings({"ldg", "fennel", "metis", "multilevel"})),
                         assign_name);

/// Methods that look at the edges, on small and strange graphs.
class Assign : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (needs_metis(GetParam()) && !has_metis()) {
      GTEST_SKIP() << "built without METIS";
    }
  }
  Result<Assigned> assign_to(std::uint32_t parts, const std::vector<std::uint64_t>& counts,
                             const EdgePairs& edges, std::uint32_t passes = 3) {
    ++graphs_;
    TROUPE_ASSIGN_OR_RETURN(const auto store,
                            store_of(plain_contents(counts, {{0, 0, edges}}),
                                     temp_ / ("graph" + std::to_string(graphs_))));
    AssignOptions options{.method = GetParam(), .parts = parts, .seed = 1};
    options.more.imbalance = 1.05;
    options.more.passes = passes;
    return assign_alone(store, options);
  }
  std::uint64_t largest(const Assigned& assigned) { return assigned.measures.balance[0].largest; }

  TempDir temp_;
  int graphs_ = 0;
};

TEST_P(Assign, FindsGroups) {
  // 4 groups of 100 nodes with 10 edges per node inside, 1 across; ids are mixed
  const auto edges = both_ways(grouped_edges(4, 100, 1000, 200));
  ASSERT_OK_AND_ASSIGN(const auto assigned, assign_to(4, {400}, edges, 10));
  const auto random = 0.75 * static_cast<double>(edges.size());
  EXPECT_LT(static_cast<double>(assigned.measures.cut_edges), 0.35 * random);
}

TEST_P(Assign, AStarIsCutByItsLeavesOnly) {
  EdgePairs edges;
  for (std::uint64_t leaf = 1; leaf < 101; ++leaf) {
    edges.emplace_back(leaf, 0);
  }
  ASSERT_OK_AND_ASSIGN(const auto assigned, assign_to(4, {101}, edges));
  EXPECT_LE(largest(assigned), 27U);
  EXPECT_GE(assigned.measures.cut_edges, 74U);
  EXPECT_LE(assigned.measures.cut_edges, 80U);
}

TEST_P(Assign, DisconnectedPairsAndIsolatedNodesAreShared) {
  EdgePairs edges;
  for (std::uint64_t node = 0; node < 40; node += 2) {
    edges.emplace_back(node, node + 1);
  }
  ASSERT_OK_AND_ASSIGN(const auto assigned, assign_to(5, {60}, edges));
  EXPECT_LE(largest(assigned), 13U);
}

TEST_P(Assign, NoEdgesAndEmptyTypesAreFine) {
  ASSERT_OK_AND_ASSIGN(const auto assigned, assign_to(3, {9, 0}, {}));
  EXPECT_LE(largest(assigned), 4U);  // 1.05 * 3, rounded up
  EXPECT_EQ(assigned.measures.cut_edges, 0U);
}

TEST_P(Assign, AsManyPartsAsNodesGetOneEachOrTwo) {
  ASSERT_OK_AND_ASSIGN(const auto assigned, assign_to(5, {5}, {{0, 1}, {1, 2}, {3, 4}}));
  EXPECT_LE(largest(assigned), 2U);
}

TEST_P(Assign, FewerNodesThanPartsAndNoPartsAreRefused) {
  EXPECT_ERROR(assign_to(6, {5}, {{0, 1}}), Errc::invalid_argument, "expected 1 to 5 parts");
  EXPECT_ERROR(assign_to(1, {0}, {}), Errc::invalid_argument, "expected a graph with nodes");
  EXPECT_ERROR(assign_to(0, {5}, {{0, 1}}), Errc::invalid_argument, "got 0");
}

TEST_P(Assign, NodesPerPartMayDivideExactly) {
  const auto edges = grouped_edges(2, 50, 300, 30);
  AssignOptions options{.method = GetParam(), .parts = 4, .seed = 1};
  options.more.imbalance = 1;
  ASSERT_OK_AND_ASSIGN(const auto store,
                       store_of(plain_contents({100}, {{0, 0, edges}}), temp_ / "even"));
  ASSERT_OK_AND_ASSIGN(const auto assigned, assign_alone(store, options));
  EXPECT_EQ(largest(assigned), 25U);
}

INSTANTIATE_TEST_SUITE_P(Methods, Assign, ::testing::Values("ldg", "fennel", "metis", "multilevel"),
                         [](const auto& method) { return method.param; });

class AssignErrors : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = store_of(plain_contents({4}, {{0, 0, {{0, 1}}}}), temp_ / "graph");
    ASSERT_OK(store);
    store_ = *std::move(store);
  }
  Result<Assigned> from_file(std::uint32_t parts) {
    AssignOptions options{.method = "file", .parts = parts, .seed = 0};
    options.more.file = temp_ / "parts.npy";
    return assign_alone(store_, options);
  }

  TempDir temp_;
  GraphStore store_;
};

TEST_F(AssignErrors, AnUnknownMethodIsRefusedWithTheKnownOnes) {
  EXPECT_ERROR(assign_alone(store_, {.method = "magic", .parts = 2, .seed = 0}),
               Errc::invalid_argument, "multilevel, hotness, file, got \"magic\"");
}

TEST_F(AssignErrors, WhatMetisCannotCountIsRefusedWithTheMethodsThatCan) {
  EXPECT_OK(check_metis_index("metis", (1ULL << 31) - 1, "neighbour entries"));
  EXPECT_ERROR(
      check_metis_index("metis", 1ULL << 31, "neighbour entries"), Errc::unimplemented,
      "metis: expected at most 2147483647 neighbour entries (METIS' indices have 32 bits), "
      "found 2147483648\ntry: \"multilevel\"");
}

TEST_F(AssignErrors, AFileMustFitTheNodes) {
  EXPECT_ERROR(from_file(2), Errc::not_found, "parts.npy");
  save_npy(temp_ / "parts.npy", {3}, std::vector<std::int64_t>{0, 1, 1});
  EXPECT_ERROR(from_file(2), Errc::invalid_argument, "shape [4]");
  save_npy(temp_ / "parts.npy", {4}, std::vector<float>{0, 1, 1, 0});
  EXPECT_ERROR(from_file(2), Errc::invalid_argument, "expected integers");
  save_npy(temp_ / "parts.npy", {4}, std::vector<std::int64_t>{0, 1, 2, 0});
  EXPECT_ERROR(from_file(2), Errc::invalid_argument, "row 2: expected a part from 0 to 1, found 2");
  save_npy(temp_ / "parts.npy", {4}, std::vector<std::int8_t>{0, -1, 1, 0});
  EXPECT_ERROR(from_file(2), Errc::invalid_argument,
               "row 1: expected a part from 0 to 1, found -1");
  save_npy(temp_ / "parts.npy", {4}, std::vector<std::uint8_t>{1, 0, 0, 1});
  ASSERT_OK_AND_ASSIGN(const auto assigned, from_file(2));
  EXPECT_EQ(assigned.parts[0], (std::vector<PartId>{PartId{1}, PartId{0}, PartId{0}, PartId{1}}));
}

TEST_F(AssignErrors, MetisTakesNoVolumeByRecursiveBisection) {
  AssignOptions options{.method = "metis", .parts = 2, .seed = 0};
  options.more.objective = "size";
  EXPECT_ERROR(assign_alone(store_, options), Errc::invalid_argument, "\"size\"");
  options.more.objective = "volume";
  options.more.recursive = true;
  EXPECT_ERROR(assign_alone(store_, options), Errc::invalid_argument, "recursive");
}

TEST(AssignHash, SpreadsNodesAndKeepsThemWhenOthersCome) {
  GraphInfo info;
  info.node_types.resize(1);
  info.node_types[0].count = 10000;
  ASSERT_OK_AND_ASSIGN(const auto large, assign_hash(info, 4, 1));
  info.node_types[0].count = 5000;
  ASSERT_OK_AND_ASSIGN(const auto small, assign_hash(info, 4, 1));

  std::vector<int> counts(4, 0);
  for (const auto part : large[0]) {
    ++counts[raw(part)];
  }
  for (const auto count : counts) {
    EXPECT_NEAR(count, 2500, 6 * std::sqrt(10000 * 0.25 * 0.75));
  }
  EXPECT_TRUE(std::equal(small[0].begin(), small[0].end(), large[0].begin()));
}

/// Edges that METIS cuts of `store` with each of five seeds, all together.
std::uint64_t cut_of_five_seeds(const GraphStore& store, std::uint32_t tries) {
  std::uint64_t cut = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    AssignOptions options{.method = "metis", .parts = 8, .seed = seed};
    options.more.tries = tries;
    const auto assigned = assign_alone(store, options);
    EXPECT_OK(assigned);
    cut += assigned->measures.cut_edges;
  }
  return cut;
}

TEST(AssignRange, PartsAreRangesOfIdsOfEvenSize) {
  GraphInfo graph;
  graph.node_types.resize(3);
  graph.node_types[0].count = 10;
  graph.node_types[1].count = 2;  // fewer than parts
  graph.node_types[2].count = std::uint64_t{1} << 20;
  const auto parts = assign_range(graph, 4);

  std::vector<std::uint32_t> first;
  for (const auto part : parts[0]) {
    first.push_back(raw(part));
  }
  EXPECT_EQ(first, (std::vector<std::uint32_t>{0, 0, 0, 1, 1, 2, 2, 2, 3, 3}));
  EXPECT_EQ(parts[1].size(), 2U);
  for (const std::size_t type : {1U, 2U}) {
    EXPECT_TRUE(std::ranges::is_sorted(parts[type]));
  }
  for (std::uint32_t part = 0; part < 4; ++part) {
    EXPECT_EQ(std::ranges::count(parts[2], static_cast<PartId>(part)), 1 << 18);
  }
}

TEST(AssignMetis, OneTryCutsMoreThanTheBestOfSeveral) {
  if (!has_metis()) {
    GTEST_SKIP() << "built without METIS";
  }
  const TempDir temp;
  const auto edges = both_ways(grouped_edges(8, 60, 100, 2000));
  ASSERT_OK_AND_ASSIGN(const auto store,
                       store_of(plain_contents({480}, {{0, 0, edges}}), temp / "graph"));

  const auto one = cut_of_five_seeds(store, 1);
  const auto four = cut_of_five_seeds(store, 4);
  const auto by_default = cut_of_five_seeds(store, 0);

  EXPECT_LT(four, one);
  EXPECT_EQ(by_default, four);
}

TEST(AssignMetis, SmallerVolumeAndRecursiveBisectionWork) {
  if (!has_metis()) {
    GTEST_SKIP() << "built without METIS";
  }
  const TempDir temp;
  const auto edges = both_ways(grouped_edges(8, 60, 500, 400));
  ASSERT_OK_AND_ASSIGN(const auto store,
                       store_of(plain_contents({480}, {{0, 0, edges}}), temp / "graph"));
  AssignOptions options{.method = "metis", .parts = 8, .seed = 1};
  ASSERT_OK_AND_ASSIGN(const auto cut, assign_alone(store, options));
  options.more.objective = "volume";
  ASSERT_OK_AND_ASSIGN(const auto volume, assign_alone(store, options));
  options.more.objective = "cut";
  options.more.recursive = true;
  ASSERT_OK_AND_ASSIGN(const auto recursive, assign_alone(store, options));

  const auto random = 7 * edges.size() / 8;
  for (const auto& assigned : {cut, volume, recursive}) {
    EXPECT_LT(assigned.measures.cut_edges, random / 2);
  }
  EXPECT_NE(cut.parts, volume.parts);
  EXPECT_NE(cut.parts, recursive.parts);
}

}  // namespace
}  // namespace troupe
