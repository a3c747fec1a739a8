#include "runtime/nn/ops/dropout.hpp"

#include "tests/runtime/nn/nn_support.hpp"

#include <gtest/gtest.h>

#include <bit>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

DropoutContext context() {
  return {.training = true,
          .job_seed = 42,
          .stream_epoch = 3,
          .batch = (std::uint64_t{5} << 32) + 7,
          .node_type = 2};
}

std::vector<OriginalId> ids_from(std::uint64_t first, std::size_t n) {
  std::vector<OriginalId> ids;
  for (std::size_t i = 0; i < n; ++i) {
    ids.push_back(OriginalId{first + 3 * i});
  }
  return ids;
}

Matrix ones(std::size_t rows, std::size_t cols) {
  return matrix_of(std::vector<float>(rows * cols, 1.0F), rows, cols);
}

TEST(Dropout, UsesTheWordOfTheColumnInTheStreamOfTheId) {
  const float p = 0.3F;
  const std::vector<OriginalId> ids = ids_from((std::uint64_t{1} << 40) + 11, 5);
  Matrix x = random_matrix(5, 131, 1);
  const Matrix before = copy_of(x.view());
  const auto block = philox4x32_10({(5U << 24) | (2U << 8) | 1U, 3, 7, 5}, {42, 0});
  const PhiloxKey key = {block[0], block[1]};

  dropout_rows(dropout_mask(context(), 1, p), ids, x.view());

  for (std::size_t r = 0; r < 5; ++r) {
    for (std::uint32_t c = 0; c < 131; ++c) {
      const std::uint64_t id = raw(ids[r]);
      const auto words = philox4x32_10(
          {static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32), c / 4, 0}, key);
      const bool keep = unit_float(words[c % 4]) >= p;
      const float expected = keep ? before.view().row(r)[c] * (1.0F / (1.0F - p)) : 0.0F;
      ASSERT_EQ(x.view().row(r)[c], expected) << "row " << r << " column " << c;
    }
  }
}

TEST(Dropout, ZerosAmongTheColumnsChangeNothingElse) {
  const DropoutMask mask = dropout_mask(context(), 1, 0.4F);
  const auto ids = ids_from(9, 4);
  const std::size_t cols = 700;
  Matrix dense = ones(4, cols);
  dropout_rows(mask, ids, dense.view());
  for (const std::size_t step :
       {1U, 5U, 63U, 64U, 65U, 129U, 650U}) {  // between columns that are not zeros
    Matrix sparse = matrix_of(std::vector<float>(4 * cols, 0.0F), 4, cols);
    for (std::size_t c = step - 1; c < cols; c += step) {
      for (std::size_t r = 0; r < 4; ++r) {
        sparse.view().row(r)[c] = r % 2 == 0 ? 1.0F : -0.0F;
      }
    }
    const Matrix before = copy_of(sparse.view());

    dropout_rows(mask, ids, sparse.view());

    for (std::size_t r = 0; r < 4; ++r) {
      for (std::size_t c = 0; c < cols; ++c) {
        const bool kept = dense.view().row(r)[c] > 0;
        const float x = before.view().row(r)[c];
        const float expected = kept ? x * mask.scale : 0.0F;
        const float found = sparse.view().row(r)[c];
        ASSERT_EQ(std::bit_cast<std::uint32_t>(found), std::bit_cast<std::uint32_t>(expected))
            << "row " << r << " column " << c << " step " << step;
      }
    }
  }
}

TEST(Dropout, MaskOfARowDoesNotDependOnItsPlace) {
  const DropoutMask mask = dropout_mask(context(), 1, 0.5F);
  const auto ids = ids_from(100, 8);
  Matrix all = ones(8, 70);
  Matrix one = ones(1, 70);

  dropout_rows(mask, ids, all.view());
  dropout_rows(mask, std::span(ids).subspan(6, 1), one.view());

  EXPECT_TRUE(same_bits(one.view().flat(), all.view().row(6)));
}

TEST(Dropout, RowsKnownByTheirNumbersHaveTheMasksOfTheseIds) {
  for (const std::size_t cols : {1U, 2U, 3U, 4U, 5U, 8U, 13U, 131U}) {
    for (const std::size_t rows : {1U, 31U, 32U, 33U, 70U}) {
      const DropoutMask mask = dropout_mask(context(), 1, 0.4F);
      const std::uint64_t first = (std::uint64_t{1} << 32) - 40;  // and beyond
      std::vector<OriginalId> ids;
      for (std::size_t r = 0; r < rows; ++r) {
        ids.push_back(OriginalId{first + r});
      }
      Matrix expected = random_matrix(rows, cols, 1);
      Matrix x = copy_of(expected.view());

      dropout_rows(mask, ids, expected.view());
      dropout_rows_from(mask, first, x.view());

      ASSERT_TRUE(same_bits(x.view().flat(), expected.view().flat())) << rows << " x " << cols;
    }
  }
}

TEST(Dropout, KeepsTheExpectedShare) {
  for (const float p : {0.1F, 0.5F, 0.9F}) {
    Matrix x = ones(200, 100);

    dropout_rows(dropout_mask(context(), 1, p), ids_from(0, 200), x.view());

    const auto kept = std::ranges::count_if(x.view().flat(), [](float v) { return v != 0.0F; });
    const double sd = std::sqrt(20000.0 * p * (1 - p));
    EXPECT_NEAR(static_cast<double>(kept), 20000.0 * (1 - p), 4 * sd);
  }
}

TEST(Dropout, LayersEpochsBatchesAndTypesHaveMasksOfTheirOwn) {
  const auto mask_bits = [](const DropoutContext& c, std::uint32_t layer) {
    Matrix x = ones(4, 64);
    dropout_rows(dropout_mask(c, layer, 0.5F), ids_from(0, 4), x.view());
    return std::vector<float>(x.data(), x.data() + x.view().size());
  };
  std::vector<std::vector<float>> masks = {mask_bits(context(), 1), mask_bits(context(), 2)};
  DropoutContext other = context();
  other.stream_epoch = 4;
  masks.push_back(mask_bits(other, 1));
  other = context();
  other.batch = 8;
  masks.push_back(mask_bits(other, 1));
  other = context();
  other.node_type = 0;
  masks.push_back(mask_bits(other, 1));
  other = context();
  other.job_seed = 43;
  masks.push_back(mask_bits(other, 1));

  for (const auto& [type, layer] :
       std::vector<std::pair<std::uint16_t, std::uint32_t>>{{2, 1}, {0, 1}, {2, 2}}) {
    Matrix x = ones(4, 64);
    dropout_rows(attention_mask(context(), type, layer, 0.5F), ids_from(0, 4), x.view());
    masks.emplace_back(x.data(), x.data() + x.view().size());
  }

  std::ranges::sort(masks);
  EXPECT_EQ(std::ranges::adjacent_find(masks), masks.end());
}

TEST(Dropout, DoesNothingWhenNotTrainingOrWithoutProbability) {
  DropoutContext evaluating = context();
  evaluating.training = false;
  Matrix x = random_matrix(3, 9, 1);
  const Matrix before = copy_of(x.view());

  dropout_rows(dropout_mask(evaluating, 1, 0.5F), {}, x.view());
  dropout_rows(dropout_mask(context(), 1, 0.0F), {}, x.view());
  dropout_rows_from(attention_mask(evaluating, 0, 1, 0.5F), 0, x.view());

  EXPECT_TRUE(same_bits(x.view().flat(), before.view().flat()));
}

TEST(Dropout, DropsNanToo) {
  Matrix x = matrix_of(std::vector<float>(64, NAN), 1, 64);

  dropout_rows(dropout_mask(context(), 1, 0.5F), ids_from(0, 1), x.view());

  EXPECT_GT(std::ranges::count(x.view().flat(), 0.0F), 0);
}

}  // namespace
}  // namespace troupe::nn
