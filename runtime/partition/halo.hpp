#pragma once
/// \file halo.hpp
/// The nodes around a part that others own.
#include "runtime/partition/relabel.hpp"
#include "runtime/partition/whole_lists.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

/// What a part keeps of other parts' nodes, besides the ids of those that its lists name.
struct HaloOptions {
  std::uint32_t hops = 0;  ///< whole neighbour lists of the nodes so many hops away
  bool features = false;   ///< features of all nodes that its lists name
};

/// Nodes of one type that a part's lists name and other parts own.
struct HaloNodes {
  std::vector<std::uint64_t> ids;  ///< global, ascending
  std::vector<std::uint8_t> hops;  ///< how far from the part's own nodes, from 1
};

/// The lists of a whole graph that its parts keep, by edge type; `out` and `in` may be empty.
struct KeptLists {
  std::vector<WholeLists> in;
  std::vector<WholeLists> out;
};

/// Breadth-first search from the nodes that a part owns: whoever lies at most `hops` + 1 away, by the
/// lists kept.
/// \requires hops < 255
/// \cost  a bit per node of the graph; the lists of what is found within `hops`
std::vector<HaloNodes> find_halo(const GraphInfo& info, const Relabelling& relabelling,
                                 const KeptLists& lists, PartId part, std::uint32_t hops);

}  // namespace troupe
