#pragma once
/// \file column_stats.hpp
/// Mean and standard deviation of feature columns, with the same bits whatever the partitioning or
/// the threads: float64, in chunks of 512 rows in original-id order, partial sums added in chunk
/// order (design, section 4).
#include "runtime/graph/feature_table.hpp"

namespace troupe {

/// Values count as the trainer sees them: u8 times scale in float32, f16 and bf16 widened. Two
/// passes: means, then squared deviations / (rows - 1). Without rows both are 0; with one row sd is
/// 0. \requires rows in original-id order
ColumnStats column_stats(const FeatureTable& features);

/// IEEE half precision and bfloat16 words as float32; exact.
float f16_to_float(std::uint16_t bits) noexcept;
float bf16_to_float(std::uint16_t bits) noexcept;

}  // namespace troupe
