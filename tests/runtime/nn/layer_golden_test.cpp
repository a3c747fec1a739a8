// One GraphSAGE layer against PyTorch Geometric, through the model and through the single
// operations.
#include "runtime/nn/conv/sage.hpp"
#include "runtime/nn/ops/linear.hpp"
#include "tests/runtime/nn/network_support.hpp"
#include "tests/runtime/nn/nn_support.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr double layer_tolerance = 1e-5;

struct LayerCase {
  std::string graph;
  std::string layer;
  Aggregator aggregator;
  bool l2;
  std::string path() const { return graph + "/" + layer; }
};

std::vector<LayerCase> layer_cases() {
  std::vector<LayerCase> all;
  for (const std::string graph : {"layers/small", "layers/medium"}) {
    all.push_back({graph, "sage_mean", Aggregator::mean, false});
    all.push_back({graph, "sage_mean_l2", Aggregator::mean, true});
    all.push_back({graph, "sage_max", Aggregator::max, false});
    all.push_back({graph, "sage_max_l2", Aggregator::max, true});
    all.push_back({graph, "sage_sum", Aggregator::sum, false});
    all.push_back({graph, "sage_sum_l2", Aggregator::sum, true});
  }
  return all;
}

class SageLayer : public ::testing::TestWithParam<LayerCase> {};

TEST_P(SageLayer, MatchesOutputAndParameterGradients) {
  const std::string path = GetParam().path();
  const OwnedBlock block = golden_block(GetParam().graph);
  const Matrix x = golden_matrix(GetParam().graph + "/x");
  const Matrix left = golden_matrix(path + "/lin_l_weight");
  const Matrix grad_out =
      golden_matrix(GetParam().graph + "/grad_out_" + std::to_string(left.rows()));
  ASSERT_OK_AND_ASSIGN(const auto model, make_network({.aggregator = GetParam().aggregator,
                                                       .layers = 1,
                                                       .in_dim = x.cols(),
                                                       .out_dim = left.rows(),
                                                       .l2 = GetParam().l2}));
  std::vector<float> parameters;
  for (const std::string name : {"/lin_l_weight", "/lin_l_bias", "/lin_r_weight"}) {
    const auto values = golden_floats(path + name);
    parameters.insert(parameters.end(), values.begin(), values.end());
  }
  const ForwardInput input = one_type_input({block.view()}, x.view());
  ComputePool executor(2);
  const auto pass = std::make_unique<Activations>();
  std::vector<float> gradient(model->num_parameters(), NAN);

  const ConstMatrix out = model->forward(executor, parameters, input, *pass);
  expect_golden(out, path + "/out", layer_tolerance);
  model->backward(grad_out.view(), *pass, gradient);

  const auto& layout = model->layout();
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string name =
        std::vector<std::string>{"lin_l_weight", "lin_l_bias", "lin_r_weight"}[i];
    expect_golden(std::span(gradient).subspan(layout[i].offset, layout[i].size()),
                  path + "/grad_" + name, layer_tolerance);
  }
}

/// The gradient of the layer's input from the operations, in either order of product and
/// aggregation.
Matrix input_gradient(const LayerCase& c, bool transform_first, ConstMatrix x,
                      const OwnedBlock& block, MutMatrix grad) {
  const Matrix left = golden_matrix(c.path() + "/lin_l_weight");
  const Matrix right = golden_matrix(c.path() + "/lin_r_weight");
  Matrix aggregated(block.num_dst, x.cols);
  std::vector<std::uint32_t> argmax(c.aggregator == Aggregator::max ? block.num_dst * x.cols : 0);
  aggregate_rows(c.aggregator, block.view(), 0, x, aggregated.view(), argmax);
  if (c.l2) {
    Matrix out(block.num_dst, left.rows());
    std::vector<float> lengths(block.num_dst);
    linear_rows(aggregated.view(), left.view(), out.view(), Into::overwrite);
    linear_rows(x.slice(0, block.num_dst), right.view(), out.view(), Into::add);
    add_bias_rows(golden_floats(c.path() + "/lin_l_bias"), out.view());
    l2_normalize_rows(out.view(), lengths);
    l2_normalize_backward_rows(out.view(), lengths, grad);
  }
  EdgesBySource by_source;
  by_source.build(block.view());
  Matrix grad_x(block.num_src, x.cols);
  if (transform_first) {
    Matrix transformed(block.num_src, left.rows());
    aggregate_backward_rows(c.aggregator, by_source, 0, grad, argmax, transformed.view());
    linear_backward_rows(transformed.view(), left.view(), grad_x.view(), Into::overwrite);
  } else {
    Matrix grad_aggregated(block.num_dst, x.cols);
    linear_backward_rows(grad, left.view(), grad_aggregated.view(), Into::overwrite);
    aggregate_backward_rows(c.aggregator, by_source, 0, grad_aggregated.view(), argmax,
                            grad_x.view());
  }
  linear_backward_rows(grad, right.view(), grad_x.view().slice(0, block.num_dst), Into::add);
  return grad_x;
}

TEST_P(SageLayer, MatchesInputGradientInBothOrders) {
  const LayerCase& c = GetParam();
  const OwnedBlock block = golden_block(c.graph);
  const Matrix x = golden_matrix(c.graph + "/x");
  const std::string width = std::to_string(golden(c.path() + "/out").shape[1]);
  for (const bool transform_first : {false, true}) {
    if (transform_first && c.aggregator == Aggregator::max) {
      continue;  // not linear
    }
    Matrix grad = golden_matrix(c.graph + "/grad_out_" + width);

    const Matrix grad_x = input_gradient(c, transform_first, x.view(), block, grad.view());

    expect_golden(grad_x.view(), c.path() + "/grad_x", layer_tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, SageLayer, ::testing::ValuesIn(layer_cases()),
                         [](const auto& test) {
                           return test.param.graph.substr(7) + "_" + test.param.layer;
                         });

}  // namespace
}  // namespace troupe::nn
