#pragma once
/// \file finish_stage.hpp
/// The end of a combination on a stream, and the way back, in steps.
#include "gpu/base/array.hpp"
#include "gpu/nn/finish_bodies.hpp"
#include "gpu/nn/norm_bodies.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/nn/ops/finish.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>

namespace troupe::gpu {

/// True if accesses to memory may take four columns of each matrix.
inline bool in_fours(std::size_t cols, std::initializer_list<const void*> matrices) {
  constexpr std::size_t bytes = 4 * sizeof(float);
  return cols % 4 == 0 && std::ranges::all_of(matrices, [](const void* at) {
           return reinterpret_cast<std::uintptr_t>(at) % bytes == 0;
         });
}
/// Calls launch(number of columns that a thread takes, as a type).
template <class Launch>
void by_width(bool fours, const Launch& launch) {
  if (fours) {
    launch(std::integral_constant<unsigned, 4>());
  } else {
    launch(std::integral_constant<unsigned, 1>());
  }
}

/// What is done with the elements of rows in one pass.
struct FinishPass {
  std::span<const float> bias = {};
  Normed normed = {};
  Activating activating = {};
  Dropping dropping = {};
  float* sum = nullptr;  ///< if not null, the rows with their bias go there
};
template <class Stream>
void finish_rows_stage(Stream& on, ConstMatrix x, const FinishPass& pass, float* out) {
  by_width(in_fours(x.cols, {x.data, pass.sum, out}), [&](auto width) {
    on.for_rows(x.rows, x.cols / width(),
                FinishRows<width()>{x.cols, x.data, pass.bias.empty() ? nullptr : pass.bias.data(),
                                    pass.normed, pass.activating, pass.dropping, pass.sum, out});
  });
}

/// The lanes of sums over columns. \returns [rows, Term::sums, sum_lanes]
template <class Stream, class Term>
Array<float> row_lanes(Stream& on, const Term& term, std::size_t rows, std::size_t cols) {
  auto lanes = on.template array<float>(rows * Term::sums * sum_lanes);
  on.for_rows(rows, sum_lanes, RowLanes<Term>{term, cols, lanes.data()});
  return lanes;
}
template <class Stream>
void norm_stats_stage(Stream& on, ConstMatrix x, std::span<nn::NormStats> stats) {
  const auto sums = row_lanes(on, ColumnOfRow{x.data, x.cols}, x.rows, x.cols);
  const SquaredDistance distance{x.data, x.cols, sums.data()};
  const auto squares = row_lanes(on, distance, x.rows, x.cols);
  on.for_each(x.rows, RowStats{distance, squares.data(), stats.data()});
}
template <class Stream>
void norm_backward_stage(Stream& on, const nn::Finish& finish, const nn::FinishState& state,
                         MutMatrix grad) {
  const NormGradient of{state.conv.data, state.stats.data(), finish.norm_gain.data(), grad.cols,
                        grad.data};
  const auto lanes = row_lanes(on, of, grad.rows, grad.cols);
  const auto means = on.template array<float>(2 * grad.rows);
  on.for_each(means.size(), MeanOfLanes{lanes.data(), grad.cols, means.data()});
  by_width(in_fours(grad.cols, {state.conv.data, grad.data}), [&](auto width) {
    on.for_rows(grad.rows, grad.cols / width(),
                LayerNormBackward<width()>{of, means.data(), grad.data});
  });
}
template <class Stream>
void divide_by_length_stage(Stream& on, MutMatrix x, std::span<float> lengths) {
  const auto lanes = row_lanes(on, SquareOfColumn{x.data, x.cols}, x.rows, x.cols);
  on.for_each(x.rows, RowLength{lanes.data(), lengths.data()});
  by_width(in_fours(x.cols, {x.data}), [&](auto width) {
    on.for_rows(x.rows, x.cols / width(), DivideByLength<width()>{x.cols, lengths.data(), x.data});
  });
}
template <class Stream>
void length_backward_stage(Stream& on, const nn::FinishState& state, MutMatrix grad) {
  const float* const y = state.conv.data;
  const auto lanes = row_lanes(on, AlongRow{y, grad.data, grad.cols}, grad.rows, grad.cols);
  const auto along = on.template array<float>(grad.rows);
  on.for_each(grad.rows, AddLanes{lanes.data(), along.data()});
  by_width(in_fours(grad.cols, {y, grad.data}), [&](auto width) {
    on.for_rows(grad.rows, grad.cols / width(),
                L2Backward<width()>{y, state.lengths.data(), along.data(), grad.cols, grad.data});
  });
}

}  // namespace troupe::gpu
