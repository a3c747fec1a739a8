// Operations of a tape on their own, as a convolution of a user's may use them.
#include "runtime/nn/ops/tape.hpp"

#include "runtime/nn/catalog.hpp"
#include "tests/runtime/nn/network_support.hpp"
#include "tests/runtime/nn/nn_support.hpp"
#include "tests/runtime/nn/tape_support.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <vector>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

TEST(Tape, GivesGradientsOfInputsAndParametersThroughEveryKindOfTerm) {
  const OwnedBlock block = random_block(600, 1100, 6, 3);
  const LayerBlock view = block.view();
  const Matrix x = random_matrix(1100, 7, 1);
  ParameterList list;
  const auto first = list.add({.name = "first", .rows = 5, .cols = 7});
  const auto second = list.add({.name = "second", .rows = 5, .cols = 7});
  const auto bias = list.add({.name = "bias", .rows = 5});
  const auto gain = list.add({.name = "norm.weight", .rows = 5});
  list.add({.name = "norm.bias", .rows = 5});
  const auto size = num_parameters(list.layout());
  for (const auto aggregator : {Aggregator::mean, Aggregator::max, Aggregator::sum}) {
    TapeOf tape(list, [&, aggregator](Tape& t, Rows rows) {
      const Rows narrow = t.linear(rows, 1100, first);
      const EdgeFactors factors = t.degree_factors(view, nullptr);
      Ending ending;
      ending.biases = {bias};
      ending.norm = true;
      ending.norm_gain = gain;
      ending.relu = true;
      return t.combine(
          {t.aggregate(rows, view, aggregator, {first}), t.own(rows, {first, second}),  // their sum
           t.weighted_sum(narrow, view, factors), t.aggregate(narrow, view, Aggregator::sum)},
          600, ending);
    });

    expect_differences(tape, size, x.view(), 600, 5);
  }
}

TEST(Tape, AParameterThatIsUsedTwiceGetsTheSumOfItsGradients) {
  const Matrix x = random_matrix(30, 4, 1);
  const Matrix grad = random_matrix(30, 4, 2);
  ParameterList list;
  const auto weight = list.add({.name = "weight", .rows = 4, .cols = 4});
  const auto unused = list.add({.name = "unused", .rows = 3});
  const Matrix start = random_matrix(19, 1, 6);
  TapeOf twice(
      list, [&](Tape& t, Rows rows) { return t.linear(t.linear(rows, 30, weight), 30, weight); });

  const auto gradients = twice.backward(start.view().flat(), x.view(), grad.view());

  EXPECT_EQ(std::ranges::count(list.vector_of(unused, std::span(gradients.parameters)), 0.0F), 3);
  expect_differences(twice, 19, x.view(), 30, 4);
}

TEST(Tape, RowsThatNoUseReachesHaveNoGradient) {
  const Matrix x = random_matrix(9, 4, 1);
  const Matrix grad = random_matrix(5, 2, 2);
  ParameterList list;
  const auto weight = list.add({.name = "weight", .rows = 2, .cols = 4});
  const Matrix start = random_matrix(8, 1, 6);
  TapeOf tape(list, [&](Tape& t, Rows rows) { return t.linear(rows, 5, weight); });

  const auto gradients = tape.backward(start.view().flat(), x.view(), grad.view());

  const auto beyond = std::as_const(gradients.input).view().slice(5, 4).flat();
  EXPECT_EQ(std::ranges::count(beyond, 0.0F), 16);
  EXPECT_NE(gradients.input.data()[0], 0.0F);
}

/// A convolution of a user's: mean of the neighbors' products, plus own rows as they are.
class ResidualConv final : public Conv {
 public:
  std::vector<NewParameter> parameters(const ConvShape& shape) const override {
    return {{.name = "weight", .rows = shape.out, .cols = shape.source, .bound = 0.3F}};
  }
  ConvTerms record(const ConvCall& call) const override {
    const Rows all = call.tape.linear(call.source, call.block.num_src, call.parameter);
    return {.neighbors = {call.tape.aggregate(all, call.block, Aggregator::mean),
                          call.tape.own(call.source)},
            .own = {},
            .biases = {}};
  }
};

TEST(MakeNetwork, TakesAKindThatTheCatalogDoesNotHave) {
  const ModelKind kind{.name = "residual",
                       .help = "for this test",
                       .make = [](const ModelOptions&) -> std::unique_ptr<const Conv> {
                         return std::make_unique<ResidualConv>();
                       }};
  ASSERT_OK_AND_ASSIGN(
      const auto network,
      make_network({.kind = "residual", .layers = 2, .in_dim = 6, .hidden = 6, .out_dim = 6},
                   kind));
  const OwnedBlock lower = random_block(50, 90, 5, 1);
  const OwnedBlock upper = random_block(20, 50, 5, 2);
  const Matrix x = random_matrix(90, 6, 3);

  expect_gradient_of_differences(*network, one_type_input({lower.view(), upper.view()}, x.view()),
                                 2e-3);
  EXPECT_EQ(network->layout()[0].name, "conv1.weight");
}

}  // namespace
}  // namespace troupe::nn
