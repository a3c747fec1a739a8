// Features that are left out when a graph is cut, and added part by part.
#include "runtime/graph/store_layout.hpp"
#include "runtime/partition/add_features.hpp"
#include "runtime/partition/partitioner.hpp"
#include "tests/runtime/partition/partition_fixture.hpp"
#include "tests/runtime/partition/rich_graph.hpp"
#include "tests/support/file_text.hpp"

#include <algorithm>
#include <tuple>

namespace troupe {
namespace {

using namespace testing;
namespace fs = std::filesystem;

constexpr std::uint32_t parts = 3;

class TwoStage : public ::testing::Test {
 protected:
  Result<PartitionInfo> cut(const std::string& out, PartitionOptions options,
                            const std::string& graph_store = "graph") const {
    TROUPE_ASSIGN_OR_RETURN(const auto graph, GraphStore::open(temp_ / graph_store, {}));
    options.parts = parts;
    return partition_store(graph, options, temp_ / out);
  }
  Result<AddedFeatures> add(const std::string& out, std::vector<std::uint32_t> which = {},
                            const std::string& graph_store = "graph") const {
    AddFeaturesOptions options;
    for (const auto part : which) {
      options.parts.push_back(static_cast<PartId>(part));
    }
    ComputePool pool(2);
    return add_features(temp_ / graph_store, temp_ / out, options, pool);
  }
  Status load(const std::string& out) const {
    TROUPE_ASSIGN_OR_RETURN(const auto store, PartitionedStore::open(temp_ / out, {}));
    for (std::uint32_t part = 0; part < parts; ++part) {
      TROUPE_RETURN_IF_ERROR(store.load_part(static_cast<PartId>(part)));
    }
    return ok_status();
  }
  static bool is_manifest(const std::string& path) { return path.ends_with("/features.json"); }
  /// All arrays of "one" are in "two", byte for byte, and nothing else but manifests.
  void expect_same_arrays() const {
    auto two = files_below(temp_ / "two");
    EXPECT_EQ(std::erase_if(two, is_manifest), parts);
    EXPECT_EQ(two, files_below(temp_ / "one"));
    for (const auto& path : two) {
      if (path != store_layout::partition_file) {
        EXPECT_EQ(testing::file_text(temp_ / ("two/" + path)),
                  testing::file_text(temp_ / ("one/" + path)))
            << path;
      }
    }
  }

  TempDir temp_;
};

using TwoStageCase =
    std::tuple<bool, CompleteFor, bool>;  // heterogeneous, which lists, with a halo
class TwoStageCases : public TwoStage, public ::testing::WithParamInterface<TwoStageCase> {
 protected:
  void SetUp() override {
    const auto [heterogeneous, complete_for, halo] = GetParam();
    ASSERT_OK(heterogeneous ? rich_heterogeneous_graph(temp_ / "graph")
                            : rich_graph(temp_ / "graph"));
    PartitionOptions options{.complete_for = complete_for};
    options.halo = {.hops = halo ? 1U : 0U, .features = halo};
    ASSERT_OK(cut("one", options));
    options.features_later = true;
    ASSERT_OK(cut("two", options));
  }
};

TEST_P(TwoStageCases, AllArraysAreThoseOfOneStage) {
  EXPECT_OK(add("two", {2, 0}));
  EXPECT_OK(add("two", {1}));

  expect_same_arrays();
  EXPECT_OK(load("two"));
}

TEST_P(TwoStageCases, BeforeFeaturesAreThereOnlyTheyAreMissing) {
  ASSERT_OK_AND_ASSIGN(const auto store, PartitionedStore::open(temp_ / "two", {}));
  EXPECT_TRUE(store.partition().features_later);

  for (std::uint32_t p = 0; p < parts; ++p) {
    const auto part = static_cast<PartId>(p);
    EXPECT_ERROR(store.load_part(part), Errc::failed_precondition,
                 "try: troupe add-features STORE " + (temp_ / "two").string() + " --part " +
                     std::to_string(p));
    EXPECT_OK(store.load_lists(part));
    ASSERT_OK_AND_ASSIGN(const auto loaded, store.load_without_features(part));
    EXPECT_FALSE(loaded->nodes[0].features.has_value());
    EXPECT_EQ(loaded->nodes[0].labels.size(), loaded->nodes[0].count);
  }
  EXPECT_FALSE(std::ranges::any_of(files_below(temp_ / "two"), [](const std::string& path) {
    return path.find("features") != std::string::npos;
  }));
}

std::string two_stage_name(const ::testing::TestParamInfo<TwoStageCase>& info) {
  const auto [heterogeneous, complete_for, halo] = info.param;
  return std::string(heterogeneous ? "heterogeneous_" : "plain_") +
         std::string(to_string(complete_for)) + (halo ? "_halo" : "");
}

INSTANTIATE_TEST_SUITE_P(All, TwoStageCases,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(CompleteFor::in, CompleteFor::out,
                                                              CompleteFor::both),
                                            ::testing::Bool()),
                         two_stage_name);

class TwoStagePlain : public TwoStage {
 protected:
  void SetUp() override {
    ASSERT_OK(rich_graph(temp_ / "graph"));
    ASSERT_OK(cut("two", {.features_later = true}));
  }
};

TEST_F(TwoStagePlain, OneStageStoresStayOfTheFirstVersion) {
  ASSERT_OK_AND_ASSIGN(const auto one, cut("one", {}));
  ASSERT_OK_AND_ASSIGN(const auto two, PartitionedStore::open(temp_ / "two", {}));

  EXPECT_NE(one.options_hash, two.partition().options_hash);
  const auto text = testing::file_text(temp_ / "one/partition.json");
  EXPECT_NE(text.find("\"version\": 1,"), std::string::npos);
  EXPECT_EQ(text.find("\"features\": \"later\""), std::string::npos);
  EXPECT_EQ(text.find("graph_checksum"), std::string::npos);
  const auto later = testing::file_text(temp_ / "two/partition.json");
  EXPECT_NE(later.find("\"version\": 2,"), std::string::npos);
  EXPECT_NE(later.find("\"features\": \"later\""), std::string::npos);
}

TEST_F(TwoStagePlain, PartsThatHaveFeaturesAreRefusedBeforeAnythingIsWritten) {
  ASSERT_OK(add("two", {1, 1}));
  const auto before = files_below(temp_ / "two");

  EXPECT_ERROR(add("two"), Errc::failed_precondition,
               "expected part 1 without features, found that it has them already");

  EXPECT_EQ(files_below(temp_ / "two"), before);
}

TEST_F(TwoStagePlain, OnlyTheStoreThatItWasMadeOfIsTaken) {
  ASSERT_OK(rich_heterogeneous_graph(temp_ / "heterogeneous"));
  EXPECT_ERROR(add("two", {}, "heterogeneous"), Errc::failed_precondition,
               "whose graph.json has the");
  ASSERT_OK(add("two", {0}));

  flip_byte(temp_ / "graph/nodes-node/features.npy", 200);  // the same graph.json, other bytes
  EXPECT_ERROR(add("two", {1}), Errc::data_corruption, "features.npy: expected checksum");
  EXPECT_FALSE(fs::exists(temp_ / "two/part-1/features.json"));
}

TEST_F(TwoStagePlain, TheGraphOfThePartsMustBeThatOfTheStore) {
  ASSERT_OK(rich_heterogeneous_graph(temp_ / "heterogeneous"));
  fs::copy_file(temp_ / "heterogeneous/graph.json", temp_ / "two/graph.json",
                fs::copy_options::overwrite_existing);

  EXPECT_ERROR(add("two"), Errc::data_corruption, "");
}

TEST_F(TwoStagePlain, StoresWithNothingToAddAreRefused) {
  ASSERT_OK(cut("one", {}));
  write_all(temp_ / "one/part-0/features.json", "nobody reads it");
  EXPECT_OK(load("one"));
  EXPECT_ERROR(add("one"), Errc::failed_precondition, "found one that has them");
  EXPECT_ERROR(add("graph"), Errc::failed_precondition, "expected a partitioned store");
  EXPECT_ERROR(add("two", {7}), Errc::invalid_argument, "expected a part below 3, got 7");

  ASSERT_OK(store_of(plain_contents({9}, {{0, 0, {{1, 2}, {3, 4}}}}), temp_ / "bare"));
  ASSERT_OK(cut("bare-parts", {.features_later = true}, "bare"));
  EXPECT_OK(load("bare-parts"));
  EXPECT_ERROR(add("bare-parts", {}, "bare"), Errc::failed_precondition,
               "found a graph without any");
}

TEST_F(TwoStagePlain, WhatAKilledOneLeftIsReplaced) {
  ASSERT_OK(cut("one", {}));
  write_all(temp_ / "two/part-0/nodes-node/features.npy", "half an array");
  write_all(temp_ / "two/part-0/features.tmp-abcdef/part-0/nodes-node/features.npy", "a block");

  ASSERT_OK_AND_ASSIGN(const auto added, add("two"));

  EXPECT_EQ(added.parts, parts);
  EXPECT_EQ(added.files, 2 * parts);
  expect_same_arrays();
}

TEST_F(TwoStagePlain, ADamagedPartGetsNoManifestAndOthersGetTheirs) {
  flip_byte(temp_ / "two/part-1/nodes-node/original_ids.npy", 130);

  EXPECT_ERROR(add("two"), Errc::data_corruption, "part-1/nodes-node/original_ids.npy");

  EXPECT_TRUE(fs::exists(temp_ / "two/part-0/features.json"));
  EXPECT_FALSE(fs::exists(temp_ / "two/part-1/features.json"));
  for (const auto& path : files_below(temp_ / "two")) {
    EXPECT_EQ(path.find(".tmp-"), std::string::npos) << path;
  }
}

}  // namespace
}  // namespace troupe
