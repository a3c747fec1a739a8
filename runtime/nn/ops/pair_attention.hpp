#pragma once
/// \file pair_attention.hpp
/// Attention whose scores are made of whole rows of both ends of an edge, several heads at once,
/// forward and backward: the dynamic attention of Brody, Alon and Yahav ("How attentive are graph
/// attention networks?", ICLR 2022), and dot products. Weights lie as attention.hpp has them; the softmax
/// runs over the in-edges of a destination along one block, or along several together.
/// Functions named `…_rows` run on the calling thread over one chunk of rows; a row's bits depend on
/// its own edges alone.
#include "runtime/base/matrix.hpp"
#include "runtime/nn/ops/aggregate.hpp"
#include "runtime/nn/ops/attention.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::nn {

enum class PairScore : std::uint8_t {
  dynamic,  ///< sum over columns of vectors * leaky_relu(source + destination + edge)
  product,  ///< scale * vectors[h] * sum over columns of source * destination
};

/// Attention along one block. Of several blocks `num_dst` and heads are the same.
struct PairAttention {
  AttentionShape shape;
  PairScore score = PairScore::dynamic;
  float slope = 0;          ///< Of `dynamic`: leaky ReLU below 0
  float scale = 1;          ///< Of `product`
  ConstMatrix source;       ///< [num_src or more, heads * columns]
  ConstMatrix destination;  ///< [num_dst or more, heads * columns]
  ConstMatrix vectors;  ///< [heads, columns]; of `product` [heads, 1]; no data: ones, of one column
  MutMatrix weights;    ///< [shape.rows(), heads]
  /// Of `dynamic`, without loops: [shape.edges(), heads * columns], added to the rows of both ends; no
  /// data: nothing is.
  ConstMatrix edges = {};

  std::size_t columns() const { return source.cols / shape.heads; }
};

/// Writes the weights of the in-edges of destinations [first, first + count) along all parts: the softmax
/// of their scores, per head.
void pair_attention_rows(std::span<const PairAttention> parts, std::size_t first,
                         std::size_t count);

/// Gradients of a part on its way back.
struct PairGradient {
  MutMatrix weights;      ///< [shape.rows(), heads] of the weights; becomes that of the scores
  MutMatrix destination;  ///< [num_dst, heads * columns] of the destinations' rows, overwritten
  MutMatrix edges = {};   ///< as PairAttention::edges, overwritten; no data: not wanted
};
/// Those of destinations [first, first + count), of all parts.
void pair_attention_backward_rows(std::span<const PairAttention> parts,
                                  std::span<const PairGradient> grads, std::size_t first,
                                  std::size_t count);
/// The gradient that sources [first, first + grad_source.rows) get.
/// \param grad         [shape.rows(), heads] of the scores
/// \param grad_source  [count, heads * columns], overwritten
void pair_attention_source_rows(const PairAttention& part, const EdgesBySource& by_source,
                                ConstMatrix grad, std::size_t first, MutMatrix grad_source);
/// grad_vectors (shape of `vectors`) += sum over the in-edges of destinations [first, first + count).
void pair_attention_vector_rows(const PairAttention& part, ConstMatrix grad, std::size_t first,
                                std::size_t count, MutMatrix grad_vectors);

}  // namespace troupe::nn
