// GAT layers against PyTorch Geometric, and the model on the whole of Cora's kind of graphs.
#include "runtime/nn/conv/gat.hpp"

#include "runtime/nn/catalog.hpp"
#include "runtime/nn/ops/cpu_block_ops.hpp"
#include "tests/runtime/nn/network_support.hpp"
#include "tests/runtime/nn/nn_support.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

struct GatCase {
  std::string graph;
  std::uint32_t heads;
  bool mean;
  bool loops;
  std::string name() const {
    return "gat_h" + std::to_string(heads) + (mean ? "_mean" : "_concat") + (loops ? "_loops" : "");
  }
  std::string path() const { return "layers/" + graph + "/" + name(); }
};

std::vector<GatCase> gat_cases() {
  std::vector<GatCase> all;
  for (const std::string graph : {"small", "medium"}) {
    for (const bool loops : {false, true}) {
      all.push_back({graph, 1, false, loops});
      all.push_back({graph, 4, false, loops});
      all.push_back({graph, 4, true, loops});
    }
  }
  return all;
}

class GatLayer : public ::testing::TestWithParam<GatCase> {};

/// A network of one layer, whose bias ends it.
std::unique_ptr<Network> one_layer(const GatCase& of, std::size_t in, std::size_t out) {
  ModelOptions options{.kind = "gat", .layers = 1, .in_dim = in, .out_dim = out};
  options.types = {.nodes = {{"node", in}}, .edges = {{"edge", NodeTypeId{0}, NodeTypeId{0}}}};
  auto layers = layer_types(options.types, 1);
  EXPECT_OK(layers);
  return std::make_unique<Network>(
      options, *layers,
      std::make_unique<GatConv>(
          GatOptions{.heads = of.heads, .one_loop = of.loops, .mean_last = of.mean}));
}

TEST_P(GatLayer, MatchesOutputAndGradients) {
  const auto& of = GetParam();
  const std::string graph = "layers/" + of.graph;
  const OwnedBlock block = golden_block(graph);
  const Matrix x = golden_matrix(graph + "/x");
  const auto bias = golden_floats(of.path() + "/bias");
  const Matrix grad_out = golden_matrix(graph + "/grad_out_" + std::to_string(bias.size()));
  const auto network = one_layer(of, x.cols(), bias.size());
  const std::vector<std::string> names{"lin_weight", "att_src", "att_dst", "bias"};
  std::vector<float> parameters;
  for (const auto& name : names) {
    const auto values = golden_floats(of.path() + "/" + name);
    parameters.insert(parameters.end(), values.begin(), values.end());
  }
  const ForwardInput input = one_type_input({block.view()}, x.view());
  ComputePool executor(2);
  Activations activations;
  std::vector<float> gradient(network->num_parameters(), NAN);

  const ConstMatrix out = network->forward(executor, parameters, input, activations);
  expect_golden(out, of.path() + "/out", 1e-5);
  network->backward(grad_out.view(), activations, gradient);

  const auto& layout = network->layout();
  ASSERT_EQ(layout.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    expect_golden(std::span(gradient).subspan(layout[i].offset, layout[i].size()),
                  of.path() + "/grad_" + names[i], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, GatLayer, ::testing::ValuesIn(gat_cases()), [](const auto& test) {
  return test.param.graph + "_" + test.param.name();
});

TEST(Gat, AttentionMatchesTheReferenceAndGivesTheInputItsGradient) {
  const OwnedBlock block = golden_block("layers/small");
  const LayerBlock view = block.view();
  const Matrix x = golden_matrix("layers/small/x");
  const std::string path = "layers/small/gat_h4_concat";
  const Matrix grad_out = golden_matrix("layers/small/grad_out_12");
  ParameterList list;
  const GatConv conv({.heads = 4, .one_loop = false, .mean_last = false});
  for (const auto& parameter :
       conv.parameters({.source = x.cols(), .destination = x.cols(), .out = 12, .last = true})) {
    list.add(parameter);
  }
  std::vector<float> parameters;
  for (const std::string name : {"lin_weight", "att_src", "att_dst", "bias"}) {
    const auto values = golden_floats(path + "/" + name);
    parameters.insert(parameters.end(), values.begin(), values.end());
  }
  CpuBlockOps ops;
  Tape tape(ops);
  InlineExecutor executor;
  std::vector<float> gradient(parameters.size());
  tape.begin(executor, list, parameters, true);
  const Rows input = tape.input(x.view(), true);
  const Rows rows = tape.linear(input, block.num_src, 0);
  const Rows weights =
      tape.attention(tape.head_scores(rows, block.num_src, 1),
                     tape.head_scores(rows, block.num_dst, 2), view, {.one_loop = false});

  expect_golden(tape.value(weights), path + "/alpha", 1e-5);

  Ending ending;
  ending.biases = {3};
  const Rows out = tape.combine({tape.attend(rows, weights, view, false)}, block.num_dst, ending);
  tape.backward(out, grad_out.view(), gradient);
  expect_golden(tape.gradient(input), path + "/grad_x", 1e-5);
}

TEST(Gat, GradientMatchesFiniteDifferencesThroughLayers) {
  const OwnedBlock lower = random_block(50, 90, 5, 1);
  const OwnedBlock upper = random_block(20, 50, 5, 2);
  const Matrix x = random_matrix(90, 6, 3);
  const auto network = network_of({.kind = "gat",
                                   .layers = 2,
                                   .in_dim = 6,
                                   .hidden = 8,
                                   .out_dim = 3,
                                   .heads = 4,
                                   .layer_norm = true});

  expect_gradient_of_differences(*network, one_type_input({lower.view(), upper.view()}, x.view()),
                                 3e-3);
}

/// The word that decides about a weight, by the definition.
std::uint32_t word_of(PhiloxKey key, std::size_t row, std::size_t head) {
  return philox4x32_10(
      {static_cast<std::uint32_t>(row), 0, static_cast<std::uint32_t>(head / 4), 0}, key)[head % 4];
}

TEST(Gat, TrainingDropsWeightsByTheWordsOfTheirRows) {
  const std::size_t heads = 3;
  const std::size_t columns = 2;
  const OwnedBlock block = random_block(40, 70, 6, 1);
  const LayerBlock view = block.view();
  const Matrix x = random_matrix(70, heads * columns, 2);
  const Matrix from = random_matrix(70, heads, 3);
  const Matrix to = random_matrix(40, heads, 4);
  const DropoutMask mask =
      attention_mask({.training = true, .job_seed = 5, .stream_epoch = 1, .batch = 2}, 3, 1, 0.4F);
  CpuBlockOps ops;
  Tape tape(ops);
  InlineExecutor executor;
  const ParameterList none;
  tape.begin(executor, none, {}, false);
  const Rows rows = tape.input(x.view());
  const Rows whole =
      tape.attention(tape.input(from.view()), tape.input(to.view()), view, {.one_loop = true});
  const Rows dropped = tape.drop(whole, mask);
  const ConstMatrix out =
      tape.value(tape.combine({tape.attend(rows, dropped, view, false)}, 40, {}));

  const ConstMatrix weights = tape.value(whole);
  std::size_t zeros = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    for (std::size_t c = 0; c < heads * columns; ++c) {
      const std::size_t h = c / columns;
      double sum = 0;
      const auto add = [&](std::size_t row, std::size_t source) {
        const bool kept = unit_float(word_of(mask.key.words, row, h)) >= 0.4F;
        zeros += kept ? 0U : 1U;
        sum += kept ? weights.row(row)[h] / 0.6 * x.view().row(source)[c] : 0.0;
      };
      for (std::uint32_t e = view.offsets[i]; e < view.offsets[i + 1]; ++e) {
        add(e, view.sources[e]);
      }
      add(view.num_edges() + i, i);
      EXPECT_NEAR(out.row(i)[c], sum, 1e-5) << i << " " << c;
    }
  }
  EXPECT_GT(zeros, 0U);
}

TEST(Gat, DroppedWeightsHaveTheGradientOfDifferencesAndEvaluationDropsNone) {
  const OwnedBlock lower = random_block(50, 90, 5, 1);
  const OwnedBlock upper = random_block(20, 50, 5, 2);
  const Matrix x = random_matrix(90, 6, 3);
  for (const std::string kind : {"gat", "gatv2"}) {
    ModelOptions options{
        .kind = kind, .layers = 2, .in_dim = 6, .hidden = 8, .out_dim = 3, .heads = 4};
    options.activation = Activation::elu;  // ReLU bends at the zeros of nodes without in-edges
    const auto without = network_of(options);
    options.attention_dropout = 0.4F;
    const auto network = network_of(options);
    DropoutContext context{.training = true, .job_seed = 5, .stream_epoch = 1, .batch = 2};
    const auto input = [&] {
      return one_type_input({lower.view(), upper.view()}, x.view(), context);
    };
    expect_gradient_of_differences(*network, input(), 3e-3);

    const auto parameters = network->initial_parameters(2);
    InlineExecutor executor;
    Activations pass;
    const auto training = run_pass(*network, executor, parameters, input(), pass);
    for (const std::size_t threads : {2U, 3U}) {
      ComputePool pool(threads);
      const auto again = run_pass(*network, pool, parameters, input(), pass);
      EXPECT_TRUE(same_bits(again.logits, training.logits)) << kind << threads;
      EXPECT_TRUE(same_bits(again.gradient, training.gradient)) << kind << threads;
    }
    context.training = false;
    const auto evaluating = run_pass(*network, executor, parameters, input(), pass);
    const auto expected = run_pass(*without, executor, parameters, input(), pass);
    EXPECT_TRUE(same_bits(evaluating.logits, expected.logits)) << kind;
    EXPECT_FALSE(same_bits(training.logits, expected.logits)) << kind;
    expect_inference_has_bits_of_forward(*network_of({.kind = kind,
                                                      .layers = 2,
                                                      .in_dim = 7,
                                                      .hidden = 8,
                                                      .out_dim = 3,
                                                      .heads = 2,
                                                      .attention_dropout = 0.4F}));
  }
  EXPECT_ERROR(
      make_network(
          {.kind = "gcn", .layers = 1, .in_dim = 6, .out_dim = 3, .attention_dropout = 0.1F}),
      Errc::unimplemented, "attention_dropout");
}

TEST(Gat, TheLastLayerMayHaveHeadsOfItsOwn) {
  const ModelOptions as_many{
      .kind = "gat", .layers = 2, .in_dim = 7, .hidden = 8, .out_dim = 3, .heads = 4};
  for (const std::string kind : {"gat", "gatv2", "rgat"}) {
    auto own = as_many;
    own.kind = kind;
    own.out_heads = 1;
    own.activation = Activation::elu;  // ReLU bends at the zeros of nodes without in-edges
    const auto network = network_of(own);
    bool seen = false;
    for (const auto& slice : network->layout()) {
      if (slice.name.find("conv1") == std::string::npos &&
          slice.name.find("att") != std::string::npos) {
        EXPECT_EQ(slice.rows, 1U) << kind << " " << slice.name;
        EXPECT_EQ(slice.cols, 3U) << kind << " " << slice.name;
        seen = true;
      }
    }
    EXPECT_TRUE(seen) << kind;
    const OwnedBlock lower = random_block(50, 90, 5, 1);
    const OwnedBlock upper = random_block(20, 50, 5, 2);
    const Matrix x = random_matrix(90, 7, 3);
    expect_gradient_of_differences(*network, one_type_input({lower.view(), upper.view()}, x.view()),
                                   3e-3);
    expect_inference_has_bits_of_forward(*network);
  }
}

TEST(Gat, ExactInferenceHasTheBitsOfForwardOnTheWholeGraph) {
  expect_inference_has_bits_of_forward(*network_of(
      {.kind = "gat", .layers = 2, .in_dim = 7, .hidden = 8, .out_dim = 3, .heads = 2}));
}

TEST(Gat, BitsAreTheSameOnAnyExecutor) {
  const OwnedBlock lower = random_block(1300, 2500, 9, 1);
  const OwnedBlock upper = random_block(700, 1300, 9, 2);
  const Matrix x = random_matrix(2500, 6, 3);
  const auto network =
      network_of({.kind = "gat", .layers = 2, .in_dim = 6, .hidden = 8, .out_dim = 3, .heads = 2});
  const auto parameters = network->initial_parameters(2);
  const ForwardInput input = one_type_input({lower.view(), upper.view()}, x.view());
  InlineExecutor inline_executor;
  Activations fresh;
  const auto expected = run_pass(*network, inline_executor, parameters, input, fresh);

  for (const std::size_t threads : {2U, 3U}) {
    ComputePool pool(threads);
    Activations activations;
    const auto actual = run_pass(*network, pool, parameters, input, activations);

    EXPECT_TRUE(same_bits(actual.logits, expected.logits)) << threads;
    EXPECT_TRUE(same_bits(actual.gradient, expected.gradient)) << threads;
  }
}

TEST(Gat, HeadsDivideTheColumnsBetweenLayers) {
  EXPECT_ERROR(
      make_network(
          {.kind = "gat", .layers = 2, .in_dim = 6, .hidden = 8, .out_dim = 3, .heads = 3}),
      Errc::invalid_argument, "8 columns");
}

}  // namespace
}  // namespace troupe::nn
