#pragma once
/// \file requests.hpp
/// How many requests a second a holder answers, asked beside it and over a simulated link without
/// latency: everything is encoded, framed and decoded, nothing waits for a wire.
#include "bench/support/bench_data.hpp"
#include "bench/support/measure.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::bench {

struct RequestRate {
  std::string kind;  ///< "sample" (10 neighbours each) or "rows"
  std::uint64_t nodes = 0;
  bool linked = false;
  Stats per_second;
};
/// Each kind for 1 and for 1024 nodes, local and linked, 64 requests in flight.
/// \errors those of the holder
Result<std::vector<RequestRate>> measure_requests(const BenchData& data, std::uint32_t threads);

}  // namespace troupe::bench
