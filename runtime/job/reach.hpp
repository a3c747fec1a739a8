#pragma once
/// \file reach.hpp
/// Upper bounds of what one batch touches, from fanouts and counts alone.
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

/// The most that one batch can touch, by type.
struct Reach {
  std::vector<std::uint64_t> nodes;
  std::vector<std::uint64_t> edges;
  std::uint64_t asked = 0;  ///< nodes whose neighbours are drawn, over all hops and edge types

  struct Hop {
    std::vector<std::uint64_t> nodes;
    std::vector<std::uint64_t> edges;
  };
  std::vector<Hop> after;  ///< [hops + 1] totals after 0, 1, … hops
};

/// The most seeds that one batch has, by node type: of a list of nodes, or of links with the ends of
/// their negatives.
std::vector<std::uint64_t> seeds_of_batch(const Job& job, const GraphInfo& graph,
                                          const SplitInfo::Role& list);
std::vector<std::uint64_t> seeds_of_batch(const Job& job, const GraphInfo& graph,
                                          const SplitInfo::LinkRole& list);

/// The most pairs of rows that one batch's links and their negatives are.
std::uint64_t pairs_of_batch(const Job& job, std::uint64_t links);

/// \param seeds  of one batch, by node type
Reach reach(const SampleJob& sample, const GraphInfo& graph,
            const std::vector<std::uint64_t>& seeds);

}  // namespace troupe
