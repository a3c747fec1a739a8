#include "runtime/nn/ops/rows_at_places.hpp"

#include "runtime/nn/ops/row_kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace troupe::nn {
namespace {

/// End of the rows that are summed with row `first`, of a chunk of `rows`.
std::size_t end_of_block(std::size_t first, std::size_t rows, std::size_t at_once) {
  const std::size_t left = rows - first;
  return first + (left > 2 * at_once ? at_once : left > at_once ? (left + 1) / 2 : left);
}

/// sum [out, in] += the product of a gradient's row and a row.
void add_outer(const float* __restrict grad, const float* __restrict x, MutMatrix sum) {
  for (std::size_t o = 0; o < sum.rows; ++o) {
    float* __restrict to = sum.data + o * sum.cols;
    const float factor = grad[o];
    for (std::size_t c = 0; c < sum.cols; ++c) {
      to[c] = std::fma(factor, x[c], to[c]);
    }
  }
}

/// Rows of a chunk that are not 0.
struct ChunkRows {
  std::size_t first;  ///< Row of the chunk
  std::size_t count;  ///< Its rows, with those that are 0
  std::span<const std::uint32_t> places;
  ConstMatrix grad_y;  ///< [places, out]
  ConstMatrix x;       ///< [places, in]
};

/// Adds a chunk's product to `sum` in the order of the matrix library. \param block  scratch of its shape
void add_in_blocks(const ChunkRows& chunk, std::size_t at_once, MutMatrix block, MutMatrix sum) {
  for (std::size_t i = 0; i < chunk.places.size();) {
    std::size_t end = 0;
    while (end <= chunk.places[i] - chunk.first) {
      end = end_of_block(end, chunk.count, at_once);
    }
    std::ranges::fill(block.flat(), 0.0F);
    for (; i < chunk.places.size() && chunk.places[i] - chunk.first < end; ++i) {
      add_outer(chunk.grad_y.row(i).data(), chunk.x.row(i).data(), block);
    }
    add_scaled_row(block.data, 1.0F, sum.data, sum.size());
  }
}

/// The same by the product of all of its rows.
void add_whole(const ChunkRows& chunk, Precision precision, MutMatrix sum) {
  Matrix grad_y = Matrix::zeros(chunk.count, chunk.grad_y.cols);
  Matrix x = Matrix::zeros(chunk.count, chunk.x.cols);
  scatter_rows(chunk.grad_y, chunk.places, chunk.first, grad_y.view());
  scatter_rows(chunk.x, chunk.places, chunk.first, x.view());
  chunk_gradient(std::as_const(grad_y).view(), std::as_const(x).view(), sum, Into::add, precision);
}

/// Numbers of either sign and several magnitudes.
void fill_by_rule(std::span<float> values, std::uint32_t& state) {
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = (static_cast<float>(state >> 8U) / 8388608.0F - 1.0F) *
            static_cast<float>(1U << (state % 7U));
  }
}

bool sums_in_blocks(std::size_t out, std::size_t in, std::size_t at_once) {
  std::uint32_t state = 1;
  std::array<std::uint32_t, chunk_rows> places{};
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    places[i] = i;
  }
  Matrix block(out, in);
  for (const std::size_t rows : {chunk_rows, chunk_rows - 1, std::size_t{300}, std::size_t{193},
                                 std::size_t{97}, std::size_t{20}}) {
    Matrix grad_y(rows, out);
    Matrix x(rows, in);
    fill_by_rule(grad_y.view().flat(), state);
    fill_by_rule(x.view().flat(), state);
    Matrix expected = Matrix::zeros(out, in);
    Matrix found = Matrix::zeros(out, in);
    const ConstMatrix g = std::as_const(grad_y).view();
    const ConstMatrix r = std::as_const(x).view();
    for (const Into into : {Into::overwrite, Into::add}) {
      chunk_gradient(g, r, expected.view(), into);
      add_in_blocks({0, rows, std::span(places).first(rows), g, r}, at_once, block.view(),
                    found.view());
      if (std::memcmp(expected.data(), found.data(), out * in * sizeof(float)) != 0) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

PlacesIn::PlacesIn(std::span<const std::uint32_t> all, std::size_t first, std::size_t count)
    : begin(static_cast<std::size_t>(std::ranges::lower_bound(all, first) - all.begin())) {
  const auto end = std::ranges::lower_bound(all, first + count) - all.begin();
  places = all.subspan(begin, static_cast<std::size_t>(end) - begin);
}

void gather_rows(ConstMatrix from, std::span<const std::uint32_t> places, std::size_t first,
                 MutMatrix to) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::copy_n(from.data + (places[i] - first) * from.cols, from.cols, to.data + i * to.cols);
  }
}

void scatter_rows(ConstMatrix from, std::span<const std::uint32_t> places, std::size_t first,
                  MutMatrix to) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::copy_n(from.data + i * from.cols, from.cols, to.data + (places[i] - first) * to.cols);
  }
}

void add_rows_at(ConstMatrix from, std::span<const std::uint32_t> places, std::size_t first,
                 MutMatrix to) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    add_scaled_row(from.data + i * from.cols, 1.0F, to.data + (places[i] - first) * to.cols,
                   from.cols);
  }
}

std::size_t rows_summed_at_once(std::size_t out, std::size_t in) {
  static std::mutex mutex;
  static std::map<std::pair<std::size_t, std::size_t>, std::size_t> known;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace({out, in}, 0);
  if (is_new) {
    for (const std::size_t rows : {96U, 128U, 192U, 256U, 384U, 512U}) {
      if (sums_in_blocks(out, in, rows)) {
        at->second = rows;
        break;
      }
    }
  }
  return at->second;
}

void weight_gradient_at(std::span<const std::uint32_t> places, std::size_t rows, ConstMatrix grad_y,
                        ConstMatrix x, MutMatrix grad_weight, Precision precision) {
  TROUPE_ASSERT(
      grad_y.rows == places.size() && x.rows == places.size() && grad_weight.rows == grad_y.cols &&
          grad_weight.cols == x.cols && (places.empty() || places.back() < rows),
      "weight_gradient_at", places.size(), rows, grad_y.rows, grad_y.cols, x.rows, x.cols);
  const std::size_t at_once =
      precision == Precision::float32 ? rows_summed_at_once(grad_weight.rows, grad_weight.cols) : 0;
  const std::size_t chunks = chunk_count(rows);
  const std::size_t groups = std::min(chunks, most_partials);
  Matrix sum(grad_weight.rows, grad_weight.cols);
  Matrix block(grad_weight.rows, grad_weight.cols);
  std::ranges::fill(grad_weight.flat(), 0.0F);
  for (std::size_t group = 0; group < groups; ++group) {
    const std::size_t begin = group * chunks / groups * chunk_rows;
    const std::size_t end = std::min((group + 1) * chunks / groups * chunk_rows, rows);
    if (PlacesIn(places, begin, end - begin).places.empty()) {
      continue;
    }
    std::ranges::fill(sum.view().flat(), 0.0F);
    for (std::size_t first = begin; first < end; first += chunk_rows) {
      const std::size_t count = std::min(chunk_rows, end - first);
      const PlacesIn in(places, first, count);
      const std::size_t here = in.places.size();
      const ChunkRows chunk{first, count, in.places, grad_y.slice(in.begin, here),
                            x.slice(in.begin, here)};
      if (here > 0 && at_once > 0) {
        add_in_blocks(chunk, at_once, block.view(), sum.view());
      } else if (here > 0) {
        add_whole(chunk, precision, sum.view());
      }
    }
    add_scaled_row(sum.data(), 1.0F, grad_weight.data, grad_weight.size());
  }
}

}  // namespace troupe::nn
