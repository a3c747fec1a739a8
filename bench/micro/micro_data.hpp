#pragma once
/// \file micro_data.hpp
/// The graph of the micro benchmarks: an R-MAT graph of 300,000 nodes and 15.5 million edges, made
/// in the temporary folder at the first run, or the partitioned store that TROUPE_BENCH_STORE names.
#include "bench/support/bench_data.hpp"

namespace troupe::bench {

/// Made or opened at the first call. Ends the program where that fails: there is nothing to measure.
const BenchData& micro_data();

}  // namespace troupe::bench
