// Replies of a hop along edge types of which only the rows with edges are kept.
#include "runtime/sample/batch_builder_state.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

/// Entries that the frontier got along an edge type, in its order; those of a list that was cut one after
/// the other.
PooledVector<BatchBuilder::State::ListOf> BatchBuilder::State::lists_of(
    std::size_t edge_type) const {
  PooledVector<ListOf> lists;
  const auto node_type = raw(batch.edges[edge_type].destination_type);
  const auto at = shares_of(edge_type);
  for (std::size_t place = 0; place < at.size(); ++place) {
    if (at[place] == nothing) {
      continue;
    }
    const auto& positions = positions_at[node_type];
    PooledVector<ListOf> of_place;
    shares[at[place]].each_list([&](std::size_t node, const HopSectionView& answer,
                                    std::size_t first, std::uint32_t count) {
      const auto position =
          positions.empty() ? static_cast<std::uint32_t>(node) : positions[place][node];
      of_place.push_back({position, count, first, &answer});
    });
    if (lists.empty()) {
      lists = std::move(of_place);
      continue;
    }
    PooledVector<ListOf> merged(lists.size() + of_place.size());
    std::ranges::merge(lists, of_place, merged.begin(), {}, &ListOf::position, &ListOf::position);
    lists = std::move(merged);
  }
  return lists;
}

/// Puts entries of several answers one after the other and numbers them in one pass.
Status BatchBuilder::State::merge_lists(std::size_t edge_type, const PooledVector<ListOf>& lists) {
  BatchEdges& edges = batch.edges[edge_type];
  PooledVector<std::uint64_t> neighbours;
  neighbours.reserve(received[edge_type] - edges.sources.size());
  for (const auto& [position, count, first, answer] : lists) {
    answer->neighbours.visit([&, from = first, to = first + count](auto ids) {
      neighbours.insert(neighbours.end(), ids.begin() + static_cast<std::ptrdiff_t>(from),
                        ids.begin() + static_cast<std::ptrdiff_t>(to));
    });
    add_edge_data(edges, *answer, first, count);
  }
  HopSectionView ordered;
  ordered.neighbours = std::span<const std::uint64_t>(neighbours);
  return merge_answer(edge_type, ordered);
}

/// The same in disjoint batches: entries of one tree that lie one after the other are numbered together.
Status BatchBuilder::State::merge_trees(std::size_t edge_type, const PooledVector<ListOf>& lists) {
  const auto type = batch.edges[edge_type].destination_type;
  const auto& trees = batch.nodes[raw(type)].trees;  // grows meanwhile
  const auto first_node = frontier(type).begin;
  Run run;
  for (const auto& [position, count, first, answer] : lists) {
    const bool follows = run.answer == answer && run.first + run.count == first;
    const auto tree = trees[first_node + position];
    if (!follows || run.tree != tree || run.count + count > longest_run) {
      TROUPE_RETURN_IF_ERROR(merge_entries(edge_type, run));
      run = {answer, first, 0, tree};
    }
    run.count += count;
  }
  return merge_entries(edge_type, run);
}

Status BatchBuilder::State::merge_listed(std::size_t edge_type) {
  BatchEdges& edges = batch.edges[edge_type];
  listed.begin(edge_type);
  const auto first_row = edges.row_begin.back();
  const auto* const answer = options->disjoint ? nullptr : whole_answer(edge_type);
  if (answer != nullptr && answer->places) {
    listed.add(first_row, *answer->places, answer->counts);
    TROUPE_RETURN_IF_ERROR(merge_answer(edge_type, *answer));
  } else {
    const auto lists = lists_of(edge_type);
    for (const auto& list : lists) {
      listed.add(first_row + list.position, list.count);
    }
    if (options->disjoint) {
      TROUPE_RETURN_IF_ERROR(merge_trees(edge_type, lists));
    } else if (answer != nullptr) {
      TROUPE_RETURN_IF_ERROR(merge_answer(edge_type, *answer));
    } else {
      TROUPE_RETURN_IF_ERROR(merge_lists(edge_type, lists));
    }
  }
  const auto nodes = asked[raw(edges.destination_type)].size();
  edges.row_begin.push_back(first_row + static_cast<std::uint32_t>(nodes));
  return ok_status();
}

}  // namespace troupe
