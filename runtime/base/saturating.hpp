#pragma once
/// \file saturating.hpp
/// Arithmetic of bounds: results past 64 bits stay at the largest number instead of wrapping.
#include <cstdint>

namespace troupe {

inline constexpr std::uint64_t unlimited = ~std::uint64_t{0};

constexpr std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? unlimited : sum;
}

constexpr std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? unlimited : product;
}

constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// `total` times `part / whole`, rounded down, without overflow. \requires part <= whole
constexpr std::uint64_t proportion(std::uint64_t total, std::uint64_t part, std::uint64_t whole) {
  return total / whole * part + total % whole * part / whole;
}

}  // namespace troupe
