// Products of rounded words: rounding, the primitive in both types of operands, and threads.
#include "runtime/nn/ops/word_products.hpp"

#include "runtime/base/executor.hpp"
#include "runtime/graph/half.hpp"
#include "tests/runtime/nn/nn_support.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

std::vector<std::uint32_t> bits_around_each_exponent() {
  std::vector<std::uint32_t> all;
  for (std::uint32_t sign : {0U, 0x80000000U}) {
    for (std::uint32_t upper = 0; upper < 0x8000U; ++upper) {
      for (const std::uint32_t lower : {0U, 1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
        all.push_back(sign | upper << 16U | lower);
      }
    }
  }
  return all;
}

TEST(RoundWords, RoundsAsTheStoreDoesWhateverTheNumber) {
  const auto bits = bits_around_each_exponent();
  std::vector<float> values(bits.size());
  std::ranges::transform(bits, values.begin(),
                         [](std::uint32_t word) { return std::bit_cast<float>(word); });
  std::vector<std::uint16_t> words(values.size());
  std::vector<float> rounded(values.size());

  round_words(values, words);
  round_words(values, rounded);

  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(words[i], float_to_bf16(values[i])) << bits[i];
    ASSERT_EQ(std::bit_cast<std::uint32_t>(rounded[i]), std::uint32_t{words[i]} << 16U) << bits[i];
  }
}

template <class T>
class MultiplyWords : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::is_same_v<T, std::uint16_t> && !has_bf16_unit()) {
      GTEST_SKIP() << "the processor has no unit for bfloat16: oneDNN's kernels here are for "
                   << matrix_kernels();
    }
  }
  /// As words, and what they count as.
  struct Words {
    explicit Words(const Matrix& m) : rows(m.rows()), cols(m.cols()), words(m.rows() * m.cols()) {
      round_words(m.view().flat(), std::span<T>(words));
      counted.resize(words.size());
      round_words(m.view().flat(), std::span<float>(counted));
    }
    std::size_t rows;
    std::size_t cols;
    std::vector<T> words;
    std::vector<float> counted;
  };
  static WordOperand<T> operand(const Words& of, bool transposed) {
    return {of.words.data(), transposed};
  }
  static double at(const Words& of, bool transposed, std::size_t r, std::size_t c) {
    return of.counted[transposed ? c * of.cols + r : r * of.cols + c];
  }
};

using WordTypes = ::testing::Types<float, std::uint16_t>;
TYPED_TEST_SUITE(MultiplyWords, WordTypes);

TYPED_TEST(MultiplyWords, EqualsSumsOfTheRoundedInFloat64) {
  for (const std::size_t rows : {1U, 5U, 64U, 192U}) {
    for (const std::size_t k : {1U, 7U, 64U, 300U}) {
      for (const std::size_t cols : {1U, 16U, 47U}) {
        for (const int transposed : {0, 1, 2, 3}) {
          const bool left = (transposed & 1) != 0;
          const bool right = (transposed & 2) != 0;
          const typename TestFixture::Words a(left ? random_matrix(k, rows, 1)
                                                   : random_matrix(rows, k, 1));
          const typename TestFixture::Words b(right ? random_matrix(cols, k, 2)
                                                    : random_matrix(k, cols, 2));
          std::vector<double> truth(rows * cols);
          for (std::size_t i = 0; i < truth.size(); ++i) {
            for (std::size_t l = 0; l < k; ++l) {
              truth[i] += this->at(a, left, i / cols, l) * this->at(b, right, l, i % cols);
            }
          }
          Matrix c = random_matrix(rows, cols, 3);

          multiply_words(this->operand(a, left), this->operand(b, right), k, c.view());

          expect_close<float>(c.view().flat(), truth, 1e-5,
                              std::to_string(rows) + " x " + std::to_string(k) + " x " +
                                  std::to_string(cols) + ", " + std::to_string(transposed));
        }
      }
    }
  }
}

TYPED_TEST(MultiplyWords, HasTheSameBitsOnEachThreadAndInEachCall) {
  const typename TestFixture::Words a(random_matrix(192, 100, 1));
  const typename TestFixture::Words b(random_matrix(47, 100, 2));
  const auto product = [&] {
    Matrix c(192, 47);
    multiply_words(this->operand(a, false), this->operand(b, true), 100, c.view());
    return c;
  };
  const Matrix expected = product();
  std::vector<std::jthread> threads;
  std::vector<int> equal(4);
  for (std::size_t t = 0; t < equal.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int call = 0; call < 20; ++call) {
        equal[t] +=
            same_bits(std::as_const(expected).view().flat(), product().view().flat()) ? 1 : 0;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(equal, std::vector<int>(4, 20));
}

/// More shapes than a thread keeps primitives for.
TYPED_TEST(MultiplyWords, TakesAnyNumberOfShapes) {
  for (std::size_t k = 1; k <= 300; ++k) {
    const typename TestFixture::Words ones(matrix_of(std::vector<float>(k, 1), 1, k));
    Matrix c(1, 1);
    multiply_words(this->operand(ones, false), this->operand(ones, true), k, c.view());
    ASSERT_EQ(c.data()[0], static_cast<float>(k));
  }
}

}  // namespace
}  // namespace troupe::nn
