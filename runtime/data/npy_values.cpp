#include "runtime/data/npy_values.hpp"

#include "runtime/data/npy_source.hpp"
#include "runtime/graph/half.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <type_traits>
#include <utility>

namespace troupe::npy_values {
namespace {

using npy_source::bad_input;
using number_text::Missing;

/// Integers up to this are exact in float32.
constexpr std::int64_t largest_exact = std::int64_t{1} << 24;

std::string at_row(const Place& place, std::size_t i) {
  const auto at = place.first + i;
  return fmt::format("row {}, column {}", at / place.cols, at % place.cols);
}

template <class T>
Status from_integers(std::span<const T> values, const Place& place, std::span<float> out) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool exact = std::cmp_less_equal(values[i], largest_exact) &&
                       std::cmp_greater_equal(values[i], -largest_exact);
    if (!exact) {
      return bad_input(
          place.file,
          fmt::format("{}: expected an integer that float32 holds exactly (at most 2^24), got {}",
                      at_row(place, i), values[i]));
    }
    out[i] = static_cast<float>(values[i]);
  }
  return ok_status();
}

template <class T>
Status from_floats(std::span<const T> values, const Place& place, Missing missing,
                   std::span<float> out) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[i] = static_cast<float>(values[i]);
    if (!std::isfinite(out[i]) && !(missing == Missing::is_nan && std::isnan(out[i]))) {
      return bad_input(place.file, fmt::format("{}: expected a finite float32, got {}",
                                               at_row(place, i), values[i]));
    }
  }
  return ok_status();
}

Status from_halves(std::span<const std::uint16_t> values, const Place& place, Missing missing,
                   std::span<float> out) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[i] = f16_to_float(values[i]);
    if (!std::isfinite(out[i]) && !(missing == Missing::is_nan && std::isnan(out[i]))) {
      return bad_input(place.file,
                       fmt::format("{}: expected a finite float16, got {}", at_row(place, i),
                                   std::isnan(out[i]) ? "nan" : "inf"));
    }
  }
  return ok_status();
}

}  // namespace

DType feature_dtype(const NpyArray& array) {
  if (array.type.kind == 'f') {
    return array.type.bytes == 2 ? DType::f16 : DType::f32;
  }
  return visit_elements(array, [](auto values) {
    using T = typename decltype(values)::value_type;
    if constexpr (std::is_integral_v<T>) {
      const bool fits =
          std::ranges::all_of(values, [](T value) { return std::in_range<std::uint8_t>(value); });
      return fits ? DType::u8 : DType::f32;
    } else {
      return DType::f32;
    }
  });
}

Status read_floats(const NpyArray& array, const Place& place, Missing missing,
                   std::span<float> out) {
  return visit_elements(array, [&](auto all) -> Status {
    using T = typename decltype(all)::value_type;
    const auto values = all.subspan(place.first - place.begin, out.size());
    if constexpr (std::is_floating_point_v<T>) {
      return from_floats(values, place, missing, out);
    } else {
      if constexpr (std::is_same_v<T, std::uint16_t>) {
        if (array.type.kind == 'f') {
          return from_halves(values, place, missing, out);
        }
      }
      return from_integers(values, place, out);
    }
  });
}

Status read_integers(const NpyArray& array, const Place& place, std::span<std::int64_t> out) {
  if (array.type.kind == 'f') {
    return bad_input(place.file,
                     fmt::format("expected integers, got dtype {}", to_string(array.type)));
  }
  return visit_elements(array, [&](auto all) -> Status {
    using T = typename decltype(all)::value_type;
    const auto values = all.subspan(place.first - place.begin, out.size());
    if constexpr (std::is_integral_v<T>) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (!std::in_range<std::int64_t>(values[i])) {
          return bad_input(place.file, fmt::format("{}: expected an integer of 63 bits, got {}",
                                                   at_row(place, i), values[i]));
        }
        out[i] = static_cast<std::int64_t>(+values[i]);
      }
    }
    return ok_status();
  });
}

}  // namespace troupe::npy_values
