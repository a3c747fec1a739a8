#include "runtime/nn/optimizer.hpp"

#include "tests/runtime/nn/nn_support.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

struct OptimizerCase {
  std::string name;  // options: tests/goldens/manifest.json
  OptimizerOptions options;
};

std::vector<OptimizerCase> optimizer_cases() {
  std::vector<OptimizerCase> all(9);
  all[0] = {"sgd", {.kind = "sgd", .lr = 0.1}};
  all[1] = {"sgd_momentum", {.kind = "sgd", .lr = 0.1, .momentum = 0.9}};
  all[2] = {"sgd_momentum_decay",
            {.kind = "sgd", .lr = 0.1, .weight_decay = 0.05, .momentum = 0.9}};
  all[3] = {"sgd_nesterov_decay",
            {.kind = "sgd", .lr = 0.1, .weight_decay = 0.05, .momentum = 0.9, .nesterov = true}};
  all[4] = {"adam", {.kind = "adam", .lr = 0.01}};
  all[5] = {"adam_decay", {.kind = "adam", .lr = 0.01, .weight_decay = 0.05}};
  all[6] = {"adamw", {.kind = "adamw", .lr = 0.01, .weight_decay = 0.05}};
  all[7] = {"adagrad", {.kind = "adagrad", .lr = 0.1, .eps = 1e-10}};
  all[8] = {"adagrad_full",
            {.kind = "adagrad",
             .lr = 0.1,
             .weight_decay = 0.05,
             .eps = 1e-10,
             .lr_decay = 0.1,
             .initial_accumulator = 0.1}};
  return all;
}

constexpr std::size_t size = 30;
constexpr std::size_t steps = 10;

class EachOptimizer : public ::testing::TestWithParam<OptimizerCase> {};

TEST_P(EachOptimizer, MatchesEveryStepAndTheFinalState) {
  const std::string path = "optim/" + GetParam().name + "/";
  const auto grads = golden_floats("optim/grads");
  const auto truth = golden_truth(path + "steps");
  std::vector<float> parameters = golden_floats("optim/start");
  ASSERT_OK_AND_ASSIGN(const auto optimizer, make_optimizer(GetParam().options, size));

  for (std::size_t t = 0; t < steps; ++t) {
    optimizer->step(parameters, std::span(grads).subspan(t * size, size));

    expect_close<float>(parameters, std::span(truth).subspan(t * size, size), 2e-6,
                        "step " + std::to_string(t));
  }
  EXPECT_EQ(optimizer->state().steps, steps);
  for (const auto& [name, values] : optimizer->state().arrays) {
    expect_golden(values, path + name, 2e-6);
  }
}

TEST_P(EachOptimizer, ContinuesWithTheSameBitsAfterRestore) {
  const auto grads = golden_floats("optim/grads");
  const auto gradient = [&](std::size_t t) { return std::span(grads).subspan(t * size, size); };
  std::vector<float> parameters = golden_floats("optim/start");
  ASSERT_OK_AND_ASSIGN(const auto first, make_optimizer(GetParam().options, size));
  ASSERT_OK_AND_ASSIGN(const auto second, make_optimizer(GetParam().options, size));
  for (std::size_t t = 0; t < 4; ++t) {
    first->step(parameters, gradient(t));
  }
  std::vector<float> resumed = parameters;

  ASSERT_OK(second->restore(first->state()));
  for (std::size_t t = 4; t < steps; ++t) {
    first->step(parameters, gradient(t));
    second->step(resumed, gradient(t));
  }

  EXPECT_TRUE(same_bits(parameters, resumed));
}

INSTANTIATE_TEST_SUITE_P(Goldens, EachOptimizer, ::testing::ValuesIn(optimizer_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(Optimizer, UsesTheRateThatWasSetLast) {
  std::vector<float> parameters = {1.0F};
  ASSERT_OK_AND_ASSIGN(const auto optimizer, make_optimizer({.kind = "sgd", .lr = 1}, 1));

  optimizer->set_lr(0.5);
  optimizer->step(parameters, std::vector<float>{1.0F});

  EXPECT_EQ(parameters[0], 0.5F);
  EXPECT_EQ(optimizer->lr(), 0.5);
}

// Gradients 3 and 4: sums 9 and 25, so steps of 3/3 and 4/5 of the rate.
TEST(Adagrad, DividesByTheRootOfTheSumOfSquares) {
  std::vector<float> parameters = {1.0F};
  ASSERT_OK_AND_ASSIGN(const auto optimizer,
                       make_optimizer({.kind = "adagrad", .lr = 0.5, .eps = 0}, 1));

  optimizer->step(parameters, std::vector<float>{3.0F});
  EXPECT_EQ(parameters[0], 0.5F);
  optimizer->step(parameters, std::vector<float>{4.0F});

  EXPECT_FLOAT_EQ(parameters[0], 0.1F);
  EXPECT_EQ(optimizer->state().arrays[0].second[0], 25.0F);
}

TEST(Adagrad, UsesTheRateThatWasSetLast) {
  std::vector<float> parameters = {1.0F};
  ASSERT_OK_AND_ASSIGN(const auto optimizer, make_optimizer({.kind = "adagrad", .lr = 1}, 1));

  optimizer->set_lr(0.25);
  optimizer->step(parameters, std::vector<float>{2.0F});

  EXPECT_EQ(parameters[0], 0.75F);
}

TEST(Adagrad, LeavesAParameterWithoutGradientsAlone) {
  std::vector<float> parameters = {2.0F, 1.0F};
  ASSERT_OK_AND_ASSIGN(
      const auto optimizer,
      make_optimizer({.kind = "adagrad", .lr = 1, .eps = default_eps("adagrad")}, 2));

  optimizer->step(parameters, std::vector<float>{0.0F, 1.0F});

  EXPECT_EQ(parameters, (std::vector<float>{2.0F, 0.0F}));
}

TEST(Adagrad, RefusesAStateOfAnotherKindOrSizeAndStaysAsItWas) {
  ASSERT_OK_AND_ASSIGN(const auto adagrad, make_optimizer({.kind = "adagrad"}, 3));
  ASSERT_OK_AND_ASSIGN(const auto longer, make_optimizer({.kind = "adagrad"}, 4));
  ASSERT_OK_AND_ASSIGN(const auto adam, make_optimizer({.kind = "adam"}, 3));

  EXPECT_ERROR(adagrad->restore(adam->state()), Errc::invalid_argument, "expected 1 arrays, got 2");
  EXPECT_ERROR(adagrad->restore(longer->state()), Errc::invalid_argument,
               "expected array sum with 3 elements, got sum with 4");
  EXPECT_ERROR(adam->restore(adagrad->state()), Errc::invalid_argument, "expected 2 arrays, got 1");
  EXPECT_EQ(adagrad->state().arrays[0].second, std::vector<float>(3));
}

TEST(Optimizer, RefusesAStateOfAnotherKindOrSize) {
  ASSERT_OK_AND_ASSIGN(const auto adam, make_optimizer({.kind = "adam"}, 3));
  ASSERT_OK_AND_ASSIGN(const auto longer, make_optimizer({.kind = "adam"}, 4));
  ASSERT_OK_AND_ASSIGN(const auto sgd, make_optimizer({.kind = "sgd"}, 3));
  OptimizerState renamed = adam->state();
  renamed.arrays[1].first = "momentum_buffer";

  EXPECT_ERROR(adam->restore(sgd->state()), Errc::invalid_argument, "expected 2 arrays, got 0");
  EXPECT_ERROR(adam->restore(longer->state()), Errc::invalid_argument,
               "expected array exp_avg with 3 elements, got exp_avg with 4");
  EXPECT_ERROR(adam->restore(renamed), Errc::invalid_argument, "got momentum_buffer");
}

TEST(Optimizer, RefusesNumbersOutOfRangeByName) {
  const auto refused = [](OptimizerOptions options, const std::string& text) {
    EXPECT_ERROR(make_optimizer(options, 1), Errc::invalid_argument, text);
  };
  refused({.lr = -1}, "lr: expected a number in [0, inf), got -1");
  refused({.lr = NAN}, "lr");
  refused({.lr = INFINITY}, "lr");
  refused({.weight_decay = -0.1}, "weight_decay");
  refused({.kind = "sgd", .momentum = -0.1}, "momentum");
  refused({.beta1 = 1}, "beta1");
  refused({.beta2 = 1.5}, "beta2");
  refused({.eps = -1}, "eps");
  refused({.kind = "adagrad", .lr_decay = -0.5}, "lr_decay");
  refused({.kind = "adagrad", .initial_accumulator = -1}, "initial_accumulator");
  refused({.kind = "adagrad", .initial_accumulator = NAN}, "initial_accumulator");
  refused({.kind = "sgd", .nesterov = true}, "nesterov");
}

TEST(Optimizer, RefusesAKindThatIsNotBuilt) {
  EXPECT_ERROR(make_optimizer({.kind = "lion"}, 1), Errc::unimplemented,
               "expected sgd, adam, adamw or adagrad, got \"lion\"");
}

}  // namespace
}  // namespace troupe::nn
