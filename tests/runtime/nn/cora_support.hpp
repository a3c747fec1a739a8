#pragma once
/// \file cora_support.hpp
/// Whole training runs on Cora against PyTorch Geometric: losses, weights, logits and accuracies.
#include "runtime/base/executor.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/nn/ops/loss.hpp"
#include "runtime/nn/optimizer.hpp"
#include "runtime/nn/scores.hpp"
#include "tests/runtime/nn/network_support.hpp"
#include "tests/runtime/nn/nn_support.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

#include <map>

namespace troupe::nn::testing {

using Ids = std::vector<std::uint32_t>;

inline NpyArray cora_file(const std::string& name) {
  return troupe::testing::read_npy(std::filesystem::path(TROUPE_SOURCE_DIR) / "examples/data/cora" /
                                   (name + ".npy"));
}

struct Cora {
  Matrix x = Matrix::zeros(2708, 1433);
  OwnedBlock graph;  // in-neighbours in order of their ids
  std::vector<std::int64_t> labels = cora_file("y").as<std::int64_t>();
};

inline Cora load_cora() {
  Cora cora;
  const Ids indptr = cora_file("x_indptr").as<std::uint32_t>();
  const Ids indices = cora_file("x_indices").as<std::uint32_t>();
  for (std::size_t i = 0; i < cora.x.rows(); ++i) {
    for (std::uint32_t k = indptr[i]; k < indptr[i + 1]; ++k) {
      cora.x.view().row(i)[indices[k]] = 1.0F;
    }
  }
  const Ids edges = cora_file("edge_index").as<std::uint32_t>();
  const std::size_t count = edges.size() / 2;
  std::vector<Ids> lists(cora.x.rows());
  for (std::size_t e = 0; e < count; ++e) {
    lists[edges[count + e]].push_back(edges[e]);
  }
  cora.graph = {.num_dst = 2708, .num_src = 2708, .offsets = {0}, .sources = {}};
  for (Ids& list : lists) {
    std::ranges::sort(list);
    cora.graph.sources.insert(cora.graph.sources.end(), list.begin(), list.end());
    cora.graph.offsets.push_back(static_cast<std::uint32_t>(cora.graph.sources.size()));
  }
  return cora;
}

/// All neighbours of `nodes`; new ones are appended to it in order of first appearance.
inline OwnedBlock block_of_all_neighbours(const OwnedBlock& graph, Ids& nodes) {
  std::map<std::uint32_t, std::uint32_t> local;
  for (const std::uint32_t node : nodes) {
    local.emplace(node, static_cast<std::uint32_t>(local.size()));
  }
  OwnedBlock block{.num_dst = static_cast<std::uint32_t>(nodes.size()),
                   .num_src = 0,
                   .offsets = {0},
                   .sources = {}};
  for (std::uint32_t d = 0; d < block.num_dst; ++d) {
    const std::uint32_t node = nodes[d];
    for (std::uint32_t e = graph.offsets[node]; e < graph.offsets[node + 1]; ++e) {
      const auto [place, fresh] =
          local.emplace(graph.sources[e], static_cast<std::uint32_t>(local.size()));
      if (fresh) {
        nodes.push_back(graph.sources[e]);
      }
      block.sources.push_back(place->second);
    }
    block.offsets.push_back(static_cast<std::uint32_t>(block.sources.size()));
  }
  block.num_src = static_cast<std::uint32_t>(nodes.size());
  return block;
}

/// conv1.lin_l.weight is in the file conv1_lin_l_weight.
inline std::string golden_file(const std::string& run, const ParameterSlice& slice) {
  std::string file = slice.name;
  std::ranges::replace(file, '.', '_');
  return "cora/" + run + "/" + file;
}

/// The model of the two reference runs of one kind, "sage" or "gcn".
class CoraRun : public ::testing::Test {
 protected:
  CoraRun(std::string name, std::string kind) : name_(std::move(name)), kind_(std::move(kind)) {}

  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(
        model_,
        make_network({.kind = kind_, .layers = 2, .in_dim = 1433, .hidden = 16, .out_dim = 7}));
    ASSERT_OK_AND_ASSIGN(optimizer_,
                         make_optimizer({.kind = "adam", .lr = 0.01, .weight_decay = 5e-4},
                                        model_->num_parameters()));
    pass_ = std::make_unique<Activations>();
    parameters_ = golden_parameters("start");
  }

  std::vector<float> golden_parameters(const std::string& run) const {
    std::vector<float> parameters;
    for (const ParameterSlice& slice : model_->layout()) {
      const auto values = golden_floats(golden_file(name_ + "_" + run, slice));
      parameters.insert(parameters.end(), values.begin(), values.end());
    }
    return parameters;
  }

  /// 20 steps on the whole graph.
  void expect_whole_graph_follows_the_reference() {
    const LayerBlock graph = cora_.graph.view();
    const ForwardInput input = one_type_input({graph, graph}, cora_.x.view());
    const auto losses = golden_truth("cora/" + name_ + "_full/losses");
    const auto labels = labels_of("train_idx");
    for (const double truth : losses) {
      EXPECT_NEAR(step(input, labels), truth, 1e-5 * truth);
    }
    expect_weights("full");
    expect_accuracies("full");
  }

  void expect_exact_inference_gives_the_reference_logits_and_the_bits_of_forward() {
    const auto parameters = golden_parameters("full");
    const LayerBlock graph = cora_.graph.view();
    const ForwardInput input = one_type_input({graph, graph}, cora_.x.view());
    const Matrix logits = infer(parameters);
    expect_golden(logits.view(), "cora/" + name_ + "_full/logits", 1e-5);
    EXPECT_TRUE(
        same_bits(model_->forward(pool_, parameters, input, *pass_).flat(), logits.view().flat()));
  }

  /// One training step; \return the mean loss before it.
  double step(const ForwardInput& input, std::span<const std::int64_t> labels) {
    const ConstMatrix logits = model_->forward(pool_, parameters_, input, *pass_);
    Matrix grad(logits.rows, logits.cols);
    const LossResult loss = cross_entropy(logits, labels, grad.view());
    for (float& value : grad.view().flat()) {
      value /= static_cast<float>(loss.weight);
    }
    std::vector<float> gradient(model_->num_parameters());
    model_->backward(grad.view(), *pass_, gradient);
    optimizer_->step(parameters_, gradient);
    return loss.sum / static_cast<double>(loss.weight);
  }

  Matrix infer(std::span<const float> parameters) {
    const LayerBlock graph = cora_.graph.view();
    Matrix rows = copy_of(cora_.x.view());
    const auto stages = model_->infer_stages();
    for (std::uint32_t stage = 0; stage < stages.size(); ++stage) {
      EXPECT_EQ(rows.cols(), stages[stage].in_cols[0]);
      rows = infer_stage(*model_, pool_, parameters, stage, graph, rows.view());
      EXPECT_EQ(rows.cols(), stages[stage].outputs[0].cols);
    }
    return rows;
  }

  void expect_weights(const std::string& run) {
    const auto& layout = model_->layout();
    for (std::size_t i = 0; i < layout.size(); ++i) {
      const auto truth = golden_truth(golden_file(name_ + "_" + run, layout[i]));
      double largest = 0;
      double squares = 0;
      for (std::size_t k = 0; k < truth.size(); ++k) {
        const double error = parameters_[layout[i].offset + k] - truth[k];
        largest = std::max(largest, std::abs(error));
        squares += error * error;
      }
      EXPECT_LE(largest, 1e-4) << layout[i].name;
      EXPECT_LE(std::sqrt(squares / static_cast<double>(truth.size())), 1e-6) << layout[i].name;
    }
  }

  void expect_accuracies(const std::string& run) {
    const Matrix logits = infer(parameters_);
    const auto predicted = predict_classes(logits.view());
    const auto expected = golden_floats("cora/" + name_ + "_" + run + "/accuracy");
    const std::vector<std::string> roles = {"train_idx", "val_idx", "test_idx"};
    for (std::size_t i = 0; i < 3; ++i) {
      const auto share = accuracy(predicted, labels_of(roles[i]));
      ASSERT_TRUE(share);
      EXPECT_EQ(static_cast<float>(*share), expected[i]) << roles[i];
    }
  }

  /// The labels of one role's nodes, -1 elsewhere.
  std::vector<std::int64_t> labels_of(const std::string& role) const {
    std::vector<std::int64_t> labels(cora_.labels.size(), -1);
    for (const std::uint32_t node : cora_file(role).as<std::uint32_t>()) {
      labels[node] = cora_.labels[node];
    }
    return labels;
  }

  std::string name_;
  std::string kind_;
  Cora cora_ = load_cora();
  ComputePool pool_{2};
  std::unique_ptr<Network> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Activations> pass_;
  std::vector<float> parameters_;
};

}  // namespace troupe::nn::testing
