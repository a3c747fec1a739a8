// Blocks that list the rows with edges: every bit is that of blocks with offsets for all rows.
#include "runtime/nn/ops/cpu_block_ops.hpp"
#include "runtime/nn/ops/rows_at_places.hpp"
#include "tests/runtime/nn/network_support.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <numeric>
#include <random>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

/// A batch of two hops over two node types and `edge_types` edge types, most of which end at few rows.
SampledBatch batch_of(std::size_t edge_types, Frontier frontier, std::uint64_t seed) {
  SampledBatch batch;
  batch.hops = 2;
  batch.frontier = frontier;
  batch.nodes.resize(2);
  batch.nodes[0].hop_end = {30, 1500, 2300};
  batch.nodes[1].hop_end = {0, 400, 700};
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t end) { return static_cast<std::uint32_t>(random() % end); };
  for (std::size_t e = 0; e < edge_types; ++e) {
    auto& edges = batch.edges.emplace_back();
    edges.destination_type = static_cast<NodeTypeId>(e % 5 == 4 ? 1 : 0);
    edges.source_type = static_cast<NodeTypeId>(e % 3 == 2 ? 1 : 0);
    const auto& rows_of = batch.nodes[raw(edges.destination_type)].hop_end;
    const auto& sources_of = batch.nodes[raw(edges.source_type)].hop_end;
    ListedRows listed;
    edges.row_begin = {0};
    for (std::uint32_t hop = 0; hop < 2; ++hop) {
      const auto from_start = frontier == Frontier::all || hop == 0;
      const auto rows = rows_of[hop] - (from_start ? 0 : rows_of[hop - 1]);
      const auto first = edges.row_begin.back();
      const auto one_in = e % 7 == 0 ? 1U : e % 7 == 1 ? 1000000U : 12U;
      for (std::uint32_t r = 0; r < rows && sources_of[hop + 1] > 0; ++r) {
        const auto count = below(one_in) == 0 ? 1 + below(3) : 0;
        for (std::uint32_t k = 0; k < count; ++k) {
          edges.sources.push_back(below(sources_of[hop + 1]));
        }
        if (count > 0) {
          listed.add(first + r, count);
        }
      }
      edges.row_begin.push_back(first + rows);
    }
    edges.offsets = RowOffsets(edges.row_begin.back(), std::move(listed));
  }
  return batch;
}

ModelTypes types_of(const SampledBatch& batch, std::size_t cols) {
  ModelTypes types{.nodes = {{"a", cols}, {"b", cols + 3}}, .edges = {}};
  for (std::size_t e = 0; e < batch.edges.size(); ++e) {
    types.edges.push_back(
        {fmt::format("e{}", e), batch.edges[e].source_type, batch.edges[e].destination_type});
  }
  return types;
}

struct Input {
  std::vector<Matrix> features;
  ForwardInput forward;
};

Input input_of(const SampledBatch& batch, std::size_t cols, bool listed) {
  Input input;
  for (std::size_t t = 0; t < 2; ++t) {
    input.features.push_back(random_matrix(batch.nodes[t].hop_end.back(), cols + 3 * t, t + 1));
    auto flat = input.features.back().view().flat();
    for (std::size_t i = 0; i < flat.size(); i += 5) {
      flat[i] = i % 2 == 0 ? -0.0F : 0.0F;
    }
    input.forward.features.push_back(std::as_const(input.features.back()).view());
    input.forward.ids.emplace_back();
  }
  input.forward.wants_gradient = {true, true};
  for (std::uint32_t layer = 0; layer < 2; ++layer) {
    auto& blocks = input.forward.blocks.emplace_back();
    for (std::size_t e = 0; e < batch.edges.size(); ++e) {
      const auto type = static_cast<EdgeTypeId>(e);
      blocks.push_back(listed ? listed_block(batch, type, layer, 2)
                              : edge_block(batch, type, layer, 2));
    }
  }
  return input;
}

/// All that a pass gives.
struct Pass {
  PassResult result;
  std::vector<Matrix> of_inputs;
};

Pass pass_of(const Network& network, const SampledBatch& batch, std::size_t cols, bool listed,
             std::size_t threads) {
  const Input input = input_of(batch, cols, listed);
  ComputePool pool(threads);
  Activations activations;
  Pass pass{run_pass(network, pool, network.initial_parameters(3), input.forward, activations), {}};
  for (std::uint16_t t = 0; t < 2; ++t) {
    pass.of_inputs.push_back(network.input_gradient(pool, NodeTypeId{t}, activations));
  }
  return pass;
}

void expect_same_pass(const Pass& a, const Pass& b, const std::string& what) {
  EXPECT_TRUE(same_bits(a.result.logits, b.result.logits)) << what;
  EXPECT_TRUE(same_bits(a.result.gradient, b.result.gradient)) << what;
  for (std::size_t t = 0; t < 2; ++t) {
    EXPECT_TRUE(same_bits(a.of_inputs[t].view().flat(), b.of_inputs[t].view().flat()))
        << what << ", gradient of inputs " << t;
  }
}

TEST(ListedRows, GiveTheBitsOfAllRows) {
  struct Case {
    std::string name;
    std::size_t cols;
    std::uint64_t hidden;
    std::function<void(ModelOptions&)> change;
  };
  const std::vector<Case> cases = {
      {"rgcn, wider", 16, 24, [](auto&) {}},
      {"rgcn, narrower", 40, 8, [](auto&) {}},
      {"rgcn, bases", 10, 12,
       [](auto& o) {
         o.bases = 3;
         o.linear_input = true;
       }},
      {"rgcn, residual and norm", 12, 12,
       [](auto& o) {
         o.residual = true;
         o.layer_norm = true;
       }},
      {"rgcn, linear input", 9, 20, [](auto& o) { o.linear_input = true; }},
      {"graphsage", 12, 16, [](auto& o) { o.kind = "graphsage"; }},
      {"gat", 12, 16,
       [](auto& o) {
         o.kind = "rgat";
         o.heads = 2;
       }},
  };
  for (const auto frontier : {Frontier::fresh, Frontier::all}) {
    for (const std::size_t edge_types : {1U, 20U}) {
      const auto batch = batch_of(edge_types, frontier, edge_types);
      for (const auto& [name, cols, hidden, change] : cases) {
        ModelOptions options{.kind = "rgcn",
                             .layers = 2,
                             .hidden = hidden,
                             .out_dim = 5,
                             .types = types_of(batch, cols)};
        change(options);
        const auto network = network_of(options);
        const auto expected = pass_of(*network, batch, cols, false, 2);
        for (const std::size_t threads : {1U, 3U}) {
          expect_same_pass(pass_of(*network, batch, cols, true, threads), expected,
                           fmt::format("{}, {} edge types, frontier {}, {} threads", name,
                                       edge_types, static_cast<int>(frontier), threads));
        }
      }
    }
  }
}

TEST(ListedRows, LaterPassesUseTheMemoryOfEarlierOnes) {
  const auto large = batch_of(20, Frontier::fresh, 1);
  const auto small = batch_of(20, Frontier::all, 2);
  ModelOptions options{
      .kind = "rgcn", .layers = 2, .hidden = 24, .out_dim = 5, .types = types_of(large, 8)};
  const auto network = network_of(options);
  InlineExecutor executor;
  Activations activations;
  const auto parameters = network->initial_parameters(3);
  for (const auto* batch : {&large, &small, &large}) {
    const Input input = input_of(*batch, 8, true);
    const auto found = run_pass(*network, executor, parameters, input.forward, activations);
    const auto expected = pass_of(*network, *batch, 8, false, 1).result;
    EXPECT_TRUE(same_bits(found.logits, expected.logits));
    EXPECT_TRUE(same_bits(found.gradient, expected.gradient));
  }
}

// Where the order of the library's sums is known and where it is not.
TEST(WeightGradientAt, HasTheBitsOfTheProductOfAllRows) {
  std::mt19937_64 random(7);
  InlineExecutor executor;
  GrowBuffer<float> partials;
  for (const auto& [out, in] : std::vector<std::pair<std::size_t, std::size_t>>{
           {64, 16}, {4, 64}, {1, 1}, {3, 7}, {24, 40}, {1, 30}, {30, 1}}) {
    for (const std::size_t rows : {1U, 97U, 512U, 513U, 2600U}) {
      for (const std::uint64_t one_in : {1U, 9U, 400U}) {
        std::vector<std::uint32_t> places;
        for (std::uint32_t i = 0; i < rows; ++i) {
          if (random() % one_in == 0) {
            places.push_back(i);
          }
        }
        const Matrix grad = random_matrix(places.size(), out, 1);
        const Matrix x = random_matrix(places.size(), in, 2);
        Matrix all_grad = random_matrix(rows, out, 3);  // where x is 0 it does not matter
        Matrix all_x = Matrix::zeros(rows, in);
        scatter_rows(grad.view(), places, 0, all_grad.view());
        scatter_rows(x.view(), places, 0, all_x.view());
        for (const auto precision : {Precision::float32, Precision::bf16}) {
          Matrix expected(out, in);
          Matrix found(out, in);
          weight_gradient(executor, std::as_const(all_grad).view(), std::as_const(all_x).view(),
                          partials, expected.view(), precision);
          weight_gradient_at(places, rows, grad.view(), x.view(), found.view(), precision);
          EXPECT_TRUE(same_bits(found.view().flat(), expected.view().flat()))
              << out << " x " << in << ", " << places.size() << " of " << rows << " rows";
        }
      }
    }
  }
}

// Partial sums of several chunks each.
TEST(WeightGradientAt, HasTheBitsOfTheProductOfVeryManyRows) {
  constexpr std::uint32_t rows = 40000;
  InlineExecutor executor;
  GrowBuffer<float> partials;
  std::vector<std::uint32_t> places;
  for (std::uint32_t i = 17; i < rows; i += 31) {
    places.push_back(i);
  }
  const Matrix grad = random_matrix(places.size(), 4, 1);
  const Matrix x = random_matrix(places.size(), 9, 2);
  Matrix all_grad = Matrix::zeros(rows, 4);
  Matrix all_x = Matrix::zeros(rows, 9);
  scatter_rows(grad.view(), places, 0, all_grad.view());
  scatter_rows(x.view(), places, 0, all_x.view());
  Matrix expected(4, 9);
  Matrix found(4, 9);
  weight_gradient(executor, std::as_const(all_grad).view(), std::as_const(all_x).view(), partials,
                  expected.view());
  weight_gradient_at(places, rows, grad.view(), x.view(), found.view(), Precision::float32);
  EXPECT_TRUE(same_bits(found.view().flat(), expected.view().flat()));
}

TEST(WeightGradientAt, KnowsTheOrderOfTheLibrarysSums) {
  const auto rows = rows_summed_at_once(64, 16);
  EXPECT_EQ(rows, rows_summed_at_once(64, 16));
  RecordProperty("rows", static_cast<int>(rows));  // 0 is slower, with the same bits
}

}  // namespace
}  // namespace troupe::nn
