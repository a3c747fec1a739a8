#include "runtime/graph/column_stats.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace troupe {
namespace {

constexpr std::uint64_t chunk_rows = 512;

/// Adds up `term(value, column)` over all rows: per chunk in row order, chunks in order.
template <class T, class Decode, class Term>
std::vector<double> sum_columns(const FeatureTable& table, Decode decode, Term term) {
  const auto cols = table.info.cols;
  const auto values = table.data.as<T>();
  std::vector<double> total(cols, 0.0);
  std::vector<double> partial(cols);
  for (std::uint64_t begin = 0; begin < table.rows; begin += chunk_rows) {
    std::ranges::fill(partial, 0.0);
    const auto end = std::min(begin + chunk_rows, table.rows);
    for (auto row = begin; row < end; ++row) {
      for (std::uint64_t col = 0; col < cols; ++col) {
        partial[col] += term(static_cast<double>(decode(values[row * cols + col])), col);
      }
    }
    for (std::uint64_t col = 0; col < cols; ++col) {
      total[col] += partial[col];
    }
  }
  return total;
}

template <class T, class Decode>
ColumnStats stats_of(const FeatureTable& table, Decode decode) {
  ColumnStats stats;
  stats.mean = sum_columns<T>(table, decode, [](double value, std::uint64_t) { return value; });
  const auto rows = static_cast<double>(std::max<std::uint64_t>(table.rows, 1));
  for (auto& mean : stats.mean) {
    mean /= rows;
  }
  stats.sd = sum_columns<T>(table, decode, [&](double value, std::uint64_t col) {
    return (value - stats.mean[col]) * (value - stats.mean[col]);
  });
  for (auto& sd : stats.sd) {
    sd = table.rows > 1 ? std::sqrt(sd / (rows - 1.0)) : 0.0;
  }
  return stats;
}

}  // namespace

float f16_to_float(std::uint16_t bits) noexcept {
  const auto sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1FU;
  const std::uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24
    const auto magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 0x1F ? 0xFFU : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

float bf16_to_float(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

ColumnStats column_stats(const FeatureTable& features) {
  switch (features.info.dtype) {
    case DType::u8: {
      const auto scale = features.info.scale;
      return stats_of<std::uint8_t>(
          features, [scale](std::uint8_t value) { return static_cast<float>(value) * scale; });
    }
    case DType::f16:
      return stats_of<std::uint16_t>(features, f16_to_float);
    case DType::bf16:
      return stats_of<std::uint16_t>(features, bf16_to_float);
    default:
      return stats_of<float>(features, [](float value) { return value; });
  }
}

}  // namespace troupe
