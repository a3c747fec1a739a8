#pragma once
/// \file edges_as_links.hpp
/// What a job trains on without a split of links: all edges of a type, or nodes that walks begin at.
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"

#include <span>
#include <vector>

namespace troupe {

/// The types of the job's training links where these are all edges, or walks from all nodes; nothing where
/// it has others.
/// \errors invalid_argument: no such type, one twice, or several and none named
Result<std::vector<EdgeTypeId>> edges_to_learn(const Job& job, const GraphInfo& graph);

/// Role whose links are all edges of types, as info() of a store counts them.
SplitInfo::LinkRole role_of_edges(const GraphInfo& graph, const std::vector<EdgeTypeId>& types);

/// The edges of types, type by type, each in order of original source and destination, parallel ones too.
/// Every process makes the list from the lists of all parts.
/// \errors those of loading parts and of locate_nodes()
/// \cost   4 bytes an edge (8 where destinations are more than 2^32), 16 a source with edges and 8 a node;
///   16 a node more while it is made
Result<LinkList> edges_as_links(const PartitionedStore& store, std::span<const EdgeTypeId> types);

/// Links whose labels are numbers of edge types, as a list with a group of each; the labels are left out.
/// \param types  [relations]
/// \cost   8 bytes a link, and those of times
LinkList links_in_groups(const LinkList& links, std::span<const EdgeTypeId> types);

/// A link from each node of a type to itself: pairs of walks from it take its place in batches.
/// \param first_step  edge type that walks begin along
/// Nodes in order of original ids.
/// \errors those of locate_nodes()
/// \cost   8 bytes a node
Result<LinkList> nodes_as_links(const PartitionedStore& store, NodeTypeId type,
                                EdgeTypeId first_step);

}  // namespace troupe
