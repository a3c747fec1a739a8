#pragma once
/// \file sum_bodies.hpp
/// Kernel bodies of sums over a block's edges (runtime/nn/ops/{aggregate,weighted_sum}.hpp), forward and
/// backward, with their bits: an element a call, edges in their order.
#include "gpu/base/shared.hpp"
#include "gpu/nn/row_bodies.hpp"
#include "runtime/nn/ops/aggregate.hpp"

#include <cmath>

namespace troupe::gpu {

/// A LayerBlock's arrays in device memory.
struct Edges {
  const std::uint32_t* offsets;
  const std::uint32_t* sources;
};

/// EdgesBySource in device memory.
struct OutEdges {
  const std::uint32_t* offsets;
  const std::uint32_t* destinations;
  const std::uint32_t* edges;
  const float* inverse_degree;
};

/// out[i, c] = mean or sum over the in-edges of destination i.
struct SumInEdges {
  Edges block;
  const float* x;
  std::size_t cols;
  bool mean;
  float* out;
  TROUPE_HD void operator()(std::size_t i, std::size_t c) const {
    const std::uint32_t begin = block.offsets[i];
    const std::uint32_t end = block.offsets[i + 1];
    float sum = 0;
    if (begin < end) {
      sum = x[block.sources[begin] * cols + c];
      for (std::uint32_t e = begin + 1; e < end; ++e) {
        sum += x[block.sources[e] * cols + c];
      }
      if (mean && end - begin > 1) {
        sum *= 1.0F / static_cast<float>(end - begin);
      }
    }
    out[i * cols + c] = sum;
  }
};

struct MaxInEdges {
  Edges block;
  const float* x;
  std::size_t cols;
  float* out;
  std::uint32_t* argmax;  ///< null: not kept
  TROUPE_HD void operator()(std::size_t i, std::size_t c) const {
    const std::uint32_t begin = block.offsets[i];
    const std::uint32_t end = block.offsets[i + 1];
    float largest = 0;
    std::uint32_t from = nn::no_edge;
    if (begin < end) {
      from = begin;
      largest = x[block.sources[begin] * cols + c];
      for (std::uint32_t e = begin + 1; e < end; ++e) {
        const float value = x[block.sources[e] * cols + c];
        if (value > largest) {
          largest = value;
          from = e;
        }
      }
    }
    out[i * cols + c] = largest;
    if (argmax != nullptr) {
      argmax[i * cols + c] = from;
    }
  }
};

/// How aggregation's gradient reaches a source.
enum class Passing : std::uint8_t { mean, sum, max };

/// grad_x[j, c] = or += sum over the out-edges of source j.
struct SumOutEdges {
  OutEdges block;
  Passing how;
  const float* grad;
  const std::uint32_t* argmax;
  std::size_t cols;
  float* grad_x;
  bool add;
  TROUPE_HD void operator()(std::size_t j, std::size_t c) const {
    float sum = 0;
    for (std::uint32_t k = block.offsets[j]; k < block.offsets[j + 1]; ++k) {
      const std::size_t d = block.destinations[k];
      const float g = grad[d * cols + c];
      if (how == Passing::mean) {
        sum += g * block.inverse_degree[d];
      } else if (how == Passing::sum) {
        sum += g;
      } else {
        sum += argmax[d * cols + c] == block.edges[k] ? g : 0.0F;
      }
    }
    put(grad_x + j * cols + c, sum, add);
  }
};

/// nn::EdgeFactors in device memory; null: ones.
struct Factors {
  const float* source;
  const float* destination;
  const float* edge;
  bool one_loop;
  TROUPE_HD static float at(const float* factors, std::size_t i) {
    return factors == nullptr ? 1.0F : factors[i];
  }
};

struct WeightedInEdges {
  Edges block;
  Factors factors;
  const float* x;
  std::size_t cols;
  float* out;
  TROUPE_HD void operator()(std::size_t i, std::size_t c) const {
    float sum = 0;
    for (std::uint32_t e = block.offsets[i]; e < block.offsets[i + 1]; ++e) {
      const std::size_t j = block.sources[e];
      if (!factors.one_loop || j != i) {
        sum += x[j * cols + c] * (Factors::at(factors.source, j) * Factors::at(factors.edge, e));
      }
    }
    if (factors.one_loop) {
      sum += x[i * cols + c] * Factors::at(factors.source, i);
    }
    out[i * cols + c] = sum * Factors::at(factors.destination, i);
  }
};

struct WeightedOutEdges {
  OutEdges block;
  Factors factors;
  const float* grad;
  std::size_t destinations;
  std::size_t cols;
  float* grad_x;
  bool add;
  TROUPE_HD void operator()(std::size_t j, std::size_t c) const {
    float sum = 0;
    for (std::uint32_t k = block.offsets[j]; k < block.offsets[j + 1]; ++k) {
      const std::size_t i = block.destinations[k];
      if (!factors.one_loop || i != j) {
        sum += grad[i * cols + c] *
               (Factors::at(factors.destination, i) * Factors::at(factors.edge, block.edges[k]));
      }
    }
    if (factors.one_loop && j < destinations) {
      sum += grad[j * cols + c] * Factors::at(factors.destination, j);
    }
    put(grad_x + j * cols + c, sum * Factors::at(factors.source, j), add);
  }
};

/// factors[i] = 1 / sqrt(1 + in-edges of i from others, or their weights), 1 for rows past the block's.
struct DegreeFactor {
  Edges block;
  std::size_t destinations;
  bool weighted;
  const float* weights;  ///< by position in `sources`; null: ones
  float* factors;
  TROUPE_HD void operator()(std::size_t i) const {
    std::size_t others = 0;
    float sum = 1;
    if (i < destinations) {
      for (std::uint32_t e = block.offsets[i]; e < block.offsets[i + 1]; ++e) {
        if (block.sources[e] != i) {
          ++others;
          sum += Factors::at(weights, e);
        }
      }
    }
    const float degree = weighted ? sum : static_cast<float>(1 + others);
    factors[i] = degree > 0 ? 1.0F / sqrtf(degree) : 0.0F;
  }
};

/// factors[i] = 1 / number of in-edges; 0 where there is none.
struct MeanFactor {
  Edges block;
  float* factors;
  TROUPE_HD void operator()(std::size_t i) const {
    const std::uint32_t degree = block.offsets[i + 1] - block.offsets[i];
    factors[i] = degree == 0 ? 0.0F : 1.0F / static_cast<float>(degree);
  }
};

/// The keys of a sort by source, and each edge's destination.
struct SpreadDestination {
  Edges block;
  std::uint32_t* keys;          ///< [edges] sources
  std::uint32_t* destinations;  ///< [edges]
  float* inverse_degree;        ///< [num_dst]
  TROUPE_HD void operator()(std::size_t d) const {
    const std::uint32_t first = block.offsets[0];
    const std::uint32_t begin = block.offsets[d];
    const std::uint32_t end = block.offsets[d + 1];
    inverse_degree[d] = begin == end ? 0.0F : 1.0F / static_cast<float>(end - begin);
    for (std::uint32_t e = begin; e < end; ++e) {
      keys[e - first] = block.sources[e];
      destinations[e - first] = static_cast<std::uint32_t>(d);
    }
  }
};

/// Edges in the order of their sources.
struct PlaceEdge {
  const std::uint32_t* order;
  const std::uint32_t* destination_of;
  const std::uint32_t* first_edge;  ///< of the block
  std::uint32_t* destinations;
  std::uint32_t* edges;
  TROUPE_HD void operator()(std::size_t k) const {
    destinations[k] = destination_of[order[k]];
    edges[k] = *first_edge + order[k];
  }
};

/// offsets[s] = edges whose source is below s, by bisection.
struct FindOffset {
  const std::uint32_t* keys;
  const std::uint32_t* order;
  std::uint32_t edges;
  std::uint32_t* offsets;
  TROUPE_HD void operator()(std::size_t s) const {
    std::uint32_t low = 0;
    std::uint32_t high = edges;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (keys[order[middle]] < s) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    offsets[s] = low;
  }
};

}  // namespace troupe::gpu
