#include "runtime/sample/links/list_search.hpp"

#include "runtime/base/prefetch.hpp"

#include <algorithm>
#include <array>

namespace troupe {
namespace {

/// Of the first entry in [begin, end) whose original id is `wanted` or higher.
struct OpenSearch {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t wanted;
  std::size_t number;
  std::uint64_t middle() const { return begin + (end - begin) / 2; }
};

}  // namespace

std::optional<std::uint64_t> ListSearch::original_id(NodeId node) const {
  if (nodes_.owns(node)) {
    return nodes_.original_ids[nodes_.local(node)];
  }
  const auto found = std::ranges::lower_bound(nodes_.halo_ids, raw(node));
  if (found == nodes_.halo_ids.end() || *found != raw(node)) {
    return std::nullopt;
  }
  return nodes_.halo_original_ids[static_cast<std::size_t>(found - nodes_.halo_ids.begin())];
}

void ListSearch::start(std::span<Search> searches) const {
  for (std::size_t first = 0; first < searches.size(); first += side_by_side) {
    start_group(searches.subspan(first, std::min(side_by_side, searches.size() - first)));
  }
}

void ListSearch::start_group(std::span<Search> searches) const {
  std::array<OpenSearch, side_by_side> all;
  std::size_t count = 0;
  for (std::size_t i = 0; i < searches.size(); ++i) {
    auto& search = searches[i];
    search.from = search.begin;
    const auto wanted = lists_.times.empty() ? original_id(search.node) : std::nullopt;
    search.sorted = wanted.has_value();
    if (wanted && search.begin < search.end) {
      all[count++] = {search.begin, search.end, *wanted, i};
    }
  }
  auto open = std::span(all).first(count);
  lists_.neighbours.visit([&](auto ids) {
    for (const auto& search : open) {
      prefetch(&ids[search.middle()]);
    }
    while (!open.empty()) {
      for (const auto& search : open) {
        if (const NodeId there{ids[search.middle()]}; nodes_.owns(there)) {
          prefetch(&nodes_.original_ids[nodes_.local(there)]);
        }
      }
      std::size_t still_open = 0;
      for (auto search : open) {
        const auto middle = search.middle();
        const auto there = original_id(NodeId{ids[middle]});
        if (!there) {
          searches[search.number].sorted = false;
          continue;
        }
        (*there < search.wanted ? search.begin : search.end) =
            *there < search.wanted ? middle + 1 : middle;
        if (search.begin == search.end) {
          searches[search.number].from = search.begin;
          continue;
        }
        prefetch(&ids[search.middle()]);
        open[still_open++] = search;
      }
      open = open.first(still_open);
    }
  });
}

bool ListSearch::found(const Search& search) const {
  if (search.sorted) {
    return search.from < search.end && lists_.neighbours[search.from] == search.node;
  }
  return lists_.neighbours.visit([&](auto ids) {
    const auto list = ids.subspan(search.from, search.end - search.from);
    return std::ranges::find(list, raw(search.node)) != list.end();
  });
}

}  // namespace troupe
