#pragma once
/// \file gather_bodies.hpp
/// Kernel bodies that gather rows of tables: decoded to float32 and normalized, with the bits of
/// runtime/feature/feature_decode.cpp.
#include "gpu/base/columns.hpp"
#include "gpu/base/shared.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace troupe::gpu {

struct DecodeF32 {
  using Stored = float;
  TROUPE_HD float operator()(Stored value) const { return value; }
};
struct DecodeF64 {
  using Stored = double;
  TROUPE_HD float operator()(Stored value) const { return static_cast<float>(value); }
};
struct DecodeU8 {
  using Stored = std::uint8_t;
  float scale;
  TROUPE_HD float operator()(Stored value) const { return static_cast<float>(value) * scale; }
};
struct DecodeBf16 {
  using Stored = std::uint16_t;
  TROUPE_HD float operator()(Stored word) const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(word) << 16);
  }
};
/// Exact: the exponent is put right by a multiplication, which also handles subnormals.
struct DecodeF16 {
  using Stored = std::uint16_t;
  TROUPE_HD float operator()(Stored half) const {
    const std::uint32_t magnitude = (half & 0x7FFFU) << 13;
    const std::uint32_t sign = (half & 0x8000U) << 16;
    const bool special =
        (half & 0x7C00U) == 0x7C00U;  // infinities and NaN keep the highest exponent
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
    const std::uint32_t bits =
        special ? magnitude | 0x7F800000U : std::bit_cast<std::uint32_t>(scaled);
    return std::bit_cast<float>(bits | sign);
  }
};

struct AsStored {
  TROUPE_HD float operator()(float x, std::size_t /*row*/, std::size_t /*col*/) const { return x; }
};
struct DividedByRow {
  const float* divisors;  ///< [rows]
  TROUPE_HD float operator()(float x, std::size_t row, std::size_t /*col*/) const {
    return x / divisors[row];
  }
};
struct ScaledByColumn {
  const float* means;     ///< [cols]
  const float* divisors;  ///< [cols]
  TROUPE_HD float operator()(float x, std::size_t /*row*/, std::size_t col) const {
    return (x - means[col]) / divisors[col];
  }
};

/// A table in three pieces: its first rows in the device's memory, others in pinned memory of the host,
/// which is larger and behind a slower bus, and those that came with one batch, in the device's memory.
template <class StoredT>
struct TieredTable {
  const StoredT* near;    ///< [far_begin, cols]
  const StoredT* far;     ///< [staged_begin - far_begin, cols]; not read where no row is there
  const StoredT* staged;  ///< [rows of the batch from staged_begin on, cols]; the same
  std::uint64_t far_begin;
  std::uint64_t staged_begin;

  /// \param at  place of the row, over all three
  TROUPE_HD const StoredT* row(std::uint64_t at, std::uint64_t cols) const {
    if (at < far_begin) {
      return near + at * cols;
    }
    return at < staged_begin ? far + (at - far_begin) * cols : staged + (at - staged_begin) * cols;
  }
};

/// Rows of a table that are gathered.
template <class StoredT>
struct TableRows {
  using Stored = StoredT;
  TieredTable<Stored> table;
  const std::uint64_t* index;  ///< [rows] places in the table
  std::uint64_t cols;

  TROUPE_HD const Stored* row(std::size_t i) const { return table.row(index[i], cols); }
};

/// A table that is all in the device's memory.
template <class T>
TieredTable<T> near_table(const T* rows) {
  return {rows, nullptr, nullptr, ~std::uint64_t{0}, ~std::uint64_t{0}};
}

/// divisors[row] = max(sum, 1), the sum in float64 over the columns in order.
template <class Decode>
struct FindRowDivisor {
  TableRows<typename Decode::Stored> rows;
  Decode decode;
  float* divisors;

  TROUPE_HD void operator()(std::size_t row) const {
    const auto* const from = rows.row(row);
    double sum = 0;
    for (std::uint64_t col = 0; col < rows.cols; ++col) {
      sum += static_cast<double>(decode(from[col]));
    }
    divisors[row] = static_cast<float>(sum < 1.0 ? 1.0 : sum);
  }
};

/// One pack of columns of a row. \requires Width divides the columns
template <class Decode, class Scale, unsigned Width>
struct GatherPack {
  using Stored = typename Decode::Stored;
  TableRows<Stored> rows;
  Decode decode;
  Scale scale;
  float* out;  ///< [rows, cols]

  TROUPE_HD void operator()(std::size_t row, std::size_t pack) const {
    const std::size_t first = pack * Width;
    const auto from = read_columns<Width>(rows.row(row) + first);
    Floats<Width> to;
    for (unsigned k = 0; k < Width; ++k) {
      to.of[k] = scale(decode(from.of[k]), row, first + k);
    }
    write_columns(out + row * rows.cols + first, to);
  }
};

/// One column of a row as it is stored.
template <class T>
struct GatherValue {
  TableRows<T> rows;
  T* out;  ///< [rows, cols]

  TROUPE_HD void operator()(std::size_t row, std::size_t col) const {
    out[row * rows.cols + col] = rows.row(row)[col];
  }
};

/// index[i] = the node of seed i.
struct FindSeedNode {
  const std::uint64_t* ids;  ///< Of the nodes of the batch
  const std::uint32_t* seed_index;
  std::uint64_t* index;

  TROUPE_HD void operator()(std::size_t i) const { index[i] = ids[seed_index[i]]; }
};

}  // namespace troupe::gpu
