#pragma once
/// \file attention_bodies.hpp
/// Kernel bodies of attention (runtime/nn/ops/attention.hpp), with its order of sums; the bits but for
/// exponentials, which on a GPU are its own.
#include "gpu/base/shared.hpp"
#include "gpu/nn/sum_bodies.hpp"

#include <cmath>

namespace troupe::gpu {

/// nn::AttentionShape in device memory.
struct Attending {
  Edges block;
  std::size_t destinations;
  std::size_t edges;
  std::size_t heads;
  bool one_loop;

  /// Calls body(row of the weights, source) for each edge of a destination that counts; the loop last.
  template <class Body>
  TROUPE_HD void each_edge(std::size_t destination, const Body& body) const {
    for (std::uint32_t e = block.offsets[destination]; e < block.offsets[destination + 1]; ++e) {
      const std::size_t source = block.sources[e];
      if (!one_loop || source != destination) {
        body(e - block.offsets[0], source);
      }
    }
    if (one_loop) {
      body(edges + destination, destination);
    }
  }
  /// The same for the out-edges of a source, with the destination in place of the source.
  template <class Body>
  TROUPE_HD void each_out_edge(const OutEdges& by_source, std::size_t source,
                               const Body& body) const {
    for (std::uint32_t k = by_source.offsets[source]; k < by_source.offsets[source + 1]; ++k) {
      const std::size_t destination = by_source.destinations[k];
      if (!one_loop || source != destination) {
        body(by_source.edges[k] - block.offsets[0], destination);
      }
    }
    if (one_loop && source < destinations) {
      body(edges + source, source);
    }
  }
};

/// scores[i, h] = sum over the columns of head h of x times the head's vector.
struct HeadScore {
  const float* x;
  const float* vectors;
  std::size_t heads;
  std::size_t columns;
  float* scores;
  TROUPE_HD void operator()(std::size_t i, std::size_t h) const {
    const float* row = x + (i * heads + h) * columns;
    const float* vector = vectors + h * columns;
    scores[i * heads + h] =
        lane_sum(columns, [row, vector](std::size_t c) { return row[c] * vector[c]; });
  }
};

struct HeadScoreBackward {
  const float* grad;  ///< [n, heads]
  const float* vectors;
  std::size_t heads;
  std::size_t columns;
  float* grad_x;
  bool add;
  TROUPE_HD void operator()(std::size_t i, std::size_t c) const {
    put(grad_x + i * heads * columns + c, vectors[c] * grad[i * heads + c / columns], add);
  }
};

/// sums[chunk, h * columns + c], over the chunk's rows in order.
struct HeadScoreSums {
  static constexpr unsigned least_blocks = 1;
  const float* grad;
  const float* x;
  std::size_t rows;
  std::size_t heads;
  std::size_t columns;
  std::size_t chunk_rows;
  float* sums;
  struct Loaded {
    float x;
    float grad;
  };
  TROUPE_HD void operator()(std::size_t chunk, std::size_t c) const {
    const std::size_t cols = heads * columns;
    const auto [first, end] = rows_of_chunk(chunk, chunk_rows, rows);
    const float* const of_head = grad + c / columns;
    float sum = 0;
    in_order<row_batch / 2, last_rows>(
        first, end,
        [=, this](std::size_t r) {
          return Loaded{x[r * cols + c], of_head[r * heads]};
        },
        [&sum](std::size_t /*r*/, const Loaded& row) { sum += row.x * row.grad; });
    sums[chunk * cols + c] = sum;
  }
};

TROUPE_HD inline float leaky_relu(float value, float slope) {
  return value > 0 ? value : value * slope;
}

/// Weights of the in-edges of a destination, of one head.
struct EdgeSoftmax {
  Attending shape;
  float slope;
  const float* source;
  const float* destination;
  float* weights;
  TROUPE_HD void operator()(std::size_t i, std::size_t h) const {
    const Edges& block = shape.block;
    const std::size_t heads = shape.heads;
    for (std::uint32_t e = block.offsets[i]; e < block.offsets[i + 1]; ++e) {
      weights[(e - block.offsets[0]) * heads + h] = 0;  // of loops that do not count
    }
    float largest = -INFINITY;
    shape.each_edge(i, [&](std::size_t row, std::size_t j) {
      const float logit = leaky_relu(source[j * heads + h] + destination[i * heads + h], slope);
      weights[row * heads + h] = logit;
      largest = largest < logit ? logit : largest;
    });
    float sum = 0;
    shape.each_edge(i, [&](std::size_t row, std::size_t /*j*/) {
      const float weight = expf(weights[row * heads + h] - largest);
      weights[row * heads + h] = weight;
      sum += weight;
    });
    shape.each_edge(i,
                    [&](std::size_t row, std::size_t /*j*/) { weights[row * heads + h] /= sum; });
  }
};

struct EdgeSoftmaxBackward {
  Attending shape;
  float slope;
  const float* source;
  const float* destination;
  const float* weights;
  float* grad;
  float* grad_destination;
  TROUPE_HD void operator()(std::size_t i, std::size_t h) const {
    const Edges& block = shape.block;
    const std::size_t heads = shape.heads;
    float mean = 0;
    shape.each_edge(i, [&](std::size_t row, std::size_t /*j*/) {
      mean += weights[row * heads + h] * grad[row * heads + h];
    });
    float sum = 0;
    shape.each_edge(i, [&](std::size_t row, std::size_t j) {
      float& g = grad[row * heads + h];
      const bool positive = source[j * heads + h] + destination[i * heads + h] > 0;
      g = weights[row * heads + h] * (g - mean) * (positive ? 1.0F : slope);
      sum += g;
    });
    grad_destination[i * heads + h] = sum;
    if (shape.one_loop) {
      for (std::uint32_t e = block.offsets[i]; e < block.offsets[i + 1]; ++e) {
        if (block.sources[e] == i) {
          grad[(e - block.offsets[0]) * heads + h] = 0;
        }
      }
    }
  }
};

/// out[j, h] = or += the sum of `grad` over the out-edges of source j.
struct SoftmaxSource {
  Attending shape;
  OutEdges by_source;
  const float* grad;
  float* out;
  bool add;
  TROUPE_HD void operator()(std::size_t j, std::size_t h) const {
    float sum = 0;
    shape.each_out_edge(by_source, j, [&](std::size_t row, std::size_t /*destination*/) {
      sum += grad[row * shape.heads + h];
    });
    put(out + j * shape.heads + h, sum, add);
  }
};

/// Columns of a head; with `mean` the result has those of one.
struct HeadColumns {
  std::size_t heads;
  std::size_t columns;
  bool mean;
  float factor;  ///< of weights: 1 / heads for the mean
  TROUPE_HD std::size_t in_cols() const { return heads * columns; }
  TROUPE_HD std::size_t out_cols() const { return mean ? columns : heads * columns; }
};

struct Attend {
  Attending shape;
  HeadColumns of;
  const float* weights;
  const float* x;
  float* out;
  TROUPE_HD void operator()(std::size_t i, std::size_t c) const {
    const std::size_t first = of.mean ? 0 : c / of.columns;
    const std::size_t end = of.mean ? of.heads : first + 1;
    const std::size_t in_head = of.mean ? c : c % of.columns;
    float sum = 0;
    shape.each_edge(i, [&](std::size_t row, std::size_t j) {
      for (std::size_t h = first; h < end; ++h) {
        const float weight = weights[row * of.heads + h] * of.factor;
        sum += x[j * of.in_cols() + h * of.columns + in_head] * weight;
      }
    });
    out[i * of.out_cols() + c] = sum;
  }
};

struct AttendBackward {
  Attending shape;
  HeadColumns of;
  OutEdges by_source;
  const float* weights;
  const float* grad;
  float* grad_x;
  bool add;
  TROUPE_HD void operator()(std::size_t j, std::size_t c) const {
    const std::size_t h = c / of.columns;
    const std::size_t at = of.mean ? c % of.columns : c;
    float sum = 0;
    shape.each_out_edge(by_source, j, [&](std::size_t row, std::size_t i) {
      const float weight = weights[row * of.heads + h] * of.factor;
      sum += grad[i * of.out_cols() + at] * weight;
    });
    put(grad_x + j * of.in_cols() + c, sum, add);
  }
};

struct AttendWeights {
  Attending shape;
  HeadColumns of;
  const float* x;
  const float* grad;
  float* grad_weights;
  TROUPE_HD void operator()(std::size_t i, std::size_t h) const {
    const Edges& block = shape.block;
    for (std::uint32_t e = block.offsets[i]; e < block.offsets[i + 1]; ++e) {
      grad_weights[(e - block.offsets[0]) * of.heads + h] = 0;
    }
    const float* g = grad + i * of.out_cols() + (of.mean ? 0 : h * of.columns);
    shape.each_edge(i, [&](std::size_t row, std::size_t j) {
      const float* in = x + j * of.in_cols() + h * of.columns;
      const float sum = lane_sum(of.columns, [g, in](std::size_t c) { return g[c] * in[c]; });
      grad_weights[row * of.heads + h] = sum * of.factor;
    });
  }
};

}  // namespace troupe::gpu
