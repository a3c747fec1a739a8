// Numbers of nodes to predict: loss and scores against NumPy, from y.npy to a trained model by way of a store.
#include "runtime/data/npy_import.hpp"
#include "runtime/nn/number_losses.hpp"
#include "runtime/nn/ops/cpu_block_ops.hpp"
#include "runtime/partition/partitioner.hpp"
#include "runtime/run/scoring.hpp"
#include "runtime/run/task/task.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/runtime/run/learner_support.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/npy_reader.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace troupe {
namespace {

constexpr float unknown_number = std::numeric_limits<float>::quiet_NaN();

template <class T>
std::vector<T> regression_golden(const std::string& name) {
  const auto values = testing::read_npy(std::filesystem::path(TROUPE_SOURCE_DIR) / "tests" /
                                        "goldens" / "regression" / (name + ".npy"))
                          .as<T>();
  return {values.begin(), values.end()};
}

TEST(Regression, ScoresAreThoseOfNumPy) {
  const auto outputs = testing::matrix_of(57, 3, regression_golden<float>("outputs"));
  const auto expected = regression_golden<double>("scores");

  const auto scores = score_numbers(outputs.view(), regression_golden<float>("numbers"));

  EXPECT_NEAR(*scores.by_name("rmse"), expected[0], 1e-12);
  EXPECT_NEAR(*scores.by_name("mae"), expected[1], 1e-12);
  EXPECT_NEAR(*scores.by_name("r2"), expected[2], 1e-12);
  EXPECT_EQ(static_cast<double>(scores.labelled), expected[3]);
  EXPECT_FALSE(scores.accuracy || scores.auc || scores.f1);
}

TEST(Regression, ScoresOfNothingOrOfEqualNumbersAreNotDefined) {
  const auto outputs = testing::matrix_of(3, 1, {1, 2, 3});
  const auto none = score_numbers(
      outputs.view(), std::vector<float>{unknown_number, unknown_number, unknown_number});
  EXPECT_EQ(none.labelled, 0U);
  EXPECT_TRUE(none.more.empty());

  const auto equal = score_numbers(outputs.view(), std::vector<float>{2, unknown_number, 2});
  EXPECT_EQ(equal.labelled, 2U);
  EXPECT_DOUBLE_EQ(*equal.by_name("mae"), 1);
  EXPECT_FALSE(equal.by_name("r2"));
  EXPECT_FALSE(lower_is_better("r2"));
  EXPECT_TRUE(lower_is_better("rmse"));
}

/// A batch of 57 seeds whose rows are the outputs.
Batch golden_batch(Matrix targets) {
  auto sampled = std::make_shared<SampledBatch>();
  sampled->nodes.resize(1);
  for (std::uint32_t i = 0; i < 57; ++i) {
    sampled->seed_index.push_back(i);
    sampled->nodes[0].ids.push_back(NodeId{i});
  }
  Batch batch;
  batch.sampled = std::move(sampled);
  batch.targets = std::move(targets);
  return batch;
}

LearnerOptions number_learner(const std::string& loss, double delta = 1) {
  auto options = testing::small_learner();
  options.model.in_dim = 2;
  options.model.out_dim = 3;
  options.loss = loss;
  options.delta = delta;
  return options;
}

/// \param prefix  of the files of the loss
void expect_golden_loss(const LearnerOptions& options, const std::string& prefix) {
  SCOPED_TRACE(options.loss);
  ASSERT_OK_AND_ASSIGN(const auto network, nn::make_network(options.model));
  nn::CpuBlockOps ops;
  ASSERT_OK_AND_ASSIGN(const auto task, make_task(task_options(options), *network, ops));
  const auto batch = golden_batch(testing::matrix_of(57, 3, regression_golden<float>("numbers")));
  ASSERT_OK(task->check(batch));
  const auto outputs = testing::matrix_of(57, 3, regression_golden<float>("outputs"));
  const std::vector<ConstMatrix> rows{outputs.view()};
  InlineExecutor executor;
  TaskGradients gradients;

  const auto weight = task->loss({.executor = executor, .batch = batch, .rows = rows}, gradients);

  ASSERT_OK_AND_ASSIGN(const double sum, task->loss_sum()());
  EXPECT_NEAR(sum, regression_golden<double>(prefix + "loss")[0], 1e-9);
  EXPECT_EQ(static_cast<double>(weight), regression_golden<double>("scores")[3]);
  const auto expected = regression_golden<float>(prefix + "grad");
  ASSERT_EQ(gradients.rows.front().flat().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(gradients.rows.front().data[i], expected[i], 1e-6);
  }
  EXPECT_ERROR(task->check(golden_batch(Matrix(57, 2))), Errc::failed_precondition,
               "targets: expected 3 columns for 57 seeds, found 2 for 57");
}

TEST(Regression, LossesAndGradientsAreThoseOfNumPy) {
  expect_golden_loss(number_learner("mse"), "");
  expect_golden_loss(number_learner("mae"), "mae_");
  expect_golden_loss(number_learner("huber", 0.75), "huber_");
}

TEST(Regression, SlopesOfTermsAreTheirDifferences) {
  for (const auto& kind : nn::number_loss_kinds()) {
    for (const double delta : {0.25, 1.0, 3.0}) {
      ASSERT_OK_AND_ASSIGN(const auto loss, nn::make_number_loss(kind.name, delta));
      for (const double at : {-5.0, -0.6, -0.1, 0.1, 0.6, 2.9, 5.0}) {
        const double step = 1e-6;
        const double slope =
            (nn::number_term(loss, at + step).loss - nn::number_term(loss, at - step).loss) /
            (2 * step);
        EXPECT_NEAR(nn::number_term(loss, at).slope, slope, 1e-6) << kind.name << " at " << at;
      }
      EXPECT_EQ(nn::number_term(loss, 0).slope, 0);
      EXPECT_EQ(nn::number_term(loss, 0).loss, 0);
      EXPECT_TRUE(std::isnan(nn::number_term(loss, NAN).loss));
      EXPECT_TRUE(std::isnan(nn::number_term(loss, NAN).slope));
    }
  }
}

TEST(Regression, HuberIsContinuousAtItsDelta) {
  const nn::NumberLoss loss{.rule = nn::NumberRule::huber, .delta = 0.75};
  const double below = std::nextafter(0.75, 0.0);
  EXPECT_NEAR(nn::number_term(loss, below).loss, nn::number_term(loss, 0.75).loss, 1e-15);
  EXPECT_NEAR(nn::number_term(loss, -below).slope, nn::number_term(loss, -0.75).slope, 1e-15);
  EXPECT_EQ(nn::number_term(loss, -10).slope, -0.75);
}

TEST(Regression, RefusesLossesAndDeltasThatDoNotFit) {
  for (const double bad : {0.0, -1.0, static_cast<double>(NAN), HUGE_VAL}) {
    EXPECT_ERROR(Learner::create(number_learner("huber", bad)), Errc::invalid_argument,
                 "train.delta: expected a positive number");
  }
  EXPECT_ERROR(Learner::create(number_learner("l1")), Errc::invalid_argument,
               "expected cross_entropy, bce_logits, mse, mae, huber, found l1");
  EXPECT_ERROR(nn::make_number_loss("bce", 1), Errc::invalid_argument,
               "expected mse, mae, huber of numbers, found bce");
}

TEST(Regression, LearnsNumbers) {
  auto options = testing::small_learner();
  options.model.in_dim = 2;
  options.optimizer.lr = 0.05;
  for (const auto& loss : nn::number_loss_kinds()) {
    SCOPED_TRACE(loss.name);
    options.loss = loss.name;
    auto learner = testing::make(options);
    auto batch = testing::two_nodes({0, 1}, {});
    batch.targets = testing::matrix_of(2, 2, {4, -1, unknown_number, 2.5F});
    testing::expect_learns(*learner, batch);
  }
}

// ---- stores ----

class NumberStore : public ::testing::Test {
 protected:
  void write(const std::string& meta, const std::vector<float>& y, std::uint64_t cols) {
    testing::save_npy<std::int32_t>(temp_ / "in/edge_index.npy", {2, 4}, {0, 1, 2, 3, 1, 2, 3, 0});
    if (cols == 0) {
      testing::save_npy<float>(temp_ / "in/y.npy", {y.size()}, y);
    } else {
      testing::save_npy<float>(temp_ / "in/y.npy", {y.size() / cols, cols}, y);
    }
    std::ofstream(temp_ / "in/meta.json") << meta;
  }
  testing::TempDir temp_;
};

TEST_F(NumberStore, KeepsThemFromImportToParts) {
  const std::vector<float> y{1.5F, -2, unknown_number, 1e9F, 0, 0.25F, 7, 8};
  write(R"({"labels": "numbers"})", y, 2);
  ASSERT_OK_AND_ASSIGN(const auto info, import_npy(temp_ / "in", temp_ / "graph"));
  ASSERT_TRUE(info.node_types[0].labels);
  EXPECT_EQ(info.node_types[0].labels->kind, LabelInfo::Kind::numbers);
  EXPECT_EQ(info.node_types[0].labels->classes, 2U);
  ASSERT_OK_AND_ASSIGN(const auto graph, GraphStore::open(temp_ / "graph", {}));
  ASSERT_OK(partition_store(graph, {.parts = 2, .seed = 4}, temp_ / "parts"));
  ASSERT_OK_AND_ASSIGN(const auto store, PartitionedStore::open(temp_ / "parts", {}));
  EXPECT_EQ(store.info().node_types[0].labels->kind, LabelInfo::Kind::numbers);
  std::size_t seen = 0;
  for (std::uint32_t p = 0; p < 2; ++p) {
    ASSERT_OK_AND_ASSIGN(const auto part, store.load_part(PartId{p}));
    const auto& nodes = part->nodes_of(NodeTypeId{0});
    for (std::uint64_t local = 0; local < nodes.count; ++local) {
      for (std::uint64_t c = 0; c < 2; ++c, ++seen) {
        const float found = nodes.targets[local * 2 + c];
        const float expected = y[nodes.original_ids[local] * 2 + c];
        EXPECT_TRUE(found == expected || (std::isnan(found) && std::isnan(expected)));
      }
    }
  }
  EXPECT_EQ(seen, 8U);
}

TEST_F(NumberStore, OfOneColumnNeedNoMatrix) {
  write(R"({"labels": "numbers"})", {3, 1, 4, 1}, 0);
  ASSERT_OK_AND_ASSIGN(const auto info, import_npy(temp_ / "in", temp_ / "graph"));
  EXPECT_EQ(info.node_types[0].labels->classes, 1U);
}

TEST_F(NumberStore, AreAskedForAndFinite) {
  write("{}", {3, 1, 4, 1.5F}, 0);
  EXPECT_ERROR(import_npy(temp_ / "in", temp_ / "graph"), Errc::invalid_argument,
               "y.npy: expected integers [nodes] or targets [nodes, labels]");
  write(R"({"labels": "words"})", {3, 1, 4, 1.5F}, 0);
  EXPECT_ERROR(import_npy(temp_ / "in", temp_ / "graph"), Errc::invalid_argument,
               "labels: expected \"classes\" or \"numbers\", found \"words\"");
  write(R"({"labels": "numbers"})", {3, 1, 4, std::numeric_limits<float>::infinity()}, 0);
  EXPECT_ERROR(import_npy(temp_ / "in", temp_ / "graph"), Errc::invalid_argument, "y.npy");
}

}  // namespace
}  // namespace troupe
