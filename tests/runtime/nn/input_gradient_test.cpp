// Gradients of the features that a network reads, against finite differences, for every kind.
#include "runtime/nn/catalog.hpp"
#include "tests/runtime/nn/heterogeneous_support.hpp"
#include "tests/runtime/nn/network_support.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

/// The gradient of each type's features along a random direction.
void expect_input_gradient(const Network& model, const HeteroBatch& batch, bool training,
                           const std::string& what) {
  InlineExecutor executor;
  Activations pass;
  const auto parameters = model.initial_parameters(9);
  ForwardInput input = batch.input(training);
  input.wants_gradient.assign(batch.features.size(), true);
  run_pass(model, executor, parameters, input, pass);
  std::vector<Matrix> gradients;
  for (std::size_t t = 0; t < batch.features.size(); ++t) {
    gradients.push_back(model.input_gradient(executor, static_cast<NodeTypeId>(t), pass));
    ASSERT_EQ(gradients[t].rows(), batch.features[t].rows()) << what;
    ASSERT_EQ(gradients[t].cols(), batch.features[t].cols()) << what;
  }
  for (std::size_t t = 0; t < batch.features.size(); ++t) {
    const auto& x = batch.features[t];
    const Matrix direction = random_matrix(x.rows(), x.cols(), 400 + t);
    const auto value = [&](float step) {
      Matrix moved = copy_of(x.view());
      for (std::size_t i = 0; i < moved.view().size(); ++i) {
        moved.data()[i] += step * direction.data()[i];
      }
      ForwardInput other = input;
      other.features[t] = std::as_const(moved).view();
      const ConstMatrix out = model.forward(executor, parameters, other, pass);
      const Matrix grad = random_matrix(out.rows, out.cols, 77);
      double sum = 0;
      for (std::size_t i = 0; i < out.size(); ++i) {
        sum += static_cast<double>(out.data[i]) * static_cast<double>(grad.data()[i]);
      }
      return sum;
    };
    double expected = 0;
    double scale = 0;
    for (std::size_t i = 0; i < x.view().size(); ++i) {
      const double term =
          static_cast<double>(gradients[t].data()[i]) * static_cast<double>(direction.data()[i]);
      expected += term;
      scale += std::abs(term);
    }
    double best = HUGE_VAL;
    for (const float step : {1e-2F, 3e-3F, 1e-3F, 3e-4F}) {
      const double slope = (value(step) - value(-step)) / (2.0 * static_cast<double>(step));
      best = std::min(best, std::abs(slope - expected));
    }
    EXPECT_GT(scale, 0) << what << " type " << t;
    EXPECT_LE(best, 0.02 * scale) << what << " type " << t;
  }
}

TEST(InputGradient, IsThatOfDifferencesForEveryKind) {
  for (const auto& kind : model_kinds()) {
    if (kind.make == nullptr) {
      continue;
    }
    for (const bool linear : {false, true}) {
      ModelOptions options{.kind = std::string(kind.name), .layers = 2, .hidden = 6, .out_dim = 3};
      options.linear_input = linear;
      options.input_dropout = 0.2F;
      const bool attends = options.kind == "gat" || options.kind == "gatv2";
      options.heads = attends || options.kind == "hgt" ? 2 : 1;
      options.loops = !kind.heterogeneous;
      if (kind.heterogeneous) {
        options.types = golden_types(0);
      } else {
        options.types = {.nodes = {{"node", 5}}, .edges = {{"edge", NodeTypeId{0}, NodeTypeId{0}}}};
      }
      const auto rows =
          kind.heterogeneous
              ? std::vector<std::vector<std::uint32_t>>{{60, 70, 9}, {20, 30, 9}, {7, 0, 0}}
              : std::vector<std::vector<std::uint32_t>>{{60}, {20}, {7}};
      const auto batch = random_hetero_batch(options.types, rows, 3);
      const auto model = network_of(options);
      expect_input_gradient(*model, batch, true, options.kind + (linear ? " linear" : ""));
      expect_input_gradient(*model, batch, false, options.kind);
    }
  }
}

TEST(InputGradient, CountsRowsThatManyEdgesReachOnBordersOfChunks) {
  for (const std::uint32_t rows : {1U, 511U, 512U, 513U}) {
    ModelOptions options{.layers = 1, .out_dim = 3};
    options.types = {.nodes = {{"node", 4}}, .edges = {{"edge", NodeTypeId{0}, NodeTypeId{0}}}};
    const auto batch = random_hetero_batch(options.types, {{rows}, {rows}}, 8);
    expect_input_gradient(*network_of(options), batch, false, std::to_string(rows));
  }
}

TEST(InputGradient, DoesNotChangeThatOfParameters) {
  ModelOptions options{.layers = 2, .hidden = 6, .out_dim = 3, .types = golden_types(0)};
  const auto model = network_of(options);
  const auto batch = random_hetero_batch(options.types, {{60, 70, 9}, {20, 30, 9}, {7, 0, 0}}, 3);
  InlineExecutor executor;
  Activations pass;
  const auto parameters = model->initial_parameters(9);
  ForwardInput input = batch.input(false);
  const auto without = run_pass(*model, executor, parameters, input, pass);
  input.wants_gradient.assign(3, true);
  const auto with = run_pass(*model, executor, parameters, input, pass);

  EXPECT_TRUE(same_bits(with.logits, without.logits));
  EXPECT_TRUE(same_bits(with.gradient, without.gradient));
}

TEST(InputGradient, IsEmptyOfTypesThatNoLayerReads) {
  ModelOptions options{.layers = 1, .out_dim = 3, .types = golden_types(0)};
  const auto model = network_of(options);
  const auto batch = random_hetero_batch(options.types, {{20, 30, 9}, {7, 0, 0}}, 3);
  InlineExecutor executor;
  Activations pass;
  ForwardInput input = batch.input(false);
  input.wants_gradient.assign(3, true);
  run_pass(*model, executor, model->initial_parameters(1), input, pass);

  EXPECT_EQ(model->input_gradient(executor, NodeTypeId{1}, pass).rows(), 30U);
  EXPECT_EQ(model->input_gradient(executor, NodeTypeId{2}, pass).rows(), 0U);
}

TEST(InputGradient, WithoutLayersIsTheMatrixThatBackwardGotAndElseACopy) {
  ModelOptions options{.layers = 0, .out_dim = 3};
  options.types.nodes = {{"entity", 3}};
  options.types.edges = {{"triple", NodeTypeId{0}, NodeTypeId{0}}};
  options.relations = {.rows = 2, .cols = 3, .bound = 1};
  const auto model = network_of(options);
  const Matrix rows = random_matrix(700, 3, 1);
  ForwardInput input;
  input.features = {rows.view()};
  input.wants_gradient = {true};
  ComputePool pool(3);
  Activations pass;
  model->forward_there(pool, model->initial_parameters(1), input, pass);
  std::vector<Matrix> given;
  given.push_back(random_matrix(700, 3, 2));
  given.push_back(random_matrix(700, 3, 3));
  const ConstMatrix gradient = std::as_const(given[1]).view();
  std::vector<float> of_relations(model->num_parameters());
  model->backward_there({&gradient, 1}, pass, of_relations);

  const Matrix copied = model->input_gradient(pool, NodeTypeId{0}, pass, {given.data(), 1});
  const Matrix moved = model->input_gradient(pool, NodeTypeId{0}, pass, given);

  EXPECT_NE(copied.data(), gradient.data);
  EXPECT_EQ(moved.data(), gradient.data);
  EXPECT_TRUE(same_bits(copied.view().flat(), moved.view().flat()));
  EXPECT_EQ(given[0].rows(), 700U) << "that of other rows stays";
}

}  // namespace
}  // namespace troupe::nn
