// Operations of a tape on their own, as a convolution of a user's may use them.
#include "runtime/nn/ops/tape.hpp"

#include "runtime/nn/catalog.hpp"
#include "runtime/nn/ops/cpu_block_ops.hpp"
#include "tests/runtime/nn/network_support.hpp"
#include "tests/runtime/nn/nn_support.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

/// What a test records: from an input to a result.
using Record = std::function<Rows(Tape&, Rows)>;

class TapeOf {
 public:
  TapeOf(ParameterList list, Record record) : list_(std::move(list)), record_(std::move(record)) {}

  double value(std::span<const float> parameters, ConstMatrix x, ConstMatrix grad) {
    tape_.begin(executor_, list_, parameters, true);
    const ConstMatrix out = tape_.value(record_(tape_, tape_.input(x, true)));
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      sum += static_cast<double>(out.data[i]) * grad.data[i];
    }
    return sum;
  }
  struct Gradients {
    std::vector<float> parameters;
    Matrix input;
  };
  Gradients backward(std::span<const float> parameters, ConstMatrix x, ConstMatrix grad) {
    tape_.begin(executor_, list_, parameters, true);
    const Rows input = tape_.input(x, true);
    const Rows result = record_(tape_, input);
    Gradients gradients{std::vector<float>(parameters.size(), NAN), {}};
    tape_.backward(result, grad, gradients.parameters);
    gradients.input = copy_of(tape_.gradient(input));
    return gradients;
  }

 private:
  ParameterList list_;
  Record record_;
  CpuBlockOps ops_;
  Tape tape_{ops_};
  InlineExecutor executor_;
};

/// The gradients of a result [rows, cols] along random directions, of parameters and input, against
/// differences.
void expect_differences(TapeOf& tape, std::size_t parameters, ConstMatrix x, std::size_t rows,
                        std::size_t cols) {
  const Matrix grad = random_matrix(rows, cols, 5);
  const Matrix start = random_matrix(parameters, 1, 6);
  const auto flat = std::as_const(start).view().flat();
  const auto gradients = tape.backward(flat, x, grad.view());
  const auto check = [&](std::span<const float> gradient, bool of_input, std::uint64_t seed) {
    const Matrix direction = random_matrix(gradient.size(), 1, seed);
    double expected = 0;
    double scale = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double term = static_cast<double>(gradient[i]) * direction.data()[i];
      expected += term;
      scale += std::abs(term);
    }
    double best = HUGE_VAL;  // a kink between two ends spoils a difference
    for (const float step : {1e-2F, 3e-3F, 1e-3F, 3e-4F, 1e-4F}) {
      const auto moved = [&](float by) {
        Matrix values = of_input ? copy_of(x) : copy_of(start.view());
        for (std::size_t i = 0; i < gradient.size(); ++i) {
          values.data()[i] += by * direction.data()[i];
        }
        const auto view = std::as_const(values).view();
        return of_input ? tape.value(flat, view, grad.view())
                        : tape.value(view.flat(), x, grad.view());
      };
      best = std::min(best, std::abs((moved(step) - moved(-step)) / (2.0 * step) - expected));
    }
    EXPECT_GT(scale, 0) << of_input;
    EXPECT_LE(best, 2e-3 * scale) << (of_input ? "input" : "parameters");
  };
  check(gradients.parameters, false, 7);
  check(std::as_const(gradients.input).view().flat(), true, 8);
}

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
