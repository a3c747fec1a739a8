#pragma once
/// \file tape_support.hpp
/// Passes of a tape that tests record, their gradients against differences, and convolutions on
/// their own against goldens.
#include "runtime/nn/conv/conv.hpp"
#include "runtime/nn/network_layers.hpp"
#include "runtime/nn/ops/cpu_block_ops.hpp"
#include "runtime/nn/ops/tape.hpp"
#include "tests/runtime/nn/nn_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe::nn::testing {

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
inline void expect_differences(TapeOf& tape, std::size_t parameters, ConstMatrix x,
                               std::size_t rows, std::size_t cols) {
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

/// Parameters of a golden one after the other, in the order of the names.
inline std::vector<float> golden_parameters(const std::string& path,
                                            const std::vector<std::string>& names) {
  std::vector<float> parameters;
  for (const auto& name : names) {
    const auto values = golden_floats(path + "/" + name);
    parameters.insert(parameters.end(), values.begin(), values.end());
  }
  return parameters;
}

/// A convolution along one edge type against a golden: result, gradients of parameters and of the input.
/// \param graph  "layers/small"
/// \param names  of the golden's parameters, in the convolution's order
inline void expect_conv_golden(const Conv& conv, const std::string& graph, const std::string& name,
                               const std::vector<std::string>& names, double tolerance = 1e-5) {
  const std::string path = graph + "/" + name;
  const OwnedBlock block = golden_block(graph);
  const LayerBlock view = block.view();
  const Matrix x = golden_matrix(graph + "/x");
  const std::size_t out_cols = golden(path + "/out").shape[1];
  const Matrix grad_out = golden_matrix(graph + "/grad_out_" + std::to_string(out_cols));
  const ConvShape shape{.source = x.cols(), .destination = x.cols(), .out = out_cols, .last = true};
  ParameterList list;
  for (const auto& parameter : conv.parameters(shape)) {
    list.add(parameter);
  }
  ASSERT_EQ(list.layout().size(), names.size());
  const auto parameters = golden_parameters(path, names);
  CpuBlockOps ops;
  Tape tape(ops);
  ComputePool executor(2);
  std::vector<float> gradient(parameters.size(), NAN);
  tape.begin(executor, list, parameters, true);
  const Rows input = tape.input(x.view(), true);
  ConvTerms terms = conv.record({.tape = tape,
                                 .shape = shape,
                                 .parameter = 0,
                                 .source = input,
                                 .block = view,
                                 .below = nullptr});
  if (!terms.own.empty()) {
    terms.neighbors.push_back(tape.own(input, terms.own));
  }
  Ending ending;
  ending.biases = terms.biases;

  const Rows out = tape.combine(terms.neighbors, block.num_dst, ending);
  expect_golden(tape.value(out), path + "/out", tolerance);
  tape.backward(out, grad_out.view(), gradient);

  for (std::size_t i = 0; i < names.size(); ++i) {
    expect_golden(list.vector_of(i, std::span<const float>(gradient)), path + "/grad_" + names[i],
                  tolerance);
  }
  expect_golden(tape.gradient(input), path + "/grad_x", tolerance);
}

/// Results of one layer of a network, of the rows of one node type.
struct LayerRun {
  ParameterLayout layout;
  Matrix out;
  std::vector<float> gradient;
  std::vector<Matrix> grad_x;  ///< by node type
};

/// Records the convolutions that end at a node type as a network does, and its gradients.
/// \param types   edge types that end elsewhere are left out
/// \param blocks  by edge type
/// \param x       by node type
/// \param edge_features  by edge type, or none at all
inline LayerRun run_layer(const Conv& conv, const ModelTypes& types, std::size_t node_type,
                          const std::vector<LayerBlock>& blocks, const std::vector<Matrix>& x,
                          std::span<const float> parameters, const Matrix& grad_out,
                          const std::vector<Matrix>& edge_features = {}) {
  ParameterList list;
  const auto add = [&](const std::vector<NewParameter>& more) {
    const std::size_t first = list.layout().size();
    for (const auto& parameter : more) {
      list.add(parameter);
    }
    return first;
  };
  std::vector<std::size_t> edges;
  std::vector<ConvShape> shapes;
  for (std::size_t e = 0; e < types.edges.size(); ++e) {
    if (raw(types.edges[e].destination) == node_type) {
      edges.push_back(e);
      shapes.push_back({.source = x[raw(types.edges[e].source)].cols(),
                        .destination = x[node_type].cols(),
                        .out = grad_out.cols(),
                        .last = true,
                        .edge = edge_features.empty() ? 0 : edge_features[e].cols()});
    }
  }
  const std::size_t shared = add(conv.shared_parameters(shapes));
  std::vector<std::size_t> of_source(x.size());
  for (std::size_t t = 0; conv.is_joint() && t < x.size(); ++t) {
    const auto starts = [&](std::size_t e) { return raw(types.edges[e].source) == t; };
    if (std::ranges::any_of(edges, starts)) {
      of_source[t] = add(conv.source_parameters({.source = x[t].cols()}));
    }
  }
  std::vector<std::size_t> first;
  for (const ConvShape& shape : shapes) {
    first.push_back(add(conv.parameters(shape)));
  }
  const auto node = add(conv.node_parameters(
      {.source = x[node_type].cols(), .destination = x[node_type].cols(), .out = grad_out.cols()}));
  EXPECT_EQ(num_parameters(list.layout()), parameters.size());
  CpuBlockOps ops;
  Tape tape(ops);
  ComputePool executor(2);
  tape.begin(executor, list, parameters, true);
  std::vector<Rows> inputs;
  for (const Matrix& rows : x) {
    inputs.push_back(tape.input(rows.view(), true));
  }
  const ConvTerms once = conv.node_terms(node);
  ConvTerms sum{.neighbors = {}, .own = once.own, .biases = once.biases};
  std::vector<ConvCall> calls;
  std::vector<std::vector<Rows>> prepared(x.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const std::size_t source = raw(types.edges[edges[i]].source);
    if (conv.is_joint() && prepared[source].empty()) {
      prepared[source] = conv.record_source(tape, inputs[source], of_source[source]);
    }
    std::optional<Rows> features;
    if (shapes[i].edge > 0) {
      features = tape.input(edge_features[edges[i]].view());
    }
    calls.push_back({.tape = tape,
                     .shape = shapes[i],
                     .parameter = first[i],
                     .source = inputs[source],
                     .block = blocks[edges[i]],
                     .below = nullptr,
                     .destination = inputs[node_type],
                     .shared = shared,
                     .edge_features = features,
                     .prepared = prepared[source]});
  }
  if (conv.is_joint()) {
    sum = conv.record_joint({.tape = tape,
                             .shape = shapes.front(),
                             .parameter = node,
                             .own = inputs[node_type],
                             .edges = calls});
    calls.clear();
  }
  for (const ConvCall& call : calls) {
    ConvTerms terms = conv.record(call);
    std::ranges::move(terms.neighbors, std::back_inserter(sum.neighbors));
    std::ranges::copy(terms.own, std::back_inserter(sum.own));
    std::ranges::copy(terms.biases, std::back_inserter(sum.biases));
  }
  if (!sum.own.empty()) {
    sum.neighbors.push_back(tape.own(inputs[node_type], sum.own));
  }
  Ending ending;
  ending.biases = sum.biases;
  const Rows out = tape.combine(sum.neighbors, grad_out.rows(), ending);
  LayerRun run{
      list.layout(), copy_of(tape.value(out)), std::vector<float>(parameters.size(), NAN), {}};
  tape.backward(out, grad_out.view(), run.gradient);
  for (const Rows input : inputs) {
    run.grad_x.push_back(copy_of(tape.gradient(input)));
  }
  return run;
}

/// The flat gradient of a golden, parameter by parameter.
inline void expect_golden_gradient(const LayerRun& run, const std::string& name, double tolerance) {
  const auto truth = golden_truth(name);
  ASSERT_EQ(run.gradient.size(), truth.size());
  double largest = 0;
  for (const double value : truth) {
    largest = std::max(largest, std::abs(value));
  }
  for (const ParameterSlice& slice : run.layout) {
    // Softmax cancels some parameters' gradients: what is left of them is rounding.
    const auto of_slice = std::span(truth).subspan(slice.offset, slice.size());
    if (std::ranges::all_of(of_slice, [&](double v) { return std::abs(v) < 1e-9 * largest; })) {
      for (const float value : std::span(run.gradient).subspan(slice.offset, slice.size())) {
        EXPECT_LE(std::abs(value), tolerance * largest) << slice.name;
      }
      continue;
    }
    expect_close<float>(std::span(run.gradient).subspan(slice.offset, slice.size()),
                        std::span(truth).subspan(slice.offset, slice.size()), tolerance,
                        name + " " + slice.name);
  }
}

}  // namespace troupe::nn::testing
