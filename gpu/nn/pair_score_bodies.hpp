#pragma once
/// \file pair_score_bodies.hpp
/// Kernel bodies of scores of pairs of rows and their gradients (runtime/nn/ops/pair_scores.hpp), with
/// their bits.
#include "gpu/base/columns.hpp"
#include "gpu/base/shared.hpp"
#include "gpu/nn/loads_ahead.hpp"
#include "gpu/nn/row_bodies.hpp"

namespace troupe::gpu {

/// nn::RowPairs in device memory.
struct PairedRows {
  const float* sources;
  const float* destinations;
  const std::uint32_t* of;
  const std::uint32_t* to;
  std::size_t cols;
};

/// The running sums that lane_sum() has of the products of a pair's rows, a thread a lane. Column
/// 16 r + lane is of relation r.
struct PairLanes {
  static constexpr unsigned least_blocks = 4;
  PairedRows pairs;
  const float* relations;  ///< [relations, cols]; null: one, of ones
  std::size_t across;      ///< columns: sum_lanes * relations
  float* lanes;            ///< [pairs, across]
  struct Loaded {
    float source;
    float relation;
    float destination;
  };
  TROUPE_HD void operator()(std::size_t pair, std::size_t column) const {
    const std::size_t lane = column % sum_lanes;
    const float* const a = pairs.sources + pairs.of[pair] * pairs.cols + lane;
    const float* const b = pairs.destinations + pairs.to[pair] * pairs.cols + lane;
    const float* const r =
        relations == nullptr ? nullptr : relations + column / sum_lanes * pairs.cols + lane;
    const std::size_t count =
        lane < pairs.cols ? (pairs.cols - lane + sum_lanes - 1) / sum_lanes : 0;
    float sum = 0;
    in_order<8, 4>(
        std::size_t{0}, count,
        [a, r, b](std::size_t k) {
          return Loaded{a[k * sum_lanes], r == nullptr ? 1.0F : r[k * sum_lanes], b[k * sum_lanes]};
        },
        [&sum](std::size_t /*k*/, const Loaded& at) {
          sum += at.source * at.relation * at.destination;
        });
    lanes[pair * across + column] = sum;
  }
};

/// One end of the pairs: the gradients of its rows grow by those of the pairs, in the pairs' order, for a
/// pack of Width columns.
template <unsigned Width>
struct AddPairEnd {
  static constexpr unsigned least_blocks = 3;
  const std::uint32_t* begins;    ///< [rows + 1]
  const std::uint32_t* list;      ///< the pairs by row
  const std::uint32_t* other_of;  ///< [pairs] row of the other end
  const float* others;
  const float* relations;  ///< [count, cols]; null: one, of ones
  std::size_t count;
  const float* grad;  ///< [pairs, count]
  std::size_t cols;
  float* to;
  struct Place {
    std::uint32_t pair;
    std::uint32_t other;
  };
  struct Part {
    Floats<Width> other;
    std::uint32_t pair;
    float grad;  ///< by the first score
  };
  /// What the other end's columns are multiplied by.
  TROUPE_HD Floats<Width> factors_of(const Part& part, std::size_t first) const {
    Floats<Width> mixed = {};
    if (relations == nullptr) {
      TROUPE_UNROLL
      for (unsigned w = 0; w < Width; ++w) {
        mixed.of[w] = part.grad;
      }
      return mixed;
    }
    for (std::size_t r = 0; r < count; ++r) {
      const float of_score = r == 0 ? part.grad : grad[part.pair * count + r];
      TROUPE_UNROLL
      for (unsigned w = 0; w < Width; ++w) {
        mixed.of[w] += relations[r * cols + first + w] * of_score;
      }
    }
    return mixed;
  }
  TROUPE_HD void operator()(std::size_t row, std::size_t pack) const {
    const std::uint32_t begin = begins[row];
    const std::uint32_t end = begins[row + 1];
    if (begin == end) {
      return;
    }
    const std::size_t first = pack * Width;
    float* const at = to + row * cols + first;
    auto sum = read_columns<Width>(at);
    gather_in_order<4, 4>(
        begin, end,
        [this](std::uint32_t k) {
          return Place{list[k], other_of[list[k]]};
        },
        [this, first](std::uint32_t /*k*/, const Place& place) {
          return Part{read_columns<Width>(others + place.other * cols + first), place.pair,
                      grad[place.pair * count]};
        },
        [this, first, &sum](std::uint32_t /*k*/, const Part& part) {
          const Floats<Width> factors = factors_of(part, first);
          TROUPE_UNROLL
          for (unsigned w = 0; w < Width; ++w) {
            sum.of[w] += part.other.of[w] * factors.of[w];
          }
        });
    write_columns(at, sum);
  }
};

/// sums[chunk, r * cols + c] of the products of both ends' rows and the gradient, over the chunk's pairs.
struct RelationSums {
  static constexpr unsigned least_blocks = 1;
  PairedRows pairs;
  std::size_t size;  ///< pairs
  const float* grad;
  std::size_t count;  ///< relations
  std::size_t chunk_rows;
  float* sums;
  struct Place {
    std::uint32_t source;
    std::uint32_t destination;
  };
  struct Loaded {
    float source;
    float destination;
    float grad;
  };
  TROUPE_HD void operator()(std::size_t chunk, std::size_t element) const {
    const std::size_t r = element / pairs.cols;
    const std::size_t c = element % pairs.cols;
    const auto [first, end] = rows_of_chunk(chunk, chunk_rows, size);
    float sum = 0;
    gather_in_order<8, 8>(
        first, end,
        [this](std::size_t pair) {
          return Place{pairs.of[pair], pairs.to[pair]};
        },
        [this, r, c](std::size_t pair, const Place& place) {
          return Loaded{pairs.sources[place.source * pairs.cols + c],
                        pairs.destinations[place.destination * pairs.cols + c],
                        grad[pair * count + r]};
        },
        [&sum](std::size_t /*pair*/, const Loaded& at) {
          sum += at.source * at.destination * at.grad;
        });
    sums[chunk * count * pairs.cols + element] = sum;
  }
};

}  // namespace troupe::gpu
