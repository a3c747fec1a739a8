// Numbers of nodes learned in whole runs: the same bits whatever the layout, and predictions that come near.
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "runtime/job/job_file.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace troupe {
namespace {

using Settings = std::vector<std::string>;

/// 240 nodes on a ring with chords; what is to be predicted follows from a node's and its neighbors' features.
class NumberTraining : public ::testing::Test {
 protected:
  void SetUp() override {
    constexpr std::int32_t nodes = 240;
    std::mt19937 dice(4);
    std::uniform_real_distribution<float> some(-1, 1);
    std::vector<float> x;
    for (std::int32_t i = 0; i < 4 * nodes; ++i) {
      x.push_back(some(dice));
    }
    std::vector<std::int32_t> sources;
    std::vector<std::int32_t> destinations;
    std::vector<float> y;
    for (std::int32_t i = 0; i < nodes; ++i) {
      const std::int32_t left = (i + nodes - 1) % nodes;
      const std::int32_t far = (i + 17) % nodes;
      sources.insert(sources.end(), {left, far});
      destinations.insert(destinations.end(), {i, i});
      const auto at = [&](std::int32_t node, std::int32_t c) {
        return x[4 * static_cast<std::size_t>(node) + static_cast<std::size_t>(c)];
      };
      y.push_back(3 * at(i, 0) - at(i, 1) + at(left, 2) + at(far, 2));
      y.push_back(i % 7 == 0 ? std::numeric_limits<float>::quiet_NaN() : 10 + at(i, 3));
    }
    sources.insert(sources.end(), destinations.begin(), destinations.end());
    testing::save_npy<std::int32_t>(in() / "edge_index.npy", {2, 2 * nodes}, sources);
    testing::save_npy<float>(in() / "x.npy", {nodes, 4}, x);
    testing::save_npy<float>(in() / "y.npy", {nodes, 2}, y);
    std::vector<std::int32_t> roles[3];
    for (std::int32_t i = 0; i < nodes; ++i) {
      roles[i % 3 == 0 ? 1 : i % 5 == 0 ? 2 : 0].push_back(i);
    }
    const char* const names[] = {"train", "val", "test"};
    for (std::size_t r = 0; r < 3; ++r) {
      testing::save_npy<std::int32_t>(in() / fmt::format("{}_idx.npy", names[r]), {roles[r].size()},
                                      roles[r]);
    }
    std::ofstream(in() / "meta.json") << R"({"labels": "numbers"})";
    y_ = std::move(y);
    test_ = roles[2];
  }
  std::filesystem::path in() const { return temp_ / "in"; }

  Result<RunResult> run(const Settings& settings) const {
    const auto text = fmt::format(R"({{
      "dataset": {{ "path": "{}" }},
      "sample": {{ "fanout": [-1], "batch_size": 16 }},
      "model": {{ "kind": "graphsage", "aggregator": "sum", "layers": 1 }},
      "train": {{ "epochs": 3, "loss": "mse", "optimizer": {{ "kind": "adam", "lr": 0.05 }} }},
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
  std::vector<float> y_;
  std::vector<std::int32_t> test_;
};

TEST_F(NumberTraining, LayoutsChangeNothing) {
  for (const char* mode : {"eval.mode=exact", "eval.mode=sampled"}) {
    ASSERT_OK_AND_ASSIGN(const auto one, run({mode, "cluster.trainers_per_host=2"}));
    for (const Settings& layout :
         std::vector<Settings>{{"cluster.hosts=2", "partition.parts=3"},
                               {"cluster.hosts=2", "partition.parts=2", "cluster.replicas=2"},
                               {"cluster.hosts=2", "cluster.placement=server_client"}}) {
      SCOPED_TRACE(std::string(mode) + " " + layout.back());
      ASSERT_OK_AND_ASSIGN(const auto spread, run([&] {
                             auto all = layout;
                             all.emplace_back(mode);
                             return all;
                           }()));
      EXPECT_EQ(spread.record.batches, one.record.batches);
      EXPECT_EQ(spread.record.parameters, one.record.parameters);
      EXPECT_EQ(spread.record.outputs, one.record.outputs);
      ASSERT_TRUE(spread.record.test && one.record.test);
      EXPECT_EQ(spread.record.test->more, one.record.test->more);
    }
  }
}

TEST_F(NumberTraining, PredictsThemAndScoresTheBestEpoch) {
  ASSERT_OK_AND_ASSIGN(const auto result, run({"train.epochs=120", "eval.metric=r2"}));

  const auto& test = *result.record.test;
  EXPECT_GT(*test.by_name("r2"), 0.9);
  double squares = 0;
  double count = 0;
  ASSERT_TRUE(result.only_outputs());
  ASSERT_EQ(result.only_outputs()->rows(), test_.size());
  for (std::size_t i = 0; i < test_.size(); ++i) {
    for (std::size_t c = 0; c < 2; ++c) {
      const float number = y_[2 * static_cast<std::size_t>(test_[i]) + c];
      if (!std::isnan(number)) {
        squares += std::pow(double{result.only_outputs()->view().row(i)[c]} - number, 2);
        count += 1;
      }
    }
  }
  EXPECT_NEAR(*test.by_name("rmse"), std::sqrt(squares / count), 1e-6);
  EXPECT_EQ(static_cast<double>(test.labelled), count);
  double best = -1e9;
  std::uint32_t epoch = 0;
  for (const auto& record : result.record.epochs) {
    if (*record.valid->by_name("r2") > best) {
      best = *record.valid->by_name("r2");
      epoch = record.epoch;
    }
  }
  EXPECT_EQ(result.record.best_epoch, epoch);
}

TEST_F(NumberTraining, EveryLossHasItsBestEpochAndTheBitsOfOneLayout) {
  for (const char* loss : {"train.loss=mae", "train.loss=huber"}) {
    SCOPED_TRACE(loss);
    const Settings way{loss, "cluster.trainers_per_host=2"};
    ASSERT_OK_AND_ASSIGN(const auto one, run(way));
    ASSERT_OK_AND_ASSIGN(const auto spread, run({loss, "cluster.hosts=2", "partition.parts=3"}));
    EXPECT_EQ(spread.record.parameters, one.record.parameters);
    EXPECT_EQ(spread.record.outputs, one.record.outputs);
    ASSERT_OK_AND_ASSIGN(const auto squares, run({"cluster.trainers_per_host=2"}));
    EXPECT_NE(squares.record.parameters, one.record.parameters);
    EXPECT_EQ(squares.record.batches, one.record.batches);
  }
}

TEST_F(NumberTraining, MaeIsTheScoreThatItsLossIsChosenBy) {
  ASSERT_OK_AND_ASSIGN(const auto result, run({"train.epochs=120", "train.loss=mae"}));

  EXPECT_LT(*result.record.test->by_name("mae"), 0.4);
  double best = 1e9;
  std::uint32_t epoch = 0;
  for (const auto& record : result.record.epochs) {
    if (*record.valid->by_name("mae") < best) {
      best = *record.valid->by_name("mae");
      epoch = record.epoch;
    }
  }
  EXPECT_EQ(result.record.best_epoch, epoch);
}

TEST_F(NumberTraining, OtherLossesAreRefused) {
  const auto wrong = run({"train.loss=cross_entropy", "train.epochs=1"});
  EXPECT_FALSE(wrong.ok());
}

}  // namespace
}  // namespace troupe
