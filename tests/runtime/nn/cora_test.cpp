#include "runtime/nn/ops/aggregate.hpp"
#include "runtime/nn/ops/linear.hpp"
#include "runtime/nn/ops/row_ops.hpp"
#include "runtime/nn/ops/weighted_sum.hpp"
#include "tests/runtime/nn/cora_support.hpp"

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

class SageOnCora : public CoraRun {
 protected:
  SageOnCora() : CoraRun("sage", "graphsage") {}
};

class GcnOnCora : public CoraRun {
 protected:
  GcnOnCora() : CoraRun("gcn", "gcn") {}
};

TEST_F(SageOnCora, WholeGraphFollowsTheReference) {
  expect_whole_graph_follows_the_reference();
}

TEST_F(GcnOnCora, WholeGraphFollowsTheReference) {
  expect_whole_graph_follows_the_reference();
}

TEST_F(SageOnCora, ExactInferenceGivesTheReferenceLogitsAndTheBitsOfForward) {
  expect_exact_inference_gives_the_reference_logits_and_the_bits_of_forward();
}

TEST_F(GcnOnCora, ExactInferenceGivesTheReferenceLogitsAndTheBitsOfForward) {
  expect_exact_inference_gives_the_reference_logits_and_the_bits_of_forward();
}

TEST_F(SageOnCora, FirstBatchHasTheReferenceBlocks) {
  const Ids order = golden("cora/batch_order").as<std::uint32_t>();
  Ids nodes(order.begin(), order.begin() + 64);

  for (const std::string hop : {"cora/batch0_hop1_", "cora/batch0_hop2_"}) {
    const OwnedBlock block = block_of_all_neighbours(cora_.graph, nodes);

    EXPECT_EQ(nodes, golden(hop + "src_ids").as<std::uint32_t>());
    EXPECT_EQ(block.offsets, golden(hop + "indptr").as<std::uint32_t>());
    EXPECT_EQ(block.sources, golden(hop + "indices").as<std::uint32_t>());
  }
}

TEST_F(SageOnCora, BatchesFollowTheReference) {
  const Ids order = golden("cora/batch_order").as<std::uint32_t>();
  const auto sizes = golden("cora/batch_sizes").as<std::ptrdiff_t>();
  const auto losses = golden_truth("cora/sage_batches/losses");
  auto next = order.begin();

  for (std::size_t b = 0; b < losses.size(); ++b) {
    Ids nodes(next, next + sizes[b % sizes.size()]);
    next += sizes[b % sizes.size()];
    std::vector<std::int64_t> labels;
    for (const std::uint32_t seed : nodes) {
      labels.push_back(cora_.labels[seed]);
    }
    const OwnedBlock upper = block_of_all_neighbours(cora_.graph, nodes);
    const OwnedBlock lower = block_of_all_neighbours(cora_.graph, nodes);
    Matrix rows(nodes.size(), cora_.x.cols());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      std::ranges::copy(cora_.x.view().row(nodes[i]), rows.view().row(i).begin());
    }
    const ForwardInput input = one_type_input({lower.view(), upper.view()}, rows.view());

    EXPECT_NEAR(step(input, labels), losses[b], 1e-5 * losses[b]) << "batch " << b;
  }

  EXPECT_EQ(next, order.end());
  expect_weights("batches");
  expect_accuracies("batches");
}

TEST_F(SageOnCora, AdagradTrainsAndResumesWithTheSameBits) {
  const LayerBlock graph = cora_.graph.view();
  const ForwardInput input = one_type_input({graph, graph}, cora_.x.view());
  const auto labels = labels_of("train_idx");
  const auto fresh = [&] {
    return *make_optimizer({.kind = "adagrad", .lr = 0.05, .eps = default_eps("adagrad")},
                           model_->num_parameters());
  };
  optimizer_ = fresh();
  const double first = step(input, labels);
  for (int i = 0; i < 5; ++i) {
    step(input, labels);
  }
  const std::vector<float> kept = parameters_;
  const OptimizerState state = optimizer_->state();
  std::vector<double> losses;
  for (int i = 0; i < 6; ++i) {
    losses.push_back(step(input, labels));
  }
  const std::vector<float> undisturbed = std::exchange(parameters_, kept);
  optimizer_ = fresh();

  ASSERT_OK(optimizer_->restore(state));
  for (const double loss : losses) {
    EXPECT_EQ(step(input, labels), loss);
  }

  EXPECT_TRUE(same_bits(parameters_, undisturbed));
  EXPECT_LT(losses.back(), 0.5 * first);
}

/// A block whose edges include the self loops, with their weights in the whole graph.
struct WeightedBlock {
  OwnedBlock block;
  std::vector<float> weights;
};

/// Adds to each destination's edges its loop, and looks all weights up in the reference, whose
/// edges are sorted by destination and source.
WeightedBlock with_loops(const OwnedBlock& plain, const OwnedBlock& graph, const Ids& nodes) {
  const auto weights = golden_floats("cora/gcn_edge_weight");
  std::map<std::pair<std::uint32_t, std::uint32_t>, float> weight_of;
  auto next = weights.begin();
  for (std::uint32_t i = 0; i < graph.num_dst; ++i) {
    Ids list(graph.sources.begin() + graph.offsets[i],
             graph.sources.begin() + graph.offsets[i + 1]);
    list.push_back(i);
    std::ranges::sort(list);
    for (const std::uint32_t j : list) {
      weight_of[{i, j}] = *next++;
    }
  }
  EXPECT_EQ(next, weights.end());
  WeightedBlock out{{plain.num_dst, plain.num_src, {0}, {}}, {}};
  for (std::uint32_t d = 0; d < plain.num_dst; ++d) {
    const auto add = [&](std::uint32_t source) {
      out.block.sources.push_back(source);
      out.weights.push_back(weight_of.at({nodes[d], nodes[source]}));
    };
    for (std::uint32_t e = plain.offsets[d]; e < plain.offsets[d + 1]; ++e) {
      add(plain.sources[e]);
    }
    add(d);
    out.block.offsets.push_back(static_cast<std::uint32_t>(out.block.sources.size()));
  }
  return out;
}

/// W sum w_ij x_j + b and its gradients from the operations.
struct WeightedLayer {
  ConstMatrix weight;
  std::span<const float> bias;
  MutMatrix grad_weight;
  std::span<float> grad_bias;
  Matrix sums = {};

  Matrix forward(const WeightedBlock& block, ConstMatrix x) {
    sums = Matrix(block.block.num_dst, x.cols);
    weighted_sum_rows({.source = {}, .destination = {}, .edge = block.weights}, block.block.view(),
                      0, x, sums.view());
    Matrix out(sums.rows(), weight.rows);
    linear_rows(sums.view(), weight, out.view(), Into::overwrite);
    add_bias_rows(bias, out.view());
    return out;
  }
  Matrix backward(Executor& executor, const WeightedBlock& block, ConstMatrix grad) {
    GrowBuffer<float> partials;
    weight_gradient(executor, grad, sums.view(), partials, grad_weight);
    column_sums_rows(grad, grad_bias);
    Matrix grad_sums(sums.rows(), sums.cols());
    linear_backward_rows(grad, weight, grad_sums.view(), Into::overwrite);
    EdgesBySource by_source;
    by_source.build(block.block.view());
    Matrix grad_x(block.block.num_src, sums.cols());
    weighted_sum_backward_rows({.source = {}, .destination = {}, .edge = block.weights}, by_source,
                               0, grad_sums.view(), grad_x.view());
    return grad_x;
  }
};

TEST_F(GcnOnCora, BatchesWithTheWeightsOfTheWholeGraphFollowTheReference) {
  const Ids order = golden("cora/batch_order").as<std::uint32_t>();
  const auto sizes = golden("cora/batch_sizes").as<std::ptrdiff_t>();
  const auto losses = golden_truth("cora/gcn_batches/losses");
  const auto& layout = model_->layout();
  std::vector<float> gradient(model_->num_parameters());
  const auto layer = [&](std::size_t slice) {
    const auto matrix = [&](float* data) {
      return MutMatrix{data + layout[slice].offset, layout[slice].rows, layout[slice].cols};
    };
    const auto bias = [&](std::vector<float>& values) {
      return std::span(values).subspan(layout[slice + 1].offset, layout[slice + 1].size());
    };
    return WeightedLayer{matrix(parameters_.data()), bias(parameters_), matrix(gradient.data()),
                         bias(gradient)};
  };
  auto next = order.begin();
  for (std::size_t b = 0; b < losses.size(); ++b) {
    Ids nodes(next, next + sizes[b % sizes.size()]);
    next += sizes[b % sizes.size()];
    std::vector<std::int64_t> labels;
    for (const std::uint32_t seed : nodes) {
      labels.push_back(cora_.labels[seed]);
    }
    const OwnedBlock upper_edges = block_of_all_neighbours(cora_.graph, nodes);
    const auto upper = with_loops(upper_edges, cora_.graph, nodes);
    const OwnedBlock lower_edges = block_of_all_neighbours(cora_.graph, nodes);
    const auto lower = with_loops(lower_edges, cora_.graph, nodes);
    Matrix rows(nodes.size(), cora_.x.cols());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      std::ranges::copy(cora_.x.view().row(nodes[i]), rows.view().row(i).begin());
    }
    WeightedLayer first = layer(0);
    WeightedLayer second = layer(2);

    Matrix hidden = first.forward(lower, rows.view());
    relu_rows(hidden.view(), hidden.view());
    const Matrix logits = second.forward(upper, hidden.view());
    Matrix grad(logits.rows(), logits.cols());
    const LossResult loss = cross_entropy(logits.view(), labels, grad.view());
    for (float& value : grad.view().flat()) {
      value /= static_cast<float>(loss.weight);
    }
    Matrix grad_hidden = second.backward(pool_, upper, grad.view());
    relu_backward_rows(hidden.view(), 1.0F, grad_hidden.view());
    first.backward(pool_, lower, grad_hidden.view());
    optimizer_->step(parameters_, gradient);

    EXPECT_NEAR(loss.sum / static_cast<double>(loss.weight), losses[b], 1e-5 * losses[b]) << b;
  }
  expect_weights("batches");
  expect_accuracies("batches");
}

}  // namespace
}  // namespace troupe::nn
