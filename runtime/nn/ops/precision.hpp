#pragma once
/// \file precision.hpp
/// How devices that have several ways compute matrix products (`train.precision`). Operands, sums
/// and results are float32 in all of them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troupe::nn {

enum class Precision : std::uint8_t {
  float32,
  tf32,  ///< Operands count with 10 bits after the leading one
  bf16,  ///< Operands count with 7 bits after the leading one
};

/// By number of the enumerator.
inline constexpr std::array<std::string_view, 3> precision_names{"float32", "tf32", "bf16"};

constexpr std::string_view to_string(Precision precision) noexcept {
  return precision_names[static_cast<std::size_t>(precision)];
}

}  // namespace troupe::nn
