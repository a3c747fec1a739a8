// GraphSAGE on typed graphs, against plain PyTorch (tests/goldens/typed) and finite differences.
#include "runtime/nn/typed_sage.hpp"

#include "tests/runtime/nn/model_support.hpp"
#include "tests/runtime/nn/typed_support.hpp"

#include <gtest/gtest.h>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

std::vector<std::string> names_of(const Model& model) {
  std::vector<std::string> names;
  for (const ParameterSlice& slice : model.layout()) {
    names.push_back(slice.name);
  }
  return names;
}

void expect_case(const std::string& name, const ModelOptions& options, const TypedBatch& batch,
                 const std::string& grad_out) {
  constexpr double tolerance = 1e-5;
  const auto model = model_of(options);
  const auto parameters = golden_floats("typed/" + name + "_parameters");
  ASSERT_EQ(parameters.size(), model->num_parameters());
  ComputePool executor(2);
  const auto pass = model->make_pass();
  const ForwardInput input = batch.input(false);
  std::vector<float> gradient(model->num_parameters(), NAN);

  const ConstMatrix out = model->forward(executor, parameters, input, *pass);
  expect_golden(out, "typed/" + name + "_out", tolerance);
  model->backward(executor, parameters, input, golden_matrix("typed/" + grad_out).view(), *pass,
                  gradient);

  const auto truth = golden_truth("typed/" + name + "_gradient");
  for (const ParameterSlice& slice : model->layout()) {
    expect_close<float>(std::span(gradient).subspan(slice.offset, slice.size()),
                        std::span(truth).subspan(slice.offset, slice.size()), tolerance,
                        name + " " + slice.name);
  }
}

TEST(TypedSage, OneLayerMatchesPyTorch) {
  const TypedBatch batch = golden_typed_batch(1);
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

TEST(TypedSage, TwoLayersWithNormalisationMatchPyTorch) {
  const ModelOptions options{.layers = 2,
                             .hidden = 4,
                             .out_dim = 3,
                             .layer_norm = true,
                             .l2 = true,
                             .types = golden_types(0)};
  expect_case("two", options, golden_typed_batch(2), "grad_out_author");
}

TEST(TypedSage, ParametersAreNamedByTypeAndOnlyThoseThatReachTheSeeds) {
  const auto model = model_of(
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

TEST(TypedSage, InitialParametersComeFromTheirOwnStreams) {
  const auto model = model_of(
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
                       .dropout = more ? 0.0F : 0.3F,
                       .input_dropout = more ? 0.0F : 0.2F,
                       .types = golden_types(0)});
      }
    }
  }
  return all;
}

class EachTypedSage : public ::testing::TestWithParam<ModelOptions> {};

TEST_P(EachTypedSage, GradientMatchesFiniteDifferences) {
  const TypedBatch batch =
      random_typed_batch(GetParam().types, {{60, 80, 7}, {40, 50, 5}, {20, 24, 3}, {9, 8, 1}}, 3);
  expect_gradient_of_differences(*model_of(GetParam()), batch.input(true), 1e-2);
}

TEST_P(EachTypedSage, BitsAreTheSameOnAnyExecutorAndInAReusedPass) {
  const auto& types = GetParam().types;
  expect_bits_on_any_executor(
      *model_of(GetParam()),
      random_typed_batch(types, {{1500, 2300, 70}, {1100, 1400, 50}, {600, 700, 20}, {130, 90, 9}},
                         3),
      random_typed_batch(types, {{1700, 2500, 90}, {1200, 1600, 60}, {700, 750, 30}, {200, 95, 9}},
                         4));
}

INSTANTIATE_TEST_SUITE_P(All, EachTypedSage, ::testing::ValuesIn(kinds()));

TEST(TypedSage, NodeTypesThatABatchLacksAddNothing) {
  const auto model = model_of({.layers = 2, .hidden = 4, .out_dim = 3, .types = golden_types(0)});
  const TypedBatch batch =
      random_typed_batch(model->options().types, {{9, 0, 0}, {6, 0, 0}, {3, 0, 0}}, 1);
  const auto pass = model->make_pass();
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

TEST(TypedSage, DropoutChangesTrainingOnly) {
  const ModelOptions plain{.layers = 2, .hidden = 4, .out_dim = 3, .types = golden_types(0)};
  ModelOptions dropping = plain;
  dropping.input_dropout = 0.5F;
  const auto model = model_of(dropping);
  TypedBatch batch = random_typed_batch(plain.types, {{9, 9, 9}, {6, 6, 6}, {3, 3, 3}}, 1);
  const auto pass = model->make_pass();
  const auto parameters = model->initial_parameters(1);
  InlineExecutor executor;

  const auto training = run_pass(*model, executor, parameters, batch.input(true), *pass);
  const auto scoring = run_pass(*model, executor, parameters, batch.input(false), *pass);
  const auto without = run_pass(*model_of(plain), executor, parameters, batch.input(true), *pass);

  EXPECT_TRUE(same_bits(scoring.logits, without.logits));
  EXPECT_FALSE(same_bits(training.logits, scoring.logits));
}

TEST(TypedSage, HasNoExactInference) {
  const auto model = model_of({.layers = 1, .out_dim = 3, .types = golden_types(1)});
  EXPECT_TRUE(model->infer_stages().empty());
}

TEST(MakeTypedModel, RefusesWhatMakesNoModel) {
  const ModelOptions good{.layers = 2, .hidden = 4, .out_dim = 3, .types = golden_types(0)};
  ModelOptions gcn = good;
  gcn.kind = "gcn";
  EXPECT_ERROR(make_model(gcn), Errc::unimplemented, "expected graphsage for a graph with several");
  ModelOptions bare = good;
  bare.types.nodes[2].cols = 0;
  EXPECT_ERROR(make_model(bare), Errc::invalid_argument, "features of \"venue\"");
  bare.layers = 1;
  EXPECT_OK(make_model(bare)) << "venues are two hops from authors";
  ModelOptions dry = good;
  dry.types.edges.erase(dry.types.edges.begin() + 1);
  EXPECT_ERROR(make_model(dry), Errc::invalid_argument, "no edge type brings anything");
}

TEST(TypedSageDeathTest, StopsOnFeaturesOfAnotherWidth) {
  const auto model = model_of({.layers = 1, .out_dim = 3, .types = golden_types(1)});
  TypedBatch batch = random_typed_batch(golden_types(1), {{9, 9, 9}, {3, 3, 3}}, 1);
  batch.features[2] = random_matrix(9, 3, 1);
  const auto pass = model->make_pass();
  InlineExecutor executor;
  EXPECT_DEATH(model->forward(executor, model->initial_parameters(1), batch.input(false), *pass),
               "features of type 2 3 2");
}

}  // namespace
}  // namespace troupe::nn
