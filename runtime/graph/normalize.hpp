#pragma once
/// \file normalize.hpp
/// How rows of features are normalised (design, section 4), while importing or while training.
#include "runtime/graph/graph_info.hpp"

#include <span>
#include <vector>

namespace troupe {

enum class Normalize : std::uint8_t { none, row, column };

/// x / max(sum, 1): the sum in float64 over the columns in order.
void normalize_row(std::span<float> row);

/// (x - mean) / max(sd, 1e-6) in float32.
class ColumnScale {
 public:
  ColumnScale() = default;
  explicit ColumnScale(const ColumnStats& stats);
  /// \requires as many columns as the statistics have
  void apply(std::span<float> row) const;
  /// By column: (x - means) / divisors.
  std::span<const float> means() const { return mean_; }
  std::span<const float> divisors() const { return divisor_; }

 private:
  std::vector<float> mean_;
  std::vector<float> divisor_;
};

}  // namespace troupe
