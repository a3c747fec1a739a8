#pragma once
/// \file sum_bodies.hpp
/// Kernel bodies of sums over a block's edges (runtime/nn/ops/{aggregate,weighted_sum}.hpp), forward and
/// backward, with their bits: an element or a pack of columns a call, edges in their order.
#include "gpu/base/columns.hpp"
#include "gpu/base/shared.hpp"
#include "gpu/nn/by_row_bodies.hpp"
#include "gpu/nn/loads_ahead.hpp"
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

/// Edges whose rows are loaded together. A list of in-edges has about ten, one of out-edges one or two,
/// if it is not a hub's: there many threads at once are worth more than many loads of each.
inline constexpr unsigned edge_batch = 8;
inline constexpr unsigned last_edges = 4;

/// out[i, c] = mean or sum over the in-edges of destination i, for a pack of Width columns.
template <unsigned Width>
struct SumInEdges {
  static constexpr unsigned least_blocks = 5;
  Edges block;
  const float* x;
  std::size_t cols;
  bool mean;
  float* out;
  TROUPE_HD void operator()(std::size_t i, std::size_t pack) const {
    const std::uint32_t begin = block.offsets[i];
    const std::uint32_t end = block.offsets[i + 1];
    const float* const column = x + pack * Width;
    Floats<Width> sum = {};
    gather_in_order<edge_batch, last_edges>(
        begin, end, [this](std::uint32_t e) -> std::size_t { return block.sources[e]; },
        [this, column](std::uint32_t /*e*/, std::size_t j) {
          return read_columns<Width>(column + j * cols);
        },
        [&sum, begin](std::uint32_t e, const Floats<Width>& row) {
          TROUPE_UNROLL
          for (unsigned w = 0; w < Width; ++w) {
            sum.of[w] = e == begin ? row.of[w] : sum.of[w] + row.of[w];
          }
        });
    if (mean && end - begin > 1) {
      const float share = 1.0F / static_cast<float>(end - begin);
      TROUPE_UNROLL
      for (unsigned w = 0; w < Width; ++w) {
        sum.of[w] *= share;
      }
    }
    write_columns(out + i * cols + pack * Width, sum);
  }
};

template <unsigned Width>
struct MaxInEdges {
  static constexpr unsigned least_blocks = 4;
  Edges block;
  const float* x;
  std::size_t cols;
  float* out;
  std::uint32_t* argmax;  ///< null: not kept
  TROUPE_HD void operator()(std::size_t i, std::size_t pack) const {
    const std::uint32_t begin = block.offsets[i];
    const std::uint32_t end = block.offsets[i + 1];
    const float* const column = x + pack * Width;
    Floats<Width> largest = {};
    Columns<std::uint32_t, Width> from;
    TROUPE_UNROLL
    for (unsigned w = 0; w < Width; ++w) {
      from.of[w] = nn::no_edge;
    }
    gather_in_order<edge_batch, last_edges>(
        begin, end, [this](std::uint32_t e) -> std::size_t { return block.sources[e]; },
        [this, column](std::uint32_t /*e*/, std::size_t j) {
          return read_columns<Width>(column + j * cols);
        },
        [&largest, &from, begin](std::uint32_t e, const Floats<Width>& row) {
          TROUPE_UNROLL
          for (unsigned w = 0; w < Width; ++w) {
            const bool replaces = e == begin || row.of[w] > largest.of[w];
            largest.of[w] = replaces ? row.of[w] : largest.of[w];
            from.of[w] = replaces ? e : from.of[w];
          }
        });
    write_columns(out + i * cols + pack * Width, largest);
    if (argmax != nullptr) {
      write_columns(argmax + i * cols + pack * Width, from);
    }
  }
};

/// How aggregation's gradient reaches a source.
enum class Passing : std::uint8_t { mean, sum, max };

/// grad_x[j, c] = or += sum over the out-edges of source j, for a pack of Width columns.
template <Passing How, unsigned Width>
struct SumOutEdges {
  static constexpr unsigned least_blocks = How == Passing::max ? 4 : 6;
  OutEdges block;
  const float* grad;
  const std::uint32_t* argmax;
  std::size_t cols;
  float* grad_x;
  bool add;
  /// What comes from a destination.
  struct Part {
    Floats<Width> grad;
    Columns<std::uint32_t, Width> argmax;  ///< of max
    std::uint32_t edge;                    ///< of max
    float factor;                          ///< of the mean
    TROUPE_HD float passed(unsigned w) const {
      if constexpr (How == Passing::mean) {
        return grad.of[w] * factor;
      } else if constexpr (How == Passing::sum) {
        return grad.of[w];
      } else {
        return argmax.of[w] == edge ? grad.of[w] : 0.0F;
      }
    }
  };
  TROUPE_HD Part part_of(std::uint32_t k, std::size_t d, std::size_t first) const {
    Part part = {};
    part.grad = read_columns<Width>(grad + d * cols + first);
    if constexpr (How == Passing::mean) {
      part.factor = block.inverse_degree[d];
    } else if constexpr (How == Passing::max) {
      part.argmax = read_columns<Width>(argmax + d * cols + first);
      part.edge = block.edges[k];
    }
    return part;
  }
  TROUPE_HD void operator()(std::size_t j, std::size_t pack) const {
    const std::size_t first = pack * Width;
    Floats<Width> sum = {};
    gather_in_order<last_edges, last_edges>(
        block.offsets[j], block.offsets[j + 1],
        [this](std::uint32_t k) -> std::size_t { return block.destinations[k]; },
        [this, first](std::uint32_t k, std::size_t d) { return part_of(k, d, first); },
        [&sum](std::uint32_t /*k*/, const Part& part) {
          TROUPE_UNROLL
          for (unsigned w = 0; w < Width; ++w) {
            sum.of[w] += part.passed(w);
          }
        });
    put_columns(grad_x + j * cols + first, sum, add);
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

/// A row of an edge's other end, with what it is multiplied by.
template <unsigned Width>
struct WeighedRow {
  Floats<Width> row;
  float factor;
  bool counts;
  TROUPE_HD void add_to(Floats<Width>& sum) const {
    TROUPE_UNROLL
    for (unsigned w = 0; w < Width; ++w) {
      sum.of[w] = counts ? sum.of[w] + row.of[w] * factor : sum.of[w];
    }
  }
};

template <unsigned Width>
struct WeightedInEdges {
  static constexpr unsigned least_blocks = 4;
  Edges block;
  Factors factors;
  const float* x;
  std::size_t cols;
  float* out;
  TROUPE_HD void operator()(std::size_t i, std::size_t pack) const {
    const float* const column = x + pack * Width;
    Floats<Width> sum = {};
    gather_in_order<edge_batch, last_edges>(
        block.offsets[i], block.offsets[i + 1],
        [this](std::uint32_t e) -> std::size_t { return block.sources[e]; },
        [this, column, i](std::uint32_t e, std::size_t j) {
          return WeighedRow<Width>{read_columns<Width>(column + j * cols),
                                   Factors::at(factors.source, j) * Factors::at(factors.edge, e),
                                   !factors.one_loop || j != i};
        },
        [&sum](std::uint32_t /*e*/, const WeighedRow<Width>& part) { part.add_to(sum); });
    if (factors.one_loop) {
      WeighedRow<Width>{read_columns<Width>(column + i * cols), Factors::at(factors.source, i),
                        true}
          .add_to(sum);
    }
    const float of_row = Factors::at(factors.destination, i);
    TROUPE_UNROLL
    for (unsigned w = 0; w < Width; ++w) {
      sum.of[w] *= of_row;
    }
    write_columns(out + i * cols + pack * Width, sum);
  }
};

template <unsigned Width>
struct WeightedOutEdges {
  static constexpr unsigned least_blocks = 4;
  OutEdges block;
  Factors factors;
  const float* grad;
  std::size_t destinations;
  std::size_t cols;
  float* grad_x;
  bool add;
  TROUPE_HD void operator()(std::size_t j, std::size_t pack) const {
    const float* const column = grad + pack * Width;
    Floats<Width> sum = {};
    gather_in_order<edge_batch, last_edges>(
        block.offsets[j], block.offsets[j + 1],
        [this](std::uint32_t k) -> std::size_t { return block.destinations[k]; },
        [this, column, j](std::uint32_t k, std::size_t i) {
          return WeighedRow<Width>{read_columns<Width>(column + i * cols),
                                   Factors::at(factors.destination, i) * weight_of(k),
                                   !factors.one_loop || i != j};
        },
        [&sum](std::uint32_t /*k*/, const WeighedRow<Width>& part) { part.add_to(sum); });
    if (factors.one_loop && j < destinations) {
      WeighedRow<Width>{read_columns<Width>(column + j * cols), Factors::at(factors.destination, j),
                        true}
          .add_to(sum);
    }
    const float of_row = Factors::at(factors.source, j);
    TROUPE_UNROLL
    for (unsigned w = 0; w < Width; ++w) {
      sum.of[w] *= of_row;
    }
    put_columns(grad_x + j * cols + pack * Width, sum, add);
  }
  TROUPE_HD float weight_of(std::uint32_t k) const {
    return factors.edge == nullptr ? 1.0F : factors.edge[block.edges[k]];
  }
};

/// factors[i] = 1 / sqrt(1 + in-edges of i from others, or their weights), 1 for rows past the block's.
struct DegreeFactor {
  static constexpr unsigned least_blocks = 6;
  Edges block;
  std::size_t destinations;
  bool weighted;
  const float* weights;  ///< by position in `sources`; null: ones
  float* factors;
  struct Other {
    float weight;
    bool counts;
  };
  TROUPE_HD void operator()(std::size_t i) const {
    std::size_t others = 0;
    float sum = 1;
    if (i < destinations) {
      gather_in_order<edge_batch, last_edges>(
          block.offsets[i], block.offsets[i + 1],
          [this](std::uint32_t e) { return block.sources[e]; },
          [this, i](std::uint32_t e, std::uint32_t j) {
            return Other{Factors::at(weights, e), j != i};
          },
          [&others, &sum](std::uint32_t /*e*/, const Other& other) {
            others = other.counts ? others + 1 : others;
            sum = other.counts ? sum + other.weight : sum;
          });
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

/// What a sort of the edges by source takes and moves, and each edge's destination.
struct SpreadDestination {
  Edges block;
  std::uint32_t first_edge;
  std::uint32_t first_key;  ///< of source 0: blocks that are sorted together have keys of their own
  std::uint32_t* keys;      ///< [edges]
  std::uint32_t* positions;     ///< [edges] from the first edge on
  std::uint32_t* destinations;  ///< [edges]
  float* inverse_degree;        ///< [num_dst]
  TROUPE_HD void operator()(std::size_t d) const {
    const std::uint32_t begin = block.offsets[d];
    const std::uint32_t end = block.offsets[d + 1];
    inverse_degree[d] = begin == end ? 0.0F : 1.0F / static_cast<float>(end - begin);
    for (std::uint32_t e = begin; e < end; ++e) {
      keys[e - first_edge] = first_key + block.sources[e];
      positions[e - first_edge] = e - first_edge;
      destinations[e - first_edge] = static_cast<std::uint32_t>(d);
    }
  }
};

/// Edges in the order of their sources, and where each source's begin.
struct PlaceEdges {
  const std::uint32_t* keys;  ///< [edges] first_key + sources, ascending
  std::uint32_t first_key;
  const std::uint32_t* positions;  ///< [edges] of the edges in this order
  const std::uint32_t* destination_of;
  std::uint32_t first_edge;
  std::uint32_t count;  ///< of the edges
  std::uint32_t ends;   ///< sources + 1
  std::uint32_t* destinations;
  std::uint32_t* edges;
  std::uint32_t* offsets;  ///< [ends]
  TROUPE_HD void operator()(std::size_t i) const {
    if (i < count) {
      const std::uint32_t position = positions[i];
      destinations[i] = destination_of[position];
      edges[i] = first_edge + position;
    }
    if (i < ends) {
      offsets[i] = count_below(keys, count, first_key + i);
    }
  }
};

}  // namespace troupe::gpu
