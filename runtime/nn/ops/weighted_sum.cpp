#include "runtime/nn/ops/weighted_sum.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/hot.hpp"
#include "runtime/nn/ops/row_kernels.hpp"
#include "runtime/nn/ops/rows_ahead.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::nn {
namespace {

float factor_of(std::span<const float> factors, std::size_t i) {
  return factors.empty() ? 1.0F : factors[i];
}

std::uint32_t source_of(const LayerBlock& block, std::uint32_t edge) {
  const std::uint32_t source = block.sources[edge];
  TROUPE_ASSERT(source < block.num_src, "edge outside its block", edge, source, block.num_src);
  return source;
}

float inverse_root(std::size_t degree) {
  return 1.0F / std::sqrt(static_cast<float>(degree));
}

/// In-edges of a destination that do not come from itself.
std::size_t edges_from_others(const LayerBlock& block, std::uint32_t destination) {
  std::size_t count = 0;
  for (std::uint32_t e = block.offsets[destination]; e < block.offsets[destination + 1]; ++e) {
    count += block.sources[e] != destination ? 1U : 0U;
  }
  return count;
}

/// Sum of the weights of these, and of the loop that each node has.
float weight_from_others(const LayerBlock& block, std::uint32_t destination) {
  float sum = 1;
  for (std::uint32_t e = block.offsets[destination]; e < block.offsets[destination + 1]; ++e) {
    if (block.sources[e] != destination) {
      sum += factor_of(block.weights, e);
    }
  }
  return sum;
}

/// Factors of destinations, and of sources: those known here or in the block below.
template <class Factor>
void fill_degrees(const LayerBlock& block, const LayerBlock* below, const Factor& factor,
                  std::span<float> destination, std::span<float> source) {
  for (std::uint32_t i = 0; i < block.num_dst; ++i) {
    destination[i] = factor(block, i);
  }
  std::ranges::copy(destination, source.begin());
  for (std::uint32_t j = block.num_dst; j < block.num_src; ++j) {
    const bool counted = below != nullptr && j < below->num_dst;
    source[j] = counted ? factor(*below, j) : 1.0F;
  }
}

}  // namespace

TROUPE_HOT void weighted_sum_rows(const EdgeFactors& factors, const LayerBlock& block,
                                  std::size_t first, ConstMatrix x, MutMatrix out) {
  TROUPE_ASSERT(first + out.rows <= block.num_dst && block.num_src <= x.rows && out.cols == x.cols,
                "weighted_sum_rows", first, out.rows, block.num_dst, block.num_src, x.rows, x.cols,
                out.cols);
  const std::size_t cols = x.cols;
  const std::uint32_t last = block.offsets[first + out.rows];
  for (std::size_t r = 0; r < out.rows; ++r) {
    const std::size_t i = first + r;
    float* row = out.row(r).data();
    std::fill_n(row, cols, 0.0F);
    for (std::uint32_t e = block.offsets[i]; e < block.offsets[i + 1]; ++e) {
      prefetch_row_ahead(block.sources, e, last, x);
      const std::uint32_t j = source_of(block, e);
      if (!factors.one_loop || j != i) {
        add_scaled_row(x.data + j * cols, factor_of(factors.source, j) * factor_of(factors.edge, e),
                       row, cols);
      }
    }
    if (factors.one_loop) {
      add_scaled_row(x.data + i * cols, factor_of(factors.source, i), row, cols);
    }
    scale_row(factor_of(factors.destination, i), row, cols);
  }
}

TROUPE_HOT void weighted_sum_backward_rows(const EdgeFactors& factors,
                                           const EdgesBySource& by_source, std::size_t first,
                                           ConstMatrix grad_out, MutMatrix grad_x) {
  const std::size_t cols = grad_out.cols;
  TROUPE_ASSERT(first + grad_x.rows <= by_source.num_src() && grad_x.cols == cols,
                "weighted_sum_backward_rows", first, grad_x.rows, by_source.num_src(), grad_x.cols,
                cols);
  const std::uint32_t last = by_source.offsets()[first + grad_x.rows];
  for (std::size_t r = 0; r < grad_x.rows; ++r) {
    const std::size_t j = first + r;
    float* row = grad_x.row(r).data();
    std::fill_n(row, cols, 0.0F);
    for (std::uint32_t k = by_source.offsets()[j]; k < by_source.offsets()[j + 1]; ++k) {
      prefetch_row_ahead(by_source.destinations(), k, last, grad_out);
      const std::size_t i = by_source.destinations()[k];
      const float edge = factor_of(factors.edge, by_source.edges()[k]);
      if (!factors.one_loop || i != j) {
        add_scaled_row(grad_out.data + i * cols, factor_of(factors.destination, i) * edge, row,
                       cols);
      }
    }
    if (factors.one_loop && j < grad_out.rows) {
      add_scaled_row(grad_out.data + j * cols, factor_of(factors.destination, j), row, cols);
    }
    scale_row(factor_of(factors.source, j), row, cols);
  }
}

GcnFactors::Room GcnFactors::prepare(const LayerBlock& block, DegreeFactors how) {
  const bool mean = how == DegreeFactors::mean;
  Room room{.source = source_memory_.get(mean ? 0 : block.num_src),
            .destination = destination_memory_.get(block.num_dst),
            .factors = {}};
  room.factors = {
      .source = room.source,
      .destination = room.destination,
      .edge = how == DegreeFactors::normalized ? std::span<const float>() : block.weights,
      .one_loop = !mean};
  return room;
}

EdgeFactors GcnFactors::build(const LayerBlock& block, const LayerBlock* below, DegreeFactors how) {
  switch (how) {
    case DegreeFactors::normalized:
      break;
    case DegreeFactors::weighted:
      return build_weighted(block, below);
    case DegreeFactors::mean:
      return build_mean(block);
  }
  return build(block, below);
}

EdgeFactors GcnFactors::build(const LayerBlock& block, const LayerBlock* below) {
  const Room room = prepare(block, DegreeFactors::normalized);
  const auto factor = [](const LayerBlock& of, std::uint32_t node) {
    return inverse_root(1 + edges_from_others(of, node));
  };
  fill_degrees(block, below, factor, room.destination, room.source);
  return room.factors;
}

EdgeFactors GcnFactors::build_weighted(const LayerBlock& block, const LayerBlock* below) {
  const Room room = prepare(block, DegreeFactors::weighted);
  const auto factor = [](const LayerBlock& of, std::uint32_t node) {
    const float degree = weight_from_others(of, node);
    return degree > 0 ? 1.0F / std::sqrt(degree) : 0.0F;
  };
  fill_degrees(block, below, factor, room.destination, room.source);
  return room.factors;
}

EdgeFactors GcnFactors::build_mean(const LayerBlock& block) {
  const Room room = prepare(block, DegreeFactors::mean);
  for (std::uint32_t i = 0; i < block.num_dst; ++i) {
    const std::uint32_t degree = block.offsets[i + 1] - block.offsets[i];
    room.destination[i] = degree == 0 ? 0.0F : 1.0F / static_cast<float>(degree);
  }
  return room.factors;
}

}  // namespace troupe::nn
