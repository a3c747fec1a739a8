#include "runtime/sample/subgraph/bidirectional.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/graph/edge_data.hpp"
#include "runtime/sample/id_index.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace troupe {
namespace {

/// An edge of a closed batch: where its row is, the entry, and the drawn edge that its data is of.
struct ClosedEdge {
  std::uint32_t row = 0;
  std::uint32_t entry = 0;
  std::uint32_t type = 0;   ///< Of the drawn edge
  std::uint32_t drawn = 0;  ///< Its position
  bool reversed = false;
};

/// Calls `f(node, position)` for each drawn edge of a type, row by row.
template <class F>
void each_drawn(const SampledBatch& batch, const BatchEdges& edges, F&& f) {
  batch.each_row(edges, [&](std::uint32_t node, std::uint32_t first, std::uint32_t end) {
    for (auto at = first; at < end; ++at) {
      f(node, at);
    }
  });
}

std::uint64_t ends_of(std::uint32_t row, std::uint32_t entry) {
  return std::uint64_t{row} << 32 | entry;
}

/// Data of a type's edges that those have too whose reverses join them.
EdgeData common_data(std::uint32_t type, const GraphInfo& graph,
                     std::span<const std::optional<EdgeTypeId>> reverse_of) {
  auto data = edge_data_of(graph.edge_types[type]);
  for (std::size_t from = 0; from < reverse_of.size(); ++from) {
    if (reverse_of[from] == static_cast<EdgeTypeId>(type)) {
      data = data & edge_data_of(graph.edge_types[from]);
    }
  }
  return data.stored();  // features of edges lie where their lists do
}

/// All edges of the closed batch of one type: drawn ones, then reverses.
PooledVector<ClosedEdge> closed_edges(const SampledBatch& batch, std::uint32_t type,
                                      std::span<const std::optional<EdgeTypeId>> reverse_of) {
  PooledVector<ClosedEdge> all;
  IdIndex known;
  const auto& own = batch.edges[type];
  all.reserve(2 * own.sources.size());
  known.reserve(own.sources.size());
  each_drawn(batch, own, [&](std::uint32_t node, std::uint32_t at) {
    all.push_back({node, own.sources[at], type, at, false});
    known.find_or_insert(ends_of(node, own.sources[at]), 0);
  });
  for (std::uint32_t from = 0; from < batch.edges.size(); ++from) {
    if (reverse_of[from] != static_cast<EdgeTypeId>(type)) {
      continue;
    }
    const auto& others = batch.edges[from];
    each_drawn(batch, others, [&](std::uint32_t node, std::uint32_t at) {
      const auto key = ends_of(others.sources[at], node);
      if (!known.find(key)) {
        known.find_or_insert(key, 0);
        all.push_back({others.sources[at], node, from, at, true});
      }
    });
  }
  return all;
}

/// The edges by row; those of a row stay in order.
BatchEdges by_row(const SampledBatch& batch, std::uint32_t type, PooledVector<ClosedEdge> all,
                  EdgeData data, std::uint64_t end_of_ids) {
  const auto& own = batch.edges[type];
  const auto rows = batch.nodes[raw(own.destination_type)].ids.size();
  std::ranges::stable_sort(all, {}, &ClosedEdge::row);
  BatchEdges closed;
  closed.destination_type = own.destination_type;
  closed.source_type = own.source_type;
  PooledVector<std::uint32_t> offsets(rows + 1);
  for (const auto& edge : all) {
    ++offsets[edge.row + std::size_t{1}];
    closed.sources.push_back(edge.entry);
    each_edge_datum(
        [&edge]<class T>(bool has, PooledVector<T>& to, const PooledVector<T>& from) {
          if (has && !from.empty()) {
            to.push_back(from[edge.drawn]);
          }
        },
        data, closed, batch.edges[edge.type]);
    if (edge.reversed && !closed.edge_ids.empty()) {
      closed.edge_ids.back() = static_cast<EdgeId>(raw(closed.edge_ids.back()) + end_of_ids);
    }
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  closed.offsets = std::move(offsets);
  closed.row_begin = {0, static_cast<std::uint32_t>(rows)};
  return closed;
}

}  // namespace

void close_hops(SampledBatch& batch) {
  for (auto& nodes : batch.nodes) {
    nodes.hop_end = {nodes.hop_end.front(), static_cast<std::uint32_t>(nodes.ids.size())};
  }
  batch.hops = 1;
}

void add_reverse_edges(SampledBatch& batch, const GraphInfo& graph,
                       std::span<const std::optional<EdgeTypeId>> reverse_of) {
  TROUPE_ASSERT(reverse_of.size() == batch.edges.size(), "reverses of edge types",
                reverse_of.size(), batch.edges.size());
  std::vector<BatchEdges> closed;
  closed.reserve(batch.edges.size());
  for (std::uint32_t type = 0; type < batch.edges.size(); ++type) {
    closed.push_back(by_row(batch, type, closed_edges(batch, type, reverse_of),
                            common_data(type, graph, reverse_of),
                            graph.edge_types[type].end_of_edge_ids()));
  }
  batch.edges = std::move(closed);
  batch.subgraph = Subgraph::bidirectional;
  close_hops(batch);
}

}  // namespace troupe
