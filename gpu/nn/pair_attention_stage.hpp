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
  const float* vectors;  ///< [heads, columns], or [heads, 1]
  float* weights;

  TROUPE_HD std::size_t cols() const { return shape.heads * columns; }
  TROUPE_HD std::size_t vector_cols() const { return dynamic ? columns : 1; }
  TROUPE_HD float product(std::size_t from, std::size_t to, std::size_t head) const {
    const float* a = source + from * cols() + head * columns;
    const float* b = destination + to * cols() + head * columns;
    return lane_sum(columns, [a, b](std::size_t c) { return a[c] * b[c]; });
  }
  TROUPE_HD float score(std::size_t from, std::size_t to, std::size_t head) const {
    const float* vector = vectors + head * vector_cols();
    if (!dynamic) {
      return product(from, to, head) * vector[0] * scale;
    }
    const float* a = source + from * cols() + head * columns;
    const float* b = destination + to * cols() + head * columns;
    const float below = slope;
    return lane_sum(columns, [a, b, vector, below](std::size_t c) {
      return vector[c] * leaky_relu(a[c] + b[c], below);
    });
  }
  /// The gradient of a column of one end's row, through an edge.
  TROUPE_HD float end_gradient(std::size_t from, std::size_t to, bool of_source, std::size_t col,
                               float grad) const {
    const std::size_t head = col / columns;
    const float a = source[from * cols() + col];
    const float b = destination[to * cols() + col];
    if (dynamic) {
      return grad * vectors[col] * (a + b > 0 ? 1.0F : slope);
    }
    return (of_source ? b : a) * (grad * vectors[head] * scale);
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
      const float score = part.score(j, i, h);
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

struct ScoresBackward {
  Pairs part;
  const float* means;
  float* grad;
  float* grad_destination;
  TROUPE_HD void operator()(std::size_t i, std::size_t h) const {
    const std::size_t heads = part.shape.heads;
    const float mean = means[i * heads + h];
    float* out = grad_destination + i * part.cols() + h * part.columns;
    part.clear(i, h, grad);
    for (std::size_t c = 0; c < part.columns; ++c) {
      out[c] = 0;
    }
    part.shape.each_edge(i, [&](std::size_t row, std::size_t j) {
      float& g = grad[row * heads + h];
      g = part.weights[row * heads + h] * (g - mean);
      for (std::size_t c = 0; c < part.columns; ++c) {
        out[c] += part.end_gradient(j, i, false, h * part.columns + c, g);
      }
    });
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
      sum += part.end_gradient(j, i, true, c, grad[row * part.shape.heads + h]);
    });
    put(grad_source + j * part.cols() + c, sum, add);
  }
};

/// sums[chunk, v] of the vectors' elements, over the chunk's destinations in order.
struct PairVectorSums {
  Pairs part;
  const float* grad;
  std::size_t chunk_rows;
  float* sums;
  TROUPE_HD void operator()(std::size_t chunk, std::size_t v) const {
    const std::size_t h = v / part.vector_cols();
    const auto [first, end] = rows_of_chunk(chunk, chunk_rows, part.shape.destinations);
    float sum = 0;
    for (std::size_t i = first; i < end; ++i) {
      part.shape.each_edge(i, [&](std::size_t row, std::size_t j) {
        const float g = grad[row * part.shape.heads + h];
        if (part.dynamic) {
          sum += g * leaky_relu(
                         part.source[j * part.cols() + v] + part.destination[i * part.cols() + v],
                         part.slope);
        } else {
          sum += g * part.scale * part.product(j, i, h);
        }
      });
    }
    sums[chunk * part.shape.heads * part.vector_cols() + v] = sum;
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
    on.for_rows(
        rows, heads,
        ScoresBackward{parts[p], means.data(), grads[p].weights.data, grads[p].destination.data});
  }
}

}  // namespace troupe::gpu
