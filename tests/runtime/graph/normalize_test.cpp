#include "runtime/graph/normalize.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace troupe {
namespace {

/// The definition: one addition after the other.
std::vector<float> slowly_normalized(std::vector<float> row) {
  double sum = 0;
  for (const float x : row) {
    sum += static_cast<double>(x);
  }
  const auto divisor = static_cast<float>(std::max(sum, 1.0));
  for (float& x : row) {
    x /= divisor;
  }
  return row;
}

void expect_normalized(std::vector<float> row, const std::string& what) {
  const auto expected = slowly_normalized(row);
  normalize_row(row);
  for (std::size_t c = 0; c < row.size(); ++c) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(row[c]), std::bit_cast<std::uint32_t>(expected[c]))
        << what << ", column " << c;
  }
}

TEST(NormalizeRow, IsTheDefinitionWhateverTheWidthAndTheShareOfZeros) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> value(-1.0F, 3.0F);
  for (std::size_t cols = 0; cols <= 70; ++cols) {
    for (const unsigned share :
         {0U, 1U, 2U, 9U, 40U, 1000U}) {  // one column in so many is not zero
      std::vector<float> row(cols, 0.0F);
      for (float& x : row) {
        x = share > 0 && random() % share == 0 ? value(random) : 0.0F;
      }
      expect_normalized(row, std::to_string(cols) + " columns, share " + std::to_string(share));
    }
  }
}

TEST(NormalizeRow, IsTheDefinitionForWhatIsNoNumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float odd : {std::nanf(""), infinity, -infinity, -0.0F,
                          std::numeric_limits<float>::denorm_min(), 3e38F}) {
    for (const std::size_t at : {0U, 15U, 16U, 47U, 48U}) {
      std::vector<float> row(49, 0.0F);
      row[at] = odd;
      expect_normalized(row, std::to_string(odd));
      row[20] = 2.5F;
      expect_normalized(row, std::to_string(odd) + " and a number");
    }
  }
}

}  // namespace
}  // namespace troupe
