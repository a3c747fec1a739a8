#include "runtime/nn/ops/linear.hpp"

#include "runtime/nn/ops/word_products.hpp"
#include "tests/runtime/nn/nn_support.hpp"

#include <gtest/gtest.h>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

struct Shape {
  std::size_t in;
  std::size_t out;
};
const std::vector<Shape> shapes = {{1, 1},     {3, 1},     {13, 9},    {16, 7},
                                   {100, 256}, {256, 47},  {257, 3},   {1433, 16},
                                   {1433, 64}, {64, 1433}, {500, 128}, {200, 256}};
const std::vector<std::size_t> row_counts = {1,  2,  3,  5,  6,  7,  15, 16,  17,  18,  31,
                                             43, 47, 48, 49, 63, 64, 65, 256, 300, 511, 512};

/// Products of `count` rows from `first` on must have the bits that the whole chunk gave.
template <class Multiply>
void expect_rows_independent(const Matrix& x, const Matrix& start, const Shape& shape,
                             Multiply multiply) {
  Matrix whole = copy_of(start.view());
  multiply(x.view(), whole.view());
  for (const std::size_t count : row_counts) {
    for (const std::size_t first :
         {std::size_t{0}, std::min<std::size_t>(1, 512 - count), 512 - count}) {
      Matrix part = copy_of(start.view().slice(first, count));
      multiply(x.view().slice(first, count), part.view());
      EXPECT_TRUE(same_bits(part.view().flat(), whole.view().slice(first, count).flat()))
          << shape.in << " to " << shape.out << ", rows " << first << " + " << count;
    }
  }
}

TEST(LinearRows, BitsOfARowDoNotDependOnTheOtherRows) {
  for (const Shape& shape : shapes) {
    for (const Into into : {Into::overwrite, Into::add}) {
      const Matrix x = random_matrix(512, shape.in, 1);
      const Matrix weight = random_matrix(shape.out, shape.in, 2);
      const Matrix start = random_matrix(512, shape.out, 3);

      expect_rows_independent(x, start, shape, [&](ConstMatrix rows, MutMatrix y) {
        linear_rows(rows, weight.view(), y, into);
      });
    }
  }
}

TEST(LinearBackwardRows, BitsOfARowDoNotDependOnTheOtherRows) {
  for (const Shape& shape : shapes) {
    for (const Into into : {Into::overwrite, Into::add}) {
      const Matrix grad = random_matrix(512, shape.out, 1);
      const Matrix weight = random_matrix(shape.out, shape.in, 2);
      const Matrix start = random_matrix(512, shape.in, 3);

      expect_rows_independent(grad, start, shape, [&](ConstMatrix rows, MutMatrix y) {
        linear_backward_rows(rows, weight.view(), y, into);
      });
    }
  }
}

TEST(LinearRows, BitsOfARowDoNotDependOnTheNumberOfChunks) {
  const Matrix x = random_matrix(1100, 1433, 1);
  const Matrix weight = random_matrix(7, 1433, 2);
  InlineExecutor executor;
  const auto multiply = [&](std::size_t rows) {
    Matrix y(rows, 7);
    for_each_chunk(executor, rows, [&](std::size_t first, std::size_t count) {
      linear_rows(x.view().slice(first, count), weight.view(), y.view().slice(first, count),
                  Into::overwrite);
    });
    return y;
  };

  const Matrix all = multiply(1100);

  for (const std::size_t rows : {1U, 2U, 3U, 17U, 512U, 513U, 1024U, 1025U}) {
    EXPECT_TRUE(same_bits(multiply(rows).view().flat(), all.view().slice(0, rows).flat())) << rows;
  }
}

TEST(LinearRows, EqualsSumsInFloat64) {
  const Matrix x = random_matrix(70, 13, 1);
  const Matrix weight = random_matrix(9, 13, 2);
  Matrix y = random_matrix(70, 9, 3);
  std::vector<double> truth(70 * 9);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    truth[i] = y.data()[i];
    for (std::size_t k = 0; k < 13; ++k) {
      truth[i] += static_cast<double>(x.view().row(i / 9)[k]) * weight.view().row(i % 9)[k];
    }
  }

  linear_rows(x.view(), weight.view(), y.view(), Into::add);

  expect_close<float>(y.view().flat(), truth, 1e-6, "x W^T");
}

TEST(WeightGradient, EqualsSumsInFloat64AndIsTheSameOnAnyExecutor) {
  for (const std::size_t rows : {0U, 1U, 511U, 512U, 1300U, 40U * 512U + 3U}) {
    const Matrix grad = random_matrix(rows, 5, 1);
    const Matrix x = random_matrix(rows, 7, 2);
    std::vector<double> truth(5 * 7, 0.0);
    for (std::size_t i = 0; i < truth.size(); ++i) {
      for (std::size_t r = 0; r < rows; ++r) {
        truth[i] += static_cast<double>(grad.view().row(r)[i / 7]) * x.view().row(r)[i % 7];
      }
    }
    GrowBuffer<float> partials;
    Matrix serial(5, 7);
    Matrix parallel(5, 7);
    InlineExecutor one;
    ComputePool three(3);

    weight_gradient(one, grad.view(), x.view(), partials, serial.view());
    weight_gradient(three, grad.view(), x.view(), partials, parallel.view());

    expect_close<float>(serial.view().flat(), truth, 1e-5, "gradient");
    EXPECT_TRUE(same_bits(serial.view().flat(), parallel.view().flat())) << rows;
  }
}

/// What a product of bfloat16 counts: the rounded values.
Matrix rounded(const Matrix& values) {
  Matrix result(values.rows(), values.cols());
  round_words(values.view().flat(), result.view().flat());
  return result;
}

/// a^T or a times b^T or b in float64, and what it is near of.
struct ProductIndices {
  std::size_t rows;
  std::size_t inner;
  std::size_t cols;
};
template <class A, class B>
std::vector<double> product_of(const ProductIndices& n, const A& a, const B& b) {
  std::vector<double> truth(n.rows * n.cols);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    for (std::size_t k = 0; k < n.inner; ++k) {
      truth[i] += static_cast<double>(a(i / n.cols, k)) * static_cast<double>(b(k, i % n.cols));
    }
  }
  return truth;
}

/// 1e-2 of products of the numbers themselves, and of float32's sums of the rounded ones 1e-5.
TEST(ProductsInBf16, CountSevenBitsOfOperandsAndAddInFloat32) {
  for (const std::size_t rows : {1U, 63U, 64U, 600U}) {
    for (const Shape& shape : {Shape{13, 9}, Shape{100, 47}}) {
      const Matrix x = random_matrix(rows, shape.in, 1);
      const Matrix weight = random_matrix(shape.out, shape.in, 2);
      const Matrix grad = random_matrix(rows, shape.out, 3);
      const auto check = [&](const Matrix& of_x, const Matrix& of_weight, const Matrix& of_grad,
                             double tolerance) {
        const auto at = [](const Matrix& m) {
          return [&m](std::size_t r, std::size_t c) { return m.view().row(r)[c]; };
        };
        const auto turned = [](const Matrix& m) {
          return [&m](std::size_t r, std::size_t c) { return m.view().row(c)[r]; };
        };
        Matrix y = random_matrix(rows, shape.out, 4);
        linear_rows(x.view(), weight.view(), y.view(), Into::overwrite, Precision::bf16);
        auto truth = product_of({rows, shape.in, shape.out}, at(of_x), turned(of_weight));
        expect_close<float>(y.view().flat(), truth, tolerance, "x W^T");
        linear_rows(x.view(), weight.view(), y.view(), Into::add, Precision::bf16);
        std::ranges::transform(truth, truth.begin(), [](double value) { return 2 * value; });
        expect_close<float>(y.view().flat(), truth, tolerance, "x W^T added");

        Matrix grad_x = random_matrix(rows, shape.in, 5);
        linear_backward_rows(grad.view(), weight.view(), grad_x.view(), Into::overwrite,
                             Precision::bf16);
        expect_close<float>(grad_x.view().flat(),
                            product_of({rows, shape.out, shape.in}, at(of_grad), at(of_weight)),
                            tolerance, "grad W");

        GrowBuffer<float> partials;
        InlineExecutor executor;
        Matrix grad_weight(shape.out, shape.in);
        weight_gradient(executor, grad.view(), x.view(), partials, grad_weight.view(),
                        Precision::bf16);
        expect_close<float>(grad_weight.view().flat(),
                            product_of({shape.out, rows, shape.in}, turned(of_grad), at(of_x)),
                            tolerance, "grad^T x");
      };
      check(x, weight, grad, 1e-2);
      check(rounded(x), rounded(weight), rounded(grad), 1e-5);
    }
  }
}

TEST(ProductsInBf16, HaveOtherBitsThanFloat32) {
  const Matrix x = random_matrix(64, 100, 1);
  const Matrix weight = random_matrix(47, 100, 2);
  Matrix exact(64, 47);
  Matrix coarse(64, 47);
  linear_rows(x.view(), weight.view(), exact.view(), Into::overwrite);
  linear_rows(x.view(), weight.view(), coarse.view(), Into::overwrite, Precision::bf16);
  EXPECT_FALSE(same_bits(coarse.view().flat(), exact.view().flat()));
}

TEST(ProductsInBf16, AreTheSameChunkByChunkAndAtOnceOnAnyExecutor) {
  constexpr std::size_t rows = 4 * chunk_rows + 70;
  const Matrix x = random_matrix(rows, 100, 1);
  const Matrix weight = random_matrix(47, 100, 2);
  const Matrix grad = random_matrix(rows, 47, 3);
  Matrix at_once = random_matrix(rows, 47, 4);
  const Matrix start = copy_of(at_once.view());
  linear_rows(x.view(), weight.view(), at_once.view(), Into::add, Precision::bf16);
  Matrix grad_at_once(rows, 100);
  linear_backward_rows(grad.view(), weight.view(), grad_at_once.view(), Into::overwrite,
                       Precision::bf16);
  GrowBuffer<float> partials;
  InlineExecutor one;
  Matrix serial(47, 100);
  weight_gradient(one, grad.view(), x.view(), partials, serial.view(), Precision::bf16);

  for (const unsigned threads : {1U, 3U}) {
    ComputePool pool(threads);
    Matrix y = copy_of(start.view());
    Matrix grad_x(rows, 100);
    for_each_chunk(pool, rows, [&](std::size_t first, std::size_t count) {
      linear_rows(x.view().slice(first, count), weight.view(), y.view().slice(first, count),
                  Into::add, Precision::bf16);
      linear_backward_rows(grad.view().slice(first, count), weight.view(),
                           grad_x.view().slice(first, count), Into::overwrite, Precision::bf16);
    });
    Matrix parallel(47, 100);
    weight_gradient(pool, grad.view(), x.view(), partials, parallel.view(), Precision::bf16);

    EXPECT_TRUE(same_bits(y.view().flat(), at_once.view().flat())) << threads;
    EXPECT_TRUE(same_bits(grad_x.view().flat(), grad_at_once.view().flat())) << threads;
    EXPECT_TRUE(same_bits(parallel.view().flat(), serial.view().flat())) << threads;
  }
}

TEST(ProductsInBf16, NothingIsLeftOfNoRows) {
  Matrix none(0, 4);
  Matrix grad_weight = random_matrix(4, 4, 1);
  GrowBuffer<float> partials;
  InlineExecutor executor;
  weight_gradient(executor, none.view(), none.view(), partials, grad_weight.view(),
                  Precision::bf16);
  linear_rows(none.view(), grad_weight.view(), none.view(), Into::add, Precision::bf16);
  EXPECT_EQ(std::vector<float>(grad_weight.data(), grad_weight.data() + 16),
            std::vector<float>(16, 0.0F));
}

TEST(ForEachChunk, CoversEachRowOnce) {
  InlineExecutor executor;
  for (const std::size_t rows : {0U, 1U, 512U, 513U, 1025U}) {
    std::vector<int> seen(rows, 0);

    for_each_chunk(executor, rows, [&](std::size_t first, std::size_t count) {
      EXPECT_EQ(first % chunk_rows, 0U);
      for (std::size_t i = first; i < first + count; ++i) {
        ++seen[i];
      }
    });

    EXPECT_EQ(seen, std::vector<int>(rows, 1));
  }
}

TEST(ColumnSums, AddRowsInOrder) {
  const Matrix x = matrix_of({1, 2, 3, 4, 5, 6}, 3, 2);
  std::vector<float> sums(2, 99.0F);

  column_sums_rows(x.view(), sums);

  EXPECT_EQ(sums, (std::vector<float>{9, 12}));
}

}  // namespace
}  // namespace troupe::nn
