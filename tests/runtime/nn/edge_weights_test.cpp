// Weights of edges in messages: against slow sums, repeated edges, and differences.
#include "runtime/nn/catalog.hpp"
#include "tests/runtime/nn/heterogeneous_support.hpp"
#include "tests/runtime/nn/network_support.hpp"
#include "tests/runtime/nn/nn_support.hpp"
#include "tests/runtime/nn/tape_support.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

/// A block whose edges have weights.
struct BlockWithWeights {
  OwnedBlock block;
  std::vector<float> weights;
  LayerBlock view() const {
    LayerBlock view = block.view();
    view.weights = weights;
    return view;
  }
};

BlockWithWeights block_with_weights(std::uint32_t num_dst, std::uint32_t num_src,
                                    std::uint64_t seed) {
  BlockWithWeights result{random_block(num_dst, num_src, 5, seed), {}};
  while (result.block.sources.empty()) {
    result.block = random_block(num_dst, num_src, 5, ++seed);
  }
  const Matrix random = random_matrix(result.block.sources.size(), 1, seed);
  for (std::size_t e = 0; e < result.block.sources.size(); ++e) {
    result.weights.push_back(random.data()[e] + 1.5F);
  }
  return result;
}

TEST(WeightedAggregate, IsTheSlowSumAroundTheEndOfAChunk) {
  for (const std::uint32_t rows : {1U, 511U, 512U, 513U}) {
    const BlockWithWeights block = block_with_weights(rows, 600, rows);
    const LayerBlock view = block.view();
    const Matrix x = random_matrix(600, 3, 1);
    for (const auto aggregator : {Aggregator::mean, Aggregator::sum}) {
      ParameterList list;
      list.add({.name = "weight", .rows = 3, .cols = 3});
      const std::vector<float> one{1, 0, 0, 0, 1, 0, 0, 0, 1};
      CpuBlockOps ops;
      Tape tape(ops);
      ComputePool executor(2);
      tape.begin(executor, list, one, false);

      const Rows out = tape.combine(
          {tape.weighted_aggregate(tape.input(x.view()), view, aggregator, {0})}, rows, {});

      for (std::uint32_t i = 0; i < rows; ++i) {
        for (std::size_t c = 0; c < 3; ++c) {
          double sum = 0;
          const auto begin = block.block.offsets[i];
          const auto end = block.block.offsets[i + 1];
          for (auto e = begin; e < end; ++e) {
            sum += static_cast<double>(block.weights[e]) * x.view().row(block.block.sources[e])[c];
          }
          if (aggregator == Aggregator::mean && end > begin) {
            sum /= end - begin;
          }
          ASSERT_NEAR(tape.value(out).row(i)[c], sum, 1e-5) << rows << " row " << i;
        }
      }
      TapeOf differences(list, [&](Tape& t, Rows input) {
        return t.combine({t.weighted_aggregate(input, view, aggregator, {0})}, rows, {});
      });
      expect_differences(differences, 9, x.view(), rows, 3);
    }
  }
}

std::vector<ModelOptions> weighted_models() {
  std::vector<ModelOptions> all;
  for (const std::string kind : {"graphsage", "gcn", "gin"}) {
    for (const std::uint64_t hidden : {4U, 9U}) {  // narrower and wider than the features
      all.push_back({.kind = kind,
                     .aggregator = hidden == 4 ? Aggregator::sum : Aggregator::mean,
                     .layers = 2,
                     .in_dim = 7,
                     .hidden = hidden,
                     .out_dim = 3,
                     .edge_weights = true});
    }
  }
  return all;
}

class EachWeighted : public ::testing::TestWithParam<ModelOptions> {};

TEST_P(EachWeighted, GradientMatchesFiniteDifferences) {
  const BlockWithWeights lower = block_with_weights(12, 20, 1);
  const BlockWithWeights upper = block_with_weights(6, 12, 2);
  const Matrix x = random_matrix(20, 7, 3);
  expect_gradient_of_differences(*network_of(GetParam()),
                                 one_type_input({lower.view(), upper.view()}, x.view()), 5e-3);
}

TEST_P(EachWeighted, WithoutWeightsIsTheSameAsUnweightedBitForBit) {
  const OwnedBlock lower = random_block(700, 1200, 5, 1);
  const OwnedBlock upper = random_block(300, 700, 5, 2);
  const Matrix x = random_matrix(1200, 7, 3);
  const auto input = one_type_input({lower.view(), upper.view()}, x.view());
  auto options = GetParam();
  const auto weighted = network_of(options);
  options.edge_weights = false;
  const auto plain = network_of(options);
  const auto parameters = plain->initial_parameters(3);
  InlineExecutor executor;
  nn::Activations one;
  nn::Activations two;

  const auto expected = run_pass(*plain, executor, parameters, input, one);
  const auto actual = run_pass(*weighted, executor, parameters, input, two);

  EXPECT_TRUE(same_bits(actual.logits, expected.logits));
  EXPECT_TRUE(same_bits(actual.gradient, expected.gradient));
}

/// An edge of weight 2 counts as two edges, but in the number that a mean divides by.
TEST_P(EachWeighted, AWeightOfTwoIsAnEdgeTwice) {
  if (GetParam().kind == "graphsage" && GetParam().aggregator == Aggregator::mean) {
    return;
  }
  BlockWithWeights single{random_block(60, 60, 4, 1), {}};
  OwnedBlock repeated{60, 60, {0}, {}};
  for (std::uint32_t d = 0; d < 60; ++d) {
    for (auto e = single.block.offsets[d]; e < single.block.offsets[d + 1]; ++e) {
      const bool twice = e % 3 == 0;
      single.weights.push_back(twice ? 2 : 1);
      repeated.sources.insert(repeated.sources.end(), twice ? 2 : 1, single.block.sources[e]);
    }
    repeated.offsets.push_back(static_cast<std::uint32_t>(repeated.sources.size()));
  }
  const Matrix x = random_matrix(60, 7, 3);
  auto options = GetParam();
  const auto weighted = network_of(options);
  options.edge_weights = false;
  const auto plain = network_of(options);
  const auto parameters = plain->initial_parameters(3);
  InlineExecutor executor;
  nn::Activations one;
  nn::Activations two;
  const auto expected = run_pass(*plain, executor, parameters,
                                 one_type_input({repeated.view(), repeated.view()}, x.view()), one);

  const auto actual = run_pass(*weighted, executor, parameters,
                               one_type_input({single.view(), single.view()}, x.view()), two);

  const std::vector<double> truth(expected.logits.begin(), expected.logits.end());
  expect_close<float>(actual.logits, truth, 1e-5, "logits");
  const std::vector<double> slopes(expected.gradient.begin(), expected.gradient.end());
  expect_close<float>(actual.gradient, slopes, 1e-4, "gradient");
}

TEST_P(EachWeighted, ExactInferenceGivesTheLogitsOfTheWholeGraph) {
  const BlockWithWeights graph = block_with_weights(300, 300, 5);
  const Matrix x = random_matrix(300, 7, 1);
  const auto network = network_of(GetParam());
  const auto parameters = network->initial_parameters(2);
  ComputePool pool(2);
  nn::Activations activations;
  const ConstMatrix logits = network->forward(
      pool, parameters, one_type_input({graph.view(), graph.view()}, x.view()), activations);

  Matrix rows = copy_of(x.view());
  for (std::uint32_t stage = 0; stage < network->infer_stages().size(); ++stage) {
    rows = infer_stage(*network, pool, parameters, stage, graph.view(), rows.view());
  }

  const std::vector<double> truth(logits.flat().begin(), logits.flat().end());
  expect_close<float>(std::as_const(rows).view().flat(), truth, 2e-6, "logits");
  EXPECT_FALSE(network->reads_in_place());
}

INSTANTIATE_TEST_SUITE_P(All, EachWeighted, ::testing::ValuesIn(weighted_models()));

TEST(EdgeWeights, AreRefusedWhereTheyAreNotBuilt) {
  ModelOptions options{
      .aggregator = Aggregator::max, .in_dim = 4, .hidden = 8, .out_dim = 3, .edge_weights = true};
  EXPECT_ERROR(make_network(options), Errc::unimplemented, "without the aggregator max");
  options.aggregator = Aggregator::mean;
  options.kind = "gat";
  EXPECT_ERROR(make_network(options), Errc::unimplemented,
               "expected a kind among \"graphsage\", \"gcn\", \"gin\"");
}

}  // namespace
}  // namespace troupe::nn
