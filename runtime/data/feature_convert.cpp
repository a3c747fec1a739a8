#include "runtime/data/feature_convert.hpp"

#include "runtime/graph/half.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::uint64_t block_values = std::uint64_t{1} << 18;

/// \returns where the first value is that does not fit; values.size() if all do
std::size_t narrow_to_u8(std::span<const float> values, std::byte* out) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = values[i];
    if (!(value >= 0 && value <= 255 && value == std::floor(value))) {
      return i;
    }
    out[i] = static_cast<std::byte>(value);
  }
  return values.size();
}

template <class Narrow>
std::size_t narrow_to_words(std::span<const float> values, std::uint16_t infinite, Narrow narrow,
                            std::byte* out) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t word = narrow(values[i]);
    if ((word & infinite) == infinite) {
      return i;
    }
    std::memcpy(out + 2 * i, &word, sizeof word);
  }
  return values.size();
}

std::size_t narrow_all(std::span<const float> values, DType dtype, std::byte* out) {
  switch (dtype) {
    case DType::u8:
      return narrow_to_u8(values, out);
    case DType::f16:
      return narrow_to_words(values, 0x7C00U, float_to_f16, out);
    case DType::bf16:
      return narrow_to_words(values, 0x7F80U, float_to_bf16, out);
    default: {
      const auto bad =
          std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
      std::memcpy(out, values.data(), values.size_bytes());
      return static_cast<std::size_t>(bad - values.begin());
    }
  }
}

}  // namespace

Result<FeatureConverter> FeatureConverter::create(std::string name, const FeatureInfo& source,
                                                  const FeatureOptions& options,
                                                  const std::filesystem::path& folder) {
  FeatureInfo info = source;
  info.dtype =
      options.dtype.value_or(options.normalize == Normalize::none ? source.dtype : DType::f32);
  FeatureConverter converter(std::move(name), info, options.normalize);
  if (options.normalize == Normalize::column) {
    TROUPE_ASSIGN_OR_RETURN(converter.kept_, ScratchFile::create(folder));
    converter.stats_.emplace(source.cols);
  }
  return converter;
}

Status FeatureConverter::add(std::span<const float> rows, const TakeBytes& take) {
  if (stats_) {
    stats_->add(rows);
    return kept_->append(std::as_bytes(rows));
  }
  if (normalize_ == Normalize::none) {
    return narrow(rows, take);
  }
  rows_.assign(rows.begin(), rows.end());
  for (std::size_t at = 0; at < rows_.size(); at += info_.cols) {
    normalize_row(std::span(rows_).subspan(at, info_.cols));
  }
  return narrow(rows_, take);
}

Status FeatureConverter::for_each_kept(const std::function<Status(std::span<float>)>& take) const {
  const auto row_bytes = info_.cols * sizeof(float);
  const auto rows_at_once = std::max<std::uint64_t>(1, block_values / info_.cols);
  std::vector<float> block;
  for (std::uint64_t at = 0; at < kept_->size(); at += rows_at_once * row_bytes) {
    const auto bytes = std::min(rows_at_once * row_bytes, kept_->size() - at);
    block.resize(bytes / sizeof(float));
    TROUPE_RETURN_IF_ERROR(kept_->read(at, std::as_writable_bytes(std::span(block))));
    TROUPE_RETURN_IF_ERROR(take(block));
  }
  return ok_status();
}

Status FeatureConverter::finish(const TakeBytes& take) {
  if (!stats_) {
    return ok_status();
  }
  stats_->begin_second_pass();
  TROUPE_RETURN_IF_ERROR(for_each_kept([&](std::span<float> rows) {
    stats_->add(rows);
    return ok_status();
  }));
  const ColumnScale scale(stats_->finish());
  TROUPE_RETURN_IF_ERROR(for_each_kept([&](std::span<float> rows) {
    for (std::size_t at = 0; at < rows.size(); at += info_.cols) {
      scale.apply(rows.subspan(at, info_.cols));
    }
    return narrow(rows, take);
  }));
  kept_.reset();
  return ok_status();
}

Status FeatureConverter::narrow(std::span<const float> rows, const TakeBytes& take) {
  bytes_.resize(rows.size() * size_bytes(info_.dtype));
  const auto good = narrow_all(rows, info_.dtype, bytes_.data());
  if (good < rows.size()) {
    return does_not_fit(good, rows[good]);
  }
  narrowed_ += rows.size();
  return take(bytes_);
}

Error FeatureConverter::does_not_fit(std::size_t at, float value) const {
  const auto place = narrowed_ + at;
  const auto* wanted = info_.dtype == DType::u8 ? "an integer from 0 to 255" : "a number";
  return Error(
      Errc::invalid_argument,
      fmt::format("{}: row {}, column {}: expected {} that {} holds, got {}{}\n"
                  "try: --feature-dtype f32",
                  name_, place / info_.cols, place % info_.cols, wanted, to_string(info_.dtype),
                  value, normalize_ == Normalize::none ? "" : ", normalised"));
}

}  // namespace troupe
