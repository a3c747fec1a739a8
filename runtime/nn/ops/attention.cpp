#include "runtime/nn/ops/attention.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/hot.hpp"
#include "runtime/nn/ops/attention_edges.hpp"
#include "runtime/nn/ops/row_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe::nn {
namespace {

/// Columns of a head, and the factor of its rows in the result: 1, or 1 / heads for the mean.
struct Heads {
  Heads(const AttentionShape& shape, std::size_t source_cols, std::size_t out_cols)
      : columns(source_cols / shape.heads),
        mean(shape.heads > 1 && out_cols == columns),
        factor(mean ? 1.0F / static_cast<float>(shape.heads) : 1.0F) {
    TROUPE_ASSERT(
        columns * shape.heads == source_cols && (out_cols == source_cols || out_cols == columns),
        "columns of heads", source_cols, shape.heads, out_cols);
  }
  /// First column of a head in the result.
  std::size_t at(std::size_t head) const { return mean ? 0 : head * columns; }

  std::size_t columns;
  bool mean;
  float factor;
};

}  // namespace

TROUPE_HOT void head_score_rows(ConstMatrix x, ConstMatrix vectors, MutMatrix scores) {
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (std::size_t h = 0; h < vectors.rows; ++h) {
      const float* row = x.row(i).data() + h * vectors.cols;
      scores.row(i)[h] = dot_row(row, vectors.row(h).data(), vectors.cols);
    }
  }
}

TROUPE_HOT void head_score_backward_rows(ConstMatrix grad, ConstMatrix vectors, MutMatrix grad_x,
                                         Into into) {
  for (std::size_t i = 0; i < grad.rows; ++i) {
    for (std::size_t h = 0; h < vectors.rows; ++h) {
      float* row = grad_x.row(i).data() + h * vectors.cols;
      if (into == Into::overwrite) {
        std::ranges::copy(vectors.row(h), row);
        scale_row(grad.row(i)[h], row, vectors.cols);
      } else {
        add_scaled_row(vectors.row(h).data(), grad.row(i)[h], row, vectors.cols);
      }
    }
  }
}

TROUPE_HOT void head_score_gradient_rows(ConstMatrix grad, ConstMatrix x, MutMatrix grad_vectors) {
  const std::size_t columns = grad_vectors.cols;
  for (std::size_t i = 0; i < grad.rows; ++i) {
    for (std::size_t h = 0; h < grad_vectors.rows; ++h) {
      add_scaled_row(x.row(i).data() + h * columns, grad.row(i)[h], grad_vectors.row(h).data(),
                     columns);
    }
  }
}

TROUPE_HOT void attention_rows(const AttentionShape& shape, float slope, ConstMatrix source,
                               ConstMatrix destination, std::size_t first, std::size_t count,
                               MutMatrix weights) {
  const LayerBlock& block = *shape.block;
  for (std::size_t i = first; i < first + count; ++i) {
    for (std::uint32_t e = block.offsets[i]; e < block.offsets[i + 1]; ++e) {
      TROUPE_ASSERT(block.sources[e] < block.num_src, "edge outside its block", e, block.sources[e],
                    block.num_src);
      std::ranges::fill(weights.row(e - block.offsets[0]), 0.0F);  // of loops that do not count
    }
    for (std::size_t h = 0; h < shape.heads; ++h) {
      float largest = -std::numeric_limits<float>::infinity();
      for_each_edge(shape, i, [&](Weighed edge) {
        const float logit = leaky(source.row(edge.source)[h] + destination.row(i)[h], slope);
        weights.row(edge.row)[h] = logit;
        largest = std::max(largest, logit);
      });
      float sum = 0;
      for_each_edge(shape, i, [&](Weighed edge) {
        float& weight = weights.row(edge.row)[h];
        weight = std::exp(weight - largest);
        sum += weight;
      });
      for_each_edge(shape, i, [&](Weighed edge) { weights.row(edge.row)[h] /= sum; });
    }
  }
}

TROUPE_HOT void attention_backward_rows(const AttentionShape& shape, float slope,
                                        ConstMatrix source, ConstMatrix destination,
                                        ConstMatrix weights, std::size_t first, MutMatrix grad,
                                        MutMatrix grad_destination) {
  const LayerBlock& block = *shape.block;
  for (std::size_t r = 0; r < grad_destination.rows; ++r) {
    const std::size_t i = first + r;
    for (std::size_t h = 0; h < shape.heads; ++h) {
      float mean = 0;
      for_each_edge(shape, i, [&](Weighed edge) {
        mean += weights.row(edge.row)[h] * grad.row(edge.row)[h];
      });
      float sum = 0;
      for_each_edge(shape, i, [&](Weighed edge) {
        float& g = grad.row(edge.row)[h];
        const bool positive = source.row(edge.source)[h] + destination.row(i)[h] > 0;
        g = weights.row(edge.row)[h] * (g - mean) * (positive ? 1.0F : slope);
        sum += g;
      });
      grad_destination.row(r)[h] = sum;
    }
    if (shape.one_loop) {
      for (std::uint32_t e = block.offsets[i]; e < block.offsets[i + 1]; ++e) {
        if (block.sources[e] == i) {
          std::ranges::fill(grad.row(e - block.offsets[0]), 0.0F);
        }
      }
    }
  }
}

TROUPE_HOT void attention_source_rows(const AttentionShape& shape, const EdgesBySource& by_source,
                                      ConstMatrix grad, std::size_t first, MutMatrix out) {
  for (std::size_t r = 0; r < out.rows; ++r) {
    std::ranges::fill(out.row(r), 0.0F);
    for_each_out_edge(shape, by_source, first + r, {}, [&](Weighed edge) {
      for (std::size_t h = 0; h < shape.heads; ++h) {
        out.row(r)[h] += grad.row(edge.row)[h];
      }
    });
  }
}

TROUPE_HOT void attend_rows(const AttentionShape& shape, ConstMatrix weights, ConstMatrix x,
                            std::size_t first, MutMatrix out) {
  const Heads heads(shape, x.cols, out.cols);
  for (std::size_t r = 0; r < out.rows; ++r) {
    float* row = out.row(r).data();
    std::fill_n(row, out.cols, 0.0F);
    for_each_edge(shape, first + r, x, [&](Weighed edge) {
      for (std::size_t h = 0; h < shape.heads; ++h) {
        const float weight = weights.row(edge.row)[h] * heads.factor;
        add_scaled_row(x.row(edge.source).data() + h * heads.columns, weight, row + heads.at(h),
                       heads.columns);
      }
    });
  }
}

TROUPE_HOT void attend_backward_rows(const AttentionShape& shape, const EdgesBySource& by_source,
                                     ConstMatrix weights, ConstMatrix grad_out, std::size_t first,
                                     MutMatrix grad_x) {
  const Heads heads(shape, grad_x.cols, grad_out.cols);
  for (std::size_t r = 0; r < grad_x.rows; ++r) {
    float* row = grad_x.row(r).data();
    std::fill_n(row, grad_x.cols, 0.0F);
    for_each_out_edge(shape, by_source, first + r, grad_out, [&](Weighed edge) {
      for (std::size_t h = 0; h < shape.heads; ++h) {
        const float weight = weights.row(edge.row)[h] * heads.factor;
        add_scaled_row(grad_out.row(edge.source).data() + heads.at(h), weight,
                       row + h * heads.columns, heads.columns);
      }
    });
  }
}

TROUPE_HOT void attend_weight_rows(const AttentionShape& shape, ConstMatrix x, ConstMatrix grad_out,
                                   std::size_t first, MutMatrix grad_weights) {
  const Heads heads(shape, x.cols, grad_out.cols);
  const LayerBlock& block = *shape.block;
  for (std::size_t r = 0; r < grad_out.rows; ++r) {
    const std::size_t i = first + r;
    for (std::uint32_t e = block.offsets[i]; e < block.offsets[i + 1]; ++e) {
      std::ranges::fill(grad_weights.row(e - block.offsets[0]), 0.0F);
    }
    for_each_edge(shape, i, x, [&](Weighed edge) {
      for (std::size_t h = 0; h < shape.heads; ++h) {
        const float sum = dot_row(grad_out.row(r).data() + heads.at(h),
                                  x.row(edge.source).data() + h * heads.columns, heads.columns);
        grad_weights.row(edge.row)[h] = sum * heads.factor;
      }
    });
  }
}

}  // namespace troupe::nn
