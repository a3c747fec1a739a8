#pragma once
/// \file frontier_counts.hpp
/// How much of each hop of sampling went to other hosts.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe {

struct SampledBatch;
struct SampleOptions;

/// Counts by hop, from 0; both lists are as long as hops were counted.
struct FrontierCounts {
  std::vector<std::uint64_t> nodes;   ///< nodes whose neighbours were asked for
  std::vector<std::uint64_t> remote;  ///< of these, from other hosts

  void add(std::size_t hop, std::uint64_t more_nodes, std::uint64_t more_remote) {
    if (hop >= nodes.size()) {
      nodes.resize(hop + 1);
      remote.resize(hop + 1);
    }
    nodes[hop] += more_nodes;
    remote[hop] += more_remote;
  }
  void add(const FrontierCounts& more) {
    for (std::size_t hop = 0; hop < more.nodes.size(); ++hop) {
      add(hop, more.nodes[hop], more.remote[hop]);
    }
  }
  friend bool operator==(const FrontierCounts&, const FrontierCounts&) = default;
};

/// Of a batch that was sampled without help of other hosts. \requires the options it was sampled with
FrontierCounts frontier_of(const SampledBatch& batch, const SampleOptions& options);

}  // namespace troupe
