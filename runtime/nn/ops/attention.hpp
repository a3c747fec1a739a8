#pragma once
/// \file attention.hpp
/// Attention over a block's edges, several heads at once, forward and backward (Veličković et al.:
/// "Graph attention networks", ICLR 2018). Rows have the heads' columns one after the other.
/// Functions named `…_rows` run on the calling thread over one chunk of rows; a row's bits depend on
/// its own edges alone.
///
/// The weights of a block are a matrix [edges, heads]: a row per edge in the block's order; with
/// `one_loop` a row per destination follows, for a self loop that each has exactly once, and edges
/// from a destination to itself weigh nothing.
#include "runtime/base/matrix.hpp"
#include "runtime/nn/ops/aggregate.hpp"
#include "runtime/nn/ops/linear.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstddef>
#include <span>

namespace troupe::nn {

struct AttentionShape {
  const LayerBlock* block = nullptr;
  std::size_t heads = 1;
  bool one_loop = false;

  std::size_t edges() const { return block->num_edges(); }
  /// Rows of the weights.
  std::size_t rows() const { return edges() + (one_loop ? block->num_dst : 0); }
};

/// scores[i, h] = sum over the columns c of head h of x[i, c] * vectors[h, c].
/// \param x        [n, heads * columns]
/// \param vectors  [heads, columns]
/// \param scores   [n, heads]
void head_score_rows(ConstMatrix x, ConstMatrix vectors, MutMatrix scores);
/// grad_x = gradient of the scores, or += .
void head_score_backward_rows(ConstMatrix grad, ConstMatrix vectors, MutMatrix grad_x, Into into);
/// grad_vectors [heads, columns] += sum over these rows.
void head_score_gradient_rows(ConstMatrix grad, ConstMatrix x, MutMatrix grad_vectors);

/// Weights of the in-edges of destinations [first, first + count): softmax over them, per head, of
/// leaky_relu(source[j] + destination[i]); the largest is subtracted before the exponential.
/// \param source       [num_src or more, heads]
/// \param destination  [num_dst or more, heads]
void attention_rows(const AttentionShape& shape, float slope, ConstMatrix source,
                    ConstMatrix destination, std::size_t first, std::size_t count,
                    MutMatrix weights);
/// Turns `grad` of those weights into the gradient of source[j] + destination[i], in place.
/// \param grad_destination  [count, heads] overwritten: sums over in-edges
void attention_backward_rows(const AttentionShape& shape, float slope, ConstMatrix source,
                             ConstMatrix destination, ConstMatrix weights, std::size_t first,
                             MutMatrix grad, MutMatrix grad_destination);
/// Sums of `grad` over the out-edges of sources [first, first + out.rows).
/// \param out  [count, heads], overwritten
void attention_source_rows(const AttentionShape& shape, const EdgesBySource& by_source,
                           ConstMatrix grad, std::size_t first, MutMatrix out);

/// out[i] = sum over in-edges of weight times source row, head by head, for destinations
/// [first, first + out.rows); the loop comes last.
/// \param x    [num_src or more, heads * columns]
/// \param out  [count, heads * columns], or [count, columns]: the mean over the heads
void attend_rows(const AttentionShape& shape, ConstMatrix weights, ConstMatrix x, std::size_t first,
                 MutMatrix out);
/// The gradient that sources [first, first + grad_x.rows) get.
/// \param grad_out  [num_dst, as attend_rows]
/// \param grad_x    [count, heads * columns], overwritten
void attend_backward_rows(const AttentionShape& shape, const EdgesBySource& by_source,
                          ConstMatrix weights, ConstMatrix grad_out, std::size_t first,
                          MutMatrix grad_x);
/// The gradient of the weights of the in-edges of destinations [first, first + grad_out.rows).
/// \param grad_out  rows of these destinations
void attend_weight_rows(const AttentionShape& shape, ConstMatrix x, ConstMatrix grad_out,
                        std::size_t first, MutMatrix grad_weights);

}  // namespace troupe::nn
