#include "runtime/run/learner.hpp"

#include "tests/support/expect.hpp"

#include <cmath>

namespace troupe {
namespace {

LearnerOptions options(const std::string& loss = "cross_entropy") {
  LearnerOptions o;
  o.model.layers = 1;
  o.model.in_dim = 2;
  o.model.hidden = 4;
  o.model.out_dim = loss == "bce_logits" ? 1 : 2;
  o.optimizer.kind = "sgd";
  o.optimizer.lr = 0.1;
  o.loss = loss;
  o.job_seed = 3;
  return o;
}

/// Two distinct nodes; node 0 has node 1 as its neighbour. `seeds` index them.
Batch batch(std::vector<std::uint32_t> seeds, std::vector<std::int64_t> labels) {
  auto sampled = std::make_shared<SampledBatch>();
  sampled->hops = 1;
  sampled->seed_index = std::move(seeds);
  sampled->nodes.resize(1);
  sampled->nodes[0].ids = {NodeId{0}, NodeId{1}};
  sampled->nodes[0].hop_end = {2, 2};
  sampled->edges.resize(1);
  sampled->edges[0].offsets = {0, 1, 1};
  sampled->edges[0].sources = {1};
  sampled->edges[0].row_begin = {0, 2};
  Batch b;
  b.sampled = std::move(sampled);
  b.rows.resize(1);
  b.rows[0].features = Matrix(2, 2);
  const std::vector<float> x = {1.0F, -0.5F, 0.25F, 2.0F};
  std::copy(x.begin(), x.end(), b.rows[0].features.data());
  b.rows[0].original_ids = {OriginalId{0}, OriginalId{1}};
  b.labels = std::move(labels);
  return b;
}

std::unique_ptr<Learner> make(const LearnerOptions& o) {
  auto learner = Learner::create(o);
  EXPECT_OK(learner);
  return *std::move(learner);
}

std::vector<float> copy(std::span<const float> values) {
  return {values.begin(), values.end()};
}

TEST(Learner, DuplicateSeedsCountAsOftenAsTheyOccur) {
  InlineExecutor executor;
  const auto learner = make(options());

  ASSERT_OK_AND_ASSIGN(const auto once, learner->compute(executor, batch({0}, {1})));
  const auto gradient_once = copy(once.gradient);
  const auto loss_once = once.loss_sum;
  ASSERT_OK_AND_ASSIGN(const auto twice, learner->compute(executor, batch({0, 0}, {1, 1})));

  EXPECT_EQ(twice.weight, 2U);
  EXPECT_DOUBLE_EQ(twice.loss_sum, 2 * loss_once);
  for (std::size_t i = 0; i < gradient_once.size(); ++i) {
    EXPECT_FLOAT_EQ(twice.gradient[i], 2 * gradient_once[i]);
  }
}

TEST(Learner, UnlabelledSeedsAddNothing) {
  InlineExecutor executor;
  const auto learner = make(options());

  ASSERT_OK_AND_ASSIGN(const auto one, learner->compute(executor, batch({0}, {1})));
  const auto gradient = copy(one.gradient);
  ASSERT_OK_AND_ASSIGN(const auto both, learner->compute(executor, batch({0, 1}, {1, -1})));
  EXPECT_EQ(both.weight, 1U);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    EXPECT_FLOAT_EQ(both.gradient[i], gradient[i]);
  }
  ASSERT_OK_AND_ASSIGN(const auto none, learner->compute(executor, batch({1}, {-1})));
  EXPECT_EQ(none.weight, 0U);
  EXPECT_TRUE(none.gradient.empty());
}

TEST(Learner, AnEmptyBatchHasWeightZeroAndNoOutputs) {
  InlineExecutor executor;
  const auto learner = make(options());
  auto empty = batch({}, {});

  ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, empty));
  ASSERT_OK_AND_ASSIGN(const auto outputs, learner->outputs(executor, empty));

  EXPECT_EQ(share.weight, 0U);
  EXPECT_EQ(outputs.rows(), 0U);
}

TEST(Learner, AppliesTheMeanGradientAndNothingForWeightZero) {
  InlineExecutor executor;
  const auto learner = make(options());
  const auto before = *learner->snapshot();
  ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, batch({0}, {1})));
  const auto gradient = copy(share.gradient);

  learner->apply(gradient, 0);
  EXPECT_EQ(*learner->snapshot(), before);
  learner->apply(gradient, 1);

  const auto after = *learner->snapshot();
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(after[i], before[i] - 0.1F * gradient[i], 1e-6);
  }
  EXPECT_EQ(learner->steps(), 2U);
}

TEST(Learner, BinaryLogitsLearnFromLabelsZeroAndOne) {
  InlineExecutor executor;
  const auto learner = make(options("bce_logits"));
  const auto b = batch({0, 1}, {1, 0});

  ASSERT_OK_AND_ASSIGN(const auto outputs, learner->outputs(executor, b));
  ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, b));

  const double x0 = outputs.data()[0];
  const double x1 = outputs.data()[1];
  EXPECT_EQ(share.weight, 2U);
  EXPECT_NEAR(share.loss_sum, std::log1p(std::exp(-x0)) + std::log1p(std::exp(x1)), 1e-5);
  double first = share.loss_sum;
  double last = first;
  for (int step = 0; step < 50; ++step) {
    ASSERT_OK_AND_ASSIGN(const auto next, learner->compute(executor, b));
    last = next.loss_sum;
    auto mean = copy(next.gradient);
    for (auto& value : mean) {
      value /= 2;
    }
    learner->apply(mean, 2);
  }
  EXPECT_LT(last, first);
}

TEST(Learner, BestParametersAreThoseKept) {
  InlineExecutor executor;
  const auto learner = make(options());
  const auto start = *learner->snapshot();
  learner->keep_best();
  ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, batch({0}, {1})));

  learner->apply(copy(share.gradient), 1);

  EXPECT_EQ(*learner->best(), start);
  EXPECT_NE(*learner->snapshot(), start);
  EXPECT_NE(digest_parameters(*learner->best()), digest_parameters(*learner->snapshot()));
}

TEST(Learner, RefusesBatchesThatDoNotFit) {
  InlineExecutor executor;
  const auto learner = make(options());
  auto narrow = batch({0}, {1});
  narrow.rows[0].features = Matrix(2, 1);
  auto unlabelled = batch({0}, {});

  EXPECT_ERROR(learner->compute(executor, narrow), Errc::failed_precondition, "expected 2 columns");
  EXPECT_ERROR(learner->compute(executor, unlabelled), Errc::failed_precondition, "labels");
  auto unknown = options();
  unknown.loss = "hinge";
  EXPECT_ERROR(Learner::create(unknown), Errc::invalid_argument, "hinge");
}

}  // namespace
}  // namespace troupe
