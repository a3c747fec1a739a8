// R-GCN and attention per relation, against PyTorch Geometric, and as models.
#include "runtime/nn/catalog.hpp"
#include "runtime/nn/conv/gatv2.hpp"
#include "runtime/nn/conv/gin.hpp"
#include "runtime/nn/conv/hgt.hpp"
#include "runtime/nn/conv/rgat.hpp"
#include "runtime/nn/conv/rgcn.hpp"
#include "runtime/nn/conv/sage.hpp"
#include "tests/runtime/nn/heterogeneous_support.hpp"
#include "tests/runtime/nn/network_support.hpp"
#include "tests/runtime/nn/nn_support.hpp"
#include "tests/runtime/nn/tape_support.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr double relational_tolerance = 1e-5;
constexpr std::size_t relations = 3;

/// The golden's graph with one block per relation.
std::vector<OwnedBlock> relation_blocks(const std::string& graph) {
  const OwnedBlock all = golden_block(graph);
  const auto types = golden(graph + "/edge_type").as<std::uint32_t>();
  std::vector<OwnedBlock> blocks(relations, {all.num_dst, all.num_src, {0}, {}});
  for (std::uint32_t d = 0; d < all.num_dst; ++d) {
    for (auto e = all.offsets[d]; e < all.offsets[d + 1]; ++e) {
      blocks.at(types[e]).sources.push_back(all.sources[e]);
    }
    for (OwnedBlock& block : blocks) {
      block.offsets.push_back(static_cast<std::uint32_t>(block.sources.size()));
    }
  }
  return blocks;
}

/// Matrices [in, out] one after the other, each as [out, in].
template <class T>
std::vector<T> turned(const std::vector<T>& values, std::size_t in, std::size_t out) {
  std::vector<T> result(values.size());
  for (std::size_t m = 0; m < values.size() / (in * out); ++m) {
    for (std::size_t i = 0; i < in; ++i) {
      for (std::size_t o = 0; o < out; ++o) {
        result[m * in * out + o * in + i] = values[m * in * out + i * out + o];
      }
    }
  }
  return result;
}

ModelTypes relation_types(std::size_t cols) {
  ModelTypes types{.nodes = {{"node", cols}}, .edges = {}};
  for (std::size_t r = 0; r < relations; ++r) {
    types.edges.push_back({fmt::format("r{}", r), NodeTypeId{0}, NodeTypeId{0}});
  }
  return types;
}

class RgcnLayer : public ::testing::TestWithParam<std::tuple<const char*, std::uint32_t>> {};

TEST_P(RgcnLayer, MatchesOutputAndGradients) {
  const std::string name = std::get<0>(GetParam());
  const std::uint32_t bases = std::get<1>(GetParam());
  const std::string graph = "layers/" + name;
  const std::string path = graph + (bases > 0 ? "/rgcn_bases2" : "/rgcn_full");
  const auto blocks = relation_blocks(graph);
  const std::vector<LayerBlock> views{blocks[0].view(), blocks[1].view(), blocks[2].view()};
  std::vector<Matrix> x;
  x.push_back(golden_matrix(graph + "/x"));
  const std::size_t in = x[0].cols();
  const std::size_t out = golden_floats(path + "/bias").size();
  // As the layer has them: weights of the relations, or bases and then comp of each; root; bias.
  const auto flat_of = [&](const auto& load) {
    auto flat = turned(load("weight"), in, out);
    const auto append = [&](const auto& more) {
      flat.insert(flat.end(), more.begin(), more.end());
    };
    if (bases > 0) {
      append(load("comp"));
    }
    append(turned(load("root"), in, out));
    append(load("bias"));
    return flat;
  };
  const auto parameters =
      flat_of([&](const std::string& of) { return golden_floats(path + "/" + of); });
  const auto truth =
      flat_of([&](const std::string& of) { return golden_truth(path + "/grad_" + of); });
  const Matrix grad_out = golden_matrix(graph + "/grad_out_" + std::to_string(out));

  const auto run =
      run_layer(RgcnConv(bases), relation_types(in), 0, views, x, parameters, grad_out);

  expect_golden(run.out.view(), path + "/out", relational_tolerance);
  expect_golden(run.grad_x[0].view(), path + "/grad_x", relational_tolerance);
  ASSERT_EQ(run.gradient.size(), truth.size());
  for (const ParameterSlice& slice : run.layout) {
    expect_close<float>(std::span(run.gradient).subspan(slice.offset, slice.size()),
                        std::span(truth).subspan(slice.offset, slice.size()), relational_tolerance,
                        slice.name);
  }
}

INSTANTIATE_TEST_SUITE_P(Goldens, RgcnLayer,
                         ::testing::Combine(::testing::Values("small", "medium"),
                                            ::testing::Values(0U, 2U)));

TEST(HeteroLayer, OfSageMatchesPyTorchGeometric) {
  const std::string path = "layers/hetero/";
  const ModelTypes types{.nodes = {{"a", 6}, {"b", 4}},
                         .edges = {{"r0", NodeTypeId{0}, NodeTypeId{0}},
                                   {"r1", NodeTypeId{1}, NodeTypeId{0}},
                                   {"r2", NodeTypeId{0}, NodeTypeId{1}}}};
  std::vector<Matrix> x;
  x.push_back(golden_matrix(path + "x_a"));
  x.push_back(golden_matrix(path + "x_b"));
  std::vector<OwnedBlock> blocks;
  std::vector<LayerBlock> views;
  for (std::size_t r = 0; r < relations; ++r) {
    const std::string of = fmt::format("{}r{}_", path, r);
    OwnedBlock block{.num_dst = 0,
                     .num_src = static_cast<std::uint32_t>(x[r == 1 ? 1 : 0].rows()),
                     .offsets = golden(of + "indptr").as<std::uint32_t>(),
                     .sources = golden(of + "indices").as<std::uint32_t>()};
    block.num_dst = static_cast<std::uint32_t>(block.offsets.size() - 1);
    blocks.push_back(std::move(block));
  }
  for (const auto& block : blocks) {
    views.push_back(block.view());
  }
  const Matrix grad_out = golden_matrix(path + "grad_out");
  const auto truth = golden_truth(path + "out");
  const std::size_t cols = grad_out.cols();
  Matrix grad_a = Matrix::zeros(x[0].rows(), x[0].cols());
  Matrix grad_b = Matrix::zeros(x[1].rows(), x[1].cols());
  std::size_t row = 0;
  for (const std::vector<std::size_t>& of : {std::vector<std::size_t>{0, 1}, {2}}) {
    std::vector<float> parameters;
    for (const std::size_t r : of) {
      for (const std::string name : {"lin_l_weight", "lin_l_bias", "lin_r_weight"}) {
        const auto values = golden_floats(fmt::format("{}r{}_{}", path, r, name));
        parameters.insert(parameters.end(), values.begin(), values.end());
      }
    }
    const std::size_t rows = blocks[of[0]].num_dst;
    const Matrix grad = copy_of(grad_out.view().slice(row, rows));

    const auto run = run_layer(SageConv(Aggregator::mean), types, of[0] == 2 ? 1 : 0, views, x,
                               parameters, grad);

    expect_close<float>(run.out.view().flat(), std::span(truth).subspan(row * cols, rows * cols),
                        relational_tolerance, "out");
    std::size_t slice = 0;
    for (const std::size_t r : of) {
      for (const std::string name : {"lin_l_weight", "lin_l_bias", "lin_r_weight"}) {
        const auto& s = run.layout[slice++];
        expect_golden(std::span(run.gradient).subspan(s.offset, s.size()),
                      fmt::format("{}grad_r{}_{}", path, r, name), relational_tolerance);
      }
    }
    const auto add = [](Matrix& to, const Matrix& from) {
      for (std::size_t i = 0; i < to.rows() * to.cols(); ++i) {
        to.data()[i] += from.data()[i];
      }
    };
    add(grad_a, run.grad_x[0]);
    add(grad_b, run.grad_x[1]);
    row += rows;
  }
  expect_golden(grad_a.view(), path + "grad_x_a", relational_tolerance);
  expect_golden(grad_b.view(), path + "grad_x_b", relational_tolerance);
}

/// Of a layer whose nodes are authors, papers and venues.
void expect_golden_run(const LayerRun& run, const std::string& path) {
  expect_golden(run.out.view(), path + "_out", relational_tolerance);
  expect_golden_gradient(run, path + "_gradient", relational_tolerance);
  expect_golden(run.grad_x[0].view(), path + "_grad_x_author", relational_tolerance);
  expect_golden(run.grad_x[1].view(), path + "_grad_x_paper", relational_tolerance);
  expect_golden(run.grad_x[2].view(), path + "_grad_x_venue", relational_tolerance);
}

TEST(Rgat, MatchesOutputAndGradientsOfPyTorchGeometric) {
  const HeteroBatch batch = golden_hetero_batch(1);
  const ForwardInput input = batch.input(false);
  for (const bool concat : {true, false}) {
    const std::string path = concat ? "relational/rgat_concat" : "relational/rgat_mean";
    const RgatConv conv({.heads = 2, .concat = concat, .mean_last = false});

    const auto run =
        run_layer(conv, golden_types(1), 1, input.blocks[0], batch.features,
                  golden_floats(path + "_parameters"), golden_matrix(path + "_grad_out"));

    expect_golden_run(run, path);
  }
}

/// Features of the edges along golden_types(1), by edge type.
std::vector<Matrix> golden_features_of_edges() {
  std::vector<Matrix> features(4);
  features[0] = golden_matrix("relational/features_writes");
  features[2] = golden_matrix("relational/features_cites");
  features[3] = Matrix(0, 0);  // venues' edges have none
  return features;
}

/// Of which edges between papers alone are left.
ModelTypes golden_papers() {
  ModelTypes types = golden_types(1);
  types.edges[0].destination = NodeTypeId{2};
  types.edges[3].destination = NodeTypeId{2};
  return types;
}

TEST(EdgeFeatures, MatchOutputAndGradientsOfPyTorchGeometric) {
  const HeteroBatch batch = golden_hetero_batch(1);
  const ForwardInput input = batch.input(false);
  const std::vector<Matrix> features = golden_features_of_edges();
  for (const std::string kind : {"gatv2", "rgat", "gin"}) {
    const std::string path = "relational/" + kind + "_edge";
    const ModelTypes types = kind == "rgat" ? golden_types(1) : golden_papers();
    const GatOptions options{.heads = 2, .one_loop = false, .mean_last = false};
    std::unique_ptr<Conv> conv = std::make_unique<RgatConv>(options);
    if (kind == "gatv2") {
      conv = std::make_unique<Gatv2Conv>(options, false);
    } else if (kind == "gin") {
      conv = std::make_unique<GinConv>(GinOptions{.trained = true, .hidden = 7});
    }

    const auto run =
        run_layer(*conv, types, 1, input.blocks[0], batch.features,
                  golden_floats(path + "_parameters"), golden_matrix(path + "_grad_out"), features);

    expect_golden(run.out.view(), path + "_out", relational_tolerance);
    expect_golden_gradient(run, path + "_gradient", relational_tolerance);
    expect_golden(run.grad_x[1].view(), path + "_grad_x_paper", relational_tolerance);
  }
}

TEST(EdgeFeatures, OfSeveralTypesMatchOutputAndGradientsOfPyTorchGeometric) {
  const HeteroBatch batch = golden_hetero_batch(1);
  const GatOptions attention{.heads = 2, .one_loop = false, .mean_last = false};
  std::map<std::string, std::unique_ptr<Conv>> convs;
  convs["gatv2_types"] = std::make_unique<Gatv2Conv>(attention, false);
  convs["sage_edge_mean"] = std::make_unique<SageConv>(Aggregator::mean);
  convs["sage_edge_sum"] = std::make_unique<SageConv>(Aggregator::sum);
  convs["sage_edge_max"] = std::make_unique<SageConv>(Aggregator::max);
  for (const auto& [name, conv] : convs) {
    SCOPED_TRACE(name);
    const std::string path = "relational/" + name;

    const auto run = run_layer(*conv, golden_types(1), 1, batch.input(false).blocks[0],
                               batch.features, golden_floats(path + "_parameters"),
                               golden_matrix(path + "_grad_out"), golden_features_of_edges());

    expect_golden_run(run, path);
  }
}

TEST(Gatv2, OfSeveralTypesHasNoLoopsAndAMatrixForEachEnd) {
  ModelOptions options{.kind = "gatv2", .hidden = 8, .out_dim = 3, .types = golden_types(0)};
  EXPECT_ERROR(make_network(options), Errc::unimplemented,
               "model loops: expected false with \"gatv2\" on a graph of");
  options.loops = false;
  EXPECT_OK(make_network(options));
  options.share_weights = true;
  EXPECT_ERROR(make_network(options), Errc::unimplemented, "model share_weights: expected false");
}

constexpr std::array<const char*, 5> readers_of_edges{"graphsage", "gat", "gatv2", "gin", "rgat"};

/// A model that reads features of edges in three columns, on a graph of one type.
ModelOptions reads_edges(const std::string& kind) {
  ModelOptions options{.kind = kind,
                       .layers = 2,
                       .hidden = 8,
                       .out_dim = 3,
                       .heads = 2,
                       .loops = false,
                       .edge_features = true};
  options.types = {.nodes = {{"node", 7}}, .edges = {{"edge", NodeTypeId{0}, NodeTypeId{0}, 3}}};
  return options;
}

/// Features of edges of a batch that a network reads layer by layer.
TEST(EdgeFeatures, HaveTheGradientOfDifferencesThroughLayers) {
  const OwnedBlock lower = random_block(50, 90, 5, 1);
  const OwnedBlock upper = random_block(20, 50, 5, 2);
  const Matrix x = random_matrix(90, 7, 3);
  const Matrix of_edges = random_matrix(std::max(lower.sources.size(), upper.sources.size()), 3, 4);
  for (const std::string kind : readers_of_edges) {
    auto options = reads_edges(kind);
    options.activation = Activation::elu;  // rows without edges are 0
    ForwardInput input = one_type_input({lower.view(), upper.view()}, x.view());
    input.edge_features = {of_edges.view()};

    expect_gradient_of_differences(*network_of(options), input, 5e-3);
  }
}

TEST(EdgeFeatures, AreReadByExactInferenceWithTheBitsOfForward) {
  const OwnedBlock graph = random_block(300, 300, 5, 1);
  const Matrix x = random_matrix(300, 7, 3);
  const Matrix of_edges = random_matrix(graph.sources.size(), 3, 4);
  for (const std::string kind : readers_of_edges) {
    for (const bool linear : {false, true}) {
      auto options = reads_edges(kind);
      options.linear_input = linear;
      const auto network = network_of(options);
      const auto parameters = network->initial_parameters(2);
      ComputePool pool(2);
      Activations activations;
      ForwardInput input = one_type_input({graph.view(), graph.view()}, x.view());
      input.edge_features = {of_edges.view()};
      const ConstMatrix logits = network->forward(pool, parameters, input, activations);

      Matrix rows = copy_of(x.view());
      for (std::uint32_t stage = 0; stage < network->infer_stages().size(); ++stage) {
        rows = network->infer(pool, parameters,
                              {.stage = stage,
                               .type = NodeTypeId{0},
                               .blocks = {graph.view()},
                               .rows = {rows.view()},
                               .edge_features = {of_edges.view()}});
      }

      EXPECT_TRUE(same_bits(std::as_const(rows).view().flat(), logits.flat())) << kind;
      EXPECT_FALSE(network->reads_in_place());
    }
  }
}

/// Edges of a batch before the block's, which a layer does not read.
TEST(EdgeFeatures, OfABlockBehindOtherEdges) {
  const OwnedBlock block = random_block(30, 60, 4, 1);
  constexpr std::uint32_t before = 17;
  OwnedBlock behind = block;
  behind.sources.insert(behind.sources.begin(), before, 0xFFFFFFFFU);
  for (auto& offset : behind.offsets) {
    offset += before;
  }
  const Matrix x = random_matrix(60, 7, 3);
  const Matrix all = random_matrix(behind.sources.size(), 3, 4);
  for (const std::string kind : readers_of_edges) {
    auto options = reads_edges(kind);
    options.layers = 1;
    const auto network = network_of(options);
    const auto parameters = network->initial_parameters(2);
    const Matrix grad = random_matrix(30, 3, 5);
    const auto pass = [&](LayerBlock of, ConstMatrix features) {
      ComputePool pool(2);
      Activations activations;
      ForwardInput input = one_type_input({of}, x.view());
      input.edge_features = {features};
      const auto logits = network->forward(pool, parameters, input, activations).flat();
      std::vector<float> results(logits.begin(), logits.end());
      std::vector<float> gradient(parameters.size());
      network->backward(grad.view(), activations, gradient);
      results.insert(results.end(), gradient.begin(), gradient.end());
      return results;
    };

    const auto expected = pass(block.view(), all.view().slice(before, block.sources.size()));

    EXPECT_TRUE(same_bits(pass(behind.view(), all.view()), expected)) << kind;
  }
}

/// A neighbor of weight w is as w edges to it.
TEST(EdgeFeatures, CountByTheWeightsOfTheirEdges) {
  const OwnedBlock once = random_block(30, 60, 4, 1);
  OwnedBlock twice = once;  // the first edge of each destination a second time
  twice.offsets = {0};
  twice.sources.clear();
  std::vector<float> weights(once.sources.size(), 1);
  std::vector<std::uint32_t> edges;
  for (std::uint32_t d = 0; d < once.num_dst; ++d) {
    for (auto e = once.offsets[d]; e < once.offsets[d + 1]; ++e) {
      const bool first = e == once.offsets[d];
      weights[e] = first ? 2 : 1;
      for (int copy = first ? 0 : 1; copy < 2; ++copy) {
        twice.sources.push_back(once.sources[e]);
        edges.push_back(e);
      }
    }
    twice.offsets.push_back(static_cast<std::uint32_t>(twice.sources.size()));
  }
  const Matrix x = random_matrix(60, 7, 3);
  const Matrix of_once = random_matrix(once.sources.size(), 3, 4);
  Matrix of_twice(edges.size(), 3);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    std::ranges::copy(of_once.view().row(edges[i]), of_twice.view().row(i).begin());
  }
  const auto output = [&](const ModelOptions& options, LayerBlock block, const Matrix& features) {
    const auto network = network_of(options);
    ComputePool pool(2);
    Activations activations;
    ForwardInput input = one_type_input({block}, x.view());
    input.edge_features = {features.view()};
    return copy_of(network->forward(pool, network->initial_parameters(2), input, activations));
  };
  for (const std::string kind : {"graphsage", "gin"}) {
    auto options = reads_edges(kind);
    options.layers = 1;
    options.aggregator = Aggregator::sum;
    const Matrix expected = output(options, twice.view(), of_twice);
    options.edge_weights = true;
    LayerBlock weighted = once.view();
    weighted.weights = weights;

    const Matrix found = output(options, weighted, of_once);

    const std::vector<double> truth(expected.data(), expected.data() + expected.view().size());
    expect_close<float>(found.view().flat(), truth, 1e-5, kind);
  }
}

TEST(EdgeFeatures, AreRefusedWithLoopsAndByKindsThatReadNone) {
  ModelOptions options{
      .kind = "gat", .in_dim = 4, .hidden = 8, .out_dim = 3, .edge_features = true};
  EXPECT_ERROR(make_network(options), Errc::unimplemented, "with loops false, got \"gat\"");
  options.loops = false;
  EXPECT_OK(make_network(options));
  options.kind = "gcn";
  EXPECT_ERROR(make_network(options), Errc::unimplemented,
               "expected a kind among \"graphsage\", \"gat\", \"gatv2\", \"gin\", \"rgat\"");
}

TEST(Hgt, MatchesOutputAndGradientsOfPyTorchGeometric) {
  const HeteroBatch batch = golden_hetero_batch(1);
  const ForwardInput input = batch.input(false);
  for (const bool skip : {true, false}) {
    const std::string path = skip ? "relational/hgt_skip" : "relational/hgt_plain";
    const std::size_t width = skip ? 6 : 4;

    const auto run = run_layer(HgtConv({.heads = 2, .width = width}), golden_types(1), 1,
                               input.blocks[0], batch.features, golden_floats(path + "_parameters"),
                               golden_matrix(path + "_grad_out"));

    expect_golden_run(run, path);
  }
}

/// Products by head, GELU and the gate, around the end of a chunk.
TEST(HeadProducts, HaveTheGradientOfDifferencesWithGeluAndGate) {
  for (const std::size_t rows : {1U, 511U, 512U, 513U}) {
    const Matrix x = random_matrix(rows + 2, 6, 1);
    ParameterList list;
    const auto heads = list.add({.name = "heads", .rows = 6, .cols = 2});
    const auto gate = list.add({.name = "gate", .rows = 1});
    TapeOf tape(list, [&, rows](Tape& t, Rows input) {
      Ending ending;
      ending.activation = Activation::gelu;
      const Rows bent = t.combine({t.own(t.head_products(input, rows, heads))}, rows, ending);
      return t.gate(bent, input, gate);
    });

    expect_differences(tape, 13, x.view(), rows, 6);
  }
}

struct RelationalModel {
  std::string name;
  ModelOptions options;
};
void PrintTo(const RelationalModel& of, std::ostream* out) {
  *out << of.name;
}

/// Features as wide as each other where matrices are mixed.
std::vector<RelationalModel> relational_models() {
  const ModelOptions plain{.layers = 2, .hidden = 6, .out_dim = 3, .types = golden_types(0)};
  std::vector<RelationalModel> all;
  const auto add = [&](const std::string& name, const std::string& kind) -> ModelOptions& {
    all.push_back({name, plain});
    all.back().options.kind = kind;
    return all.back().options;
  };
  add("rgcn", "rgcn").residual = true;
  add("rgcn_narrow", "rgcn").hidden = 4;
  auto& bases = add("rgcn_bases", "rgcn");
  bases.bases = 2;
  for (auto& node : bases.types.nodes) {
    node.cols = 5;
  }
  auto& linear = add("rgcn_bases_linear", "rgcn");
  linear.bases = 3;
  linear.linear_input = true;
  linear.input_dropout = 0.2F;
  add("sage_linear", "graphsage").linear_input = true;
  add("hgt", "hgt").heads = 2;
  auto& hgt_linear = add("hgt_linear", "hgt");
  hgt_linear.heads = 3;
  hgt_linear.linear_input = true;
  hgt_linear.layer_norm = true;
  add("rgcn_batch_norm", "rgcn").batch_norm = true;
  auto& dynamic = add("gatv2", "gatv2");
  dynamic.heads = 2;
  dynamic.loops = false;
  add("rgat", "rgat").heads = 2;
  auto& dropping = add("rgat_drops_attention", "rgat");
  dropping.heads = 3;
  dropping.attention_dropout = 0.5F;
  dropping.activation =
      Activation::elu;  // ReLU bends at the zeros of nodes whose weights are dropped
  auto& mean = add("rgat_mean", "rgat");
  mean.heads = 4;
  mean.concat = false;
  mean.layer_norm = true;
  mean.residual = true;
  mean.activation = Activation::elu;
  return all;
}

class EachRelational : public ::testing::TestWithParam<RelationalModel> {};

TEST_P(EachRelational, GradientMatchesFiniteDifferences) {
  const auto& options = GetParam().options;
  const HeteroBatch batch =
      random_hetero_batch(options.types, {{30, 40, 7}, {20, 24, 3}, {9, 8, 1}}, 3);
  expect_gradient_of_differences(*network_of(options), batch.input(true), 1e-2);
}

TEST_P(EachRelational, BitsAreTheSameOnAnyExecutorAndInAReusedPass) {
  const auto& types = GetParam().options.types;
  expect_bits_on_any_executor(
      *network_of(GetParam().options),
      random_hetero_batch(types, {{1500, 2300, 70}, {1100, 1400, 50}, {513, 90, 9}}, 3),
      random_hetero_batch(types, {{1700, 2500, 90}, {1200, 1600, 60}, {700, 95, 9}}, 4));
}

TEST_P(EachRelational, ExactInferenceHasTheBitsOfForwardOnTheWholeGraph) {
  const auto& options = GetParam().options;
  const std::vector<std::uint32_t> nodes{300, 520, 40};
  const HeteroBatch graph = random_hetero_batch(options.types, {nodes, nodes, nodes}, 3);
  const auto network = network_of(options);
  const auto parameters = network->initial_parameters(2);
  ComputePool pool(2);
  Activations activations;
  const ForwardInput input = graph.input(false);
  const ConstMatrix logits = network->forward(pool, parameters, input, activations);
  std::vector<Matrix> rows;
  for (const Matrix& x : graph.features) {
    rows.push_back(copy_of(x.view()));
  }
  const auto stages = network->infer_stages();
  for (std::uint32_t stage = 0; stage < stages.size(); ++stage) {
    std::vector<Matrix> next(nodes.size());
    for (const auto& output : stages[stage].outputs) {
      const std::size_t layer = stage == 0 ? 0 : stage - (stages.size() - options.layers);
      InferInput block{
          .stage = stage, .type = output.type, .blocks = input.blocks[layer], .rows = {}};
      for (const Matrix& of : rows) {
        block.rows.push_back(of.view());
      }
      next[raw(output.type)] = network->infer(pool, parameters, block);
    }
    rows = std::move(next);
  }

  EXPECT_TRUE(same_bits(std::as_const(rows[0]).view().flat(), logits.flat()));
}

INSTANTIATE_TEST_SUITE_P(All, EachRelational, ::testing::ValuesIn(relational_models()),
                         [](const auto& test) { return test.param.name; });

TEST(Relational, ATypeThatReachesNothingChangesNoBit) {
  // The graph of one type, alone and beside a type whose edges do not come to the seeds.
  const OwnedBlock lower = random_block(50, 90, 5, 1);
  const OwnedBlock upper = random_block(20, 50, 5, 2);
  const OwnedBlock none{.num_dst = 0, .num_src = 0, .offsets = {0}, .sources = {}};
  const Matrix x = random_matrix(90, 6, 3);
  const Matrix other = random_matrix(4, 2, 4);
  for (const std::string kind : {"gatv2", "rgcn", "rgat", "hgt"}) {
    ModelOptions options{
        .kind = kind, .layers = 2, .in_dim = 6, .hidden = 8, .out_dim = 3, .loops = false};
    const auto alone = network_of(options);
    options.types = {
        .nodes = {{"node", 6}, {"other", 2}},
        .edges = {{"edge", NodeTypeId{0}, NodeTypeId{0}}, {"away", NodeTypeId{0}, NodeTypeId{1}}}};
    const auto beside = network_of(options);
    const auto parameters = alone->initial_parameters(7);
    ASSERT_EQ(beside->num_parameters(), alone->num_parameters());
    ForwardInput input = one_type_input({lower.view(), upper.view()}, x.view());
    InlineExecutor executor;
    Activations activations;
    const auto expected = run_pass(*alone, executor, parameters, input, activations);
    for (auto& blocks : input.blocks) {
      blocks.push_back(none.view());
    }
    input.features.push_back(other.view());
    input.ids.emplace_back();
    Activations fresh;

    const auto actual = run_pass(*beside, executor, parameters, input, fresh);

    EXPECT_TRUE(same_bits(actual.logits, expected.logits)) << kind;
    EXPECT_TRUE(same_bits(actual.gradient, expected.gradient)) << kind;
    EXPECT_TRUE(same_bits(beside->initial_parameters(7), parameters)) << kind;
  }
}

TEST(Rgcn, BasesNeedFeaturesOfOneWidthAndAreNamedOnce) {
  ModelOptions options{
      .kind = "rgcn", .layers = 2, .hidden = 4, .out_dim = 3, .bases = 2, .types = golden_types(0)};
  EXPECT_ERROR(make_network(options), Errc::invalid_argument,
               "expected features of equally many columns, got 5 of \"author\" and 6 of \"paper\"");
  for (auto& node : options.types.nodes) {
    node.cols = 5;
  }
  ASSERT_OK_AND_ASSIGN(const auto network, make_network(options));
  std::vector<std::string> names;
  for (const ParameterSlice& slice : network->layout()) {
    names.push_back(fmt::format("{} {}x{}", slice.name, slice.rows, slice.cols));
  }
  EXPECT_EQ(names, (std::vector<std::string>{
                       "conv1.bases 8x5", "conv1.writes.comp 2x1", "conv1.written_by.comp 2x1",
                       "conv1.cites.comp 2x1", "conv1.holds.comp 2x1", "conv1.author.root 4x5",
                       "conv1.author.bias 4x1", "conv1.paper.root 4x5", "conv1.paper.bias 4x1",
                       "conv2.bases 6x4", "conv2.written_by.comp 2x1", "conv2.author.root 3x4",
                       "conv2.author.bias 3x1"}));
}

}  // namespace
}  // namespace troupe::nn
