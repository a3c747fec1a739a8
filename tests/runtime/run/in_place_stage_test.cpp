// Exact inference in place against the same inference by sampled blocks on several hosts.
#include "runtime/run/in_place_stage.hpp"

#include "runtime/run/exact_inference.hpp"
#include "tests/runtime/run/inference_runs.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

struct InPlaceCase {
  std::string name;
  nn::ModelOptions model;
  DType dtype = DType::f32;
  Normalize normalize = Normalize::none;
  bool in_place = true;
};
void PrintTo(const InPlaceCase& of, std::ostream* out) {
  *out << of.name;
}

std::vector<InPlaceCase> cases() {
  const nn::ModelOptions sage{.hidden = 6, .out_dim = 4};
  std::vector<InPlaceCase> all = {{"sage", sage}, {"u8", sage, DType::u8}};
  all.push_back({"normalized", sage, DType::f32, Normalize::row});
  all.push_back({"wide", {.hidden = 16, .out_dim = 32}});
  all.push_back({"one_layer", {.layers = 1, .out_dim = 5}});
  all.push_back(
      {"norm_l2", {.layers = 3, .hidden = 7, .out_dim = 3, .layer_norm = true, .l2 = true}});
  auto max = sage;
  max.aggregator = nn::Aggregator::max;
  all.push_back({"max", max});
  auto sum = sage;
  sum.aggregator = nn::Aggregator::sum;
  all.push_back({"sum", sum});
  auto residual = sage;
  residual.activation = nn::Activation::elu;
  residual.residual = true;
  all.push_back({"residual", residual});
  auto linear = sage;
  linear.linear_input = true;
  all.push_back({"linear", linear});
  all.push_back({"linear_u8", linear, DType::u8});
  all.push_back({"rgcn", {.kind = "rgcn", .hidden = 6, .out_dim = 4}});
  all.push_back({"rgcn_bases", {.kind = "rgcn", .hidden = 6, .out_dim = 4, .bases = 2}});
  all.push_back({"gin", {.kind = "gin", .hidden = 8, .out_dim = 4}});
  all.push_back({"gin_eps", {.kind = "gin", .hidden = 8, .out_dim = 4, .train_eps = true}});
  all.push_back({"gin_narrow", {.kind = "gin", .hidden = 3, .out_dim = 4}});
  all.push_back(
      {.name = "gcn", .model = {.kind = "gcn", .hidden = 6, .out_dim = 4}, .in_place = false});
  all.push_back({.name = "gcn_linear",
                 .model = {.kind = "gcn", .hidden = 6, .out_dim = 4, .linear_input = true},
                 .in_place = false});
  all.push_back({.name = "hgt",
                 .model = {.kind = "hgt", .hidden = 6, .out_dim = 4, .heads = 2},
                 .in_place = false});
  all.push_back({.name = "rgat",
                 .model = {.kind = "rgat", .hidden = 6, .out_dim = 4, .heads = 2},
                 .in_place = false});
  all.push_back({.name = "gat",
                 .model = {.kind = "gat", .hidden = 6, .out_dim = 4, .heads = 2},
                 .in_place = false});
  return all;
}

class InPlace : public testing::InferenceRuns, public ::testing::WithParamInterface<InPlaceCase> {
 protected:
  std::vector<ExactInference> one_host(std::uint64_t block_bytes) {
    std::set<std::uint32_t> parts;
    for (std::uint32_t part = 0; part < cut_.parts.size(); ++part) {
      parts.insert(part);
    }
    std::vector<ExactInference> hosts;
    hosts.push_back(on_host(parts, block_bytes));
    return hosts;
  }
  /// By sampled blocks: no host has all parts.
  auto expected() {
    std::vector<ExactInference> hosts;
    hosts.push_back(on_host({0}));
    std::set<std::uint32_t> others;
    for (std::uint32_t part = 1; part < cut_.parts.size(); ++part) {
      others.insert(part);
    }
    hosts.push_back(on_host(others));
    return logits_of(std::move(hosts));
  }
};

TEST_P(InPlace, GivesTheBitsOfSampledBlocks) {
  const auto& of = GetParam();
  normalize_ = of.normalize;
  const auto graph = testing::featured_graph(of.dtype);
  use(graph, 2, of.model);
  const auto logits = expected();
  ASSERT_EQ(logits.size(), 60U);
  ASSERT_GT(sampled_, 0U);

  for (const std::uint32_t parts : {1U, 2U, 5U}) {
    use(graph, parts, of.model);
    for (const std::uint64_t block_bytes : {1UL, 333UL, 5000UL, nn::infer_block_bytes}) {
      sampled_ = 0;
      EXPECT_EQ(logits_of(one_host(block_bytes)), logits) << parts << " parts, " << block_bytes;
      EXPECT_EQ(sampled_ == 0, of.in_place) << sampled_;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, InPlace, ::testing::ValuesIn(cases()),
                         [](const auto& of) { return of.param.name; });

using InPlaceRuns = InPlace;

TEST_F(InPlaceRuns, OfSeveralTypes) {
  auto graph = testing::papers_and_authors();
  testing::add_features(graph.nodes[0], 5);
  testing::add_features(graph.nodes[1], 3, DType::u8);
  for (const bool embeddings : {false, true}) {
    embeddings_ = embeddings;
    const nn::ModelOptions model{.layers = 3, .hidden = 6, .out_dim = 4};
    use(graph, 2, model);
    const auto logits = expected();
    ASSERT_EQ(logits.size(), embeddings ? 55U : 40U);

    for (const std::uint32_t parts : {1U, 3U}) {
      use(graph, parts, model);
      for (const std::uint64_t block_bytes : {1UL, nn::infer_block_bytes}) {
        sampled_ = 0;
        EXPECT_EQ(logits_of(one_host(block_bytes)), logits) << parts << " parts, " << block_bytes;
        EXPECT_EQ(sampled_, 0U);
      }
    }
  }
}

TEST_F(InPlaceRuns, FeaturesThatAreWiderThanAllOutputsAreReadByBlocks) {
  auto graph = testing::skewed_graph(60, 6);
  testing::add_features(graph.nodes[0], 50, DType::u8);
  const nn::ModelOptions model{.hidden = 6, .out_dim = 4};
  use(graph, 2, model);
  const auto logits = expected();
  use(graph, 1, model);
  auto hosts = one_host(nn::infer_block_bytes);
  sampled_ = 0;

  EXPECT_EQ(logits_of(std::move(hosts)), logits);
  EXPECT_EQ(sampled_, 1U) << "a block of the first layer; the second one goes in place";
}

TEST_F(InPlaceRuns, ALayerBeginsAgainFromTheSameInputs) {
  use(testing::featured_graph(), 1, {.layers = 3, .hidden = 6, .out_dim = 4});
  const auto logits = logits_of(one_host(400));
  auto hosts = one_host(400);
  ASSERT_OK(hosts[0].set_parameters(parameters_));
  run_layer(hosts, 0);
  hosts[0].begin(1);
  answer(hosts[0], hosts[0].next().front());
  hosts[0].cancel();
  run_layer(hosts, 1);
  run_layer(hosts, 1);  // the director did not hear of it; its inputs are at the holders alone now
  run_layer(hosts, 2);

  for (const auto& [key, row] : logits) {
    const auto local = raw(cut_.global(key.second));
    EXPECT_TRUE(std::ranges::equal(outputs_.begin()->second->view().row(local), row)) << key.second;
  }
}

TEST_F(InPlaceRuns, OutputsWaitForTheRowsThatTheyRead) {
  use(testing::featured_graph(DType::u8), 1, {.hidden = 6, .out_dim = 4});
  auto inference = std::move(one_host(20 * 5 * sizeof(float)).front());
  ASSERT_OK(inference.set_parameters(parameters_));
  inference.begin(0);

  const auto first = inference.next();
  ASSERT_EQ(first.size(), 2U) << "three blocks of 20 rows are turned into float32";
  answer(inference, first[0]);
  const auto third = inference.next();
  ASSERT_EQ(third.size(), 1U);
  answer(inference, third[0]);
  EXPECT_TRUE(inference.next().empty()) << "the second one is not done";
  EXPECT_FALSE(inference.done());
  answer(inference, first[1]);
  EXPECT_EQ(inference.next().size(), 2U);
  EXPECT_EQ(inference.progress().done, 0U);
}

TEST(InPlaceStage, AListWithoutItsDirectionGoesByBlocks) {
  const auto cut = testing::cut_graph(testing::featured_graph(), 1);
  auto part = std::make_shared<Part>(*cut.parts[0]);
  ASSERT_TRUE(part->edges[0].out.present());
  part->edges[0].out = {};
  nn::ModelOptions options{.layers = 1, .in_dim = 5, .out_dim = 3};
  ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const nn::Network> network, nn::make_network(options));
  const auto stages = network->infer_stages();
  const auto decoders = testing::collect_options(cut)->decoders;
  const std::map<PartId, std::shared_ptr<const Part>> parts = {{PartId{0}, part}};
  InPlaceStage stage{.network = network, .stages = stages, .decoders = decoders, .parts = parts};
  stage.outputs = {std::make_shared<Matrix>(60, 3)};

  EXPECT_TRUE(in_place_blocks(stage));
  stage.dir = EdgeDir::out;
  EXPECT_FALSE(in_place_blocks(stage));
}

}  // namespace
}  // namespace troupe
