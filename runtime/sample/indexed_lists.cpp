#include "runtime/sample/indexed_lists.hpp"

#include "runtime/base/prefetch.hpp"
#include "runtime/graph/list_index.hpp"

#include <algorithm>
#include <limits>

namespace troupe {
namespace {

constexpr std::uint32_t no_section = std::numeric_limits<std::uint32_t>::max();

/// One frontier of a request and the sections that are asked of it.
struct Asked {
  const PartNodes* nodes = nullptr;
  const ListIndex* index = nullptr;            ///< Null: each list is looked at
  std::vector<std::uint32_t> sections = {};    ///< Places in the request
  std::vector<std::uint32_t> section_of = {};  ///< By edge type; with an index
};

/// Whether lists of a section can be listed; others take the path that says what is wrong with them.
bool can_be_listed(const Part& part, const HopRequest& request, const HopSection& section) {
  const auto& edges = part.edges_of(section.edge_type);
  const auto type = request.frontiers[section.frontier].node_type;
  const auto owner = request.dir == EdgeDir::in ? edges.destination_type : edges.source_type;
  const auto& lists = edges.lists(request.dir);
  return owner == type && section.first_position == 0 &&
         lists.offsets.size() == part.nodes_of(type).count + 1 &&
         lists.neighbours.size() <= std::numeric_limits<std::uint32_t>::max();
}

/// Frontiers that sections are asked of, with an index where that is cheaper than looking.
std::vector<Asked> asked_of(const Part& part, const HopRequest& request) {
  std::vector<Asked> asked(request.frontiers.size());
  for (std::uint32_t i = 0; i < request.sections.size(); ++i) {
    asked[request.sections[i].frontier].sections.push_back(i);
  }
  for (std::size_t f = 0; f < asked.size(); ++f) {
    auto& of = asked[f];
    of.nodes = &part.nodes_of(request.frontiers[f].node_type);
    const auto& index = of.nodes->index(request.dir);
    // Of all lists, those that have entries cost about twice what looking at one costs.
    if (index.present() && of.sections.size() * of.nodes->count > 2 * index.lists.size()) {
      of.index = &index;
      of.section_of.assign(part.edges.size(), no_section);
      for (const auto section : of.sections) {
        of.section_of[raw(request.sections[section].edge_type)] = section;
      }
    }
  }
  return asked;
}

/// Calls `f(section, list)` for each list with entries of a frontier's nodes, node by node where there is
/// an index, else section by section.
template <class F>
void each_list(const Part& part, const HopRequest& request, const Asked& of,
               const HopFrontier& frontier, const F& f) {
  constexpr std::size_t nodes_ahead = 8;
  const auto lists_of = [&](EdgeTypeId type) -> const NeighbourLists& {
    return part.edges_of(type).lists(request.dir);
  };
  const auto places = static_cast<std::uint32_t>(frontier.nodes.size());
  if (of.index == nullptr) {
    for (const auto section : of.sections) {
      const auto* const offsets = lists_of(request.sections[section].edge_type).offsets.data();
      for (std::uint32_t place = 0; place < places; ++place) {
        const auto row = of.nodes->local(frontier.nodes[place]);
        if (offsets[row] < offsets[row + 1]) {
          f(section, ListAt{place, static_cast<std::uint32_t>(offsets[row]),
                            static_cast<std::uint32_t>(offsets[row + 1] - offsets[row])});
        }
      }
    }
    return;
  }
  for (std::uint32_t place = 0; place < places; ++place) {
    if (place + nodes_ahead < places) {
      constexpr std::size_t lists_in_line = 64 / sizeof(IndexedList);
      const auto ahead = of.nodes->local(frontier.nodes[place + nodes_ahead]);
      const auto* const lists = of.index->lists.data();
      for (auto i = of.index->offsets[ahead]; i < of.index->offsets[ahead + 1];
           i += lists_in_line) {
        prefetch(lists + i);
      }
    }
    const auto row = of.nodes->local(frontier.nodes[place]);
    for (const auto& [begin, type, entries] : of.index->of(row)) {
      if (const auto section = of.section_of[raw(type)]; section != no_section) {
        const auto exact = entries == IndexedList::many ? lists_of(type).degree(row) : entries;
        f(section, ListAt{place, begin, static_cast<std::uint32_t>(exact)});
      }
    }
  }
}

}  // namespace

std::optional<IndexedLists> IndexedLists::find(const Part& part, const HopRequest& request) {
  if (request.sections.size() < many_edge_types ||
      !std::ranges::all_of(request.sections, [&](const HopSection& section) {
        return can_be_listed(part, request, section);
      })) {
    return std::nullopt;
  }
  const auto asked = asked_of(part, request);
  if (std::ranges::none_of(asked, [](const Asked& of) { return of.index != nullptr; })) {
    return std::nullopt;
  }
  for (std::size_t f = 0; f < asked.size(); ++f) {
    const auto& nodes = request.frontiers[f].nodes;
    const auto owned = [&](NodeId node) { return asked[f].nodes->owns(node); };
    if (nodes.size() > std::numeric_limits<std::uint32_t>::max() ||
        (!asked[f].sections.empty() && !std::ranges::all_of(nodes, owned))) {
      return std::nullopt;
    }
  }
  IndexedLists found;
  found.begins_.assign(request.sections.size() + 1, 0);
  for (std::size_t f = 0; f < asked.size(); ++f) {
    each_list(part, request, asked[f], request.frontiers[f],
              [&](std::uint32_t section, const ListAt&) { ++found.begins_[section + 1]; });
  }
  for (std::size_t i = 0; i < request.sections.size(); ++i) {
    found.begins_[i + 1] += found.begins_[i];
  }
  found.lists_ = Buffer(found.begins_.back() * sizeof(ListAt));
  std::vector<ListAt*> next;
  for (std::size_t i = 0; i < request.sections.size(); ++i) {
    next.push_back(found.lists_.as<ListAt>().data() + found.begins_[i]);
  }
  for (std::size_t f = 0; f < asked.size(); ++f) {
    each_list(part, request, asked[f], request.frontiers[f],
              [&](std::uint32_t section, const ListAt& list) { *next[section]++ = list; });
  }
  return found;
}

}  // namespace troupe
