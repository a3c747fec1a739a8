// Weights of classes in whole runs: the same bits whatever the layout, and rare classes that are learned.
#include "launcher/prepare_store.hpp"
#include "runtime/job/job_file.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>
#include <random>
#include <string>
#include <vector>

namespace troupe {
namespace {

using Settings = std::vector<std::string>;

/// 300 nodes on a ring, of which a twelfth are of class 1 and two more of class 2; features separate them, but not
/// well. Class 3 has no node, and some nodes have no label.
class WeightedClasses : public ::testing::Test {
 protected:
  void SetUp() override {
    constexpr std::int32_t nodes = 300;
    std::mt19937 dice(4);
    std::normal_distribution<float> some(0, 1);
    std::vector<float> x;
    std::vector<std::int64_t> y;
    std::vector<std::int32_t> edges[2];
    std::vector<std::int32_t> roles[2];
    for (std::int32_t i = 0; i < nodes; ++i) {
      y.push_back(i % 29 == 3 ? -1 : i % 12 == 5 ? 1 : i == 8 || i == 100 ? 2 : 0);
      for (std::int64_t c = 0; c < 3; ++c) {
        x.push_back(some(dice) + (y.back() == c ? 1.5F : 0.0F));
      }
      edges[0].push_back((i + 1) % nodes);
      edges[1].push_back(i);
      roles[i % 2].push_back(i);
    }
    edges[0].insert(edges[0].end(), edges[1].begin(), edges[1].end());
    testing::save_npy<std::int32_t>(in() / "edge_index.npy", {2, nodes}, edges[0]);
    testing::save_npy<float>(in() / "x.npy", {nodes, 3}, x);
    testing::save_npy<std::int64_t>(in() / "y.npy", {nodes}, y);
    for (const char* role : {"train", "val", "test"}) {
      const auto& ids = roles[role[0] == 't' && role[1] == 'r' ? 0 : 1];
      testing::save_npy<std::int32_t>(in() / fmt::format("{}_idx.npy", role), {ids.size()}, ids);
    }
    std::ofstream(in() / "meta.json") << R"({"num_classes": 4})";
  }
  std::filesystem::path in() const { return temp_ / "in"; }

  Result<RunResult> run(const Settings& settings) const {
    const auto text = fmt::format(R"({{
      "dataset": {{ "path": "{}" }},
      "sample": {{ "fanout": [2], "batch_size": 16 }},
      "model": {{ "kind": "graphsage", "layers": 1, "norm": "none" }},
      "train": {{ "epochs": 2, "optimizer": {{ "kind": "adam", "lr": 0.05 }} }},
      "output": "{}"
    }})",
                                  in().string(), (temp_ / "out").string());
    TROUPE_ASSIGN_OR_RETURN(auto reading, parse_job(text, "", settings));
    if (!reading.problems.empty()) {
      return Error(Errc::invalid_argument, to_string(reading.problems));
    }
    return testing::run_whole(std::move(reading.job));
  }

  testing::TempDir temp_;
};

void expect_same_weighted(const RunResult& actual, const RunResult& expected) {
  EXPECT_EQ(actual.record.batches, expected.record.batches);
  EXPECT_EQ(actual.record.parameters, expected.record.parameters);
  EXPECT_EQ(actual.record.outputs, expected.record.outputs);
  ASSERT_EQ(actual.record.epochs.size(), expected.record.epochs.size());
  EXPECT_EQ(actual.record.epochs.back().loss, expected.record.epochs.back().loss);
}

TEST_F(WeightedClasses, LayoutsChangeNothing) {
  const std::string two = "cluster.trainers_per_host=2";
  for (const std::string weights :
       {"train.class_weights=balanced", "train.class_weights=[0.2,3,7,1]"}) {
    SCOPED_TRACE(weights);
    ASSERT_OK_AND_ASSIGN(const auto one, run({weights, two}));
    for (const Settings& layout :
         std::vector<Settings>{{"cluster.hosts=2", "partition.parts=3"},
                               {"cluster.hosts=2", "partition.parts=5", "cluster.replicas=2"},
                               {"cluster.hosts=2", "cluster.placement=server_client"},
                               {two, "cluster.device=emulated:2"}}) {
      SCOPED_TRACE(layout.back());
      auto all = layout;
      all.push_back(weights);
      ASSERT_OK_AND_ASSIGN(const auto spread, run(all));
      expect_same_weighted(spread, one);
    }
    ASSERT_OK_AND_ASSIGN(const auto none, run({two}));
    EXPECT_EQ(one.record.batches, none.record.batches);
    EXPECT_NE(one.record.parameters, none.record.parameters);
  }
}

/// Training seeds are the even nodes: none of class 1, two of class 2.
TEST_F(WeightedClasses, BalancedOnesAreThoseOfTheTrainingSeeds) {
  ASSERT_OK_AND_ASSIGN(const auto balanced, run({"train.class_weights=balanced"}));
  std::vector<int> counts(3);
  for (int i = 0; i < 300; i += 2) {
    if (i % 29 != 3) {
      ++counts[i % 12 == 5 ? 1 : i == 8 || i == 100 ? 2 : 0];
    }
  }
  ASSERT_EQ(counts[1], 0);
  ASSERT_EQ(counts[2], 2);
  ASSERT_OK_AND_ASSIGN(const auto listed,
                       run({fmt::format("train.class_weights=[1,0,{},0]", counts[0] / 2.0)}));
  expect_same_weighted(listed, balanced);
}

TEST_F(WeightedClasses, EqualOnesChangeNothing) {
  const std::string two = "cluster.trainers_per_host=2";
  for (const std::string norm : {"model.norm=none", "model.norm=batch"}) {
    ASSERT_OK_AND_ASSIGN(const auto none, run({two, norm}));
    ASSERT_OK_AND_ASSIGN(const auto equal, run({two, norm, "train.class_weights=[3,3,3,3]"}));
    expect_same_weighted(equal, none);
  }
}

/// Where no rank's batch has a seed that counts, a step changes nothing.
TEST_F(WeightedClasses, ClassesOfWeightZeroTeachNothing) {
  ASSERT_OK_AND_ASSIGN(const auto one, run({"train.class_weights=[0,0,0,1]", "train.epochs=1"}));
  ASSERT_OK_AND_ASSIGN(const auto two, run({"train.class_weights=[0,0,0,1]", "train.epochs=3"}));
  EXPECT_EQ(one.record.epochs.back().loss, 0);
  EXPECT_EQ(one.record.parameters, two.record.parameters);
}

TEST_F(WeightedClasses, ARareClassIsLearned) {
  const Settings rare = {"dataset.seeds.train=" + (in() / "val_idx.npy").string(),
                         "train.epochs=30", "eval.metric=f1"};
  auto weighted = rare;
  weighted.emplace_back("train.class_weights=balanced");
  ASSERT_OK_AND_ASSIGN(const auto with, run(weighted));
  ASSERT_OK_AND_ASSIGN(const auto without, run(rare));
  const auto found = [](const RunResult& result) {
    int of_class_1 = 0;
    const auto outputs = result.only_outputs()->view();
    for (std::size_t row = 0; row < outputs.rows; ++row) {
      of_class_1 += outputs.row(row)[1] > outputs.row(row)[0] ? 1 : 0;
    }
    return of_class_1;
  };
  EXPECT_GT(found(with), found(without) + 5);
}

TEST_F(WeightedClasses, OfAnotherNumberAreRefused) {
  EXPECT_ERROR(run({"train.class_weights=[1,2,3]"}), Errc::invalid_argument,
               "does not fit its data");
}

}  // namespace
}  // namespace troupe
