#include "runtime/graph/normalize.hpp"

#include <algorithm>

namespace troupe {

void normalize_row(std::span<float> row) {
  double sum = 0;
  for (const float x : row) {
    sum += static_cast<double>(x);
  }
  const auto divisor = static_cast<float>(std::max(sum, 1.0));
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
