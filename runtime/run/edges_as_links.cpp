#include "runtime/run/edges_as_links.hpp"

#include "runtime/base/buffer.hpp"
#include "runtime/base/id_list.hpp"
#include "runtime/graph/edges_of_part.hpp"
#include "runtime/job/fanout.hpp"
#include "runtime/job/walk_positives.hpp"
#include "runtime/run/node_request.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using NodesByOriginal = std::vector<NodeId>;  ///< [nodes] the global id of each original one
using Parts = std::vector<std::shared_ptr<const Part>>;

Result<std::shared_ptr<const NodesByOriginal>> all_nodes(const PartitionedStore& store,
                                                         NodeTypeId type) {
  std::vector<OriginalId> ids(store.info().node_types[raw(type)].count);
  for (std::uint64_t id = 0; id < ids.size(); ++id) {
    ids[id] = OriginalId{id};
  }
  TROUPE_ASSIGN_OR_RETURN(auto nodes, locate_nodes(store, type, ids));
  return std::make_shared<const NodesByOriginal>(std::move(nodes));
}

/// [nodes] the original id of each global one.
std::vector<std::uint64_t> original_ids(const NodesByOriginal& nodes) {
  std::vector<std::uint64_t> ids(nodes.size());
  for (std::uint64_t original = 0; original < nodes.size(); ++original) {
    ids[raw(nodes[original])] = original;
  }
  return ids;
}

/// The edges of a type in order of original source and destination, parallel ones too.
class EdgesInOrder : public LinkRows {
 public:
  EdgesInOrder(const Parts& parts, EdgeTypeId type, std::shared_ptr<const NodesByOriginal> sources,
               std::shared_ptr<const NodesByOriginal> destinations)
      : nodes_of_sources_(std::move(sources)),
        nodes_of_destinations_(std::move(destinations)),
        width_bytes_(id_width_bytes(nodes_of_destinations_->size())) {
    const auto source_ids = original_ids(*nodes_of_sources_);
    std::vector<std::uint64_t> next(source_ids.size() + 1);  // edge of each source
    each_edge(parts, type, [&](NodeId source, NodeId) { ++next[source_ids[raw(source)] + 1]; });
    std::partial_sum(next.begin(), next.end(), next.begin());
    destinations_ = Buffer(next.back() * width_bytes_);
    if (width_bytes_ == sizeof(std::uint32_t)) {
      add_edges(parts, type, source_ids, next, destinations_.as<std::uint32_t>());
    } else {
      add_edges(parts, type, source_ids, next, destinations_.as<std::uint64_t>());
    }
  }

  std::uint64_t size() const override { return first_edge_.back(); }
  Link at(std::uint64_t position) const override {
    const auto behind = std::ranges::upper_bound(first_edge_, position);
    const auto source = sources_[static_cast<std::size_t>(behind - first_edge_.begin()) - 1];
    const auto destination = raw(IdSpan(destinations_.bytes(), width_bytes_)[position]);
    return {OriginalId{source}, OriginalId{destination}, (*nodes_of_sources_)[source],
            (*nodes_of_destinations_)[destination]};
  }

 private:
  /// Calls `f(source, destination)` for each edge, in the order of the parts' lists.
  template <class F>
  static void each_edge(const Parts& parts, EdgeTypeId type, const F& f) {
    for (const auto& part : parts) {
      each_edge_of(*part, type, f);
    }
  }

  /// \param source_ids  original ids of global ones
  /// \param next  by original source, where its edges begin; changed to where they end
  template <class IdT>
  void add_edges(const Parts& parts, EdgeTypeId type, std::span<const std::uint64_t> source_ids,
                 std::span<std::uint64_t> next, std::span<IdT> to) {
    const auto destination_ids = original_ids(*nodes_of_destinations_);
    each_edge(parts, type, [&](NodeId source, NodeId destination) {
      to[next[source_ids[raw(source)]]++] = static_cast<IdT>(destination_ids[raw(destination)]);
    });
    std::uint64_t begin = 0;
    for (std::uint64_t source = 0; source < source_ids.size(); ++source) {
      const auto end = next[source];
      if (begin == end) {
        continue;
      }
      sources_.push_back(source);
      first_edge_.push_back(begin);
      std::ranges::sort(to.subspan(begin, end - begin));
      begin = end;
    }
    first_edge_.push_back(begin);
  }

  std::shared_ptr<const NodesByOriginal> nodes_of_sources_;
  std::shared_ptr<const NodesByOriginal> nodes_of_destinations_;
  std::vector<std::uint64_t> sources_;     ///< Original ids of those with edges
  std::vector<std::uint64_t> first_edge_;  ///< [sources with edges + 1]
  std::uint8_t width_bytes_;
  Buffer destinations_;  ///< [edges] original ids of that width
};

/// Several lists of links, one after the other.
class JoinedLinks : public LinkRows {
 public:
  void add(LinkList links) {
    ends_.push_back(size() + links.size());
    lists_.push_back(std::move(links));
  }
  std::uint64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  Link at(std::uint64_t position) const override {
    const auto list =
        static_cast<std::size_t>(std::ranges::upper_bound(ends_, position) - ends_.begin());
    return lists_[list].at(position - (list == 0 ? 0 : ends_[list - 1]));
  }

 private:
  std::vector<LinkList> lists_;
  std::vector<std::uint64_t> ends_;  ///< Of each list: the position behind it
};

/// A link from each node to itself, in order of original ids.
class NodesAsLinks : public LinkRows {
 public:
  explicit NodesAsLinks(std::shared_ptr<const NodesByOriginal> nodes) : nodes_(std::move(nodes)) {}

  std::uint64_t size() const override { return nodes_->size(); }
  Link at(std::uint64_t position) const override {
    const auto original = OriginalId{position};
    return {original, original, (*nodes_)[position], (*nodes_)[position]};
  }

 private:
  std::shared_ptr<const NodesByOriginal> nodes_;
};

}  // namespace

Result<std::vector<EdgeTypeId>> edges_to_learn(const Job& job, const GraphInfo& graph) {
  if (job.task.kind != "unsupervised" || job.dataset.seeds.contains("train")) {
    return std::vector<EdgeTypeId>();
  }
  if (job.task.from_walks) {
    TROUPE_ASSIGN_OR_RETURN(const auto type, walked_type(job, graph));
    return std::vector{type};
  }
  const auto& types = graph.edge_types;
  if (job.task.edges.empty() && types.size() == 1) {
    return std::vector{EdgeTypeId{0}};
  }
  std::vector<std::string> names{job.task.edges};
  names.insert(names.end(), job.task.more_edges.begin(), job.task.more_edges.end());
  std::vector<EdgeTypeId> found;
  for (const auto& name : names) {
    const auto at = std::ranges::find(types, name, &EdgeTypeInfo::name);
    const auto type = static_cast<EdgeTypeId>(at - types.begin());
    if (at == types.end() || std::ranges::find(found, type) != found.end()) {
      return Error(
          Errc::invalid_argument,
          fmt::format("/task/edges: expected {} of the graph's {} edge types ({}), found \"{}\"{}",
                      names.size() == 1 ? "one" : "some", types.size(),
                      quoted_list(edge_type_names(graph)), name,
                      at == types.end() ? "" : " twice"));
    }
    found.push_back(type);
  }
  return found;
}

SplitInfo::LinkRole role_of_edges(const GraphInfo& graph, const std::vector<EdgeTypeId>& types) {
  SplitInfo::LinkRole links{.edge_type = types.front()};
  for (const auto type : types) {
    links.count += graph.edge_types[raw(type)].count;
  }
  if (types.size() > 1) {
    links.relations = types.size();
    links.edge_types = types;
  }
  return links;
}

Result<LinkList> edges_as_links(const PartitionedStore& store, std::span<const EdgeTypeId> types) {
  Parts parts;
  for (std::uint32_t p = 0; p < store.partition().parts; ++p) {
    TROUPE_ASSIGN_OR_RETURN(auto part, store.load_lists(PartId{p}));
    parts.push_back(std::move(part));
  }
  std::map<NodeTypeId, std::shared_ptr<const NodesByOriginal>> nodes;
  const auto nodes_of = [&](NodeTypeId type) -> Result<std::shared_ptr<const NodesByOriginal>> {
    auto& found = nodes[type];
    if (found == nullptr) {
      TROUPE_ASSIGN_OR_RETURN(found, all_nodes(store, type));
    }
    return found;
  };
  std::vector<LinkList> lists;
  for (const auto type : types) {
    const auto& info = store.info().edge_types[raw(type)];
    TROUPE_ASSIGN_OR_RETURN(auto sources, nodes_of(info.source));
    TROUPE_ASSIGN_OR_RETURN(auto destinations, nodes_of(info.destination));
    lists.emplace_back(type, std::make_shared<const EdgesInOrder>(parts, type, std::move(sources),
                                                                  std::move(destinations)));
  }
  if (lists.size() == 1) {
    return std::move(lists.front());
  }
  const auto joined = std::make_shared<JoinedLinks>();
  std::vector<LinkGroup> groups;
  for (auto& list : lists) {
    groups.push_back({list.edge_type(), joined->size(), list.size()});
    joined->add(std::move(list));
  }
  return LinkList(types.front(), joined).in_groups(std::move(groups));
}

LinkList links_in_groups(const LinkList& links, std::span<const EdgeTypeId> types) {
  std::vector<std::uint64_t> next(types.size() + 1);  // position of the next link of each type
  const auto relation_of = [&](std::uint64_t i) {
    return static_cast<std::size_t>(links.labels()[i]);
  };
  for (std::uint64_t i = 0; i < links.size(); ++i) {
    ++next[relation_of(i) + 1];
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<LinkGroup> groups;
  for (std::size_t relation = 0; relation < types.size(); ++relation) {
    groups.push_back({types[relation], next[relation], next[relation + 1] - next[relation]});
  }
  std::vector<std::uint64_t> positions(links.size());
  for (std::uint64_t i = 0; i < links.size(); ++i) {
    positions[next[relation_of(i)]++] = i;
  }
  return links_at(links.without_labels(), std::move(positions)).in_groups(std::move(groups));
}

Result<LinkList> nodes_as_links(const PartitionedStore& store, NodeTypeId type,
                                EdgeTypeId first_step) {
  TROUPE_ASSIGN_OR_RETURN(auto nodes, all_nodes(store, type));
  return LinkList(first_step, std::make_shared<const NodesAsLinks>(std::move(nodes)))
      .as_pairs_of(type);
}

}  // namespace troupe
