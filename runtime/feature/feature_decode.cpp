#include "runtime/base/assert.hpp"
#include "runtime/feature/row_collection.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace troupe {
namespace {

/// Stored rows may lie at any address.
template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// IEEE half to single, exact for every value: the exponent is put right by a multiplication, which
/// also handles subnormals.
float from_f16(std::uint16_t half) {
  const std::uint32_t magnitude = (half & 0x7FFFU) << 13;
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const bool special = (half & 0x7C00U) == 0x7C00U;  // infinities and NaN keep the highest exponent
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
  const std::uint32_t bits =
      special ? magnitude | 0x7F800000U : std::bit_cast<std::uint32_t>(scaled);
  return std::bit_cast<float>(bits | sign);
}

float from_bf16(std::uint16_t word) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(word) << 16);
}

template <class Stored, class Convert>
void convert(const std::byte* row, std::span<float> out, Convert to_float) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = to_float(load<Stored>(row + i * sizeof(Stored)));
  }
}

bool decodable(DType dtype) {
  switch (dtype) {
    case DType::u8:
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64:
      return true;
    default:
      return false;
  }
}

Error undecodable(std::string_view what, std::string_view name, DType dtype) {
  return Error(Errc::unimplemented,
               fmt::format("features of {} type \"{}\": expected dtype u8, f16, bf16, f32 or f64, "
                           "got {}",
                           what, name, to_string(dtype)));
}

void to_float32(const FeatureInfo& info, const std::byte* row, std::span<float> out) {
  switch (info.dtype) {
    case DType::u8:
      convert<std::uint8_t>(
          row, out, [scale = info.scale](std::uint8_t v) { return static_cast<float>(v) * scale; });
      break;
    case DType::f16:
      convert<std::uint16_t>(row, out, from_f16);
      break;
    case DType::bf16:
      convert<std::uint16_t>(row, out, from_bf16);
      break;
    case DType::f64:
      convert<double>(row, out, [](double v) { return static_cast<float>(v); });
      break;
    default:  // f32: create() lets no other through
      std::memcpy(out.data(), row, out.size_bytes());
  }
}

}  // namespace

Result<RowDecoder> RowDecoder::create(const NodeTypeInfo& type, Normalize normalize) {
  RowDecoder decoder;
  if (!type.features) {
    return decoder;
  }
  decoder.info_ = *type.features;
  decoder.normalize_ = normalize;
  const auto cols = decoder.info_.cols;
  if (!decodable(decoder.info_.dtype)) {
    return undecodable("node", type.name, decoder.info_.dtype);
  }
  if (normalize != Normalize::column) {
    return decoder;
  }
  if (!type.column_stats || type.column_stats->mean.size() != cols ||
      type.column_stats->sd.size() != cols) {
    return Error(
        Errc::failed_precondition,
        fmt::format("features of node type \"{}\": normalising columns needs statistics of "
                    "{} columns, the store has {}\ntry: import the data again",
                    type.name, cols, type.column_stats ? type.column_stats->mean.size() : 0));
  }
  decoder.scale_ = ColumnScale(*type.column_stats);
  return decoder;
}

Result<RowDecoder> RowDecoder::create(const EdgeTypeInfo& type) {
  RowDecoder decoder;
  if (!type.features) {
    return decoder;
  }
  decoder.info_ = *type.features;
  if (!decodable(decoder.info_.dtype)) {
    return undecodable("edge", type.name, decoder.info_.dtype);
  }
  return decoder;
}

RowDecoder RowDecoder::plain(std::uint64_t cols) {
  RowDecoder decoder;
  decoder.info_ = {.dtype = DType::f32, .cols = cols};
  return decoder;
}

std::size_t RowDecoder::row_bytes() const {
  return info_.row_bytes();
}

void RowDecoder::decode(std::span<const std::byte> row, std::span<float> out) const {
  TROUPE_ASSERT(row.size() == row_bytes() && out.size() == info_.cols, "row bytes, columns",
                row.size(), row_bytes(), out.size(), info_.cols);
  if (out.empty()) {
    return;
  }
  to_float32(info_, row.data(), out);
  if (normalize_ == Normalize::row) {
    normalize_row(out);
  } else if (normalize_ == Normalize::column) {
    scale_.apply(out);
  }
}

}  // namespace troupe
