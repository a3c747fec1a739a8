#include "runtime/job/link_owners.hpp"

#include "runtime/job/link_rules.hpp"

namespace troupe {

std::vector<PartId> owners_of_links(const LinkList& links, const GraphInfo& graph,
                                    const PartitionBook& book, EdgeDir dir) {
  std::vector<PartId> owners;
  owners.reserve(links.size());
  for (const LinkGroup& group : links.groups_or_all()) {
    SplitInfo::LinkRole role{.edge_type = group.edge_type};
    role.pairs_of = links.pairs_of();
    const auto type = end_types_of(graph, role);
    for (std::uint64_t i = group.first; i < group.first + group.count; ++i) {
      const auto link = links.at(i);
      owners.push_back(dir == EdgeDir::in ? book.owner(type.destination, link.destination)
                                          : book.owner(type.source, link.source));
    }
  }
  return owners;
}

}  // namespace troupe
