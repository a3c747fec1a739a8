#include "runtime/nn/ops/aggregate.hpp"

#include "runtime/nn/ops/linear.hpp"
#include "tests/runtime/nn/nn_support.hpp"

#include <gtest/gtest.h>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

TEST(Aggregate, MaxGivesTheGradientToTheFirstOfTiedEdges) {
  const OwnedBlock block = golden_block("layers/small");
  const Matrix x = golden_matrix("layers/max_ties/x");
  const Matrix grad_out = golden_matrix("layers/max_ties/grad_out");
  Matrix out(block.num_dst, x.cols());
  Matrix grad_x(block.num_src, x.cols());
  std::vector<std::uint32_t> argmax(out.view().size());
  EdgesBySource by_source;

  aggregate_rows(Aggregator::max, block.view(), 0, x.view(), out.view(), argmax);
  by_source.build(block.view());
  aggregate_backward_rows(Aggregator::max, by_source, 0, grad_out.view(), argmax, grad_x.view());

  expect_golden(out.view(), "layers/max_ties/out", 1e-5);
  expect_golden(grad_x.view(), "layers/max_ties/grad_x_first", 1e-5);
}

// 4 destinations, 5 sources: 0 <- {4, 1, 4}, 1 <- {}, 2 <- {2}, 3 <- {0, 4}.
const OwnedBlock small{
    .num_dst = 4, .num_src = 5, .offsets = {0, 3, 3, 4, 6}, .sources = {4, 1, 4, 2, 0, 4}};

TEST(Aggregate, MeanSumAndMaxOfAHandMadeBlock) {
  const Matrix x = matrix_of({1, 2, 3, 4, 8}, 5, 1);
  const auto aggregate = [&](Aggregator how) {
    Matrix out(4, 1);
    aggregate_rows(how, small.view(), 0, x.view(), out.view(), {});
    return std::vector<float>(out.data(), out.data() + 4);
  };

  EXPECT_EQ(aggregate(Aggregator::sum), (std::vector<float>{18, 0, 3, 9}));
  EXPECT_EQ(aggregate(Aggregator::mean), (std::vector<float>{6, 0, 3, 4.5}));
  EXPECT_EQ(aggregate(Aggregator::max), (std::vector<float>{8, 0, 3, 8}));
}

TEST(Aggregate, MaxOfNegativesIsNotZeroAndEmptyRowsNameNoEdge) {
  const Matrix x = matrix_of({-1, -2, -3, -4, -8}, 5, 1);
  Matrix out(4, 1);
  std::vector<std::uint32_t> argmax(4);

  aggregate_rows(Aggregator::max, small.view(), 0, x.view(), out.view(), argmax);

  EXPECT_EQ(std::vector<float>(out.data(), out.data() + 4), (std::vector<float>{-2, 0, -3, -1}));
  EXPECT_EQ(argmax, (std::vector<std::uint32_t>{1, no_edge, 3, 4}));
}

TEST(EdgesBySource, KeepsEdgeOrderWithinASource) {
  EdgesBySource by_source;

  by_source.build(small.view());

  const auto list = [](auto span) { return std::vector<std::uint32_t>(span.begin(), span.end()); };
  EXPECT_EQ(list(by_source.offsets()), (std::vector<std::uint32_t>{0, 1, 2, 3, 3, 6}));
  EXPECT_EQ(list(by_source.destinations()), (std::vector<std::uint32_t>{3, 0, 2, 0, 0, 3}));
  EXPECT_EQ(list(by_source.edges()), (std::vector<std::uint32_t>{4, 1, 3, 0, 2, 5}));
}

TEST(EdgesBySource, WorksForBlocksInTheMiddleOfABatchAndWhenReused) {
  EdgesBySource by_source;
  by_source.build(random_block(100, 300, 9, 1).view());
  const std::vector<std::uint32_t> sources = {9, 9, 9,
                                              1, 0, 1};  // the first three belong to another hop
  const std::vector<std::uint32_t> offsets = {3, 5, 6};
  const LayerBlock block{.num_dst = 2, .num_src = 2, .offsets = offsets, .sources = sources};

  by_source.build(block);

  EXPECT_EQ(by_source.num_src(), 2U);
  EXPECT_TRUE(std::ranges::equal(by_source.edges(), std::vector<std::uint32_t>{4, 3, 5}));
  EXPECT_TRUE(std::ranges::equal(by_source.destinations(), std::vector<std::uint32_t>{0, 0, 1}));
  EXPECT_TRUE(std::ranges::equal(by_source.inverse_degree(), std::vector<float>{0.5F, 1.0F}));
}

class EachAggregator : public ::testing::TestWithParam<Aggregator> {};

TEST_P(EachAggregator, BackwardIsTheTransposeOfForward) {
  // <A x, g> = <x, A^T g>; for max, with A fixed by x.
  for (const std::size_t cols : {1U, 7U, 16U, 47U}) {
    const OwnedBlock block = random_block(60, 150, 12, cols);
    const Matrix x = random_matrix(150, cols, 1);
    const Matrix grad = random_matrix(60, cols, 2);
    Matrix out(60, cols);
    Matrix grad_x(150, cols);
    std::vector<std::uint32_t> argmax(GetParam() == Aggregator::max ? 60 * cols : 0);
    EdgesBySource by_source;

    aggregate_rows(GetParam(), block.view(), 0, x.view(), out.view(), argmax);
    by_source.build(block.view());
    aggregate_backward_rows(GetParam(), by_source, 0, grad.view(), argmax, grad_x.view());

    const auto dot = [](ConstMatrix a, ConstMatrix b) {
      double sum = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        sum += static_cast<double>(a.data[i]) * b.data[i];
      }
      return sum;
    };
    EXPECT_NEAR(dot(out.view(), grad.view()), dot(x.view(), grad_x.view()), 1e-4);
  }
}

TEST_P(EachAggregator, PiecesGiveTheBitsOfTheWhole) {
  const OwnedBlock block = random_block(60, 150, 12, 5);
  const Matrix x = random_matrix(150, 9, 1);
  const Matrix grad = random_matrix(60, 9, 2);
  std::vector<std::uint32_t> argmax(60 * 9);
  Matrix whole(60, 9);
  Matrix grad_x(150, 9);
  EdgesBySource by_source;
  by_source.build(block.view());
  aggregate_rows(GetParam(), block.view(), 0, x.view(), whole.view(), argmax);
  aggregate_backward_rows(GetParam(), by_source, 0, grad.view(), argmax, grad_x.view());

  Matrix piece(23, 9);
  aggregate_rows(GetParam(), block.view(), 31, x.view(), piece.view(), {});
  Matrix grad_piece(23, 9);
  aggregate_backward_rows(GetParam(), by_source, 31, grad.view(), argmax, grad_piece.view());

  EXPECT_TRUE(same_bits(piece.view().flat(), whole.view().slice(31, 23).flat()));
  EXPECT_TRUE(same_bits(grad_piece.view().flat(), grad_x.view().slice(31, 23).flat()));
}

INSTANTIATE_TEST_SUITE_P(All, EachAggregator,
                         ::testing::Values(Aggregator::mean, Aggregator::max, Aggregator::sum));

TEST(AggregateDeathTest, StopsOnAnEdgeThatLeavesTheBlock) {
  OwnedBlock block = small;
  block.sources[2] = 5;
  const Matrix x = random_matrix(5, 2, 1);
  Matrix out(4, 2);

  EXPECT_DEATH(aggregate_rows(Aggregator::mean, block.view(), 0, x.view(), out.view(), {}),
               "edge outside its block");
}

}  // namespace
}  // namespace troupe::nn
