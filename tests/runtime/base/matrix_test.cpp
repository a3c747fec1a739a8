#include "runtime/base/matrix.hpp"

#include "tests/support/expect.hpp"

namespace troupe {
namespace {

TEST(Matrix, IsRowMajorWithoutPadding) {
  Matrix m(3, 5);
  for (std::size_t i = 0; i < 15; ++i) {
    m.view().flat()[i] = static_cast<float>(i);
  }
  EXPECT_EQ(m.view().row(2)[4], 14.0F);
  EXPECT_EQ(m.view().row(1).data(), m.data() + 5);
  EXPECT_EQ(m.view().size(), 15U);
}

TEST(Matrix, ZerosAreZeroEvenInReusedMemory) {
  for (int round = 0; round < 3; ++round) {
    Matrix m = Matrix::zeros(100, 30);
    EXPECT_TRUE(std::ranges::all_of(m.view().flat(), [](float x) { return x == 0.0F; }));
    std::ranges::fill(m.view().flat(), 5.0F);
  }
}

TEST(Matrix, SlicesShareRows) {
  Matrix m = Matrix::zeros(4, 2);
  const MutMatrix slice = m.view().slice(1, 2);
  slice.row(0)[1] = 7;
  const ConstMatrix read = m.view();
  EXPECT_EQ(read.row(1)[1], 7.0F);
  EXPECT_EQ(slice.rows, 2U);
  EXPECT_EQ(m.view().slice(4, 0).size(), 0U);
}

TEST(Matrix, EmptyShapesWork) {
  EXPECT_EQ(Matrix(0, 5).view().size(), 0U);
  EXPECT_EQ(Matrix(5, 0).view().row(3).size(), 0U);
  EXPECT_EQ(Matrix().rows(), 0U);
}

TEST(Matrix, TakesRowsFromASegmentAndGivesThemBack) {
  Matrix m(2, 3);
  std::ranges::fill(m.view().flat(), 4.0F);
  const Segment segment = m.share();
  EXPECT_EQ(static_cast<const void*>(segment.bytes.data()), m.data());

  const Matrix shared = Matrix::of(segment, 3, 2);

  EXPECT_EQ(shared.data(), std::as_const(m).data());
  EXPECT_EQ(shared.view().row(2)[1], 4.0F);
  EXPECT_EQ(shared.share().bytes.data(), segment.bytes.data());
  EXPECT_EQ(Matrix::of({}, 0, 5).view().cols, 5U);
}

TEST(Matrix, CopiesRowsThatAreNotAligned) {
  Matrix m(1, 5);
  std::ranges::fill(m.view().flat(), 4.0F);
  Segment segment = m.share();
  segment.bytes = segment.bytes.subspan(sizeof(float));

  Matrix copy = Matrix::of(segment, 2, 2);

  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copy.data()) % 64, 0U);
  EXPECT_EQ(copy.view().row(1)[1], 4.0F);
}

TEST(MatrixDeathTest, RowsOfASegmentAreNotWrittenTo) {
  Matrix shared = Matrix::of(Matrix::zeros(2, 3).share(), 2, 3);
  EXPECT_DEATH(static_cast<void>(shared.view()), "rows of a segment are read only");
}

TEST(MatrixDeathTest, RowsPastTheEndAreABug) {
  Matrix m(4, 2);
  EXPECT_DEATH(static_cast<void>(m.view().slice(3, 2)), "rows past the end 3 2 4");
}

}  // namespace
}  // namespace troupe
