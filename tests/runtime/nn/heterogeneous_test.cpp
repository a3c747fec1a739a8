// GraphSAGE on heterogeneous graphs, against plain PyTorch (tests/goldens/heterogeneous) and finite differences.
#include "runtime/nn/catalog.hpp"
#include "tests/runtime/nn/heterogeneous_support.hpp"
#include "tests/runtime/nn/network_support.hpp"

#include <gtest/gtest.h>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

std::vector<std::string> names_of(const Network& model) {
  std::vector<std::string> names;
  for (const ParameterSlice& slice : model.layout()) {
    names.push_back(slice.name);
  }
  return names;
}

void expect_case(const std::string& name, const ModelOptions& options, const HeteroBatch& batch,
                 const std::string& grad_out) {
  constexpr double tolerance = 1e-5;
  const auto model = network_of(options);
  const auto parameters = golden_floats("heterogeneous/" + name + "_parameters");
  ASSERT_EQ(parameters.size(), model->num_parameters());
  ComputePool executor(2);
  const auto pass = std::make_unique<Activations>();
  const ForwardInput input = batch.input(false);
  std::vector<float> gradient(model->num_parameters(), NAN);

  const ConstMatrix out = model->forward(executor, parameters, input, *pass);
  expect_golden(out, "heterogeneous/" + name + "_out", tolerance);
  model->backward(golden_matrix("heterogeneous/" + grad_out).view(), *pass, gradient);

  const auto truth = golden_truth("heterogeneous/" + name + "_gradient");
  for (const ParameterSlice& slice : model->layout()) {
    expect_close<float>(std::span(gradient).subspan(slice.offset, slice.size()),
                        std::span(truth).subspan(slice.offset, slice.size()), tolerance,
                        name + " " + slice.name);
  }
}

TEST(HeteroSage, OneLayerMatchesPyTorch) {
  const HeteroBatch batch = golden_hetero_batch(1);
  for (const auto& [name, aggregator] :
       std::vector<std::pair<std::string, Aggregator>>{{"one_mean", Aggregator::mean},
                                                       {"one_max", Aggregator::max},
                                                       {"one_sum", Aggregator::sum}}) {
    for (const bool l2 : {false, true}) {
      const ModelOptions options{
          .aggregator = aggregator, .layers = 1, .out_dim = 3, .l2 = l2, .types = golden_types(1)};
      expect_case(name + (l2 ? "_l2" : ""), options, batch, "grad_out_paper");
    }
  }
}

TEST(HeteroSage, TwoLayersWithNormalisationMatchPyTorch) {
  const ModelOptions options{.layers = 2,
                             .hidden = 4,
                             .out_dim = 3,
                             .layer_norm = true,
                             .l2 = true,
                             .types = golden_types(0)};
  expect_case("two", options, golden_hetero_batch(2), "grad_out_author");
}

TEST(HeteroSage, ParametersAreNamedByTypeAndOnlyThoseThatReachTheSeeds) {
  const auto model = network_of(
      {.layers = 2, .hidden = 4, .out_dim = 3, .layer_norm = true, .types = golden_types(0)});
  std::vector<std::string> expected;
  for (const std::string edge : {"writes", "written_by", "cites", "holds"}) {
    for (const std::string what : {"lin_l.weight", "lin_l.bias", "lin_r.weight"}) {
      expected.push_back("conv1." + edge + "." + what);
    }
  }
  for (const std::string node : {"author", "paper"}) {
    expected.push_back("norm1." + node + ".weight");
    expected.push_back("norm1." + node + ".bias");
  }
  for (const std::string what : {"lin_l.weight", "lin_l.bias", "lin_r.weight"}) {
    expected.push_back("conv2.written_by." + what);
  }
  EXPECT_EQ(names_of(*model), expected);
  const auto& holds = model->layout()[9];
  EXPECT_EQ(holds.rows, 4U);
  EXPECT_EQ(holds.cols, 2U) << "of venues";
  EXPECT_EQ(model->layout()[11].cols, 6U) << "of papers";
}

TEST(HeteroSage, InitialParametersComeFromTheirOwnStreams) {
  const auto model = network_of(
      {.layers = 2, .hidden = 4, .out_dim = 3, .layer_norm = true, .types = golden_types(0)});
  const auto parameters = model->initial_parameters(8);
  for (const auto& [number, bound] :
       std::vector<std::pair<std::uint32_t, double>>{{0, 1 / std::sqrt(5.0)},  // of authors
                                                     {2, 1 / std::sqrt(6.0)},  // of papers
                                                     {9, 1 / std::sqrt(2.0)},  // of venues
                                                     {17, 0.5}}) {             // hidden
    expect_drawn(*model, parameters, number, 8, static_cast<float>(bound));
  }
  const ParameterSlice& gain = model->layout()[12];
  EXPECT_EQ(gain.name, "norm1.author.weight");
  EXPECT_EQ(parameters[gain.offset], 1);
  EXPECT_EQ(parameters[gain.offset + gain.size()], 0);
}

std::vector<ModelOptions> kinds() {
  std::vector<ModelOptions> all;
  for (const Aggregator aggregator : {Aggregator::mean, Aggregator::max, Aggregator::sum}) {
    for (const std::uint64_t hidden : {4U, 9U}) {  // narrower and wider than the features
      for (const bool more : {false, true}) {
        all.push_back({.aggregator = aggregator,
                       .layers = 3,
                       .hidden = hidden,
                       .out_dim = hidden == 4 ? 6U : 5U,
                       .layer_norm = more,
                       .l2 = more,
                       .activation = more ? Activation::elu : Activation::relu,
                       .residual = more,
                       .dropout = more ? 0.0F : 0.3F,
                       .input_dropout = more ? 0.0F : 0.2F,
                       .types = golden_types(0)});
      }
    }
  }
  return all;
}

class EachHeteroSage : public ::testing::TestWithParam<ModelOptions> {};

TEST_P(EachHeteroSage, GradientMatchesFiniteDifferences) {
  const HeteroBatch batch =
      random_hetero_batch(GetParam().types, {{60, 80, 7}, {40, 50, 5}, {20, 24, 3}, {9, 8, 1}}, 3);
  expect_gradient_of_differences(*network_of(GetParam()), batch.input(true), 1e-2);
}

TEST_P(EachHeteroSage, BitsAreTheSameOnAnyExecutorAndInAReusedPass) {
  const auto& types = GetParam().types;
  expect_bits_on_any_executor(
      *network_of(GetParam()),
      random_hetero_batch(types, {{1500, 2300, 70}, {1100, 1400, 50}, {600, 700, 20}, {130, 90, 9}},
                          3),
      random_hetero_batch(types, {{1700, 2500, 90}, {1200, 1600, 60}, {700, 750, 30}, {200, 95, 9}},
                          4));
}

INSTANTIATE_TEST_SUITE_P(All, EachHeteroSage, ::testing::ValuesIn(kinds()));

TEST(HeteroSage, NodeTypesThatABatchLacksAddNothing) {
  const auto model = network_of({.layers = 2, .hidden = 4, .out_dim = 3, .types = golden_types(0)});
  const HeteroBatch batch =
      random_hetero_batch(model->options().types, {{9, 0, 0}, {6, 0, 0}, {3, 0, 0}}, 1);
  const auto pass = std::make_unique<Activations>();
  InlineExecutor executor;

  const PassResult result =
      run_pass(*model, executor, model->initial_parameters(1), batch.input(true), *pass);

  EXPECT_EQ(result.logits.size(), 9U);
  for (const ParameterSlice& slice : model->layout()) {
    const auto gradient = std::span(result.gradient).subspan(slice.offset, slice.size());
    const bool own_rows = slice.name.find("written_by") != std::string::npos &&
                          slice.name.find("lin_l.weight") == std::string::npos;
    const bool zero = std::ranges::all_of(gradient, [](float g) { return g == 0.0F; });
    EXPECT_EQ(zero, !own_rows) << slice.name;
  }
}

TEST(HeteroSage, DropoutChangesTrainingOnly) {
  const ModelOptions plain{.layers = 2, .hidden = 4, .out_dim = 3, .types = golden_types(0)};
  ModelOptions dropping = plain;
  dropping.input_dropout = 0.5F;
  const auto model = network_of(dropping);
  HeteroBatch batch = random_hetero_batch(plain.types, {{9, 9, 9}, {6, 6, 6}, {3, 3, 3}}, 1);
  const auto pass = std::make_unique<Activations>();
  const auto parameters = model->initial_parameters(1);
  InlineExecutor executor;

  const auto training = run_pass(*model, executor, parameters, batch.input(true), *pass);
  const auto scoring = run_pass(*model, executor, parameters, batch.input(false), *pass);
  const auto without = run_pass(*network_of(plain), executor, parameters, batch.input(true), *pass);

  EXPECT_TRUE(same_bits(scoring.logits, without.logits));
  EXPECT_FALSE(same_bits(training.logits, scoring.logits));
}

/// Destinations [first, first + size) of a block.
OwnedBlock piece_of(const OwnedBlock& block, std::uint32_t first, std::uint32_t size) {
  OwnedBlock piece{size, block.num_src, {0}, {}};
  for (std::uint32_t d = first; d < first + size; ++d) {
    for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e) {
      piece.sources.push_back(block.sources[e]);
    }
    piece.offsets.push_back(static_cast<std::uint32_t>(piece.sources.size()));
  }
  return piece;
}

/// Rows with [first, first + size) in front: the own rows of a piece.
Matrix own_first(ConstMatrix rows, std::uint32_t first, std::uint32_t size) {
  Matrix out(size, rows.cols);
  std::ranges::copy(rows.slice(first, size).flat(), out.data());
  return out;
}

TEST(HeteroSage, ExactInferenceInPiecesHasTheBitsOfForwardOnTheWholeGraph) {
  // No edge type joins nodes of one type: own rows and sources are apart.
  ModelTypes types = golden_types(0);
  types.edges.erase(types.edges.begin() + 2);
  const std::vector<std::uint32_t> nodes = {600, 700, 40};
  const HeteroBatch graph = random_hetero_batch(types, {nodes, nodes, nodes}, 3);
  for (const bool more : {false, true}) {
    const auto network = network_of({.aggregator = more ? Aggregator::max : Aggregator::mean,
                                     .layers = 2,
                                     .hidden = 5,
                                     .out_dim = 3,
                                     .layer_norm = more,
                                     .l2 = more,
                                     .activation = more ? Activation::leaky_relu : Activation::relu,
                                     .residual = more,
                                     .types = types});
    const auto parameters = network->initial_parameters(2);
    ComputePool pool(2);
    Activations activations;
    const ForwardInput input = graph.input(false);
    const ConstMatrix logits = network->forward(pool, parameters, input, activations);
    for (const std::uint32_t size : {1U, 33U, 700U}) {
      std::vector<Matrix> rows;
      for (const Matrix& x : graph.features) {
        rows.push_back(copy_of(x.view()));
      }
      const auto stages = network->infer_stages();
      for (std::uint32_t stage = 0; stage < stages.size(); ++stage) {
        std::vector<Matrix> next(types.nodes.size());
        for (const auto& output : stages[stage].outputs) {
          const auto type = raw(output.type);
          next[type] = Matrix(nodes[type], output.cols);
          for (std::uint32_t first = 0; first < nodes[type]; first += size) {
            const auto count = std::min(size, nodes[type] - first);
            InferInput block{.stage = stage, .type = output.type, .blocks = {}, .rows = {}};
            std::vector<OwnedBlock> pieces(types.edges.size());
            block.blocks.resize(types.edges.size());
            for (const auto e : output.edges) {
              pieces[raw(e)] = piece_of(graph.blocks[stage][raw(e)], first, count);
              block.blocks[raw(e)] = pieces[raw(e)].view();
            }
            const Matrix own = own_first(rows[type].view(), first, count);
            for (std::size_t t = 0; t < rows.size(); ++t) {
              block.rows.push_back(t == type ? own.view() : std::as_const(rows[t]).view());
            }
            const Matrix out = network->infer(pool, parameters, block);
            std::ranges::copy(out.view().flat(), next[type].view().slice(first, count).data);
          }
        }
        rows = std::move(next);
      }

      EXPECT_TRUE(same_bits(rows[0].view().flat(), logits.flat())) << size;
    }
  }
}

TEST(HeteroSage, StagesNameTheTypesThatTheyReadAndGive) {
  const auto network =
      network_of({.layers = 2, .hidden = 4, .out_dim = 3, .types = golden_types(0)});

  const auto stages = network->infer_stages();

  ASSERT_EQ(stages.size(), 2U);
  ASSERT_EQ(stages[0].outputs.size(), 2U);  // authors and papers, which the second layer reads
  EXPECT_EQ(stages[0].in_cols, (std::vector<std::uint64_t>{5, 6, 2}));
  EXPECT_EQ(stages[1].in_cols, (std::vector<std::uint64_t>{4, 4, 0}));
  ASSERT_EQ(stages[1].outputs.size(), 1U);
  EXPECT_EQ(stages[1].outputs[0].type, NodeTypeId{0});
  EXPECT_EQ(stages[1].outputs[0].cols, 3U);
  EXPECT_EQ(stages[1].outputs[0].edges, std::vector<EdgeTypeId>{EdgeTypeId{1}});
}

TEST(MakeHeteroNetwork, RefusesWhatMakesNoModel) {
  const ModelOptions good{.layers = 2, .hidden = 4, .out_dim = 3, .types = golden_types(0)};
  ModelOptions gcn = good;
  gcn.kind = "gcn";
  EXPECT_ERROR(make_network(gcn), Errc::unimplemented,
               "expected one for a graph of 3 node types and 4 edge types, got \"gcn\"");
  ModelOptions bare = good;
  bare.types.nodes[2].cols = 0;
  EXPECT_ERROR(make_network(bare), Errc::invalid_argument, "features of \"venue\"");
  bare.layers = 1;
  EXPECT_OK(make_network(bare)) << "venues are two hops from authors";
  ModelOptions dry = good;
  dry.types.edges.erase(dry.types.edges.begin() + 1);
  EXPECT_ERROR(make_network(dry), Errc::invalid_argument, "no edge type brings anything");
}

TEST(HeteroSageDeathTest, StopsOnFeaturesOfAnotherWidth) {
  const auto model = network_of({.layers = 1, .out_dim = 3, .types = golden_types(1)});
  HeteroBatch batch = random_hetero_batch(golden_types(1), {{9, 9, 9}, {3, 3, 3}}, 1);
  batch.features[2] = random_matrix(9, 3, 1);
  const auto pass = std::make_unique<Activations>();
  InlineExecutor executor;
  EXPECT_DEATH(model->forward(executor, model->initial_parameters(1), batch.input(false), *pass),
               "features of type 2 3 2");
}

}  // namespace
}  // namespace troupe::nn
