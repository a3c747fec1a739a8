#pragma once
/// \file column_stats.hpp
/// Mean and standard deviation of feature columns, with the same bits whatever the partitioning or
/// the threads: float64, in chunks of 512 rows in original-id order, partial sums added in chunk
/// order (design, section 4).
#include "runtime/graph/feature_table.hpp"
#include "runtime/graph/half.hpp"

#include <span>
#include <vector>

namespace troupe {

/// Values count as the trainer sees them: u8 times scale in float32, f16 and bf16 widened. Two
/// passes: means, then squared deviations / (rows - 1). Without rows both are 0; with one row sd is
/// 0. \requires rows in original-id order
ColumnStats column_stats(const FeatureTable& features);

/// The same for rows that come piece by piece.
/// Lifecycle: add() all rows; begin_second_pass(); add() all again; finish()
class ColumnStatsBuilder {
 public:
  explicit ColumnStatsBuilder(std::uint64_t cols);
  /// \requires whole rows
  void add(std::span<const float> rows);
  void begin_second_pass();
  ColumnStats finish();

 private:
  void add_row(const float* row);
  void close_chunk();

  std::size_t cols_;
  bool second_ = false;
  std::uint64_t rows_ = 0;       ///< of this pass
  std::vector<double> partial_;  ///< of the chunk under way
  std::vector<double> total_;
  std::vector<double> mean_;
};

}  // namespace troupe
