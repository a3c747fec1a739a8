#pragma once
/// \file word_products.hpp
/// Products through oneDNN's matmul primitive, whose operands may be words of bfloat16. linear.hpp has
/// the products that layers use.
#include "runtime/base/matrix.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace troupe::nn {

/// Whether the processor multiplies words of bfloat16 (AVX512_BF16 or AMX-BF16), as oneDNN sees it:
/// ONEDNN_MAX_CPU_ISA can hide the unit.
bool has_bf16_unit();
/// Vectors that oneDNN's kernels use here, for messages, e.g. "AVX2".
std::string_view matrix_kernels();

/// Rows [rows, cols] as they are stored, or their transpose.
template <class T>
struct WordOperand {
  const T* data = nullptr;
  bool transposed = false;  ///< stored [cols, rows]
};

/// c = a b, sums in float32, on the calling thread.
/// \tparam T  float, or std::uint16_t for words of bfloat16
/// \param a  [c.rows, k]
/// \param b  [k, c.cols]
/// \param c  row-major; overwritten
/// \requires no size is 0; of std::uint16_t has_bf16_unit()
/// \cost  the primitives of the last shapes are kept by thread
template <class T>
void multiply_words(WordOperand<T> a, WordOperand<T> b, std::size_t k, MutMatrix c);
extern template void multiply_words(WordOperand<float> a, WordOperand<float> b, std::size_t k,
                                    MutMatrix c);
extern template void multiply_words(WordOperand<std::uint16_t> a, WordOperand<std::uint16_t> b,
                                    std::size_t k, MutMatrix c);

/// The values rounded to the nearest number of bfloat16, ties to even; a NaN stays one.
/// \param words  of the same size
void round_words(std::span<const float> values, std::span<std::uint16_t> words);
/// The same in float32.
void round_words(std::span<const float> values, std::span<float> words);

}  // namespace troupe::nn
