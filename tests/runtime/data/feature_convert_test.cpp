#include "runtime/data/feature_convert.hpp"

#include "runtime/graph/half.hpp"
#include "runtime/graph/normalize.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace troupe {
namespace {

using namespace testing;

class Converting : public ::testing::Test {
 protected:
  /// The bytes of all rows, given `piece` rows at a time.
  Result<std::vector<std::byte>> convert(const std::vector<float>& rows, std::uint64_t cols,
                                         const FeatureOptions& options, std::size_t piece = 1000) {
    TROUPE_ASSIGN_OR_RETURN(
        auto converter, FeatureConverter::create("features of a", {DType::f32, cols, 1.0F}, options,
                                                 scratch_.path()));
    std::vector<std::byte> all;
    const auto take = [&](std::span<const std::byte> bytes) {
      all.insert(all.end(), bytes.begin(), bytes.end());
      return ok_status();
    };
    const std::span<const float> values(rows);
    for (std::size_t at = 0; at < rows.size(); at += piece * cols) {
      TROUPE_RETURN_IF_ERROR(
          converter.add(values.subspan(at, std::min(piece * cols, rows.size() - at)), take));
    }
    TROUPE_RETURN_IF_ERROR(converter.finish(take));
    return all;
  }
  template <class T>
  std::vector<T> as(const std::vector<std::byte>& bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  ScratchFolder scratch_;
};

TEST_F(Converting, EveryHalfComesBackFromFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = f16_to_float(half);
    if (!std::isnan(value)) {
      ASSERT_EQ(float_to_f16(value), half) << bits;
    } else {
      ASSERT_TRUE(std::isnan(f16_to_float(float_to_f16(value)))) << bits;
    }
  }
}

TEST_F(Converting, HalvesRoundToTheNearestAndTiesToEven) {
  for (std::uint32_t bits = 0; bits + 1 < 0x7C00; ++bits) {
    const auto low = f16_to_float(static_cast<std::uint16_t>(bits));
    const auto high = f16_to_float(static_cast<std::uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;  // exact in float32
    ASSERT_EQ(float_to_f16(middle), (bits & 1U) != 0 ? bits + 1 : bits);
    ASSERT_EQ(float_to_f16(std::nextafter(middle, 0.0F)), bits);
    ASSERT_EQ(float_to_f16(std::nextafter(middle, 1e9F)), bits + 1);
  }
  EXPECT_EQ(float_to_f16(65519.996F), 0x7BFF);
  EXPECT_EQ(float_to_f16(65520.0F), 0x7C00);
  EXPECT_EQ(float_to_f16(-0.0F), 0x8000);
}

TEST_F(Converting, BfloatsRoundToTheNearestAndTiesToEven) {
  EXPECT_EQ(float_to_bf16(1.0F), 0x3F80);
  EXPECT_EQ(float_to_bf16(1.00390625F), 0x3F80) << "a tie, to even";
  EXPECT_EQ(float_to_bf16(1.01171875F), 0x3F82) << "a tie, to even";
  EXPECT_EQ(float_to_bf16(std::nextafter(1.00390625F, 2.0F)), 0x3F81);
  EXPECT_EQ(float_to_bf16(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_TRUE(std::isnan(bf16_to_float(float_to_bf16(NAN))));
}

TEST_F(Converting, ValuesThatTheDtypeCannotHoldAreNamed) {
  const auto invalid = Errc::invalid_argument;
  const std::vector<float> rows{0, 1, 2, 300, 4, 5};
  EXPECT_ERROR(convert(rows, 2, {DType::u8, Normalize::none}), invalid,
               "features of a: row 1, column 1: expected an integer from 0 to 255 that u8 holds, "
               "got 300");
  EXPECT_ERROR(convert({0, 0.5F}, 1, {DType::u8, Normalize::none}), invalid, "row 1, column 0");
  EXPECT_ERROR(convert({0, 1, 2, -1}, 1, {DType::u8, Normalize::none}, 1), invalid, "row 3");
  EXPECT_ERROR(convert({0, 70000}, 1, {DType::f16, Normalize::none}), invalid,
               "row 1, column 0: expected a number that f16 holds, got 70000");
  EXPECT_ERROR(convert({3.4e38F}, 1, {DType::bf16, Normalize::none}), invalid, "bf16 holds");
  EXPECT_ERROR(convert(rows, 2, {DType::u8, Normalize::row}), invalid, "normalised");
}

TEST_F(Converting, U8KeepsIntegers) {
  ASSERT_OK_AND_ASSIGN(const auto bytes, convert({0, 255, 7}, 1, {DType::u8, Normalize::none}));
  EXPECT_EQ(as<std::uint8_t>(bytes), (std::vector<std::uint8_t>{0, 255, 7}));
}

TEST_F(Converting, RowsAreDividedByTheirSumWhereItIsAboveOne) {
  ASSERT_OK_AND_ASSIGN(const auto bytes,
                       convert({1, 3, 0.25F, 0.25F, -5, 1}, 2, {std::nullopt, Normalize::row}));
  EXPECT_EQ(as<float>(bytes), (std::vector<float>{0.25F, 0.75F, 0.25F, 0.25F, -5, 1}));
}

TEST_F(Converting, ColumnsAreNormalisedByTheStatisticsOfTheStoreWhateverThePieces) {
  std::vector<float> rows;
  for (int i = 0; i < 3 * 2000; ++i) {
    rows.push_back(static_cast<float>((i * 7919) % 1000) / 3.0F + static_cast<float>(i % 3));
  }
  ASSERT_OK_AND_ASSIGN(const auto whole, convert(rows, 3, {std::nullopt, Normalize::column}, 2000));
  ASSERT_OK_AND_ASSIGN(const auto pieces, convert(rows, 3, {std::nullopt, Normalize::column}, 7));

  const auto stats = column_stats({{DType::f32, 3, 1.0F}, 2000, Segment::of(std::vector(rows))});
  const ColumnScale scale(stats);
  for (std::size_t at = 0; at < rows.size(); at += 3) {
    scale.apply(std::span(rows).subspan(at, 3));
  }
  EXPECT_EQ(whole, pieces);
  EXPECT_EQ(as<float>(whole), rows);
}

TEST_F(Converting, AConstantColumnBecomesZero) {
  ASSERT_OK_AND_ASSIGN(const auto bytes, convert({5, 5, 5}, 1, {std::nullopt, Normalize::column}));
  EXPECT_EQ(as<float>(bytes), (std::vector<float>{0, 0, 0}));
}

}  // namespace
}  // namespace troupe
