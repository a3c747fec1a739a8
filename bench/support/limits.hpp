#pragma once
/// \file limits.hpp
/// What this machine can do at most, measured in the same run as the program: a figure is worth
/// something only beside its limit (design, section 13).
#include "bench/support/measure.hpp"

#include <cstddef>

namespace troupe::bench {

struct Limits {
  std::size_t threads = 1;
  Stats memcpy_gb_s;            ///< bytes copied, 256 MiB per thread
  Stats random_reads_m_s;       ///< independent reads of 4 bytes from 512 MiB, ordinary pages
  Stats random_reads_huge_m_s;  ///< the same from huge pages, as far as the system gives them
};
/// \param threads  together
Limits measure_limits(std::size_t threads);

}  // namespace troupe::bench
