#include "runtime/nn/conv/gcn.hpp"

#include "runtime/nn/ops/linear.hpp"
#include "tests/runtime/nn/network_support.hpp"

#include <gtest/gtest.h>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr double gcn_tolerance = 1e-5;

struct GcnCase {
  std::string graph;
  std::string layer;
  std::string path() const { return graph + "/" + layer; }
};

std::vector<GcnCase> gcn_cases() {
  std::vector<GcnCase> all;
  for (const std::string graph : {"layers/small", "layers/medium"}) {
    for (const std::string layer : {"gcn_both", "gcn_right", "gcn_weight"}) {
      all.push_back({graph, layer});
    }
  }
  return all;
}

/// DGL's forms of the weights, without loops: gcn_both is 1 / sqrt(max(in-degree, 1) * max(out-degree, 1)), gcn_right
/// 1 / max(in-degree, 1), gcn_weight a given weight per edge.
class GoldenFactors {
 public:
  GoldenFactors(const GcnCase& c, const LayerBlock& block) {
    if (c.layer == "gcn_weight") {
      edge_ = golden_floats(c.graph + "/edge_weight");
      return;
    }
    const bool both = c.layer == "gcn_both";
    std::vector<float> out_degrees(block.num_src);
    for (std::uint32_t i = 0; i < block.num_dst; ++i) {
      const auto degree = static_cast<float>(block.offsets[i + 1] - block.offsets[i]);
      const float counted = std::max(degree, 1.0F);
      destination_.push_back(1 / (both ? std::sqrt(counted) : counted));
      for (auto e = block.offsets[i]; e < block.offsets[i + 1]; ++e) {
        ++out_degrees[block.sources[e]];
      }
    }
    for (const float degree : out_degrees) {
      source_.push_back(both ? 1 / std::sqrt(std::max(degree, 1.0F)) : 1.0F);
    }
  }
  EdgeFactors view() const { return {source_, destination_, edge_}; }

 private:
  std::vector<float> source_;
  std::vector<float> destination_;
  std::vector<float> edge_;
};

/// A graph convolution from the operations, with the product before or after the sum.
struct Convolution {
  EdgeFactors factors;
  LayerBlock block;
  ConstMatrix weight;
  bool transform_first = false;

  Matrix forward(ConstMatrix x, std::span<const float> bias) const {
    Matrix out(block.num_dst, weight.rows);
    if (transform_first) {
      Matrix transformed(x.rows, weight.rows);
      linear_rows(x, weight, transformed.view(), Into::overwrite);
      weighted_sum_rows(factors, block, 0, transformed.view(), out.view());
    } else {
      Matrix sums(block.num_dst, x.cols);
      weighted_sum_rows(factors, block, 0, x, sums.view());
      linear_rows(sums.view(), weight, out.view(), Into::overwrite);
    }
    add_bias_rows(bias, out.view());
    return out;
  }

  struct Gradients {
    Matrix x;
    Matrix weight;
    std::vector<float> bias;
  };
  Gradients backward(ConstMatrix x, ConstMatrix grad) const {
    InlineExecutor executor;
    GrowBuffer<float> partials;
    EdgesBySource by_source;
    by_source.build(block);
    Gradients out{Matrix(block.num_src, x.cols), Matrix(weight.rows, weight.cols),
                  std::vector<float>(weight.rows)};
    column_sums_rows(grad, out.bias);
    if (transform_first) {
      Matrix grad_rows(block.num_src, weight.rows);
      weighted_sum_backward_rows(factors, by_source, 0, grad, grad_rows.view());
      weight_gradient(executor, grad_rows.view(), x, partials, out.weight.view());
      linear_backward_rows(grad_rows.view(), weight, out.x.view(), Into::overwrite);
    } else {
      Matrix sums(block.num_dst, x.cols);
      weighted_sum_rows(factors, block, 0, x, sums.view());
      weight_gradient(executor, grad, sums.view(), partials, out.weight.view());
      Matrix grad_sums(block.num_dst, x.cols);
      linear_backward_rows(grad, weight, grad_sums.view(), Into::overwrite);
      weighted_sum_backward_rows(factors, by_source, 0, grad_sums.view(), out.x.view());
    }
    return out;
  }
};

class GcnLayer : public ::testing::TestWithParam<GcnCase> {};

TEST_P(GcnLayer, MatchesOutputAndGradientsInBothOrders) {
  const GcnCase& c = GetParam();
  const OwnedBlock block = golden_block(c.graph);
  const Matrix x = golden_matrix(c.graph + "/x");
  const Matrix weight = golden_matrix(c.path() + "/weight");
  const Matrix grad = golden_matrix(c.graph + "/grad_out_" + std::to_string(weight.rows()));
  const GoldenFactors factors(c, block.view());
  for (const bool transform_first : {false, true}) {
    const Convolution conv{factors.view(), block.view(), weight.view(), transform_first};

    expect_golden(conv.forward(x.view(), golden_floats(c.path() + "/bias")).view(),
                  c.path() + "/out", gcn_tolerance);
    const auto gradients = conv.backward(x.view(), grad.view());
    expect_golden(gradients.x.view(), c.path() + "/grad_x", gcn_tolerance);
    expect_golden(gradients.weight.view(), c.path() + "/grad_weight", gcn_tolerance);
    expect_golden(gradients.bias, c.path() + "/grad_bias", gcn_tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, GcnLayer, ::testing::ValuesIn(gcn_cases()), [](const auto& test) {
  return test.param.graph.substr(7) + "_" + test.param.layer;
});

OwnedBlock square_block() {
  OwnedBlock block{.num_dst = 29,
                   .num_src = 29,
                   .offsets = golden("layers/square/indptr").as<std::uint32_t>(),
                   .sources = golden("layers/square/indices").as<std::uint32_t>()};
  return block;
}

TEST(Gcn, WholeGraphWithSelfLoopsMatchesTheGolden) {
  const std::string path = "layers/square/gcn/";
  const OwnedBlock block = square_block();
  const Matrix x = golden_matrix(path + "x");
  const Matrix grad_out = golden_matrix(path + "grad_out");
  const auto model = network_of({.kind = "gcn", .layers = 1, .in_dim = 13, .out_dim = 9});
  std::vector<float> parameters = golden_floats(path + "lin_weight");
  const auto bias = golden_floats(path + "bias");
  parameters.insert(parameters.end(), bias.begin(), bias.end());
  const ForwardInput input = one_type_input({block.view()}, x.view());
  const auto pass = std::make_unique<Activations>();
  InlineExecutor executor;
  std::vector<float> gradient(model->num_parameters(), NAN);

  expect_golden(model->forward(executor, parameters, input, *pass), path + "out", gcn_tolerance);
  model->backward(grad_out.view(), *pass, gradient);

  expect_golden(std::span(gradient).first(9 * 13), path + "grad_lin_weight", gcn_tolerance);
  expect_golden(std::span(gradient).last(9), path + "grad_bias", gcn_tolerance);
  GcnFactors memory;
  for (const bool transform_first : {false, true}) {
    const Convolution conv{
        memory.build(block.view()), block.view(), {parameters.data(), 9, 13}, transform_first};
    expect_golden(conv.backward(x.view(), grad_out.view()).x.view(), path + "grad_x",
                  gcn_tolerance);
  }
}

// 4 sources, 2 destinations. In-edges: 0 <- 0, 2, 2; 1 <- 0, 1, 1, 3. With one loop each the
// degrees are 3, 3, and 1 for sources whose in-edges were not sampled.
TEST(GcnFactors, CountDegreesInTheBlockWithOneLoopPerNode) {
  const OwnedBlock block{
      .num_dst = 2, .num_src = 4, .offsets = {0, 3, 7}, .sources = {0, 2, 2, 0, 1, 1, 3}};
  GcnFactors memory;

  const EdgeFactors factors = memory.build(block.view());

  const float root = 1.0F / std::sqrt(3.0F);
  EXPECT_TRUE(factors.one_loop);
  EXPECT_TRUE(factors.edge.empty());
  EXPECT_TRUE(same_bits(factors.destination, std::vector<float>{root, root}));
  EXPECT_TRUE(same_bits(factors.source, std::vector<float>{root, root, 1, 1}));
  const Matrix x = matrix_of({1, 10, 100, 1000}, 4, 1);
  Matrix out(2, 1);
  weighted_sum_rows(factors, block.view(), 0, x.view(), out.view());
  EXPECT_FLOAT_EQ(out.data()[0], root * (100 + 100 + root * 1));
  EXPECT_FLOAT_EQ(out.data()[1], root * (root * 1 + 1000 + root * 10));
}

// Source 2 has two in-edges from others, drawn a hop further out; source 3 only a loop.
TEST(GcnFactors, TakeDegreesOfOtherSourcesFromTheBlockBelow) {
  const OwnedBlock block{.num_dst = 1, .num_src = 4, .offsets = {0, 2}, .sources = {2, 3}};
  const OwnedBlock below{
      .num_dst = 4, .num_src = 6, .offsets = {0, 2, 2, 4, 5}, .sources = {2, 3, 4, 5, 3}};
  const LayerBlock below_view = below.view();
  GcnFactors memory;

  const EdgeFactors factors = memory.build(block.view(), &below_view);

  const float root = 1.0F / std::sqrt(3.0F);
  EXPECT_TRUE(same_bits(factors.source, std::vector<float>{root, 1, root, 1}));
  EXPECT_TRUE(same_bits(factors.destination, std::vector<float>{root}));
}

// Hop 1 of a batch whose hops draw all nodes afresh begins inside the arrays.
TEST(GcnFactors, WorkOnABlockThatBeginsInsideTheEdges) {
  const OwnedBlock whole{.num_dst = 1, .num_src = 3, .offsets = {2, 4}, .sources = {9, 9, 1, 2}};
  const std::vector<float> weights = {0, 0, 0.5F, 2};
  GcnFactors memory;
  for (const bool loops : {false, true}) {
    EdgeFactors factors = loops ? memory.build(whole.view()) : EdgeFactors();
    factors.edge = weights;
    const Matrix x = matrix_of({1, 10, 100}, 3, 1);
    const Matrix grad = matrix_of({1}, 1, 1);
    Matrix out(1, 1);
    Matrix grad_x(3, 1);
    EdgesBySource by_source;
    by_source.build(whole.view());

    weighted_sum_rows(factors, whole.view(), 0, x.view(), out.view());
    weighted_sum_backward_rows(factors, by_source, 0, grad.view(), grad_x.view());

    const float* g = grad_x.data();
    EXPECT_FLOAT_EQ(out.data()[0], g[0] * 1 + g[1] * 10 + g[2] * 100);
    EXPECT_FLOAT_EQ(g[2], 4 * g[1]);
  }
}

TEST(Gcn, StartsWithGlorotWeightsAndNoBias) {
  const auto model = network_of(
      {.kind = "gcn", .layers = 2, .in_dim = 90, .hidden = 60, .out_dim = 40, .layer_norm = true});

  const auto parameters = model->initial_parameters(3);

  const auto& layout = model->layout();
  std::vector<std::string> names;
  for (const ParameterSlice& slice : layout) {
    names.push_back(slice.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"conv1.lin.weight", "conv1.bias", "norm1.weight",
                                             "norm1.bias", "conv2.lin.weight", "conv2.bias"}));
  const auto values = [&](std::size_t i) {
    return std::span(parameters).subspan(layout[i].offset, layout[i].size());
  };
  for (const std::size_t zeros : {1U, 3U, 5U}) {
    EXPECT_EQ(std::ranges::count(values(zeros), 0.0F),
              static_cast<std::ptrdiff_t>(layout[zeros].size()));
  }
  const auto largest = [&](std::size_t i) {
    return std::abs(*std::ranges::max_element(
        values(i), [](float a, float b) { return std::abs(a) < std::abs(b); }));
  };
  EXPECT_LE(largest(0), std::sqrt(6.0F / 150));
  EXPECT_GT(largest(0), 0.99F * std::sqrt(6.0F / 150));
  EXPECT_LE(largest(4), std::sqrt(6.0F / 100));
  EXPECT_GT(largest(4), 0.99F * std::sqrt(6.0F / 100));
}

/// Two hops over rows that are drawn once: row r holds the in-edges of node r.
struct SampledGraph {
  std::vector<std::uint32_t> ends;  ///< nodes after the seeds, hop 1, hop 2
  OwnedBlock whole;                 ///< all nodes; those of the last hop have no in-edges
  LayerBlock layer(std::size_t hop) const {
    return {.num_dst = ends[hop],
            .num_src = ends[hop + 1],
            .offsets = std::span(whole.offsets).first(ends[hop] + 1),
            .sources = whole.sources};
  }
};

SampledGraph sampled_graph() {
  SampledGraph graph{{40, 300, 900}, {900, 900, {0}, {}}};
  for (std::uint32_t row = 0; row < 900; ++row) {
    const std::size_t hop = row < 40 ? 0 : 1;
    DrawStream draw(stream_key(8, {.domain = Domain::generators}), row);
    const std::uint32_t degree = row < 300 ? draw.below(6) : 0;
    for (std::uint32_t i = 0; i < degree; ++i) {
      graph.whole.sources.push_back(i == 4 ? row : draw.below(graph.ends[hop + 1]));
    }
    graph.whole.offsets.push_back(static_cast<std::uint32_t>(graph.whole.sources.size()));
  }
  return graph;
}

TEST(Gcn, GivesTheSeedsWhatTheWholeSampledGraphGivesThem) {
  const SampledGraph graph = sampled_graph();
  const Matrix x = random_matrix(900, 20, 1);
  std::vector<OriginalId> ids;
  for (std::uint64_t i = 0; i < 900; ++i) {
    ids.push_back(OriginalId{3 * i});
  }
  const DropoutContext dropout{.training = true, .job_seed = 4};
  for (const std::uint64_t hidden : {8U, 30U}) {
    const auto model = network_of({.kind = "gcn",
                                   .layers = 2,
                                   .in_dim = 20,
                                   .hidden = hidden,
                                   .out_dim = 9,
                                   .dropout = 0.4F,
                                   .input_dropout = 0.3F});
    const auto parameters = model->initial_parameters(2);
    ComputePool pool(2);
    const auto pass = std::make_unique<Activations>();
    const auto whole_pass = std::make_unique<Activations>();
    const LayerBlock whole = graph.whole.view();

    const ConstMatrix logits = model->forward(
        pool, parameters, one_type_input({graph.layer(1), graph.layer(0)}, x.view(), dropout, ids),
        *pass);
    const ConstMatrix of_whole = model->forward(
        pool, parameters, one_type_input({whole, whole}, x.view(), dropout, ids), *whole_pass);

    EXPECT_TRUE(same_bits(logits.flat(), of_whole.slice(0, 40).flat())) << hidden;
  }
}

/// A graph on 700 nodes as one block; some nodes have no in-edges, some have loops.
OwnedBlock whole_graph() {
  OwnedBlock block = random_block(700, 700, 8, 5);
  for (std::uint32_t d = 0; d < 700; d += 3) {
    if (block.offsets[d] < block.offsets[d + 1]) {
      block.sources[block.offsets[d]] = d;
    }
  }
  return block;
}

/// All stages over pieces of a graph: destinations [first, first + size) with their whole lists,
/// rows in order of first appearance, as an evaluator cuts them.
Matrix infer_in_pieces(const Network& model, Executor& executor, std::span<const float> parameters,
                       const OwnedBlock& graph, ConstMatrix features, std::uint32_t size) {
  Matrix rows = copy_of(features);
  const auto stages = model.infer_stages();
  for (std::uint32_t stage = 0; stage < stages.size(); ++stage) {
    Matrix next(graph.num_dst, stages[stage].outputs[0].cols);
    for (std::uint32_t first = 0; first < graph.num_dst; first += size) {
      OwnedBlock piece{std::min(size, graph.num_dst - first), 0, {0}, {}};
      std::vector<std::uint32_t> nodes;
      std::vector<std::uint32_t> local(graph.num_dst, no_edge);
      const auto add = [&](std::uint32_t node) {
        if (local[node] == no_edge) {
          local[node] = static_cast<std::uint32_t>(nodes.size());
          nodes.push_back(node);
        }
        return local[node];
      };
      for (std::uint32_t d = 0; d < piece.num_dst; ++d) {
        add(first + d);
      }
      for (std::uint32_t d = 0; d < piece.num_dst; ++d) {
        for (std::uint32_t e = graph.offsets[first + d]; e < graph.offsets[first + d + 1]; ++e) {
          piece.sources.push_back(add(graph.sources[e]));
        }
        piece.offsets.push_back(static_cast<std::uint32_t>(piece.sources.size()));
      }
      piece.num_src = static_cast<std::uint32_t>(nodes.size());
      const std::size_t count = stages[stage].neighbor_rows ? nodes.size() : piece.num_dst;
      Matrix input(count, rows.cols());
      for (std::size_t i = 0; i < count; ++i) {
        std::ranges::copy(rows.view().row(nodes[i]), input.view().row(i).begin());
      }
      const Matrix out =
          infer_stage(model, executor, parameters, stage, piece.view(), input.view());
      std::ranges::copy(out.view().flat(), next.view().slice(first, piece.num_dst).data);
    }
    rows = std::move(next);
  }
  return rows;
}

TEST(Gcn, ExactInferenceInPiecesHasTheBitsOfForwardOnTheWholeGraph) {
  const OwnedBlock graph = whole_graph();
  for (const std::uint64_t in_dim : {5U, 20U}) {
    const Matrix x = random_matrix(700, in_dim, 1);
    const auto model = network_of({.kind = "gcn",
                                   .layers = 3,
                                   .in_dim = in_dim,
                                   .hidden = 8,
                                   .out_dim = 8,
                                   .layer_norm = true,
                                   .dropout = 0.5F});
    const auto parameters = model->initial_parameters(2);
    ComputePool pool(2);
    const auto pass = std::make_unique<Activations>();
    const LayerBlock block = graph.view();
    const ConstMatrix logits =
        model->forward(pool, parameters, one_type_input({block, block, block}, x.view()), *pass);

    for (const std::uint32_t size : {1U, 33U, 513U, 700U}) {
      const Matrix pieces = infer_in_pieces(*model, pool, parameters, graph, x.view(), size);

      EXPECT_TRUE(same_bits(pieces.view().flat(), logits.flat())) << size;
    }
  }
}

TEST(Gcn, EmbeddingsAreTheRowsThatTheLastLayerTakes) {
  const OwnedBlock graph = whole_graph();
  for (const std::uint64_t in_dim : {5U, 20U}) {  // the product after the sum, and before it
    const Matrix x = random_matrix(700, in_dim, 1);
    const auto model =
        network_of({.kind = "gcn", .layers = 2, .in_dim = in_dim, .hidden = 8, .out_dim = 3});
    const auto first =
        network_of({.kind = "gcn", .layers = 1, .in_dim = in_dim, .hidden = 8, .out_dim = 8});
    const auto parameters = model->initial_parameters(2);
    const auto of_first = std::span(parameters).first(first->num_parameters());
    ComputePool pool(2);
    const auto pass = std::make_unique<Activations>();
    const LayerBlock block = graph.view();
    Matrix expected =
        copy_of(first->forward(pool, of_first, one_type_input({block}, x.view()), *pass));
    for (float& value : expected.view().flat()) {
      value = std::max(value, 0.0F);
    }

    const Matrix ready = infer_stage(*model, pool, parameters, 0, block, x.view());
    const Matrix rows = infer_stage(*model, pool, parameters, 1, block, ready.view(), true);

    EXPECT_TRUE(same_bits(rows.view().flat(), expected.view().flat())) << in_dim;
  }
}

TEST(Gcn, StageZeroNeedsNoRowsOfNeighboursAndMovesTheNarrowerRows) {
  const auto narrowing =
      network_of({.kind = "gcn", .layers = 2, .in_dim = 100, .hidden = 16, .out_dim = 7});
  const auto widening =
      network_of({.kind = "gcn", .layers = 2, .in_dim = 10, .hidden = 16, .out_dim = 20});

  const auto narrow = narrowing->infer_stages();
  const auto wide = widening->infer_stages();

  ASSERT_EQ(narrow.size(), 3U);
  ASSERT_EQ(wide.size(), 3U);
  EXPECT_FALSE(narrow[0].neighbor_rows);
  EXPECT_TRUE(narrow[1].neighbor_rows && narrow[2].neighbor_rows);
  EXPECT_EQ(narrow[0].in_cols[0], 100U);
  EXPECT_EQ(narrow[1].in_cols[0], 16U);
  EXPECT_EQ(narrow[2].in_cols[0], 7U);
  EXPECT_EQ(narrow[2].outputs[0].cols, 7U);
  EXPECT_EQ(wide[1].in_cols[0], 10U);
  EXPECT_EQ(wide[2].in_cols[0], 16U);
  EXPECT_EQ(wide[2].outputs[0].cols, 20U);
}

}  // namespace
}  // namespace troupe::nn
