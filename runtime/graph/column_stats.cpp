#include "runtime/graph/column_stats.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {
namespace {

constexpr std::uint64_t chunk_rows = 512;

/// Hands out all rows in order as float32, twice.
template <class T, class Decode>
ColumnStats stats_of(const FeatureTable& table, Decode decode) {
  const auto values = table.data.as<T>();
  const auto chunk = chunk_rows * table.info.cols;
  std::vector<float> rows;
  ColumnStatsBuilder builder(table.info.cols);
  const auto add_all = [&] {
    for (std::uint64_t begin = 0; begin < values.size(); begin += chunk) {
      const auto some =
          values.subspan(begin, std::min<std::uint64_t>(chunk, values.size() - begin));
      rows.resize(some.size());
      std::ranges::transform(some, rows.begin(), decode);
      builder.add(rows);
    }
  };
  add_all();
  builder.begin_second_pass();
  add_all();
  return builder.finish();
}

}  // namespace

ColumnStatsBuilder::ColumnStatsBuilder(std::uint64_t cols)
    : cols_(cols), partial_(cols, 0.0), total_(cols, 0.0) {}

void ColumnStatsBuilder::add(std::span<const float> rows) {
  for (std::size_t at = 0; at < rows.size(); at += cols_) {
    add_row(rows.data() + at);
    if (++rows_ % chunk_rows == 0) {
      close_chunk();
    }
  }
}

void ColumnStatsBuilder::add_row(const float* row) {
  if (!second_) {
    for (std::size_t col = 0; col < cols_; ++col) {
      partial_[col] += static_cast<double>(row[col]);
    }
    return;
  }
  for (std::size_t col = 0; col < cols_; ++col) {
    const double deviation = static_cast<double>(row[col]) - mean_[col];
    partial_[col] += deviation * deviation;
  }
}

void ColumnStatsBuilder::close_chunk() {
  for (std::size_t col = 0; col < cols_; ++col) {
    total_[col] += partial_[col];
  }
  std::ranges::fill(partial_, 0.0);
}

void ColumnStatsBuilder::begin_second_pass() {
  close_chunk();
  mean_ = total_;
  for (auto& mean : mean_) {
    mean /= static_cast<double>(std::max<std::uint64_t>(rows_, 1));
  }
  std::ranges::fill(total_, 0.0);
  rows_ = 0;
  second_ = true;
}

ColumnStats ColumnStatsBuilder::finish() {
  close_chunk();
  ColumnStats stats{std::move(mean_), std::move(total_)};
  for (auto& sd : stats.sd) {
    sd = rows_ > 1 ? std::sqrt(sd / (static_cast<double>(rows_) - 1.0)) : 0.0;
  }
  return stats;
}

ColumnStats column_stats(const FeatureTable& features) {
  switch (features.info.dtype) {
    case DType::u8: {
      const auto scale = features.info.scale;
      return stats_of<std::uint8_t>(
          features, [scale](std::uint8_t value) { return static_cast<float>(value) * scale; });
    }
    case DType::f16:
      return stats_of<std::uint16_t>(features, f16_to_float);
    case DType::bf16:
      return stats_of<std::uint16_t>(features, bf16_to_float);
    default:
      return stats_of<float>(features, [](float value) { return value; });
  }
}

}  // namespace troupe
