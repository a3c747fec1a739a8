#pragma once
/// \file metis.hpp
/// METIS (Karypis, Kumar: "A fast and high quality multilevel scheme for partitioning irregular
/// graphs", 1998) as Debian packages it: the best cuts, for graphs that its 32-bit indices hold.
#include "runtime/base/result.hpp"
#include "runtime/partition/adjacency.hpp"
#include "runtime/partition/assign.hpp"
#include "runtime/partition/constraints.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace troupe {

/// An undirected graph as METIS takes it, without loops.
struct WeightedGraph {
  std::vector<std::int32_t> offsets;  ///< [vertices + 1]
  std::vector<std::int32_t> neighbours;
  std::vector<std::int32_t> edge_weights;    ///< one per neighbour
  std::vector<std::int32_t> vertex_weights;  ///< [vertex][constraint]
};

/// Part of every vertex.
/// \param graph  all weights of a constraint and all edges' together at most 2^31 - 1
/// \errors as assign_metis
Result<std::vector<std::uint32_t>> cut_weighted_graph(WeightedGraph& graph, std::size_t constraints,
                                                      const AssignOptions& options);

/// Whether METIS is built in, for a method that needs it.
/// \errors unimplemented: it is not, with a method that needs none
Status check_metis_built(std::string_view method);

/// Whether METIS can count so many: vertices, entries, or a constraint's weight.
/// \param method  "metis" or "multilevel", which cuts a smaller graph with METIS
/// \errors unimplemented: more than 2^31 - 1; with methods that can
Status check_metis_index(std::string_view method, std::uint64_t number, std::string_view what);

/// Part of every vertex. Parallel edges become the weight of one.
/// \errors invalid_argument: objective; volume with recursive bisection; unimplemented: more than
///   2^31 - 1 vertices, entries or weight, or a program built without METIS; out_of_memory; internal
/// \cost 12 bytes per entry and 8 per vertex and constraint, and several times that inside METIS
Result<std::vector<std::uint32_t>> assign_metis(const Adjacency& graph,
                                                const Constraints& constraints,
                                                const AssignOptions& options);

}  // namespace troupe
