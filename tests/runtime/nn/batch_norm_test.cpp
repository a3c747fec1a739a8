// Batch normalization against PyTorch, and its statistics.
#include "runtime/nn/ops/batch_norm.hpp"

#include "runtime/nn/catalog.hpp"
#include "tests/runtime/nn/network_support.hpp"
#include "tests/runtime/nn/nn_support.hpp"
#include "tests/runtime/nn/tape_support.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

class BatchNormGolden : public ::testing::TestWithParam<bool> {};

TEST_P(BatchNormGolden, MatchesOutputAndGradients) {
  const bool training = GetParam();
  const std::string path = training ? "ops/batch_norm_train/" : "ops/batch_norm_eval/";
  const double tolerance = training ? 1e-4 : 2e-6;  // column 3 is constant
  const Matrix x = golden_matrix(path + "x");
  const Matrix grad_out = golden_matrix(path + "grad_out");
  ParameterList list;
  std::vector<float> parameters;
  for (const std::string name : {"gamma", "beta", "running_mean", "running_var"}) {
    const auto values = golden_floats(path + name);
    list.add({.name = name, .rows = values.size()});
    parameters.insert(parameters.end(), values.begin(), values.end());
  }
  CpuBlockOps ops;
  Tape tape(ops);
  ComputePool executor(2);
  std::vector<float> gradient(parameters.size(), NAN);
  tape.begin(executor, list, parameters, true);
  const Rows input = tape.input(x.view(), true);

  const Rows out = tape.batch_norm(input, 0, training, {});
  expect_golden(tape.value(out), path + "out", tolerance);
  tape.backward(out, grad_out.view(), gradient);

  const std::span<const float> of(gradient);
  expect_golden(list.vector_of(0, of), path + "grad_gamma", tolerance);
  expect_golden(list.vector_of(1, of), path + "grad_beta", tolerance);
  expect_golden(tape.gradient(input), path + "grad_x", tolerance);
  for (const std::size_t number : {2U, 3U}) {
    const std::string name = number == 2 ? "running_mean" : "running_var";
    const auto before = golden_floats(path + name);
    std::vector<float> after;
    for (std::size_t c = 0; c < before.size(); ++c) {
      after.push_back(0.9F * before[c] + 0.1F * list.vector_of(number, of)[c]);
    }
    if (training) {
      expect_golden(after, path + name + "_after", 2e-6);
    } else {
      EXPECT_TRUE(same_bits(list.vector_of(number, of), before)) << "nothing to move";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, BatchNormGolden, ::testing::Bool());

TEST(BatchNorm, HasTheGradientOfDifferencesAroundTheEndOfAChunk) {
  for (const std::uint32_t rows : {2U, 3U, 511U, 512U, 513U}) {
    const OwnedBlock lower = random_block(rows, 600, 4, 1);
    const OwnedBlock upper = random_block(std::min(rows, 40U), rows, 4, 2);
    const Matrix x = random_matrix(600, 6, 3);
    const auto network = network_of({.layers = 2,
                                     .in_dim = 6,
                                     .hidden = 4,
                                     .out_dim = 3,
                                     .batch_norm = true,
                                     .activation = Activation::leaky_relu,
                                     .slope = 0.3F});

    expect_gradient_of_differences(
        *network, one_type_input({lower.view(), upper.view()}, x.view(), {.training = true}), 1e-2);
  }
}

TEST(BatchNorm, BitsAreTheSameOnAnyExecutor) {
  const OwnedBlock lower = random_block(1300, 2500, 9, 1);
  const OwnedBlock upper = random_block(700, 1300, 9, 2);
  const Matrix x = random_matrix(2500, 6, 3);
  const auto network =
      network_of({.layers = 2, .in_dim = 6, .hidden = 8, .out_dim = 3, .batch_norm = true});
  const auto parameters = network->initial_parameters(2);
  const DropoutContext training{.training = true};
  const ForwardInput input = one_type_input({lower.view(), upper.view()}, x.view(), training);
  InlineExecutor inline_executor;
  nn::Activations fresh;
  const auto expected = run_pass(*network, inline_executor, parameters, input, fresh);
  for (const std::size_t threads : {2U, 3U}) {
    ComputePool pool(threads);
    nn::Activations activations;
    const auto actual = run_pass(*network, pool, parameters, input, activations);

    EXPECT_TRUE(same_bits(actual.logits, expected.logits)) << threads;
    EXPECT_TRUE(same_bits(actual.gradient, expected.gradient)) << threads;
  }
}

TEST(BatchNorm, StatisticsOfABatchStandInTheGradientAndNoRowsLeaveThem) {
  const auto network =
      network_of({.layers = 2, .in_dim = 4, .hidden = 3, .out_dim = 2, .batch_norm = true});
  auto parameters = network->initial_parameters(2);
  const auto slice = [&](const std::string& name) {
    return *std::ranges::find(network->layout(), name, &ParameterSlice::name);
  };
  const auto mean = slice("norm1.running_mean");
  const auto variance = slice("norm1.running_var");
  EXPECT_FALSE(mean.trained);
  EXPECT_FALSE(variance.trained);
  EXPECT_TRUE(slice("norm1.weight").trained);
  EXPECT_EQ(parameters[mean.offset], 0);
  EXPECT_EQ(parameters[variance.offset], 1);
  parameters[mean.offset] = 0.25F;
  InlineExecutor executor;
  nn::Activations activations;
  const OwnedBlock empty{.num_dst = 0, .num_src = 0, .offsets = {0}, .sources = {}};

  const auto none =
      run_pass(*network, executor, parameters,
               one_type_input({empty.view(), empty.view()}, {nullptr, 0, 4}, {.training = true}),
               activations);

  EXPECT_EQ(none.gradient[mean.offset], 0.25F);
  EXPECT_EQ(none.gradient[variance.offset], 1);
}

TEST(BatchNorm, ExactInferenceReadsRunningStatisticsAndHasTheBitsOfScoring) {
  const auto network =
      network_of({.layers = 2, .in_dim = 7, .hidden = 8, .out_dim = 3, .batch_norm = true});
  expect_inference_has_bits_of_forward(*network);
  const OwnedBlock graph = random_block(60, 60, 6, 5);
  const Matrix x = random_matrix(60, 7, 1);
  const auto parameters = network->initial_parameters(2);
  InlineExecutor executor;
  nn::Activations one;
  nn::Activations two;
  const auto scoring = run_pass(*network, executor, parameters,
                                one_type_input({graph.view(), graph.view()}, x.view()), one);
  const auto training =
      run_pass(*network, executor, parameters,
               one_type_input({graph.view(), graph.view()}, x.view(), {.training = true}), two);

  EXPECT_FALSE(same_bits(scoring.logits, training.logits));
}

}  // namespace
}  // namespace troupe::nn
