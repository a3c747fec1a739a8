#pragma once
/// \file pair_attention_stage.hpp
/// Attention with scores of whole rows (runtime/nn/ops/pair_attention.hpp) on a stream: with its order of
/// sums, and its bits but for exponentials.
#include "gpu/nn/attention_bodies.hpp"
#include "runtime/nn/ops/pair_attention.hpp"

#include <cmath>
#include <cstddef>
#include <span>

namespace troupe::gpu {

/// A PairAttention in device memory.
struct Pairs {
  Attending shape;
  bool dynamic;
  float slope;
  float scale;
  std::size_t columns;
  const float* source;
  const float* destination;
  const float* vectors;  ///< [heads, columns], or [heads, 1]; null: ones, of one column
  float* weights;
  const float* edges;  ///< [edges, heads * columns]; null: none

  TROUPE_HD std::size_t cols() const { return shape.heads * columns; }
  TROUPE_HD std::size_t vector_cols() const { return dynamic ? columns : 1; }
  TROUPE_HD float vector_at(std::size_t i) const { return vectors == nullptr ? 1.0F : vectors[i]; }
  TROUPE_HD float product(std::size_t from, std::size_t to, std::size_t head) const {
    const float* a = source + from * cols() + head * columns;
    const float* b = destination + to * cols() + head * columns;
    return lane_sum(columns, [a, b](std::size_t c) { return a[c] * b[c]; });
  }
  /// Sum of the rows of both ends of an edge, and of its own, at a column.
  TROUPE_HD float sum_at(std::size_t row, std::size_t from, std::size_t to, std::size_t col) const {
    const float ends = source[from * cols() + col] + destination[to * cols() + col];
    return edges == nullptr ? ends : ends + edges[row * cols() + col];
  }
  TROUPE_HD float score(std::size_t row, std::size_t from, std::size_t to, std::size_t head) const {
    if (!dynamic) {
      return product(from, to, head) * vector_at(head) * scale;
    }
    if (vectors == nullptr) {  // one column
      return 0.0F + leaky_relu(sum_at(row, from, to, head), slope);
    }
    const float* vector = vectors + head * columns;
    const Pairs* part = this;
    return lane_sum(columns, [=](std::size_t c) {
      return vector[c] *
             leaky_relu(part->sum_at(row, from, to, head * part->columns + c), part->slope);
    });
  }
  /// The gradient of a column of one end's row, through an edge.
  TROUPE_HD float end_gradient(std::size_t row, std::size_t from, std::size_t to, bool of_source,
                               std::size_t col, float grad) const {
    if (dynamic) {
      return grad * vector_at(col) * (sum_at(row, from, to, col) > 0 ? 1.0F : slope);
    }
    const float other = of_source ? destination[to * cols() + col] : source[from * cols() + col];
    return other * (grad * vector_at(col / columns) * scale);
  }
  /// Edges that the softmax leaves out get 0.
  TROUPE_HD void clear(std::size_t i, std::size_t head, float* of_edges) const {
    const Edges& block = shape.block;
    for (std::uint32_t e = block.offsets[i]; shape.one_loop && e < block.offsets[i + 1]; ++e) {
      if (block.sources[e] == i) {
        of_edges[(e - block.offsets[0]) * shape.heads + head] = 0;
      }
    }
  }
};

struct WriteScores {
  Pairs part;
  float* largest;  ///< [destinations, heads]
  TROUPE_HD void operator()(std::size_t i, std::size_t h) const {
    const std::size_t heads = part.shape.heads;
    part.clear(i, h, part.weights);
    float most = largest[i * heads + h];
    part.shape.each_edge(i, [&](std::size_t row, std::size_t j) {
      const float score = part.score(row, j, i, h);
      part.weights[row * heads + h] = score;
      most = most < score ? score : most;
    });
    largest[i * heads + h] = most;
  }
};

struct AddExponentials {
  Pairs part;
  const float* largest;
  float* sums;
  TROUPE_HD void operator()(std::size_t i, std::size_t h) const {
    const std::size_t heads = part.shape.heads;
    const float most = largest[i * heads + h];
    float sum = sums[i * heads + h];
    part.shape.each_edge(i, [&](std::size_t row, std::size_t /*j*/) {
      float& weight = part.weights[row * heads + h];
      weight = expf(weight - most);
      sum += weight;
    });
    sums[i * heads + h] = sum;
  }
};

struct DivideBySum {
  Pairs part;
  const float* sums;
  TROUPE_HD void operator()(std::size_t i, std::size_t h) const {
    const std::size_t heads = part.shape.heads;
    const float sum = sums[i * heads + h];
    part.shape.each_edge(
        i, [&](std::size_t row, std::size_t /*j*/) { part.weights[row * heads + h] /= sum; });
  }
};

struct AddMean {
  Pairs part;
  const float* grad;
  float* means;
  TROUPE_HD void operator()(std::size_t i, std::size_t h) const {
    const std::size_t heads = part.shape.heads;
    float mean = means[i * heads + h];
    part.shape.each_edge(i, [&](std::size_t row, std::size_t /*j*/) {
      mean += part.weights[row * heads + h] * grad[row * heads + h];
    });
    means[i * heads + h] = mean;
  }
};

/// Turns the gradient of a destination's weights into that of its scores.
struct ScoreGradient {
  Pairs part;
  const float* means;
  float* grad;
  TROUPE_HD void operator()(std::size_t i, std::size_t h) const {
    const std::size_t heads = part.shape.heads;
    const float mean = means[i * heads + h];
    part.clear(i, h, grad);
    part.shape.each_edge(i, [&](std::size_t row, std::size_t /*j*/) {
      float& g = grad[row * heads + h];
      g = part.weights[row * heads + h] * (g - mean);
    });
  }
};

/// Gradients of a destination's row, and of its edges' rows. \requires ScoreGradient ran
struct PairDestination {
  Pairs part;
  const float* grad;
  float* grad_destination;
  float* grad_edges;  ///< null: not wanted
  TROUPE_HD void operator()(std::size_t i, std::size_t c) const {
    const std::size_t h = c / part.columns;
    float sum = 0;
    part.shape.each_edge(i, [&](std::size_t row, std::size_t j) {
      const float through =
          part.end_gradient(row, j, i, false, c, grad[row * part.shape.heads + h]);
      sum += through;
      if (grad_edges != nullptr) {
        grad_edges[row * part.cols() + c] = 0.0F + through;
      }
    });
    grad_destination[i * part.cols() + c] = sum;
  }
};

struct PairSource {
  Pairs part;
  OutEdges by_source;
  const float* grad;
  float* grad_source;
  bool add;
  TROUPE_HD void operator()(std::size_t j, std::size_t c) const {
    const std::size_t h = c / part.columns;
    float sum = 0;
    part.shape.each_out_edge(by_source, j, [&](std::size_t row, std::size_t i) {
      sum += part.end_gradient(row, j, i, true, c, grad[row * part.shape.heads + h]);
    });
    put(grad_source + j * part.cols() + c, sum, add);
  }
};

/// sums[chunk, v] of the vectors' elements, over the chunk's destinations in order.
struct PairVectorSums {
  static constexpr unsigned least_blocks = 1;
  Pairs part;
  const float* grad;
  std::size_t chunk_rows;
  float* sums;
  TROUPE_HD void operator()(std::size_t chunk, std::size_t v) const {
    const std::size_t h = v / part.vector_cols();
    const auto [first, end] = rows_of_chunk(chunk, chunk_rows, part.shape.destinations);
    float sum = 0;
    for (std::size_t i = first; i < end; ++i) {
      add_edges_of(i, h, v, sum);
    }
    sums[chunk * part.shape.heads * part.vector_cols() + v] = sum;
  }

 private:
  struct Term {
    float value;
    bool counts;
  };
  TROUPE_HD float term(std::size_t row, std::size_t j, std::size_t i, std::size_t h,
                       std::size_t v) const {
    const float g = grad[row * part.shape.heads + h];
    return part.dynamic ? g * leaky_relu(part.sum_at(row, j, i, v), part.slope)
                        : g * part.scale * part.product(j, i, h);
  }
  /// As Attending::each_edge().
  TROUPE_HD void add_edges_of(std::size_t i, std::size_t h, std::size_t v, float& sum) const {
    const Attending& shape = part.shape;
    const std::uint32_t first_edge = shape.block.offsets[0];
    gather_in_order<last_edges, last_edges>(
        shape.block.offsets[i], shape.block.offsets[i + 1],
        [&shape](std::uint32_t e) -> std::size_t { return shape.block.sources[e]; },
        [=, this](std::uint32_t e, std::size_t j) {
          return Term{term(e - first_edge, j, i, h, v), !part.shape.one_loop || j != i};
        },
        [&sum](std::uint32_t /*e*/, const Term& of_edge) {
          sum = of_edge.counts ? sum + of_edge.value : sum;
        });
    if (shape.one_loop) {
      sum += term(shape.edges + i, i, i, h, v);
    }
  }
};

template <class Stream>
void pair_attention_stage(Stream& on, std::span<const Pairs> parts) {
  const std::size_t rows = parts.front().shape.destinations;
  const std::size_t heads = parts.front().shape.heads;
  const auto largest = on.template array<float>(rows * heads);
  const auto sums = on.template array<float>(rows * heads);
  on.for_each(rows * heads, FillElement{-INFINITY, largest.data()});
  on.zero(sums.data(), sums.size_bytes());
  for (const Pairs& part : parts) {
    on.for_rows(rows, heads, WriteScores{part, largest.data()});
  }
  for (const Pairs& part : parts) {
    on.for_rows(rows, heads, AddExponentials{part, largest.data(), sums.data()});
  }
  for (const Pairs& part : parts) {
    on.for_rows(rows, heads, DivideBySum{part, sums.data()});
  }
}

template <class Stream>
void pair_attention_backward_stage(Stream& on, std::span<const Pairs> parts,
                                   std::span<const nn::PairGradient> grads) {
  const std::size_t rows = parts.front().shape.destinations;
  const std::size_t heads = parts.front().shape.heads;
  const auto means = on.template array<float>(rows * heads);
  on.zero(means.data(), means.size_bytes());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    on.for_rows(rows, heads, AddMean{parts[p], grads[p].weights.data, means.data()});
  }
  for (std::size_t p = 0; p < parts.size(); ++p) {
    on.for_rows(rows, heads, ScoreGradient{parts[p], means.data(), grads[p].weights.data});
    on.for_rows(rows, parts[p].cols(),
                PairDestination{parts[p], grads[p].weights.data, grads[p].destination.data,
                                grads[p].edges.data});
  }
}

}  // namespace troupe::gpu
