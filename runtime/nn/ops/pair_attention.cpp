#include "runtime/nn/ops/pair_attention.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/hot.hpp"
#include "runtime/nn/ops/attention_edges.hpp"
#include "runtime/nn/ops/row_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace troupe::nn {
namespace {

/// The rows of both ends of an edge and its own, a head's columns.
struct Ends {
  Ends(const PairAttention& part, Weighed of, std::size_t from, std::size_t to, std::size_t head)
      : cols(part.columns()),
        source(part.source.row(from).data() + head * cols),
        destination(part.destination.row(to).data() + head * cols),
        edge(part.edges.data == nullptr ? nullptr : part.edges.row(of.row).data() + head * cols) {}
  std::size_t cols;
  const float* source;
  const float* destination;
  const float* edge;  ///< null: nothing is added
};

/// Calls `body` with the sum of the rows at a column, as a function.
template <class Body>
inline auto with_sum(const Ends& ends, const Body& body) {
  const float* __restrict a = ends.source;
  const float* __restrict b = ends.destination;
  if (ends.edge == nullptr) {
    return body([a, b](std::size_t c) { return a[c] + b[c]; });
  }
  const float* __restrict e = ends.edge;
  return body([a, b, e](std::size_t c) { return a[c] + b[c] + e[c]; });
}

/// The sum over columns of vector * leaky_relu(at), in an order that depends on `cols` alone.
template <class At>
inline float leaky_dot(const At& at, const float* __restrict vector, float slope,
                       std::size_t cols) {
  constexpr std::size_t lanes = 16;
  float sums[lanes] = {};
  std::size_t c = 0;
  for (; c + lanes <= cols; c += lanes) {
    for (std::size_t l = 0; l < lanes; ++l) {
      sums[l] += vector[c + l] * leaky(at(c + l), slope);
    }
  }
  for (std::size_t l = 0; c < cols; ++c, ++l) {
    sums[l] += vector[c] * leaky(at(c), slope);
  }
  float sum = 0;
  for (const float part : sums) {
    sum += part;
  }
  return sum;
}

/// A head's vector.
inline const float* vector_of(const PairAttention& part, std::size_t head) {
  static constexpr float one = 1;
  return part.vectors.data == nullptr ? &one : part.vectors.row(head).data();
}

inline float score_of(const PairAttention& part, const Ends& ends, std::size_t head) {
  const float* vector = vector_of(part, head);
  if (part.score == PairScore::product) {
    return dot_row(ends.source, ends.destination, ends.cols) * vector[0] * part.scale;
  }
  return with_sum(ends,
                  [&](const auto& at) { return leaky_dot(at, vector, part.slope, ends.cols); });
}

/// out += the gradient of one end's row or of the edge's, of a head's columns.
inline void add_end_gradient(const PairAttention& part, const Ends& ends, bool of_source,
                             std::size_t head, float grad, float* __restrict out) {
  const float* __restrict vector = vector_of(part, head);
  if (part.score == PairScore::product) {
    return add_scaled_row(of_source ? ends.destination : ends.source, grad * vector[0] * part.scale,
                          out, ends.cols);
  }
  // Copies: a slope in memory that `out` might overlap is read for each column, one by one.
  with_sum(ends, [=, slope = part.slope, cols = ends.cols](const auto& at) {
    for (std::size_t c = 0; c < cols; ++c) {
      out[c] += grad * vector[c] * (at(c) > 0 ? 1.0F : slope);
    }
  });
}

/// Edges of a destination that the softmax leaves out get 0.
void clear_edges(const AttentionShape& shape, std::size_t destination, MutMatrix of_edges) {
  const LayerBlock& block = *shape.block;
  for (std::uint32_t e = block.offsets[destination]; e < block.offsets[destination + 1]; ++e) {
    TROUPE_ASSERT(block.sources[e] < block.num_src, "edge outside its block", e, block.sources[e],
                  block.num_src);
    if (shape.one_loop && block.sources[e] == destination) {
      std::ranges::fill(of_edges.row(e - block.offsets[0]), 0.0F);
    }
  }
}

void write_scores(const PairAttention& part, std::size_t i, std::span<float> largest) {
  clear_edges(part.shape, i, part.weights);
  for_each_edge(part.shape, i, part.source, [&](Weighed edge) {
    for (std::size_t h = 0; h < largest.size(); ++h) {
      const float score = score_of(part, Ends(part, edge, edge.source, i, h), h);
      part.weights.row(edge.row)[h] = score;
      largest[h] = std::max(largest[h], score);
    }
  });
}

/// The gradient of a part's scores, from that of its weights, and of the destination's row.
void scores_backward(const PairAttention& part, const PairGradient& grad, std::size_t i,
                     std::span<const float> means) {
  clear_edges(part.shape, i, grad.weights);
  const auto of_destination = grad.destination.row(i);
  std::ranges::fill(of_destination, 0.0F);
  for_each_edge(part.shape, i, part.source, [&](Weighed edge) {
    for (std::size_t h = 0; h < means.size(); ++h) {
      float& g = grad.weights.row(edge.row)[h];
      g = part.weights.row(edge.row)[h] * (g - means[h]);
      const Ends ends(part, edge, edge.source, i, h);
      add_end_gradient(part, ends, false, h, g, of_destination.data() + h * ends.cols);
      if (grad.edges.data != nullptr) {
        float* of_edge = grad.edges.row(edge.row).data() + h * ends.cols;
        std::fill_n(of_edge, ends.cols, 0.0F);
        add_end_gradient(part, ends, false, h, g, of_edge);
      }
    }
  });
}

}  // namespace

TROUPE_HOT void pair_attention_rows(std::span<const PairAttention> parts, std::size_t first,
                                    std::size_t count) {
  const std::size_t heads = parts.front().shape.heads;
  std::vector<float> largest(heads);
  std::vector<float> sums(heads);
  for (std::size_t i = first; i < first + count; ++i) {
    std::ranges::fill(largest, -std::numeric_limits<float>::infinity());
    std::ranges::fill(sums, 0.0F);
    for (const PairAttention& part : parts) {
      write_scores(part, i, largest);
    }
    for (const PairAttention& part : parts) {
      for_each_edge(part.shape, i, [&](Weighed edge) {
        for (std::size_t h = 0; h < heads; ++h) {
          float& weight = part.weights.row(edge.row)[h];
          weight = std::exp(weight - largest[h]);
          sums[h] += weight;
        }
      });
    }
    for (const PairAttention& part : parts) {
      for_each_edge(part.shape, i, [&](Weighed edge) {
        for (std::size_t h = 0; h < heads; ++h) {
          part.weights.row(edge.row)[h] /= sums[h];
        }
      });
    }
  }
}

TROUPE_HOT void pair_attention_backward_rows(std::span<const PairAttention> parts,
                                             std::span<const PairGradient> grads, std::size_t first,
                                             std::size_t count) {
  const std::size_t heads = parts.front().shape.heads;
  std::vector<float> means(heads);
  for (std::size_t i = first; i < first + count; ++i) {
    std::ranges::fill(means, 0.0F);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      for_each_edge(parts[p].shape, i, [&](Weighed edge) {
        for (std::size_t h = 0; h < heads; ++h) {
          means[h] += parts[p].weights.row(edge.row)[h] * grads[p].weights.row(edge.row)[h];
        }
      });
    }
    for (std::size_t p = 0; p < parts.size(); ++p) {
      scores_backward(parts[p], grads[p], i, means);
    }
  }
}

TROUPE_HOT void pair_attention_source_rows(const PairAttention& part,
                                           const EdgesBySource& by_source, ConstMatrix grad,
                                           std::size_t first, MutMatrix grad_source) {
  for (std::size_t r = 0; r < grad_source.rows; ++r) {
    const std::size_t j = first + r;
    const auto row = grad_source.row(r);
    std::ranges::fill(row, 0.0F);
    for_each_out_edge(part.shape, by_source, j, part.destination, [&](Weighed edge) {
      for (std::size_t h = 0; h < part.shape.heads; ++h) {
        const Ends ends(part, edge, j, edge.source, h);
        add_end_gradient(part, ends, true, h, grad.row(edge.row)[h], row.data() + h * ends.cols);
      }
    });
  }
}

TROUPE_HOT void pair_attention_vector_rows(const PairAttention& part, ConstMatrix grad,
                                           std::size_t first, std::size_t count,
                                           MutMatrix grad_vectors) {
  for (std::size_t i = first; i < first + count; ++i) {
    for_each_edge(part.shape, i, part.source, [&](Weighed edge) {
      for (std::size_t h = 0; h < part.shape.heads; ++h) {
        const Ends ends(part, edge, edge.source, i, h);
        const float g = grad.row(edge.row)[h];
        float* out = grad_vectors.row(h).data();
        if (part.score == PairScore::dynamic) {
          with_sum(ends, [&](const auto& at) {
            for (std::size_t c = 0; c < ends.cols; ++c) {
              out[c] += g * leaky(at(c), part.slope);
            }
          });
        } else {
          out[0] += g * part.scale * dot_row(ends.source, ends.destination, ends.cols);
        }
      }
    });
  }
}

}  // namespace troupe::nn
