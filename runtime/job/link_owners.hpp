#pragma once
/// \file link_owners.hpp
/// Where links lie in a partitioned graph.
#include "runtime/base/ids.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/partition/partition_book.hpp"

#include <vector>

namespace troupe {

/// [links] the part that has the list of each: that of its destination with `EdgeDir::in`, else of its source.
std::vector<PartId> owners_of_links(const LinkList& links, const GraphInfo& graph,
                                    const PartitionBook& book, EdgeDir dir);

}  // namespace troupe
