#include "runtime/sample/links/list_search.hpp"

#include <algorithm>
#include <cstddef>

namespace troupe {

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

std::optional<std::uint64_t> ListSearch::lower_bound(std::uint64_t begin, std::uint64_t end,
                                                     NodeId node) const {
  const auto wanted = original_id(node);
  if (!lists_.times.empty() || !wanted) {
    return std::nullopt;
  }
  while (begin < end) {
    const std::uint64_t middle = begin + (end - begin) / 2;
    const auto there = original_id(lists_.neighbours[middle]);
    if (!there) {
      return std::nullopt;
    }
    if (*there < *wanted) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

void ListSearch::find(std::uint64_t begin, std::uint64_t end, NodeId node,
                      std::vector<std::uint32_t>& positions) const {
  const auto sorted_from = lower_bound(begin, end, node);
  lists_.neighbours.visit([&](auto ids) {
    for (std::uint64_t at = sorted_from.value_or(begin); at < end; ++at) {
      if (ids[at] == raw(node)) {
        positions.push_back(static_cast<std::uint32_t>(at - begin));
      } else if (sorted_from) {
        return;
      }
    }
  });
}

bool ListSearch::has(std::uint64_t begin, std::uint64_t end, NodeId node) const {
  if (const auto at = lower_bound(begin, end, node)) {
    return *at < end && lists_.neighbours[*at] == node;
  }
  return lists_.neighbours.visit([&](auto ids) {
    const auto list = ids.subspan(begin, end - begin);
    return std::ranges::find(list, raw(node)) != list.end();
  });
}

}  // namespace troupe
