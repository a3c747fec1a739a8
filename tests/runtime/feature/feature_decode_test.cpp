#include "runtime/feature/row_collection.hpp"
#include "tests/support/expect.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace troupe {
namespace {

NodeTypeInfo type_of(DType dtype, std::uint64_t cols, float scale = 1.0F) {
  NodeTypeInfo type;
  type.name = "paper";
  type.features = FeatureInfo{.dtype = dtype, .cols = cols, .scale = scale};
  return type;
}

template <class T>
std::vector<float> decoded(const NodeTypeInfo& type, const std::vector<T>& row,
                           Normalize normalize = Normalize::none) {
  const auto decoder = RowDecoder::create(type, normalize);
  EXPECT_OK(decoder);
  std::vector<float> out(type.features->cols, -77.0F);
  decoder->decode(std::as_bytes(std::span(row)), out);
  return out;
}

TEST(RowDecoder, ReadsEveryFeatureType) {
  using Row = std::vector<float>;
  EXPECT_EQ(decoded(type_of(DType::f32, 3), std::vector<float>{1, -2.5F, 0}), (Row{1, -2.5F, 0}));
  EXPECT_EQ(decoded(type_of(DType::f64, 2), std::vector<double>{0.1, -1e300}),
            (Row{0.1F, -std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(decoded(type_of(DType::u8, 3, 0.5F), std::vector<std::uint8_t>{0, 1, 255}),
            (Row{0, 0.5F, 127.5F}));
  EXPECT_EQ(decoded(type_of(DType::bf16, 2), std::vector<std::uint16_t>{0x3F80, 0xC040}),
            (Row{1, -3}));
  EXPECT_EQ(
      decoded(type_of(DType::f16, 4), std::vector<std::uint16_t>{0x3C00, 0xC500, 0x7BFF, 0x3555}),
      (Row{1, -5, 65504, 0.333251953125F}));
}

/// The value of a half by its definition.
float half_value(std::uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int fraction = half & 1023;
  const float sign = (half & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 0) {
    return sign * std::ldexp(static_cast<float>(fraction), -24);
  }
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

TEST(RowDecoder, EveryHalfIsExact) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<std::uint16_t>(i);
  }
  const auto values = decoded(type_of(DType::f16, 65536), all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool special = (i & 0x7C00U) == 0x7C00U;
    if (special && (i & 0x3FFU) != 0) {
      EXPECT_TRUE(std::isnan(values[i])) << i;
    } else if (special) {
      EXPECT_EQ(values[i], (i & 0x8000U) != 0 ? -INFINITY : INFINITY);
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(values[i]),
                std::bit_cast<std::uint32_t>(half_value(all[i])))
          << i;
    }
  }
}

TEST(RowDecoder, RowsMayLieAtAnyAddress) {
  std::vector<std::byte> bytes(9);
  const float value = 4.25F;
  std::memcpy(bytes.data() + 1, &value, 4);
  std::memcpy(bytes.data() + 5, &value, 4);
  std::vector<float> out(2);

  RowDecoder::plain(2).decode(std::span(bytes).subspan(1), out);

  EXPECT_EQ(out, (std::vector<float>{4.25F, 4.25F}));
}

TEST(RowDecoder, RowNormalisationDividesByTheSumButNeverByLessThanOne) {
  const auto type = type_of(DType::f32, 3);
  using Row = std::vector<float>;
  EXPECT_EQ(decoded(type, Row{1, 2, 1}, Normalize::row), (Row{0.25F, 0.5F, 0.25F}));
  EXPECT_EQ(decoded(type, Row{0.25F, 0, 0.25F}, Normalize::row), (Row{0.25F, 0, 0.25F}));
  EXPECT_EQ(decoded(type, Row{0, 0, 0}, Normalize::row), (Row{0, 0, 0}));
  EXPECT_EQ(decoded(type, Row{-5, 1, 1}, Normalize::row), (Row{-5, 1, 1}));
}

TEST(RowDecoder, RowSumsAreTakenInDoublePrecision) {
  // In float32 the ones would vanish beside 2^24.
  std::vector<float> row(101, 1.0F);
  row[0] = 0x1p24F;

  const auto out = decoded(type_of(DType::f32, 101), row, Normalize::row);

  EXPECT_EQ(out[1], 1.0F / static_cast<float>(0x1p24 + 100));
}

TEST(RowDecoder, ColumnNormalisationUsesTheStoresStatistics) {
  auto type = type_of(DType::f32, 3);
  type.column_stats = ColumnStats{.mean = {1, 10, 5}, .sd = {2, 0, std::nan("")}};

  const auto out = decoded(type, std::vector<float>{5, 10, 5}, Normalize::column);

  EXPECT_EQ(out, (std::vector<float>{2, 0, 0}));
  EXPECT_EQ(decoded(type, std::vector<float>{1, 11, 5}, Normalize::column)[1], 1.0F / 1e-6F)
      << "a constant column is divided by 1e-6";
}

TEST(RowDecoder, ColumnNormalisationWithoutStatisticsIsRefused) {
  auto type = type_of(DType::f32, 3);
  EXPECT_ERROR(RowDecoder::create(type, Normalize::column), Errc::failed_precondition,
               "statistics of 3 columns, the store has 0");
  type.column_stats = ColumnStats{.mean = {1}, .sd = {1}};
  EXPECT_ERROR(RowDecoder::create(type, Normalize::column), Errc::failed_precondition, "has 1");
}

TEST(RowDecoder, TypesThatAreNoFeaturesAreRefused) {
  for (const DType dtype : {DType::i64, DType::u16, DType::boolean}) {
    EXPECT_ERROR(RowDecoder::create(type_of(dtype, 2), Normalize::none), Errc::unimplemented,
                 "node type \"paper\"");
  }
}

TEST(RowDecoder, ATypeWithoutFeaturesHasNoColumns) {
  ASSERT_OK_AND_ASSIGN(const RowDecoder decoder,
                       RowDecoder::create(NodeTypeInfo{}, Normalize::column));
  EXPECT_EQ(decoder.cols(), 0U);
  EXPECT_EQ(decoder.row_bytes(), 0U);
  decoder.decode({}, {});
}

}  // namespace
}  // namespace troupe
