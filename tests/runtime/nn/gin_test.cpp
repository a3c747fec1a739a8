// GIN layers against PyTorch Geometric, and the model through several layers.
#include "runtime/nn/conv/gin.hpp"

#include "runtime/nn/catalog.hpp"
#include "tests/runtime/nn/network_support.hpp"
#include "tests/runtime/nn/nn_support.hpp"
#include "tests/runtime/nn/tape_support.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

class GinLayer : public ::testing::TestWithParam<const char*> {};

TEST_P(GinLayer, WithATrainedEpsMatchesOutputAndGradients) {
  const std::string graph = std::string("layers/") + GetParam();
  const auto hidden = golden_floats(graph + "/gin_eps_trained/nn_0_bias").size();

  expect_conv_golden(GinConv({.trained = true, .hidden = hidden}), graph, "gin_eps_trained",
                     {"nn_0_weight", "nn_0_bias", "nn_2_weight", "nn_2_bias", "eps"});
}

TEST_P(GinLayer, MatchesOutputAndGradients) {
  const std::string graph = std::string("layers/") + GetParam();
  const std::string path = graph + "/gin_eps_fixed";
  const OwnedBlock block = golden_block(graph);
  const Matrix x = golden_matrix(graph + "/x");
  const std::vector<std::string> names{"nn_0_weight", "nn_0_bias", "nn_2_weight", "nn_2_bias"};
  std::vector<float> parameters;
  for (const auto& name : names) {
    const auto values = golden_floats(path + "/" + name);
    parameters.insert(parameters.end(), values.begin(), values.end());
  }
  const auto hidden = golden_floats(path + "/nn_0_bias").size();
  const auto out_dim = golden_floats(path + "/nn_2_bias").size();
  const Matrix grad_out = golden_matrix(graph + "/grad_out_" + std::to_string(out_dim));
  const ModelOptions options{
      .kind = "gin",
      .layers = 1,
      .in_dim = x.cols(),
      .out_dim = out_dim,
      .types = {.nodes = {{"node", x.cols()}}, .edges = {{"edge", NodeTypeId{0}, NodeTypeId{0}}}}};
  ASSERT_OK_AND_ASSIGN(const auto layers, layer_types(options.types, 1));
  const Network network(options, layers,
                        std::make_unique<GinConv>(GinOptions{.eps = 0.25F, .hidden = hidden}));
  const ForwardInput input = one_type_input({block.view()}, x.view());
  ComputePool executor(2);
  Activations activations;
  std::vector<float> gradient(network.num_parameters(), NAN);

  const ConstMatrix out = network.forward(executor, parameters, input, activations);
  expect_golden(out, path + "/out", 1e-5);
  network.backward(grad_out.view(), activations, gradient);

  const auto& layout = network.layout();
  ASSERT_EQ(layout.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    expect_golden(std::span(gradient).subspan(layout[i].offset, layout[i].size()),
                  path + "/grad_" + names[i], 1e-5);
  }
}

// The MLP's middle is narrower than the input in one, wider in the other.
INSTANTIATE_TEST_SUITE_P(Goldens, GinLayer, ::testing::Values("small", "medium"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Gin, GradientMatchesFiniteDifferencesThroughLayers) {
  const OwnedBlock lower = random_block(12, 20, 3, 1);  // few rows: few kinks
  const OwnedBlock upper = random_block(6, 12, 3, 2);
  const Matrix x = random_matrix(20, 6, 3);
  const auto network =
      network_of({.kind = "gin", .layers = 2, .in_dim = 6, .hidden = 8, .out_dim = 3});

  expect_gradient_of_differences(*network, one_type_input({lower.view(), upper.view()}, x.view()),
                                 3e-3);
  EXPECT_EQ(network->layout()[2].name, "conv1.nn.2.weight");
}

TEST(Gin, ATrainedEpsHasTheGradientOfDifferencesAroundTheEndOfAChunk) {
  for (const std::uint32_t rows : {1U, 511U, 512U, 513U}) {
    const Matrix x = random_matrix(rows + 3, 5, rows);
    ParameterList list;
    const auto eps = list.add({.name = "eps", .rows = 1});
    TapeOf tape(list, [&, rows](Tape& t, Rows input) {
      return t.combine({t.scaled_by(input, 1, eps), t.own(input)}, rows, {});
    });

    expect_differences(tape, 1, x.view(), rows, 5);
  }
}

TEST(Gin, ATrainedEpsStartsAtZeroWithTheBitsOfTheFixedOne) {
  ModelOptions options{.kind = "gin", .layers = 2, .in_dim = 7, .hidden = 3, .out_dim = 3};
  const auto fixed = network_of(options);
  options.train_eps = true;
  const auto trained = network_of(options);
  EXPECT_EQ(trained->layout()[4].name, "conv1.eps");
  expect_inference_has_bits_of_forward(*trained);
  const OwnedBlock graph = random_block(60, 60, 6, 5);
  const Matrix x = random_matrix(60, 7, 1);
  const auto input = one_type_input({graph.view(), graph.view()}, x.view());
  std::vector<float> parameters = trained->initial_parameters(2);
  std::vector<float> without;
  for (const ParameterSlice& slice : trained->layout()) {
    const auto values = std::span(parameters).subspan(slice.offset, slice.size());
    if (!slice.name.ends_with("eps")) {
      without.insert(without.end(), values.begin(), values.end());
    } else {
      EXPECT_EQ(values.front(), 0);
    }
  }
  InlineExecutor executor;
  nn::Activations one;
  nn::Activations two;

  EXPECT_TRUE(same_bits(run_pass(*trained, executor, parameters, input, one).logits,
                        run_pass(*fixed, executor, without, input, two).logits));
}

TEST(Gin, ExactInferenceHasTheBitsOfForwardOnTheWholeGraph) {
  expect_inference_has_bits_of_forward(
      *network_of({.kind = "gin", .layers = 2, .in_dim = 7, .hidden = 8, .out_dim = 3}));
}

}  // namespace
}  // namespace troupe::nn
