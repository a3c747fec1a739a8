#pragma once
/// \file rows_at_places.hpp
/// Rows at few places of a matrix, next to each other, and products of them whose bits are those of the
/// same product with all rows, the others 0. For terms along one of many edge types (Path::places).
#include "runtime/base/matrix.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"
#include "runtime/nn/ops/linear.hpp"
#include "runtime/nn/ops/precision.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::nn {

/// Rows of a result, or of a gradient, that one thread computes at a time where terms or uses have places:
/// more than in other ones, so that products of those in a piece have rows enough.
inline constexpr std::size_t placed_chunk_rows = 4 * chunk_rows;

/// Places, ascending: the part of them in [first, first + count).
struct PlacesIn {
  PlacesIn(std::span<const std::uint32_t> places, std::size_t first, std::size_t count);

  std::size_t begin;                      ///< Position of the first of them
  std::span<const std::uint32_t> places;  ///< Of all rows
};

/// to[i] = from[places[i] - first].
void gather_rows(ConstMatrix from, std::span<const std::uint32_t> places, std::size_t first,
                 MutMatrix to);
/// to[places[i] - first] = from[i].
void scatter_rows(ConstMatrix from, std::span<const std::uint32_t> places, std::size_t first,
                  MutMatrix to);
/// to[places[i] - first] += from[i].
void add_rows_at(ConstMatrix from, std::span<const std::uint32_t> places, std::size_t first,
                 MutMatrix to);

/// What weight_gradient() gives of `rows` rows that are 0 but at the places.
/// \param grad_y [places, out]
/// \param x [places, in]
/// \param grad_weight [out, in], overwritten
/// \cost  as many products of rows as there are places, where the processor's matrix library sums in an order
///   that is known; else those of the chunks of rows that have a place
void weight_gradient_at(std::span<const std::uint32_t> places, std::size_t rows, ConstMatrix grad_y,
                        ConstMatrix x, MutMatrix grad_weight, Precision precision);

/// Rows whose products the matrix library adds up one after the other before it adds them to a sum, in
/// chunk_gradient() of this shape: at most so many of those that are left, or half of them if they are up to
/// twice as many. Found by trying, once for each shape.
/// \returns 0: another order
std::size_t rows_summed_at_once(std::size_t out, std::size_t in);

}  // namespace troupe::nn
