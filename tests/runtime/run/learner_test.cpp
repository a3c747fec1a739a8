#include "runtime/run/learner.hpp"

#include "tests/runtime/run/learner_support.hpp"

#include <cmath>

namespace troupe {
namespace {

using namespace testing;

LearnerOptions options(const std::string& loss = "cross_entropy") {
  auto o = small_learner();
  o.model.in_dim = 2;
  o.model.out_dim = loss == "bce_logits" ? 1 : 2;
  o.loss = loss;
  return o;
}

std::vector<float> copy(std::span<const float> values) {
  return {values.begin(), values.end()};
}

TEST(Learner, DuplicateSeedsCountAsOftenAsTheyOccur) {
  InlineExecutor executor;
  const auto learner = make(options());

  ASSERT_OK_AND_ASSIGN(const auto once, learner->compute(executor, two_nodes({0}, {1})));
  const auto gradient_once = copy(once.gradient);
  const auto loss_once = once.loss_sum;
  ASSERT_OK_AND_ASSIGN(const auto twice, learner->compute(executor, two_nodes({0, 0}, {1, 1})));

  EXPECT_EQ(twice.weight, 2U);
  EXPECT_DOUBLE_EQ(twice.loss_sum, 2 * loss_once);
  for (std::size_t i = 0; i < gradient_once.size(); ++i) {
    EXPECT_FLOAT_EQ(twice.gradient[i], 2 * gradient_once[i]);
  }
}

TEST(Learner, AStepWithItsOwnGradientEqualsOneWithTheMeanOfOneRank) {
  InlineExecutor executor;
  const auto alone = make(options());
  const auto at_once = make(options());
  const auto one_of_one = make(options());
  const auto of_three = two_nodes({0, 1, 0}, {1, 0, 0});
  for (int step = 0; step < 5; ++step) {
    ASSERT_OK_AND_ASSIGN(const auto own, alone->compute(executor, of_three));
    alone->apply_own(own.weight);
    ASSERT_OK_AND_ASSIGN(const auto of_one,
                         at_once->compute(executor, of_three, nullptr, Learner::Gradient::applied));
    EXPECT_DOUBLE_EQ(of_one.loss_sum, own.loss_sum);
    ASSERT_OK_AND_ASSIGN(const auto share, one_of_one->compute(executor, of_three));
    auto mean = copy(share.gradient);
    for (auto& g : mean) {
      g /= static_cast<float>(share.weight);
    }
    one_of_one->apply(mean, share.weight);
  }
  EXPECT_EQ(*alone->snapshot(), *one_of_one->snapshot());
  EXPECT_EQ(*at_once->snapshot(), *one_of_one->snapshot());
  EXPECT_EQ(at_once->steps(), 5U);
  ASSERT_OK(
      at_once->compute(executor, two_nodes({0, 1}, {-1, -1}), nullptr, Learner::Gradient::applied));
  EXPECT_EQ(*at_once->snapshot(), *one_of_one->snapshot());
  EXPECT_EQ(at_once->steps(), 6U);

  const auto before = *alone->snapshot();
  alone->apply_own(0);

  EXPECT_EQ(*alone->snapshot(), before);
  EXPECT_EQ(alone->steps(), 6U);
}

/// Ends of the running statistics in the parameters, and the values there.
std::vector<float> statistics_of(const Learner& learner) {
  std::vector<float> values;
  const auto parameters = learner.snapshot();
  for (const auto& slice : learner.network().layout()) {
    if (!slice.trained) {
      const auto begin = parameters->begin() + static_cast<std::ptrdiff_t>(slice.offset);
      values.insert(values.end(), begin, begin + static_cast<std::ptrdiff_t>(slice.size()));
    }
  }
  return values;
}

LearnerOptions with_batch_norm() {
  auto o = options();
  o.model.layers = 2;
  o.model.batch_norm = true;
  o.optimizer.weight_decay = 0.5;
  o.clip = 1e-3;
  return o;
}

TEST(Learner, RunningStatisticsMoveByATenthWhateverOptimizerAndClipDo) {
  InlineExecutor executor;
  auto sgd = with_batch_norm();
  sgd.optimizer.kind = "sgd";
  const auto one = make(with_batch_norm());
  const auto other = make(sgd);
  ASSERT_OK_AND_ASSIGN(const auto share,
                       one->compute(executor, two_hops_of(two_nodes({0, 1}, {1, 0}))));
  ASSERT_OK_AND_ASSIGN(const auto same,
                       other->compute(executor, two_hops_of(two_nodes({0, 1}, {1, 0}))));
  ASSERT_EQ(same.weight, 2U);
  const auto before = statistics_of(*one);
  ASSERT_FALSE(before.empty());
  std::vector<float> expected = before;
  std::size_t next = 0;
  for (const auto& slice : one->network().layout()) {
    for (std::size_t i = slice.offset; !slice.trained && i < slice.offset + slice.size(); ++i) {
      const float of_batch = share.gradient[i] / 2;  // weighted by the seeds
      expected[next] = 0.9F * before[next] + 0.1F * of_batch;
      ++next;
    }
  }

  one->apply_own(share.weight);
  other->apply_own(same.weight);

  const auto after = statistics_of(*one);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_FLOAT_EQ(after[i], expected[i]) << i;
  }
  EXPECT_EQ(statistics_of(*other), after);
  EXPECT_NE(after, before);
}

TEST(Learner, RunningStatisticsOfTwoRanksAreTheirMeanBySeeds) {
  InlineExecutor executor;
  const auto first = make(with_batch_norm());
  const auto second = make(with_batch_norm());
  ASSERT_OK_AND_ASSIGN(const auto a,
                       first->compute(executor, two_hops_of(two_nodes({0, 1, 0}, {1, 0, 1}))));
  ASSERT_OK_AND_ASSIGN(const auto b, second->compute(executor, two_hops_of(two_nodes({1}, {0}))));
  std::vector<float> mean(a.gradient.size());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    mean[i] = (0.0F + a.gradient[i] + b.gradient[i]) / 4;
  }
  std::vector<float> expected;
  const auto before = statistics_of(*first);
  for (const auto& slice : first->network().layout()) {
    for (std::size_t i = slice.offset; !slice.trained && i < slice.offset + slice.size(); ++i) {
      const float of_ranks = (3 * (a.gradient[i] / 3) + b.gradient[i]) / 4;
      expected.push_back(0.9F * before[expected.size()] + 0.1F * of_ranks);
    }
  }

  first->apply(mean, 4);
  second->apply(mean, 4);

  const auto after = statistics_of(*first);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_FLOAT_EQ(after[i], expected[i]) << i;
  }
  EXPECT_EQ(*first->snapshot(), *second->snapshot());
}

TEST(Learner, UnlabelledSeedsAddNothing) {
  InlineExecutor executor;
  const auto learner = make(options());

  ASSERT_OK_AND_ASSIGN(const auto one, learner->compute(executor, two_nodes({0}, {1})));
  const auto gradient = copy(one.gradient);
  ASSERT_OK_AND_ASSIGN(const auto both, learner->compute(executor, two_nodes({0, 1}, {1, -1})));
  EXPECT_EQ(both.weight, 1U);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    EXPECT_FLOAT_EQ(both.gradient[i], gradient[i]);
  }
  ASSERT_OK_AND_ASSIGN(const auto none, learner->compute(executor, two_nodes({1}, {-1})));
  EXPECT_EQ(none.weight, 0U);
  EXPECT_TRUE(none.gradient.empty());
}

TEST(Learner, AnEmptyBatchHasWeightZeroAndNoOutputs) {
  InlineExecutor executor;
  const auto learner = make(options());
  auto empty = two_nodes({}, {});

  ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, empty));
  ASSERT_OK_AND_ASSIGN(const auto outputs, learner->outputs(executor, empty));

  EXPECT_EQ(share.weight, 0U);
  EXPECT_EQ(outputs.rows(), 0U);
}

TEST(Learner, AppliesTheMeanGradientAndNothingForWeightZero) {
  InlineExecutor executor;
  const auto learner = make(options());
  const auto before = *learner->snapshot();
  ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, two_nodes({0}, {1})));
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

/// p·y·softplus(-x) + (1-y)·softplus(x), as PyTorch's binary_cross_entropy_with_logits.
TEST(Learner, PositiveTargetsCountAsTheJobSays) {
  InlineExecutor executor;
  auto weighted = options("bce_logits");
  weighted.pos_weight = 3;
  const auto learner = make(weighted);
  const auto plain = make(options("bce_logits"));
  const auto b = two_nodes({0, 1}, {1, 0});

  ASSERT_OK_AND_ASSIGN(const auto outputs, learner->outputs(executor, b));
  ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, b));
  ASSERT_OK_AND_ASSIGN(const auto without, plain->compute(executor, b));

  const double x0 = outputs.data()[0];
  const double x1 = outputs.data()[1];
  EXPECT_NEAR(share.loss_sum, 3 * std::log1p(std::exp(-x0)) + std::log1p(std::exp(x1)), 1e-5);
  EXPECT_NE(copy(share.gradient), copy(without.gradient));
  weighted.pos_weight = 0;
  EXPECT_ERROR(Learner::create(weighted), Errc::invalid_argument, "train.pos_weight");
}

/// The share of a seed is that of the seed alone, as often as its class counts.
TEST(Learner, ClassesCountAsTheJobSays) {
  InlineExecutor executor;
  auto weighted = options();
  weighted.class_weights = {.of_class = {3, 8}};
  const auto learner = make(weighted);
  const auto plain = make(options());

  ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, two_nodes({0, 1}, {1, 0})));
  ASSERT_OK_AND_ASSIGN(const auto first, plain->compute(executor, two_nodes({0}, {1})));
  const auto of_first = copy(first.gradient);
  const double loss_of_first = first.loss_sum;
  ASSERT_OK_AND_ASSIGN(const auto second, plain->compute(executor, two_nodes({1}, {0})));

  EXPECT_EQ(share.weight, 11U);
  EXPECT_NEAR(share.loss_sum, 8 * loss_of_first + 3 * second.loss_sum, 1e-6);
  for (std::size_t i = 0; i < of_first.size(); ++i) {
    EXPECT_NEAR(share.gradient[i], 8 * of_first[i] + 3 * second.gradient[i], 1e-5) << i;
  }
}

TEST(Learner, WeightsOfClassesAreAsManyAsOutputs) {
  for (const char* loss : {"cross_entropy", "bce_logits", "mse"}) {
    auto wrong = options(loss);
    wrong.class_weights = {.of_class = {1, 2, 3}};
    EXPECT_ERROR(Learner::create(wrong), Errc::invalid_argument, "train.class_weights: expected");
  }
}

TEST(Learner, BinaryLogitsLearnFromLabelsZeroAndOne) {
  InlineExecutor executor;
  const auto learner = make(options("bce_logits"));
  const auto b = two_nodes({0, 1}, {1, 0});

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
  ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, two_nodes({0}, {1})));

  learner->apply(copy(share.gradient), 1);

  EXPECT_EQ(*learner->best(), start);
  EXPECT_NE(*learner->snapshot(), start);
  EXPECT_NE(digest_parameters(*learner->best()), digest_parameters(*learner->snapshot()));
}

TEST(Learner, GivesOutputsOfTheBestParametersToo) {
  InlineExecutor executor;
  const auto learner = make(options());
  const auto b = two_nodes({0, 1}, {1, 0});
  const auto numbers = [](const Matrix& m) { return copy(m.view().flat()); };
  ASSERT_OK_AND_ASSIGN(const auto start, learner->outputs(executor, b));
  ASSERT_OK_AND_ASSIGN(const auto none_kept, learner->best_outputs(executor, b));
  EXPECT_EQ(numbers(none_kept), numbers(start));
  learner->keep_best();
  ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, b));

  learner->apply(copy(share.gradient), 2);

  ASSERT_OK_AND_ASSIGN(const auto now, learner->outputs(executor, b));
  ASSERT_OK_AND_ASSIGN(const auto best, learner->best_outputs(executor, b));
  EXPECT_EQ(numbers(best), numbers(start));
  EXPECT_NE(numbers(now), numbers(start));
}

/// Steps on batches whose labels change with the number of steps done.
void train(Learner& learner, std::uint32_t steps) {
  InlineExecutor executor;
  for (std::uint32_t step = 0; step < steps; ++step) {
    const std::int64_t label = static_cast<std::int64_t>(learner.steps() % 2);
    ASSERT_OK_AND_ASSIGN(const auto share,
                         learner.compute(executor, two_nodes({0, 1}, {label, 1})));
    auto mean = copy(share.gradient);
    for (auto& value : mean) {
      value /= static_cast<float>(share.weight);
    }
    learner.apply(mean, share.weight);
  }
}

TEST(Learner, GoesOnWithTheSameBitsAfterRestore) {
  std::vector<nn::OptimizerOptions> optimizers(6);
  optimizers[0] = {.kind = "sgd", .lr = 0.1, .weight_decay = 0.01};
  optimizers[1] = {.kind = "sgd", .lr = 0.1, .momentum = 0.9};
  optimizers[2] = {.kind = "sgd", .lr = 0.1, .momentum = 0.9, .nesterov = true};
  optimizers[3] = {.kind = "adam", .lr = 0.01, .weight_decay = 0.01};
  optimizers[4] = {.kind = "adamw", .lr = 0.01, .weight_decay = 0.01};
  optimizers[5] = {.kind = "adagrad", .lr = 0.01, .weight_decay = 0.01, .eps = 1e-10};
  for (const auto& optimizer : optimizers) {
    for (const std::uint32_t before : {0U, 1U, 3U}) {
      auto o = options();
      o.optimizer = optimizer;
      const auto undisturbed = make(o);
      train(*undisturbed, before);
      undisturbed->keep_best();
      const auto fresh = make(o);

      EXPECT_OK(fresh->restore(*undisturbed->snapshot(), undisturbed->optimizer_state(),
                               *undisturbed->best(), undisturbed->steps()));
      train(*undisturbed, 4);
      train(*fresh, 4);

      EXPECT_EQ(*fresh->snapshot(), *undisturbed->snapshot()) << optimizer.kind << before;
      EXPECT_EQ(*fresh->best(), *undisturbed->best());
      EXPECT_EQ(fresh->steps(), before + 4U);
      EXPECT_EQ(fresh->optimizer_state().arrays, undisturbed->optimizer_state().arrays);
    }
  }
}

TEST(Learner, RefusesATrainingStateOfAnotherModelAndStaysAsItWas) {
  const auto learner = make(options());
  const auto start = *learner->snapshot();
  const auto state = learner->optimizer_state();
  auto other = options();
  other.optimizer.kind = "adam";

  EXPECT_ERROR(learner->restore({1, 2}, state, {}, 1), Errc::data_corruption, "found 2");
  EXPECT_ERROR(learner->restore(start, state, {1}, 1), Errc::data_corruption, "1 of the best");
  EXPECT_ERROR(learner->restore(start, make(other)->optimizer_state(), {}, 1),
               Errc::data_corruption, "expected 0 arrays, got 2");
  EXPECT_EQ(*learner->snapshot(), start);
  EXPECT_EQ(learner->steps(), 0U);
}

TEST(Learner, ClipsTheMeanGradientBeforeTheOptimizer) {
  InlineExecutor executor;
  auto o = options();
  o.clip = 1e-3;
  const auto clipped = make(o);
  const auto before = *clipped->snapshot();
  ASSERT_OK_AND_ASSIGN(const auto share, clipped->compute(executor, two_nodes({0}, {1})));
  double squares = 0;
  for (const float g : share.gradient) {
    squares += static_cast<double>(g) * g;
  }
  ASSERT_GT(std::sqrt(squares), o.clip);

  clipped->apply(share.gradient, 1);  // also where the gradient is the learner's own

  const auto after = *clipped->snapshot();
  double moved = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    moved += std::pow(static_cast<double>(after[i]) - before[i], 2);
  }
  EXPECT_NEAR(std::sqrt(moved), 0.1 * o.clip, 1e-6);
}

TEST(Learner, TheRateIsThatOfTheEpochHoweverItGotThere) {
  auto o = options();
  o.schedule = {.kind = "step", .step_epochs = 2, .factor = 0.5};
  o.epochs = 6;
  const auto straight = make(o);
  for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
    straight->begin_epoch(epoch);
    train(*straight, 1);
  }
  const auto continued = make(o);
  EXPECT_OK(continued->restore(*straight->snapshot(), straight->optimizer_state(), {}, 4));

  for (const auto& learner : {straight.get(), continued.get()}) {
    learner->begin_epoch(4);
    train(*learner, 2);
  }

  EXPECT_EQ(*continued->snapshot(), *straight->snapshot());
  const auto constant = make(options());
  EXPECT_OK(constant->restore(*make(o)->snapshot(), straight->optimizer_state(), {}, 0));
  const auto start = *constant->snapshot();
  const auto slow = make(o);
  slow->begin_epoch(4);  // a quarter of the rate
  train(*slow, 1);
  train(*constant, 1);
  for (std::size_t i = 0; i < start.size(); ++i) {
    EXPECT_NEAR(4 * ((*slow->snapshot())[i] - start[i]), (*constant->snapshot())[i] - start[i],
                1e-6);
  }
}

Batch multilabel_batch(const std::vector<float>& targets, std::size_t cols) {
  auto b = two_nodes({0, 1}, {});
  b.targets = matrix_of(2, cols, targets);
  return b;
}

TEST(Learner, MultiLabelTargetsCountOncePerKnownEntry) {
  InlineExecutor executor;
  auto o = options("bce_logits");
  o.model.out_dim = 3;
  const auto learner = make(o);
  const auto b = multilabel_batch({1, 0, NAN, NAN, 1, NAN}, 3);

  ASSERT_OK_AND_ASSIGN(const auto outputs, learner->outputs(executor, b));
  ASSERT_OK_AND_ASSIGN(const auto share, learner->compute(executor, b));

  const float* x = outputs.data();
  const auto softplus = [](double v) { return std::log1p(std::exp(v)); };
  EXPECT_EQ(share.weight, 3U);
  EXPECT_NEAR(share.loss_sum, softplus(-x[0]) + softplus(x[1]) + softplus(-x[4]), 1e-5);
  ASSERT_OK_AND_ASSIGN(
      const auto none,
      learner->compute(executor, multilabel_batch({NAN, NAN, NAN, NAN, NAN, NAN}, 3)));
  EXPECT_EQ(none.weight, 0U);
  EXPECT_TRUE(none.gradient.empty());
}

TEST(Learner, RefusesTargetsAndLabelsThatDoNotFitTheLoss) {
  InlineExecutor executor;
  auto o = options("bce_logits");
  o.model.out_dim = 3;
  const auto multi = make(o);
  const auto binary = make(options("bce_logits"));
  const auto classes = make(options());

  EXPECT_ERROR(multi->compute(executor, multilabel_batch({1, 0, 1, 0}, 2)),
               Errc::failed_precondition, "expected 3 columns for 2 seeds, found 2 for 2");
  EXPECT_ERROR(multi->compute(executor, two_nodes({0, 1}, {1, 0})), Errc::failed_precondition,
               "expected targets");
  EXPECT_ERROR(classes->compute(executor, multilabel_batch({1, 0}, 1)), Errc::failed_precondition,
               "expected classes");
  EXPECT_ERROR(classes->compute(executor, two_nodes({0, 1}, {0, 2})), Errc::failed_precondition,
               "expected -1 to 1, found 2 at seed 1");
  EXPECT_ERROR(binary->compute(executor, two_nodes({0}, {-2})), Errc::failed_precondition,
               "found -2");
}

TEST(Learner, LearnsWithGraphConvolutions) {
  auto o = options();
  o.model.kind = "gcn";
  expect_learns(*make(o), two_nodes({0, 1}, {0, 1}));
}

/// The only layer's block ends at the seeds; degrees of their neighbors are those of the whole batch.
TEST(Learner, OneGraphConvolutionCountsAllEdgesOfAClosedBatch) {
  InlineExecutor executor;
  for (const bool weighted : {false, true}) {
    auto o = options();
    o.model.kind = "gcn";
    o.model.edge_weights = weighted;
    const auto learner = make(o);

    ASSERT_OK_AND_ASSIGN(const auto all, learner->outputs(executor, three_closed_nodes(3)));
    for (const std::uint32_t seeds : {1U, 2U}) {
      ASSERT_OK_AND_ASSIGN(const auto some, learner->outputs(executor, three_closed_nodes(seeds)));

      ASSERT_EQ(some.rows(), seeds);
      EXPECT_EQ(copy(some.view().flat()), copy(all.view().slice(0, seeds).flat())) << weighted;
    }
  }
}

TEST(Learner, RefusesBatchesThatDoNotFit) {
  InlineExecutor executor;
  const auto learner = make(options());
  auto narrow = two_nodes({0}, {1});
  narrow.rows[0].features = Matrix(2, 1);
  auto unlabelled = two_nodes({0}, {});

  EXPECT_ERROR(learner->compute(executor, narrow), Errc::failed_precondition,
               "nodes in 2 columns, found 2 in 1");
  EXPECT_ERROR(learner->compute(executor, unlabelled), Errc::failed_precondition, "labels");
  auto unknown = options();
  unknown.loss = "hinge";
  EXPECT_ERROR(Learner::create(unknown), Errc::invalid_argument, "hinge");
  auto negative = options();
  negative.clip = -1;
  EXPECT_ERROR(Learner::create(negative), Errc::invalid_argument, "train.clip");
  auto sawtooth = options();
  sawtooth.schedule.kind = "sawtooth";
  EXPECT_ERROR(Learner::create(sawtooth), Errc::invalid_argument, "sawtooth");
}

TEST(Learner, NeedsOriginalIdsForDropoutOnly) {
  const auto without_ids = [](Learner& learner) {
    return compute_changed(learner, two_nodes({0}, {1}),
                           [](auto&, Batch& b) { b.rows[0].original_ids.clear(); });
  };
  InlineExecutor executor;
  auto of_dropout = options();
  const auto plain = make(of_dropout);
  ASSERT_OK_AND_ASSIGN(const auto with_ids, plain->compute(executor, two_nodes({0}, {1})));
  const auto gradient = copy(with_ids.gradient);
  ASSERT_OK_AND_ASSIGN(const auto share, without_ids(*plain));
  EXPECT_EQ(copy(share.gradient), gradient);

  of_dropout.model.dropout = 0.5F;  // before a second layer, which there is not
  EXPECT_OK(without_ids(*make(of_dropout)));
  of_dropout.model.input_dropout = 0.5F;
  EXPECT_ERROR(without_ids(*make(of_dropout)), Errc::failed_precondition,
               "original ids of 2 \"node\" nodes, found 0");
}

TEST(Learner, RefusesBatchesThatItsModelCannotUse) {
  auto of_dropout = options();
  of_dropout.model.input_dropout = 0.5F;
  const auto learner = make(of_dropout);
  const auto changed = [&](auto change) {
    return compute_changed(*learner, two_nodes({0}, {1}), change);
  };
  const auto refused = Errc::failed_precondition;
  EXPECT_ERROR(changed([](auto& s, auto&) { s.hops = 0; }), refused, "at least 1 hops");
  EXPECT_ERROR(changed([](auto& s, auto&) { s.nodes.resize(2); }), refused, "found 2, 1 and 1");
  EXPECT_ERROR(changed([](auto& s, auto&) { s.edges.clear(); }), refused, "found 1, 0 and 1");
  EXPECT_ERROR(changed([](auto&, Batch& b) { b.rows[0].features = Matrix::zeros(1, 2); }), refused,
               "features of 2 \"node\" nodes in 2 columns, found 1 in 2");
  EXPECT_ERROR(changed([](auto&, Batch& b) { b.rows[0].original_ids.pop_back(); }), refused,
               "original ids of 2 \"node\" nodes, found 1");
}

}  // namespace
}  // namespace troupe
