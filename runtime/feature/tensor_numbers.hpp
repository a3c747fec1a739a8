#pragma once
/// \file tensor_numbers.hpp
/// The kinds of numbers in tensors by name: how two are added, and how float32 becomes one. For held_tensors and
/// tensor_blocks only.
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/half.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace troupe {

/// Number type, and how two of them are added. Whole numbers wrap.
template <class T>
struct TensorNumber {
  using Word = T;
  static T from(float value) { return static_cast<T>(value); }
  static T sum(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(
          static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
    } else {
      return a + b;
    }
  }
};
/// Sums of half precision are made in float32 and rounded to the nearest.
struct TensorF16 {
  using Word = std::uint16_t;
  static Word from(float value) { return float_to_f16(value); }
  static Word sum(Word a, Word b) { return float_to_f16(f16_to_float(a) + f16_to_float(b)); }
};
struct TensorBf16 {
  using Word = std::uint16_t;
  static Word from(float value) { return float_to_bf16(value); }
  static Word sum(Word a, Word b) { return float_to_bf16(bf16_to_float(a) + bf16_to_float(b)); }
};

/// Calls `f(kind)` with the kind of numbers of a dtype.
/// \requires is_tensor_dtype(dtype)
template <class F>
void with_tensor_number(DType dtype, F f) {
  switch (dtype) {
    case DType::f64:
      return f(TensorNumber<double>{});
    case DType::f16:
      return f(TensorF16{});
    case DType::bf16:
      return f(TensorBf16{});
    case DType::i32:
      return f(TensorNumber<std::int32_t>{});
    case DType::i64:
      return f(TensorNumber<std::int64_t>{});
    case DType::u8:
      return f(TensorNumber<std::uint8_t>{});
    default:
      return f(TensorNumber<float>{});
  }
}

/// Adds numbers one by one; memory of a segment may lie at any address.
template <class Kind>
void add_tensor_row(std::byte* to, const std::byte* from, std::size_t bytes) {
  using Word = typename Kind::Word;
  for (std::size_t at = 0; at < bytes; at += sizeof(Word)) {
    Word a;
    Word b;
    std::memcpy(&a, to + at, sizeof(Word));
    std::memcpy(&b, from + at, sizeof(Word));
    a = Kind::sum(a, b);
    std::memcpy(to + at, &a, sizeof(Word));
  }
}

}  // namespace troupe
