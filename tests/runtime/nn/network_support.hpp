#pragma once
/// \file network_support.hpp
/// What tests ask of every network, of one type and of several.
#include "runtime/base/executor.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/nn/network.hpp"
#include "tests/runtime/nn/nn_support.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

namespace troupe::nn::testing {

inline std::unique_ptr<Network> network_of(const ModelOptions& options) {
  auto model = make_network(options);
  EXPECT_OK(model);
  return *std::move(model);
}

/// Input of a network of one node type and one edge type.
inline ForwardInput one_type_input(const std::vector<LayerBlock>& blocks, ConstMatrix features,
                                   const DropoutContext& dropout = {},
                                   std::span<const OriginalId> ids = {}) {
  ForwardInput input;
  for (const LayerBlock& block : blocks) {
    input.blocks.push_back({block});
  }
  input.features = {features};
  input.ids = {ids};
  input.dropout = dropout;
  return input;
}

/// A stage of exact inference of such a network.
inline Matrix infer_stage(const Network& network, Executor& executor,
                          std::span<const float> parameters, std::uint32_t stage,
                          const LayerBlock& block, ConstMatrix rows, bool embeddings = false) {
  InferInput input;
  input.stage = stage;
  input.blocks = {block};
  input.rows = {rows};
  input.embeddings = embeddings;
  return network.infer(executor, parameters, input);
}

/// Expects exact inference of two layers over a whole graph to have the bits of forward().
inline void expect_inference_has_bits_of_forward(const Network& network) {
  const OwnedBlock graph = random_block(300, 300, 6, 5);
  const Matrix x = random_matrix(300, 7, 1);
  const auto parameters = network.initial_parameters(2);
  ComputePool pool(2);
  Activations activations;
  const ForwardInput input = one_type_input({graph.view(), graph.view()}, x.view());

  const ConstMatrix logits = network.forward(pool, parameters, input, activations);
  const Matrix hidden = infer_stage(network, pool, parameters, 0, graph.view(), x.view());
  const Matrix last = infer_stage(network, pool, parameters, 1, graph.view(), hidden.view());

  EXPECT_TRUE(same_bits(last.view().flat(), logits.flat()));
}

struct PassResult {
  std::vector<float> logits;
  std::vector<float> gradient;
};

/// Forward, and backward from a random gradient of the logits.
inline PassResult run_pass(const Network& model, Executor& executor,
                           std::span<const float> parameters, const ForwardInput& input,
                           Activations& pass) {
  const ConstMatrix out = model.forward(executor, parameters, input, pass);
  PassResult result;
  result.logits.assign(out.data, out.data + out.size());
  const Matrix grad = random_matrix(out.rows, out.cols, 77);
  result.gradient.assign(model.num_parameters(), NAN);
  model.backward(grad.view(), pass, result.gradient);
  return result;
}

/// A random direction along which one parameter moves.
inline std::vector<float> direction_of(const Network& model, std::size_t slice) {
  std::vector<float> direction(model.num_parameters(), 0.0F);
  const ParameterSlice& s = model.layout()[slice];
  const Matrix random = random_matrix(s.rows, s.cols, slice);
  std::ranges::copy(random.view().flat(),
                    direction.begin() + static_cast<std::ptrdiff_t>(s.offset));
  return direction;
}

/// The gradient along each parameter against finite differences, `tolerance` relative to the sum of
/// its terms' magnitudes, and that each parameter reaches the logits.
inline void expect_gradient_of_differences(const Network& model, const ForwardInput& input,
                                           double tolerance) {
  const auto pass = std::make_unique<Activations>();
  InlineExecutor executor;
  const std::vector<float> parameters = model.initial_parameters(9);
  const PassResult at = run_pass(model, executor, parameters, input, *pass);
  const auto value = [&](const std::vector<float>& direction, float step) {
    std::vector<float> moved = parameters;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      moved[i] += step * direction[i];
    }
    const ConstMatrix out = model.forward(executor, moved, input, *pass);
    const Matrix grad = random_matrix(out.rows, out.cols, 77);
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      sum += static_cast<double>(out.data[i]) * grad.data()[i];
    }
    return sum;
  };
  // Batch normalization cancels biases before it, and softmax those of keys: what is left of their
  // gradient is rounding.
  const bool cancels = model.options().batch_norm || model.options().kind == "hgt";
  double least = 0;
  for (std::size_t i = 0; i < at.gradient.size() && cancels; ++i) {
    least += 1e-4 * std::abs(at.gradient[i]);
  }
  for (std::size_t slice = 0; slice < model.layout().size(); ++slice) {
    if (!model.layout()[slice].trained) {
      continue;
    }
    const auto direction = direction_of(model, slice);
    double expected = 0;
    double scale = 0;
    for (std::size_t i = 0; i < direction.size(); ++i) {
      expected += static_cast<double>(at.gradient[i]) * direction[i];
      scale += std::abs(static_cast<double>(at.gradient[i]) * direction[i]);
    }
    // A kink (ReLU, max) between the two ends spoils a difference: the best of several steps
    // counts.
    double best = HUGE_VAL;
    for (const float step : {1e-2F, 3e-3F, 1e-3F, 3e-4F, 1e-4F}) {
      const double slope = (value(direction, step) - value(direction, -step)) / (2.0 * step);
      best = std::min(best, std::abs(slope - expected));
    }
    EXPECT_GT(scale, 0) << model.layout()[slice].name << " does not reach the logits";
    EXPECT_LE(best, tolerance * std::max(scale, least)) << model.layout()[slice].name;
  }
}

/// One pass's bits, on any number of threads and in a pass that held a larger batch before.
/// \param batch, larger  give `ForwardInput input(bool training)`
template <class Batch>
void expect_bits_on_any_executor(const Network& model, const Batch& batch, const Batch& larger) {
  const std::vector<float> parameters = model.initial_parameters(9);
  InlineExecutor inline_executor;
  const auto fresh = std::make_unique<Activations>();
  const PassResult expected =
      run_pass(model, inline_executor, parameters, batch.input(true), *fresh);
  for (const std::size_t threads : {1U, 2U, 3U}) {
    ComputePool pool(threads);
    const auto pass = std::make_unique<Activations>();
    run_pass(model, pool, parameters, larger.input(false), *pass);
    const PassResult actual = run_pass(model, pool, parameters, batch.input(true), *pass);

    EXPECT_TRUE(same_bits(actual.logits, expected.logits)) << threads << " threads";
    EXPECT_TRUE(same_bits(actual.gradient, expected.gradient)) << threads << " threads";
  }
}

/// That a parameter is word zero of its stream: domain 6, its number, the index of each element.
inline void expect_drawn(const Network& model, std::span<const float> parameters,
                         std::uint32_t number, std::uint64_t seed, float bound) {
  const ParameterSlice& slice = model.layout()[number];
  const auto key =
      philox4x32_10({(6U << 24) | (number << 8), 0, 0, 0},
                    {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  for (std::uint32_t i = 0; i < slice.size(); ++i) {
    const auto word = philox4x32_10({i, 0, 0, 0}, {key[0], key[1]})[0];
    const float unit = static_cast<float>(word >> 8) / 16777216.0F;
    ASSERT_EQ(parameters[slice.offset + i], bound * (2.0F * unit - 1.0F)) << slice.name << i;
  }
}

}  // namespace troupe::nn::testing
