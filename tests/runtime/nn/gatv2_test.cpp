// GATv2 layers against PyTorch Geometric, and attention by pairs on its own.
#include "runtime/nn/conv/gatv2.hpp"

#include "runtime/nn/catalog.hpp"
#include "tests/runtime/nn/network_support.hpp"
#include "tests/runtime/nn/nn_support.hpp"
#include "tests/runtime/nn/tape_support.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

struct Gatv2Case {
  std::string graph;
  std::string name;
  GatOptions options;
  bool shared = false;
};
void PrintTo(const Gatv2Case& of, std::ostream* out) {
  *out << of.graph << " " << of.name;
}

std::vector<Gatv2Case> gatv2_cases() {
  std::vector<Gatv2Case> all;
  const auto options = [](std::uint32_t heads, bool mean, bool loops) {
    return GatOptions{.heads = heads, .one_loop = loops, .concat = !mean, .mean_last = mean};
  };
  for (const std::string graph : {"small", "medium"}) {
    all.push_back({graph, "gatv2_h1_concat", options(1, false, false)});
    all.push_back({graph, "gatv2_h4_concat", options(4, false, false)});
    all.push_back({graph, "gatv2_h4_mean", options(4, true, false)});
    all.push_back({graph, "gatv2_h4_concat_loops", options(4, false, true)});
    all.push_back({graph, "gatv2_h4_mean_loops", options(4, true, true)});
    all.push_back({graph, "gatv2_h4_concat_shared", options(4, false, false), true});
  }
  return all;
}

class Gatv2Layer : public ::testing::TestWithParam<Gatv2Case> {};

TEST_P(Gatv2Layer, MatchesOutputAndGradients) {
  const auto& of = GetParam();
  std::vector<std::string> names{"lin_l_weight", "lin_l_bias", "lin_r_weight", "lin_r_bias"};
  names.resize(of.shared ? 2 : 4);
  names.insert(names.end(), {"att", "bias"});

  expect_conv_golden(Gatv2Conv(of.options, of.shared), "layers/" + of.graph, of.name, names);
}

INSTANTIATE_TEST_SUITE_P(Goldens, Gatv2Layer, ::testing::ValuesIn(gatv2_cases()),
                         [](const auto& test) { return test.param.graph + "_" + test.param.name; });

TEST(Gatv2, AttentionMatchesTheReference) {
  const std::string path = "layers/small/gatv2_h4_concat";
  const OwnedBlock block = golden_block("layers/small");
  const LayerBlock view = block.view();
  const Matrix x = golden_matrix("layers/small/x");
  ParameterList list;
  for (const auto& parameter : Gatv2Conv({.heads = 4, .mean_last = false}, false)
                                   .parameters({.source = 13, .destination = 13, .out = 12})) {
    list.add(parameter);
  }
  const auto parameters = golden_parameters(
      path, {"lin_l_weight", "lin_l_bias", "lin_r_weight", "lin_r_bias", "att", "bias"});
  CpuBlockOps ops;
  Tape tape(ops);
  InlineExecutor executor;
  tape.begin(executor, list, parameters, false);
  const Rows input = tape.input(x.view());
  const auto linear = [&](std::size_t weight) {
    Ending ending;
    ending.biases = {weight + 1};
    return tape.combine({tape.own(input, {weight})}, x.rows(), ending);
  };
  const std::array pairs{
      Tape::Pair{.source = linear(0), .destination = linear(2), .vectors = 4, .block = &view}};

  const auto weights = tape.pair_attention(pairs);

  expect_golden(tape.value(weights.front()), path + "/alpha", 1e-5);
}

/// Along two blocks with equal destinations, one after the other: dynamic scores and dot products.
TEST(PairAttention, HasGradientsOfBothEndsAndVectorsAroundTheEndOfAChunk) {
  for (const std::uint32_t rows : {1U, 2U, 511U, 512U, 513U}) {
    const OwnedBlock first = random_block(rows, 600, 4, rows);
    const OwnedBlock second = random_block(rows, 530, 3, rows + 1);  // sources in common, repeated
    const LayerBlock one = first.view();
    const LayerBlock two = second.view();
    const Matrix x = random_matrix(600, 6, 1);
    ParameterList list;
    const auto vectors = list.add({.name = "vectors", .rows = 2, .cols = 3});
    const auto prior = list.add({.name = "prior", .rows = 2});
    const auto turn = list.add({.name = "turn", .rows = 6, .cols = 6});
    for (const bool both : {false, true}) {
      TapeOf tape(list, [&](Tape& t, Rows input) {
        const Rows to = t.linear(input, rows, turn);
        std::vector<Tape::Pair> pairs{{.source = input,
                                       .destination = to,
                                       .vectors = vectors,
                                       .block = &one,
                                       .one_loop = !both && rows <= 600}};
        if (both) {
          pairs.push_back({.source = input,
                           .destination = to,
                           .vectors = prior,
                           .block = &two,
                           .score = PairScore::product,
                           .scale = 0.5F});
        }
        const auto weights = t.pair_attention(pairs);
        std::vector<Term> terms{t.attend(input, weights[0], one, false)};
        if (both) {
          terms.push_back(t.attend(input, weights[1], two, false));
        } else {
          terms.push_back(t.own(input, {turn}));
          terms.push_back(t.own(t.linear(t.linear(input, rows, turn), rows, turn)));
        }
        return t.combine(terms, rows, {});
      });

      expect_differences(tape, num_parameters(list.layout()), x.view(), rows, 6);
    }
  }
}

/// A row per edge added to those of both ends, with vectors and with the fixed ones.
TEST(PairAttention, HasGradientsOfRowsOfEdges) {
  for (const std::uint32_t rows : {2U, 511U, 512U, 513U}) {
    const OwnedBlock block = random_block(rows, 600, 4, rows);
    const LayerBlock view = block.view();
    const auto edges = static_cast<std::uint32_t>(block.sources.size());
    const Matrix of_edges = random_matrix(edges, 2, 3);
    const Matrix x = random_matrix(600, 6, 1);
    ParameterList list;
    const auto vectors = list.add({.name = "vectors", .rows = 2, .cols = 3});
    const auto wide = list.add({.name = "wide", .rows = 6, .cols = 2});
    const auto scores = list.add({.name = "scores", .rows = 2, .cols = 3});
    for (const bool fixed : {false, true}) {
      TapeOf tape(list, [&, rows](Tape& t, Rows input) {
        Rows added = t.linear(t.input(of_edges.view()), edges, wide);
        Tape::Pair pair{.source = input,
                        .destination = input,
                        .vectors = vectors,
                        .block = &view,
                        .edges = added};
        if (fixed) {
          pair.source = t.head_scores(input, 600, scores);
          pair.destination = t.head_scores(input, rows, vectors);
          pair.vectors.reset();
          pair.edges = t.head_scores(added, edges, vectors);
        }
        const std::array pairs{pair};
        return t.combine({t.attend(input, t.pair_attention(pairs).front(), view, false)}, rows, {});
      });

      expect_differences(tape, num_parameters(list.layout()), x.view(), rows, 6);
    }
  }
}

TEST(PairAttention, WeightsOfAllBlocksOfADestinationSumToOne) {
  const OwnedBlock first = random_block(40, 90, 4, 1);
  const OwnedBlock second = random_block(40, 50, 3, 2);
  const LayerBlock one = first.view();
  const LayerBlock two = second.view();
  const Matrix x = random_matrix(90, 6, 1);
  ParameterList list;
  list.add({.name = "vectors", .rows = 2, .cols = 3});
  list.add({.name = "prior", .rows = 2});
  const Matrix start = random_matrix(8, 1, 3);
  CpuBlockOps ops;
  Tape tape(ops);
  InlineExecutor executor;
  tape.begin(executor, list, start.view().flat(), false);
  const Rows input = tape.input(x.view());
  const std::array pairs{
      Tape::Pair{.source = input, .destination = input, .vectors = 0, .block = &one},
      Tape::Pair{.source = input,
                 .destination = input,
                 .vectors = 1,
                 .block = &two,
                 .score = PairScore::product}};

  const auto weights = tape.pair_attention(pairs);

  for (std::uint32_t i = 0; i < 40; ++i) {
    double sum = 0;
    const auto add = [&](const OwnedBlock& block, ConstMatrix of) {
      for (auto e = block.offsets[i]; e < block.offsets[i + 1]; ++e) {
        sum += of.row(e)[1];
      }
    };
    add(first, tape.value(weights[0]));
    add(second, tape.value(weights[1]));
    const bool empty =
        first.offsets[i] == first.offsets[i + 1] && second.offsets[i] == second.offsets[i + 1];
    EXPECT_NEAR(sum, empty ? 0 : 1, 1e-5) << i;
  }
}

ModelOptions gatv2_model() {
  return {.kind = "gatv2", .layers = 2, .in_dim = 7, .hidden = 8, .out_dim = 3, .heads = 2};
}

TEST(Gatv2, GradientMatchesFiniteDifferencesThroughLayers) {
  const OwnedBlock lower = random_block(50, 90, 5, 1);
  const OwnedBlock upper = random_block(20, 50, 5, 2);
  const Matrix x = random_matrix(90, 7, 3);
  for (const bool concat : {true, false}) {
    auto options = gatv2_model();
    options.concat = concat;
    options.share_weights = !concat;
    options.loops = concat;
    options.layer_norm = true;
    options.residual = true;

    expect_gradient_of_differences(*network_of(options),
                                   one_type_input({lower.view(), upper.view()}, x.view()), 4e-3);
  }
}

TEST(Gatv2, ExactInferenceHasTheBitsOfForwardOnTheWholeGraph) {
  expect_inference_has_bits_of_forward(*network_of(gatv2_model()));
}

TEST(Gatv2, BitsAreTheSameOnAnyExecutor) {
  const OwnedBlock lower = random_block(1300, 2500, 9, 1);
  const OwnedBlock upper = random_block(700, 1300, 9, 2);
  const Matrix x = random_matrix(2500, 7, 3);
  const auto network = network_of(gatv2_model());
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

TEST(Gatv2, TheMeanOfHeadsNeedsNoDivisor) {
  auto options = gatv2_model();
  options.heads = 3;
  EXPECT_ERROR(make_network(options), Errc::invalid_argument, "8 columns");
  options.concat = false;
  ASSERT_OK_AND_ASSIGN(const auto network, make_network(options));
  EXPECT_EQ(network->layout()[0].rows, 24U);
}

}  // namespace
}  // namespace troupe::nn
