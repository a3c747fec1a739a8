#include "runtime/nn/network.hpp"

#include "tests/runtime/nn/network_support.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

/// A batch of two or three layers' random blocks with features, ids and labels.
struct Batch {
  std::vector<OwnedBlock> blocks;
  Matrix features;
  std::vector<OriginalId> ids;

  ForwardInput input(bool training) const {
    ForwardInput in = one_type_input({}, features.view());
    for (const OwnedBlock& block : blocks) {
      in.blocks.push_back({block.view()});
    }
    in.dropout = {
        .training = training, .job_seed = 5, .stream_epoch = 1, .batch = 2, .node_type = 0};
    in.ids = {ids};
    return in;
  }
};

Batch random_batch(const std::vector<std::uint32_t>& sizes, std::size_t in_dim,
                   std::uint64_t seed) {
  Batch batch;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    batch.blocks.push_back(random_block(sizes[i + 1], sizes[i], 6, seed + i));
  }
  batch.features = random_matrix(sizes[0], in_dim, seed);
  for (std::uint32_t i = 0; i < sizes[0]; ++i) {
    batch.ids.push_back(OriginalId{1000 + 7 * std::uint64_t{i}});
  }
  return batch;
}

/// Three layers that narrow, so that GraphSAGE's and GCN's products come first.
ModelOptions narrowing(bool norm, bool l2) {
  return {.layers = 3,
          .in_dim = 11,
          .hidden = 8,
          .out_dim = 5,
          .layer_norm = norm,
          .l2 = l2,
          .dropout = 0.3F,
          .input_dropout = 0.2F};
}

std::vector<ModelOptions> sage_kinds() {
  std::vector<ModelOptions> all;
  for (const Aggregator aggregator : {Aggregator::mean, Aggregator::max, Aggregator::sum}) {
    for (const bool norm : {false, true}) {
      for (const bool l2 : {false, true}) {
        all.push_back(narrowing(norm, l2));
        all.back().aggregator = aggregator;
        all.push_back(all.back());
        all.back().in_dim = 6;  // narrower than hidden: the aggregation comes first
        all.back().dropout = 0;
      }
    }
  }
  for (const auto activation : {Activation::elu, Activation::leaky_relu}) {
    for (const bool more : {false, true}) {
      all.push_back(narrowing(more, more));
      all.back().activation = activation;
      all.back().slope = 0.2F;
      all.back().residual = true;  // the layer in the middle has equal columns
      all.push_back(all.back());
      all.back().residual = more;
      all.back().dropout = 0;
      all.back().out_dim = 8;  // the last layer, too
    }
  }
  return all;
}

std::vector<ModelOptions> all_kinds() {
  std::vector<ModelOptions> all = sage_kinds();
  for (const bool norm : {false, true}) {
    for (const bool l2 : {false, true}) {
      all.push_back(narrowing(norm, l2));
      all.back().kind = "gcn";
      all.push_back(all.back());
      all.back().in_dim = 6;
      all.back().out_dim = 8;
      all.back().dropout = 0;
    }
  }
  all.push_back(narrowing(false, true));
  all.back().batch_norm = true;
  all.push_back(narrowing(false, false));
  all.back().batch_norm = true;
  all.back().kind = "gin";
  all.back().activation = Activation::elu;
  all.push_back(narrowing(true, false));
  all.back().linear_input = true;
  all.push_back(all.back());
  all.back().kind = "gcn";
  all.back().dropout = 0;  // a row of zeros before layer normalization spoils differences
  return all;
}

class EachModel : public ::testing::TestWithParam<ModelOptions> {};
class EachSage : public EachModel {};  // GCN: gcn_test.cpp, with the degrees of a whole graph

TEST_P(EachModel, GradientMatchesFiniteDifferences) {
  const Batch batch = random_batch({90, 60, 30, 10}, GetParam().in_dim, 3);
  expect_gradient_of_differences(*network_of(GetParam()), batch.input(true), 5e-3);
}

TEST_P(EachModel, BitsAreTheSameOnAnyExecutorAndInAReusedPass) {
  expect_bits_on_any_executor(*network_of(GetParam()),
                              random_batch({2300, 1500, 700, 130}, GetParam().in_dim, 3),
                              random_batch({2600, 1800, 800, 200}, GetParam().in_dim, 4));
}

TEST_P(EachSage, InferenceByLayerHasTheBitsOfForwardWhateverTheOtherRows) {
  const auto model = network_of(GetParam());
  const Batch batch = random_batch({1200, 900, 600, 520}, GetParam().in_dim, 3);
  const std::vector<float> parameters = model->initial_parameters(9);
  const auto pass = std::make_unique<Activations>();
  ComputePool pool(2);
  const ConstMatrix logits = model->forward(pool, parameters, batch.input(false), *pass);

  Matrix rows = copy_of(batch.features.view());
  for (std::uint32_t layer = 0; layer < 3; ++layer) {
    const OwnedBlock& block = batch.blocks[layer];
    const Matrix whole = infer_stage(*model, pool, parameters, layer, block.view(), rows.view());
    for (const std::uint32_t count : {1U, 2U, 17U, 513U}) {
      LayerBlock part = block.view();
      part.num_dst = count;
      part.offsets = part.offsets.first(count + 1);
      const Matrix some = infer_stage(*model, pool, parameters, layer, part, rows.view());
      EXPECT_TRUE(same_bits(some.view().flat(), whole.view().slice(0, count).flat())) << count;
    }
    rows = copy_of(whole.view());
  }

  EXPECT_TRUE(same_bits(rows.view().flat(), logits.flat()));
}

TEST_P(EachSage, TheLastLayerOfTheEmbeddingsGivesTheLogits) {
  const auto model = network_of(GetParam());
  const Batch batch = random_batch({1200, 900, 600, 520}, GetParam().in_dim, 3);
  const std::vector<float> parameters = model->initial_parameters(9);
  const auto pass = std::make_unique<Activations>();
  ComputePool pool(2);
  const ConstMatrix logits = model->forward(pool, parameters, batch.input(false), *pass);

  const Matrix first =
      infer_stage(*model, pool, parameters, 0, batch.blocks[0].view(), batch.features.view());
  const Matrix embeddings =
      infer_stage(*model, pool, parameters, 1, batch.blocks[1].view(), first.view(), true);
  EXPECT_EQ(embeddings.cols(), GetParam().hidden);
  const Matrix last =
      infer_stage(*model, pool, parameters, 2, batch.blocks[2].view(), embeddings.view());

  EXPECT_TRUE(same_bits(last.view().flat(), logits.flat()));
}

INSTANTIATE_TEST_SUITE_P(All, EachModel, ::testing::ValuesIn(all_kinds()));
INSTANTIATE_TEST_SUITE_P(All, EachSage, ::testing::ValuesIn(sage_kinds()));

TEST(Network, EmptyBatchGivesNoLogitsAndAZeroGradient) {
  for (const std::string kind : {"graphsage", "gcn"}) {
    const auto model = network_of({.kind = kind,
                                   .layers = 2,
                                   .in_dim = 4,
                                   .hidden = 8,
                                   .out_dim = 3,
                                   .layer_norm = true,
                                   .l2 = true});
    const OwnedBlock empty{.num_dst = 0, .num_src = 0, .offsets = {0}, .sources = {}};
    const ForwardInput input = one_type_input({empty.view(), empty.view()}, {nullptr, 0, 4});
    const auto pass = std::make_unique<Activations>();
    InlineExecutor executor;

    const PassResult result =
        run_pass(*model, executor, model->initial_parameters(1), input, *pass);

    EXPECT_TRUE(result.logits.empty());
    EXPECT_EQ(std::ranges::count(result.gradient, 0.0F),
              static_cast<std::ptrdiff_t>(model->num_parameters()));
  }
}

TEST(Network, ResidualsHaveAMatrixWhereColumnsDiffer) {
  const auto model =
      network_of({.layers = 3, .in_dim = 4, .hidden = 8, .out_dim = 3, .residual = true});
  std::vector<std::string> skips;
  for (const ParameterSlice& slice : model->layout()) {
    if (slice.name.starts_with("skip")) {
      skips.push_back(fmt::format("{} {}x{}", slice.name, slice.rows, slice.cols));
    }
  }

  EXPECT_EQ(skips, (std::vector<std::string>{"skip1.weight 8x4", "skip3.weight 3x8"}));
}

TEST(Network, AResidualAddsTheRowsBeforeTheLayer) {
  // GIN without edges, its products zero: what remains is the residual, identity in both layers.
  const auto model = network_of(
      {.kind = "gin", .layers = 2, .in_dim = 3, .hidden = 3, .out_dim = 3, .residual = true});
  const OwnedBlock empty{.num_dst = 4, .num_src = 4, .offsets = {0, 0, 0, 0, 0}, .sources = {}};
  const Matrix x = random_matrix(4, 3, 1);
  InlineExecutor executor;
  Activations activations;
  const std::vector<float> zeros(model->num_parameters());

  const ConstMatrix out = model->forward(
      executor, zeros, one_type_input({empty.view(), empty.view()}, x.view()), activations);

  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out.data[i], std::max(x.data()[i], 0.0F)) << i;
  }
}

TEST(Network, ResidualsAreRefusedWhereRowsTravelAsMessages) {
  EXPECT_ERROR(
      make_network({.kind = "gcn", .in_dim = 4, .hidden = 8, .out_dim = 3, .residual = true}),
      Errc::unimplemented, "model residual: expected a kind among \"graphsage\"");
}

TEST(Network, ALinearInputComesBeforeTheFirstLayerAndIsAStageOfItsOwn) {
  for (const std::string kind : {"graphsage", "gcn", "gin", "gat"}) {
    const auto model = network_of(
        {.kind = kind, .layers = 2, .in_dim = 7, .hidden = 4, .out_dim = 3, .linear_input = true});
    EXPECT_EQ(model->layout()[0].name, "input.weight");
    EXPECT_EQ(model->layout()[0].cols, 7U);
    EXPECT_EQ(model->layout()[1].name, "input.bias");
    EXPECT_EQ(model->layout()[2].cols, 4U) << kind;
    const OwnedBlock graph = random_block(600, 600, 6, 5);
    const Matrix x = random_matrix(600, 7, 1);
    const auto parameters = model->initial_parameters(2);
    ComputePool pool(2);
    nn::Activations activations;
    const ConstMatrix logits = model->forward(
        pool, parameters, one_type_input({graph.view(), graph.view()}, x.view()), activations);
    const auto stages = model->infer_stages();
    ASSERT_EQ(stages.size(), 3U) << kind;
    EXPECT_FALSE(stages[0].neighbor_rows);
    EXPECT_EQ(stages[0].in_cols, (std::vector<std::uint64_t>{7}));

    Matrix rows = copy_of(x.view());
    for (std::uint32_t stage = 0; stage < 3; ++stage) {
      EXPECT_EQ(stages[stage].in_cols[0], rows.cols()) << kind << stage;
      rows = infer_stage(*model, pool, parameters, stage, graph.view(), rows.view());
      EXPECT_EQ(stages[stage].outputs[0].cols, rows.cols()) << kind << stage;
    }

    if (kind != "gcn") {  // its messages divide by roots in another order
      EXPECT_TRUE(same_bits(std::as_const(rows).view().flat(), logits.flat())) << kind;
    }
  }
}

TEST(Network, LayoutNamesEachSliceInOrder) {
  const auto model =
      network_of({.layers = 2, .in_dim = 4, .hidden = 8, .out_dim = 3, .layer_norm = true});
  const std::vector<ParameterSlice> expected = {
      {"conv1.lin_l.weight", 0, 8, 4},  {"conv1.lin_l.bias", 32, 8, 1},
      {"conv1.lin_r.weight", 40, 8, 4}, {"norm1.weight", 72, 8, 1},
      {"norm1.bias", 80, 8, 1},         {"conv2.lin_l.weight", 88, 3, 8},
      {"conv2.lin_l.bias", 112, 3, 1},  {"conv2.lin_r.weight", 115, 3, 8}};

  const ParameterLayout& layout = model->layout();

  ASSERT_EQ(layout.size(), expected.size());
  for (std::size_t i = 0; i < layout.size(); ++i) {
    EXPECT_EQ(layout[i].name, expected[i].name);
    EXPECT_EQ(layout[i].offset, expected[i].offset);
    EXPECT_EQ(layout[i].rows, expected[i].rows);
    EXPECT_EQ(layout[i].cols, expected[i].cols);
  }
  EXPECT_EQ(model->num_parameters(), 139U);
}

TEST(Network, InitialParametersAreWordZeroOfTheStreamOfTheirNumberAndIndex) {
  const auto model =
      network_of({.layers = 2, .in_dim = 16, .hidden = 4, .out_dim = 3, .layer_norm = true});
  const std::uint64_t seed = (std::uint64_t{3} << 32) + 8;

  const std::vector<float> parameters = model->initial_parameters(seed);

  for (const std::uint32_t number : {0U, 1U, 2U, 5U, 7U}) {
    expect_drawn(*model, parameters, number, seed, number < 5 ? 0.25F : 0.5F);  // 1/sqrt(16), (4)
  }
  const auto norm = [&](std::size_t number) {
    const ParameterSlice& slice = model->layout()[number];
    const auto begin = parameters.begin() + static_cast<std::ptrdiff_t>(slice.offset);
    return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(slice.size()));
  };
  EXPECT_EQ(norm(3), (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(norm(4), (std::vector<float>{0, 0, 0, 0}));
}

TEST(Network, InitialParametersFillTheirRangeEvenly) {
  const auto model = network_of({.layers = 1, .in_dim = 400, .out_dim = 100});
  const auto parameters = model->initial_parameters(1);
  const auto weight = std::span(parameters).first(40000);
  const double bound = 0.05;
  double sum = 0;
  double squares = 0;

  for (const float value : weight) {
    ASSERT_LE(std::abs(value), bound);
    sum += value;
    squares += static_cast<double>(value) * value;
  }

  const double sd = bound / std::sqrt(3.0);
  EXPECT_NEAR(sum / 40000, 0, 4 * sd / 200);
  EXPECT_NEAR(std::sqrt(squares / 40000), sd, 0.02 * sd);
  EXPECT_NE(parameters, model->initial_parameters(2));
}

TEST(Network, DropoutChangesTrainingOnly) {
  const auto model =
      network_of({.layers = 2, .in_dim = 6, .hidden = 8, .out_dim = 3, .dropout = 0.5F});
  const auto plain = network_of({.layers = 2, .in_dim = 6, .hidden = 8, .out_dim = 3});
  const Batch batch = random_batch({60, 30, 10}, 6, 1);
  const auto parameters = model->initial_parameters(1);
  const auto pass = std::make_unique<Activations>();
  InlineExecutor executor;

  const PassResult training = run_pass(*model, executor, parameters, batch.input(true), *pass);
  const PassResult evaluating = run_pass(*model, executor, parameters, batch.input(false), *pass);
  const PassResult without = run_pass(*plain, executor, parameters, batch.input(true), *pass);

  EXPECT_TRUE(same_bits(evaluating.logits, without.logits));
  EXPECT_FALSE(same_bits(training.logits, without.logits));
}

TEST(MakeNetwork, RefusesSizesThatMakeNoModel) {
  const ModelOptions good{.layers = 2, .in_dim = 4, .hidden = 8, .out_dim = 3};
  const auto refused = [&](auto change, const std::string& text) {
    ModelOptions options = good;
    change(options);
    EXPECT_ERROR(make_network(options), Errc::invalid_argument, text);
  };
  refused([](auto& o) { o.layers = 0; }, "layers: expected 1 to 255, got 0");
  refused([](auto& o) { o.layers = 256; }, "layers");
  refused([](auto& o) { o.in_dim = 0; }, "in_dim");
  refused([](auto& o) { o.out_dim = 0; }, "out_dim");
  refused([](auto& o) { o.hidden = 0; }, "hidden");
  refused([](auto& o) { o.in_dim = std::uint64_t{1} << 60; }, "in_dim");
  refused([](auto& o) { o.dropout = 1; }, "dropout: expected a number in [0, 1), got 1");
  refused([](auto& o) { o.input_dropout = NAN; }, "input_dropout");
  refused([](auto& o) { o.dropout = -0.1F; }, "dropout");
}

TEST(MakeNetwork, OneLayerNeedsNoHiddenWidth) {
  EXPECT_OK(make_network({.layers = 1, .in_dim = 4, .hidden = 0, .out_dim = 3}));
}

TEST(MakeNetwork, RefusesAKindThatItDoesNotKnow) {
  EXPECT_ERROR(make_network({.kind = "planned", .layers = 1, .in_dim = 1, .out_dim = 1}),
               Errc::unimplemented, "model kind: expected graphsage or gcn");
}

TEST(ModelDeathTest, StopsOnFeaturesOfAnotherWidth) {
  const auto model = network_of({.layers = 2, .in_dim = 6, .hidden = 8, .out_dim = 3});
  const Batch batch = random_batch({60, 30, 10}, 5, 1);
  const auto pass = std::make_unique<Activations>();
  InlineExecutor executor;

  EXPECT_DEATH(model->forward(executor, model->initial_parameters(1), batch.input(false), *pass),
               "features of type 0 5 6");
}

}  // namespace
}  // namespace troupe::nn
