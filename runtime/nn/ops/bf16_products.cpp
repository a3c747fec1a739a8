#include "runtime/nn/ops/bf16_products.hpp"

#include "runtime/nn/ops/row_kernels.hpp"
#include "runtime/nn/ops/word_products.hpp"

#include <algorithm>
#include <cstdint>

namespace troupe::nn {
namespace {

/// Rows of products are padded to multiples of so many, which keeps their shapes few.
constexpr std::size_t word_granule = 64;

std::size_t padded_rows(std::size_t rows) {
  return (rows + word_granule - 1) / word_granule * word_granule;
}

/// Operands and a result of one product.
template <class T>
struct WordScratch {
  GrowBuffer<T> a;
  GrowBuffer<T> b;
  GrowBuffer<float> c;
};

/// Of the calling thread, as oneDNN's primitives are.
template <class T>
WordScratch<T>& word_scratch() {
  thread_local WordScratch<T> scratch;
  return scratch;
}

/// Rounded rows, then rows of zeros.
template <class T>
const T* words_of(ConstMatrix rows, std::size_t padded, GrowBuffer<T>& memory) {
  const auto words = memory.get(padded * rows.cols);
  round_words(rows.flat(), words.first(rows.size()));
  std::ranges::fill(words.subspan(rows.size()), T{0});
  return words.data();
}

/// The first rows of a product, where they belong.
void put_rows(const float* from, MutMatrix to, Into into) {
  if (into == Into::add) {
    add_scaled_row(from, 1.0F, to.data, to.size());
  } else {
    std::copy_n(from, to.size(), to.data);
  }
}

template <class T>
void rows_in_words(ConstMatrix x, ProductSide b, MutMatrix y, Into into) {
  auto& scratch = word_scratch<T>();
  const WordOperand<T> side{words_of(b.rows, b.rows.rows, scratch.b), b.transposed};
  for (std::size_t first = 0; first < x.rows; first += chunk_rows) {
    const std::size_t count = std::min(chunk_rows, x.rows - first);
    const std::size_t padded = padded_rows(count);
    const WordOperand<T> rows{words_of(x.slice(first, count), padded, scratch.a)};
    const MutMatrix to = y.slice(first, count);
    if (into == Into::overwrite && padded == count) {
      multiply_words(rows, side, x.cols, to);
      continue;
    }
    const MutMatrix product = scratch.c.matrix(padded, y.cols);
    multiply_words(rows, side, x.cols, product);
    put_rows(product.data, to, into);
  }
}

template <class T>
void gradient_in_words(ConstMatrix a, ConstMatrix b, MutMatrix c, Into into) {
  auto& scratch = word_scratch<T>();
  const std::size_t padded = padded_rows(a.rows);
  const WordOperand<T> left{words_of(a, padded, scratch.a), true};
  const WordOperand<T> right{words_of(b, padded, scratch.b)};
  if (into == Into::overwrite) {
    return multiply_words(left, right, padded, c);
  }
  const MutMatrix product = scratch.c.matrix(c.rows, c.cols);
  multiply_words(left, right, padded, product);
  put_rows(product.data, c, into);
}

}  // namespace

void bf16_rows(ConstMatrix x, ProductSide b, MutMatrix y, Into into) {
  if (y.size() == 0) {
    return;
  }
  has_bf16_unit() ? rows_in_words<std::uint16_t>(x, b, y, into)
                  : rows_in_words<float>(x, b, y, into);
}

void bf16_gradient(ConstMatrix a, ConstMatrix b, MutMatrix c, Into into) {
  has_bf16_unit() ? gradient_in_words<std::uint16_t>(a, b, c, into)
                  : gradient_in_words<float>(a, b, c, into);
}

}  // namespace troupe::nn
