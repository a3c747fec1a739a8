#include "runtime/graph/normalize.hpp"

#include "runtime/base/zeros.hpp"

#include <algorithm>
#include <cstddef>

namespace troupe {
namespace {

/// In order, each addition after the one before. Zeros, which change no sum, are passed over in groups.
double sum_in_order(std::span<const float> row) {
  constexpr std::size_t group = 16;
  double sum = 0;
  for (std::size_t first = 0; first < row.size(); first += group) {
    const auto values = row.subspan(first, std::min(group, row.size() - first));
    if (values.size() == group && are_all_zeros(values.first<group>())) {
      continue;
    }
    for (const float x : values) {
      sum += static_cast<double>(x);
    }
  }
  return sum;
}

}  // namespace

void normalize_row(std::span<float> row) {
  const auto divisor = static_cast<float>(std::max(sum_in_order(row), 1.0));
  for (float& x : row) {
    x /= divisor;
  }
}

ColumnScale::ColumnScale(const ColumnStats& stats) {
  for (std::size_t i = 0; i < stats.mean.size(); ++i) {
    mean_.push_back(static_cast<float>(stats.mean[i]));
    // In this order a NaN (of a single node) gives the smallest divisor.
    divisor_.push_back(std::max(1e-6F, static_cast<float>(stats.sd[i])));
  }
}

void ColumnScale::apply(std::span<float> row) const {
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] = (row[i] - mean_[i]) / divisor_[i];
  }
}

}  // namespace troupe
