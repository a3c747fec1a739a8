#pragma once
/// \file learned_rows.hpp
/// Rows that holders train and read, beside a plain loop over the same rows.
#include "bench/support/measure.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::bench {

struct LearnedRowsOptions {
  std::uint64_t rows = 10'000'000;  ///< of all holders
  std::uint32_t dim = 64;
  std::uint32_t holders = 2;
  std::uint64_t rows_of_a_step = 100'000;  ///< in each holder, of two ranks together
  std::size_t threads = 2;
  int steps = 20;
};

struct LearnedRowsCost {
  LearnedRowsOptions options;
  Stats
      applied_m_s;  ///< rows whose gradients were added, divided and applied with Adagrad, millions a second
  Stats read_m_s;  ///< rows copied into an answer, by one thread of each holder in turn
  /// The same rows and their state read and written in place, in ascending order, without a root or a division.
  Stats plain_m_s;
  double share_of_plain = 0;
};

/// The holders' tables one after the other, each with all threads. Takes 8 · dim bytes a row, and 8.
LearnedRowsCost measure_learned_rows(const LearnedRowsOptions& options);

}  // namespace troupe::bench
