#pragma once
/// \file product_pieces.hpp
/// Matrix products in pieces of one fixed height: a library chooses its kernels by the number of rows, so that
/// a row has other bits among few rows than among many.
#include "gpu/base/array.hpp"
#include "runtime/base/matrix.hpp"

#include <cstddef>

namespace troupe::gpu {

/// Heights of the products of exact inference. On a GPU as many rows as keep all multiprocessors busy.
inline constexpr std::size_t emulated_product_rows = 128;
inline constexpr std::size_t cuda_product_rows = 8192;

/// Calls product(x, y) for pieces of `height` rows of both, the last one padded.
/// \param height  0: one piece of all rows
/// \param add     products are added to y: the padded piece begins with its rows
/// \param product  of rows that each begin at memory aligned as that of x and y, if `height` is a multiple of 64
template <class Stream, class Product>
void in_pieces(Stream& on, std::size_t height, ConstMatrix x, MutMatrix y, bool add,
               const Product& product) {
  if (height == 0) {
    return product(x, y);
  }
  const std::size_t whole = y.rows / height * height;
  for (std::size_t first = 0; first < whole; first += height) {
    product(x.slice(first, height), y.slice(first, height));
  }
  const std::size_t rest = y.rows - whole;
  if (rest == 0) {
    return;
  }
  const auto padded = [&](ConstMatrix rows, bool copied) {
    const auto piece = on.template array<float>(height * rows.cols);
    const std::size_t size = copied ? rest * rows.cols : 0;
    if (!on.failed()) {
      on.copy(rows.data + whole * rows.cols, piece.data(), size * sizeof(float));
      on.zero(piece.data() + size, (piece.size() - size) * sizeof(float));
    }
    return piece;
  };
  const auto x_piece = padded(x, true);
  const auto y_piece = padded(y, add);
  product({x_piece.data(), height, x.cols}, {y_piece.data(), height, y.cols});
  if (!on.failed()) {
    on.copy(y_piece.data(), y.data + whole * y.cols, rest * y.cols * sizeof(float));
  }
}

}  // namespace troupe::gpu
