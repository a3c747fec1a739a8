#pragma once
/// \file npy_values.hpp
/// Numbers of .npy arrays of any element type as float32 or int64, checked.
#include "runtime/base/result.hpp"
#include "runtime/data/number_text.hpp"
#include "runtime/graph/npy.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace troupe::npy_values {

/// Where values come from, for messages.
struct Place {
  const std::string& file;
  std::uint64_t cols;       ///< 1 for a list
  std::uint64_t first;      ///< number of the first value
  std::uint64_t begin = 0;  ///< number of the array's first element among the file's
};

/// The feature dtype that holds the numbers: u8 for integers in 0..255, f16 for float16, else f32.
DType feature_dtype(const NpyArray& array);

/// Reads the values from place.first on. Integers must be exact in float32.
/// \errors invalid_argument: a value that is not finite (NaN may be allowed) or not exact, with its
///   row and column
Status read_floats(const NpyArray& array, const Place& place, number_text::Missing missing,
                   std::span<float> out);
/// \errors invalid_argument: not an array of integers or bools; a value past int64
Status read_integers(const NpyArray& array, const Place& place, std::span<std::int64_t> out);

}  // namespace troupe::npy_values
