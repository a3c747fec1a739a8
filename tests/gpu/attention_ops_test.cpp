// Attention: a GPU has the CPU's bits in all but the exponentials of the weights.
#include "tests/gpu/block_ops_support.hpp"

#include <fmt/format.h>
#include <vector>

namespace troupe::testing {
namespace {

using nn::testing::random_block;
using nn::testing::random_matrix;

class AttentionOps : public BlockOpsTest {};

INSTANTIATE_TEST_SUITE_P(Devices, AttentionOps, ::testing::ValuesIn(tested_devices),
                         name_of_device);

/// Weights of a block's edges, from scores; they need exponentials.
struct Heads {
  OwnedBlock block;
  std::size_t heads;
  bool one_loop;

  std::size_t weight_rows() const { return block.sources.size() + (one_loop ? block.num_dst : 0); }
};

std::vector<Heads> some_heads() {
  std::vector<Heads> result;
  for (const std::uint32_t destinations : {1U, 33U, 600U}) {
    for (const std::size_t heads : {1U, 3U}) {
      for (const bool one_loop : {false, true}) {
        result.push_back(
            {random_block(destinations, 2 * destinations + 1, 7, destinations), heads, one_loop});
      }
    }
  }
  return result;
}

TEST_P(AttentionOps, AttentionWithGivenWeights) {
  constexpr std::size_t columns = 5;
  for (const Heads& of : some_heads()) {
    const Matrix x = random_matrix(of.block.num_src, of.heads * columns, 1);
    const Matrix weights = random_matrix(of.weight_rows(), of.heads, 2);
    for (const bool mean : {false, true}) {
      expect_same(
          [&](Operands& on) {
            InlineExecutor executor;
            const LayerBlock block = on.copied(of.block);
            const nn::AttentionShape shape{&block, of.heads, of.one_loop};
            nn::TermWork term;
            term.path.reach = nn::Reach::attend;
            term.path.block = &block;
            term.path.attention = shape;
            term.path.weights = on.copied(weights);
            term.path.out_cols = mean ? columns : columns * of.heads;
            term.source = on.copied(x);
            auto results = combined(on, {term}, {}, block.num_dst, term.path.out_cols);
            nn::EdgesBySource by_source(on.memory());
            const std::vector<nn::BlockOps::SortWork> sort{{&block, &by_source}};
            on.ops().sort_by_source(executor, sort);
            const Matrix grad = random_matrix(block.num_dst, term.path.out_cols, 3);
            nn::UseWork use;
            use.path = term.path;
            use.by_source = &by_source;
            use.grad = on.copied(grad);
            const MutMatrix out = on.rows(x.rows(), x.cols());
            on.ops().source_gradient(executor, std::vector{use}, out);
            results.floats.push_back(on.fetched(out));
            const MutMatrix of_weights = on.rows(shape.rows(), shape.heads);
            on.ops().attend_weights_gradient(executor, shape, term.source, use.grad, of_weights);
            results.floats.push_back(on.fetched(of_weights));
            return results;
          },
          fmt::format("{} destinations, {} heads, loop {}, mean {}", of.block.num_dst, of.heads,
                      of.one_loop, mean));
    }
  }
}

TEST_P(AttentionOps, ScoresOfHeadsAndTheirGradients) {
  for (const std::uint32_t rows : some_rows) {
    const Matrix x = random_matrix(rows, 3 * 11, 1);
    const Matrix vectors = random_matrix(3, 11, 2);
    const Matrix grad = random_matrix(rows, 3, 3);
    expect_same(
        [&](Operands& on) {
          InlineExecutor executor;
          const MutMatrix of_heads = on.copied(vectors);
          const MutMatrix from = on.copied(x);
          const MutMatrix scores = on.rows(rows, 3);
          on.ops().head_scores(executor, from, of_heads, scores);
          const MutMatrix of_vectors = on.rows(3, 11);
          on.ops().head_scores_gradient(executor, on.copied(grad), from, of_vectors);
          nn::UseWork use;
          use.path.reach = nn::Reach::head_scores;
          use.grad = on.copied(grad);
          use.weight = of_heads;
          const MutMatrix out = on.rows(rows, 3 * 11);
          on.ops().source_gradient(executor, std::vector{use}, out);
          Results results;
          results.floats = {on.fetched(scores), on.fetched(of_vectors), on.fetched(out)};
          return results;
        },
        fmt::format("{} rows", rows));
  }
}

/// Gradients of the weights of attention; the weights are given.
Results attention_backward(Operands& on, const Heads& of, const Matrix& source,
                           const Matrix& destination, const Matrix& weights) {
  InlineExecutor executor;
  const LayerBlock block = on.copied(of.block);
  nn::BlockOps::AttentionWork work;
  work.shape = {&block, of.heads, of.one_loop};
  work.slope = 0.2F;
  work.source = on.copied(source);
  work.destination = on.copied(destination);
  work.weights = on.copied(weights);
  const Matrix of_weights = random_matrix(weights.rows(), weights.cols(), 9);
  const MutMatrix grad = on.copied(of_weights);
  const MutMatrix grad_destination = on.rows(block.num_dst, of.heads);
  on.ops().attention_backward(executor, work, grad, grad_destination);
  nn::EdgesBySource by_source(on.memory());
  const std::vector<nn::BlockOps::SortWork> sort{{&block, &by_source}};
  on.ops().sort_by_source(executor, sort);
  nn::UseWork use;
  use.path.reach = nn::Reach::attention;
  use.path.block = &block;
  use.path.attention = work.shape;
  use.by_source = &by_source;
  use.grad = grad;
  const MutMatrix out = on.rows(block.num_src, of.heads);
  on.ops().source_gradient(executor, std::vector{use}, out);
  Results results;
  results.floats = {on.fetched(grad), on.fetched(grad_destination), on.fetched(out)};
  return results;
}

TEST_P(AttentionOps, AttentionBackwardWithGivenWeights) {
  for (const Heads& of : some_heads()) {
    const Matrix source = random_matrix(of.block.num_src, of.heads, 1);
    const Matrix destination = random_matrix(of.block.num_dst, of.heads, 2);
    const Matrix weights = random_matrix(of.weight_rows(), of.heads, 3);
    expect_same(
        [&](Operands& on) { return attention_backward(on, of, source, destination, weights); },
        fmt::format("{} destinations, {} heads, loop {}", of.block.num_dst, of.heads, of.one_loop));
  }
}

TEST_P(AttentionOps, AttentionIsNearTheCpus) {
  for (const Heads& of : some_heads()) {
    const Matrix source = random_matrix(of.block.num_src, of.heads, 1);
    const Matrix destination = random_matrix(of.block.num_dst, of.heads, 2);
    const auto weights = [&](Operands& on) {
      InlineExecutor executor;
      const LayerBlock block = on.copied(of.block);
      nn::BlockOps::AttentionWork work;
      work.shape = {&block, of.heads, of.one_loop};
      work.slope = 0.2F;
      work.source = on.copied(source);
      work.destination = on.copied(destination);
      work.weights = on.rows(of.weight_rows(), of.heads);
      on.ops().attention(executor, work);
      Results results;
      results.floats = {on.fetched(work.weights)};
      return results;
    };
    expect_near(of_the_device(weights), of_the_cpu(weights), 1e-6,
                fmt::format("{} destinations, {} heads", of.block.num_dst, of.heads));
  }
}

}  // namespace
}  // namespace troupe::testing
