#pragma once
/// \file graph_builder.hpp
/// Graphs in memory for tests: an edge list, cut into any number of `Part`s by any assignment,
/// without files. The same graph cut differently must give the same batches by original ids.
#include "runtime/graph/alias_tables.hpp"
#include "runtime/graph/directory.hpp"
#include "runtime/graph/list_tables.hpp"
#include "runtime/graph/part.hpp"
#include "runtime/partition/partition_book.hpp"
#include "runtime/partition/partitioner.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {

/// A directed edge by original ids. Its position in the list is its original edge id.
struct TestEdge {
  std::uint64_t source;
  std::uint64_t destination;
};

/// A named column; [rows, info.row_bytes()].
struct TestColumn {
  ColumnInfo info;
  std::vector<std::byte> bytes{};
};

struct TestNodeType {
  std::string name = "node";
  std::uint64_t count = 0;
  std::uint64_t cols = 0;  ///< 0: no features
  DType dtype = DType::f32;
  std::vector<float> features{};  ///< [count, cols]; stored as `dtype`, f32 or u8 (without scale)
  std::vector<std::int64_t> labels{};  ///< [count] or empty
  std::uint64_t target_cols = 0;
  std::vector<float> targets{};  ///< [count, target_cols] or empty
  std::vector<TestColumn> columns{};
};

struct TestEdgeType {
  std::string name = "edge";
  std::uint16_t source = 0;
  std::uint16_t destination = 0;
  std::vector<TestEdge> edges{};
  std::vector<float> weights{};       ///< [edges] or empty
  std::vector<std::int64_t> times{};  ///< [edges] or empty; lists are then in order of time
  std::uint64_t cols = 0;             ///< 0: no features
  std::vector<float> features{};      ///< [edges, cols]
  std::vector<TestColumn> columns{};
};

struct TestGraph {
  std::vector<TestNodeType> nodes;
  std::vector<TestEdgeType> edges;
};

/// A graph of one node and one edge type.
inline TestGraph plain_graph(std::uint64_t nodes, std::vector<TestEdge> edges) {
  TestGraph graph;
  graph.nodes.push_back({.count = nodes});
  graph.edges.push_back({.edges = std::move(edges)});
  return graph;
}

/// Gives a node type features (f32: id + column / 8; u8: small whole numbers) and labels that tell
/// nodes apart.
inline void add_features(TestNodeType& type, std::uint64_t cols, DType dtype = DType::f32) {
  type.cols = cols;
  type.dtype = dtype;
  for (std::uint64_t i = 0; i < type.count; ++i) {
    for (std::uint64_t c = 0; c < cols; ++c) {
      type.features.push_back(dtype == DType::u8
                                  ? static_cast<float>((i * 7 + c) % 256)
                                  : static_cast<float>(i) + static_cast<float>(c) / 8);
    }
    type.labels.push_back(i % 5 == 4 ? -1 : static_cast<std::int64_t>(i % 5));
  }
}

/// The graph, cut. Global ids: part by part, inside a part by DESCENDING original id, so that no
/// order agrees by accident.
struct CutGraph {
  GraphInfo info;
  std::shared_ptr<const PartitionBook> book;
  std::vector<std::shared_ptr<const Part>> parts;
  std::vector<std::vector<NodeId>> global_of;           ///< [node type][original]
  std::vector<std::vector<std::uint64_t>> original_of;  ///< [node type][global]

  NodeId global(std::uint64_t original, std::size_t type = 0) const {
    return global_of[type][original];
  }
  std::vector<NodeId> globals(const std::vector<std::uint64_t>& originals,
                              std::size_t type = 0) const {
    std::vector<NodeId> ids;
    for (const auto original : originals) {
      ids.push_back(global(original, type));
    }
    return ids;
  }
  std::uint64_t original(NodeId id, std::size_t type = 0) const {
    return original_of[type][raw(id)];
  }
};

/// Spreads nodes over parts by a hash of their original ids.
inline Assignment scatter(const TestGraph& graph, std::uint32_t parts) {
  Assignment assignment;
  for (const auto& type : graph.nodes) {
    auto& of_type = assignment.emplace_back();
    for (std::uint64_t i = 0; i < type.count; ++i) {
      of_type.push_back(static_cast<PartId>(((i + 1) * 0x9E3779B97F4A7C15U >> 33U) % parts));
    }
  }
  return assignment;
}

namespace graph_builder_detail {

/// Keeps a vector alive with the part and gives a view of it.
template <class T>
std::span<const T> keep(Part& part, std::vector<T> values) {
  auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  const std::span<const T> view(*owner);
  part.owners.push_back(std::move(owner));
  return view;
}

template <class T>
std::vector<T> rows_of(const std::vector<T>& table, std::uint64_t cols,
                       const std::vector<std::uint64_t>& originals) {
  std::vector<T> rows;
  for (const auto original : originals) {
    const auto first = table.begin() + static_cast<std::ptrdiff_t>(original * cols);
    rows.insert(rows.end(), first, first + static_cast<std::ptrdiff_t>(cols));
  }
  return rows;
}

inline Segment stored_rows(const TestNodeType& type, const std::vector<std::uint64_t>& originals) {
  auto rows = rows_of(type.features, type.cols, originals);
  if (type.dtype == DType::f32) {
    return Segment::of(std::move(rows));
  }
  std::vector<std::uint8_t> bytes;
  for (const float value : rows) {
    bytes.push_back(static_cast<std::uint8_t>(value));
  }
  return Segment::of(std::move(bytes));
}

/// Lists of `owned` (original ids, in local order), each by (neighbour's original id, edge id).
inline NeighbourLists lists_of(Part& part, const TestEdgeType& type, EdgeDir dir,
                               const std::vector<std::uint64_t>& owned, std::uint64_t num_owners,
                               const std::vector<NodeId>& neighbour_global, bool wide) {
  struct Entry {
    std::uint64_t neighbour;
    std::uint64_t edge;
  };
  std::vector<std::vector<Entry>> lists(num_owners);
  for (std::uint64_t e = 0; e < type.edges.size(); ++e) {
    const auto [source, destination] = type.edges[e];
    dir == EdgeDir::in ? lists[destination].push_back({source, e})
                       : lists[source].push_back({destination, e});
  }
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint64_t> ids;
  std::vector<std::uint64_t> edge_ids;
  for (const auto original : owned) {
    auto& list = lists[original];
    std::ranges::sort(list, {}, [&](const Entry& entry) {
      const auto time = type.times.empty() ? 0 : type.times[entry.edge];
      return std::tuple(time, entry.neighbour, entry.edge);
    });
    for (const Entry& entry : list) {
      ids.push_back(raw(neighbour_global[entry.neighbour]));
      edge_ids.push_back(entry.edge);
    }
    offsets.push_back(ids.size());
  }
  const auto of_edges = [&]<class T>(const std::vector<T>& values) {
    std::vector<T> in_lists;
    for (const auto edge : edge_ids) {
      if (!values.empty()) {
        in_lists.push_back(values[edge]);
      }
    }
    return keep(part, std::move(in_lists));
  };
  NeighbourLists result;
  result.weights = of_edges(type.weights);
  result.times = of_edges(type.times);
  result.offsets = keep(part, std::move(offsets));
  result.edge_ids = keep(part, std::move(edge_ids));
  if (wide) {
    result.neighbours = keep(part, std::move(ids));
  } else {
    result.neighbours = keep(part, std::vector<std::uint32_t>(ids.begin(), ids.end()));
  }
  return result;
}

inline std::vector<FeatureTable> columns_of(const std::vector<TestColumn>& columns,
                                            std::span<const std::uint64_t> rows) {
  std::vector<FeatureTable> tables;
  for (const auto& [info, bytes] : columns) {
    tables.push_back({{.dtype = info.dtype, .cols = info.row_values()},
                      rows.size(),
                      Segment::of(rows_of(bytes, info.row_bytes(), {rows.begin(), rows.end()}))});
  }
  return tables;
}

/// Beside the lists: rows in their order.
inline std::optional<FeatureTable> edge_features(const TestEdgeType& type,
                                                 const NeighbourLists& lists) {
  if (type.cols == 0) {
    return std::nullopt;
  }
  auto rows = rows_of(type.features, type.cols, {lists.edge_ids.begin(), lists.edge_ids.end()});
  return FeatureTable{.info = {.dtype = DType::f32, .cols = type.cols},
                      .rows = lists.edge_ids.size(),
                      .data = Segment::of(std::move(rows))};
}

inline PartNodes nodes_of(Part& part, const TestNodeType& type, NodeId first,
                          const std::vector<std::uint64_t>& owned) {
  PartNodes nodes;
  nodes.first = first;
  nodes.count = owned.size();
  nodes.original_ids = keep(part, owned);
  if (type.cols > 0) {
    nodes.features = FeatureTable{.info = {.dtype = type.dtype, .cols = type.cols},
                                  .rows = owned.size(),
                                  .data = stored_rows(type, owned)};
  }
  if (!type.labels.empty()) {
    nodes.labels = keep(part, rows_of(type.labels, 1, owned));
  }
  nodes.columns = columns_of(type.columns, owned);
  if (!type.targets.empty()) {
    nodes.targets = keep(part, rows_of(type.targets, type.target_cols, owned));
  }
  return nodes;
}

inline GraphInfo info_of(const TestGraph& graph) {
  GraphInfo info;
  for (const auto& type : graph.nodes) {
    auto& node_type = info.node_types.emplace_back();
    node_type.name = type.name;
    node_type.count = type.count;
    if (type.cols > 0) {
      node_type.features = FeatureInfo{.dtype = type.dtype, .cols = type.cols};
    }
    if (!type.labels.empty()) {
      node_type.labels = LabelInfo{.kind = LabelInfo::Kind::classes, .classes = 5};
    }
    for (const auto& column : type.columns) {
      node_type.columns.push_back(column.info);
    }
  }
  for (const auto& type : graph.edges) {
    auto& edge_type = info.edge_types.emplace_back();
    edge_type.name = type.name;
    edge_type.source = static_cast<NodeTypeId>(type.source);
    edge_type.destination = static_cast<NodeTypeId>(type.destination);
    edge_type.count = type.edges.size();
    edge_type.has_edge_ids = true;
    edge_type.has_weights = !type.weights.empty();
    edge_type.has_times = !type.times.empty();
    if (type.cols > 0) {
      edge_type.features = FeatureInfo{.dtype = DType::f32, .cols = type.cols};
    }
    for (const auto& column : type.columns) {
      edge_type.columns.push_back(column.info);
    }
  }
  return info;
}

/// The part's slice of a node type's directory.
inline void add_directory(Part& part, const CutGraph& cut, std::size_t type, std::uint32_t parts) {
  const auto& global_of = cut.global_of[type];
  const DirectorySlices slices{global_of.size(), parts};
  std::vector<std::uint32_t> slice;
  for (auto i = slices.first(raw(part.id)); i < slices.first(raw(part.id) + 1); ++i) {
    slice.push_back(static_cast<std::uint32_t>(raw(global_of[i])));
  }
  part.nodes[type].directory = keep(part, std::move(slice));
}

/// The part's slices of the ends of a type's edges.
inline void add_ends(Part& part, const TestGraph& graph, std::size_t type, std::uint32_t parts) {
  const auto& edge_type = graph.edges[type];
  for (const bool in : {true, false}) {
    const auto nodes = graph.nodes[in ? edge_type.destination : edge_type.source].count;
    std::vector<std::uint64_t> degrees(nodes);
    for (const auto& edge : edge_type.edges) {
      ++degrees[in ? edge.destination : edge.source];
    }
    const DirectorySlices slices{nodes, parts};
    std::vector<EdgeEnd> ends;
    std::uint64_t edges = 0;
    for (auto i = slices.first(raw(part.id)); i < slices.first(raw(part.id) + 1); ++i) {
      if (degrees[i] > 0) {
        edges += degrees[i];
        ends.push_back({i - slices.first(raw(part.id)), edges});
      }
    }
    auto& to = in ? part.edges[type].in_ends : part.edges[type].out_ends;
    to = keep(part, std::move(ends));
  }
}

/// Original ids of all nodes of other parts.
inline void add_nodes_around(Part& part, const CutGraph& cut, std::size_t type) {
  auto& nodes = part.nodes[type];
  std::vector<std::uint64_t> ids;
  std::vector<std::uint64_t> originals;
  for (std::uint64_t id = 0; id < cut.original_of[type].size(); ++id) {
    if (!nodes.owns(static_cast<NodeId>(id))) {
      ids.push_back(id);
      originals.push_back(cut.original_of[type][id]);
    }
  }
  nodes.halo_ids = keep(part, std::move(ids));
  nodes.halo_original_ids = keep(part, std::move(originals));
}

}  // namespace graph_builder_detail

/// Cuts `graph` into `parts` parts.
/// \param wide store neighbours with 8 bytes each instead of 4
inline CutGraph cut_graph(const TestGraph& graph, const Assignment& assignment, std::uint32_t parts,
                          bool wide = false) {
  namespace detail = graph_builder_detail;
  CutGraph cut;
  cut.info = detail::info_of(graph);
  PartRanges ranges;
  std::vector<std::vector<std::vector<std::uint64_t>>> owned(graph.nodes.size());  // type, part
  for (std::size_t t = 0; t < graph.nodes.size(); ++t) {
    owned[t].resize(parts);
    for (std::uint64_t i = graph.nodes[t].count; i-- > 0;) {
      owned[t][raw(assignment[t][i])].push_back(i);
    }
    auto& first = ranges.first_node.emplace_back();
    auto& originals = cut.original_of.emplace_back();
    cut.global_of.emplace_back(graph.nodes[t].count);
    for (const auto& of_part : owned[t]) {
      first.push_back(originals.size());
      for (const auto original : of_part) {
        cut.global_of[t][original] = static_cast<NodeId>(originals.size());
        originals.push_back(original);
      }
    }
    first.push_back(originals.size());
  }
  cut.book = std::make_shared<PartitionBook>(ranges);
  for (std::uint32_t p = 0; p < parts; ++p) {
    auto part = std::make_shared<Part>();
    part->id = static_cast<PartId>(p);
    part->complete_for = CompleteFor::both;
    for (std::size_t t = 0; t < graph.nodes.size(); ++t) {
      part->nodes.push_back(detail::nodes_of(
          *part, graph.nodes[t], static_cast<NodeId>(ranges.first_node[t][p]), owned[t][p]));
    }
    for (std::size_t t = 0; t < graph.nodes.size(); ++t) {
      detail::add_directory(*part, cut, t, parts);
      if (p % 2 == 0) {  // the other parts do not know original ids of nodes around them
        detail::add_nodes_around(*part, cut, t);
      }
    }
    for (const auto& type : graph.edges) {
      auto& edges = part->edges.emplace_back();
      edges.source_type = static_cast<NodeTypeId>(type.source);
      edges.destination_type = static_cast<NodeTypeId>(type.destination);
      edges.in =
          detail::lists_of(*part, type, EdgeDir::in, owned[type.destination][p],
                           graph.nodes[type.destination].count, cut.global_of[type.source], wide);
      edges.out =
          detail::lists_of(*part, type, EdgeDir::out, owned[type.source][p],
                           graph.nodes[type.source].count, cut.global_of[type.destination], wide);
      detail::add_ends(*part, graph, part->edges.size() - 1, parts);
      edges.features = detail::edge_features(type, edges.in);
      edges.columns = detail::columns_of(type.columns, edges.in.edge_ids);
    }
    cut.parts.push_back(std::move(part));
  }
  return cut;
}

/// Cuts by `scatter`.
inline CutGraph cut_graph(const TestGraph& graph, std::uint32_t parts, bool wide = false) {
  return cut_graph(graph, scatter(graph, parts), parts, wide);
}

/// Edges whose ends are in the slices before each part's, and in all.
inline std::vector<std::uint64_t> edges_before(const CutGraph& cut, std::size_t type, EdgeDir dir) {
  std::vector<std::uint64_t> before{0};
  for (const auto& part : cut.parts) {
    const auto ends = part->edges[type].ends(dir);
    before.push_back(before.back() + (ends.empty() ? 0 : ends.back().edges_end));
  }
  return before;
}

/// Gives edges skewed weights, a third of them 0.
inline void add_weights(TestEdgeType& type) {
  for (std::uint64_t e = 0; e < type.edges.size(); ++e) {
    const auto skewed = static_cast<float>(1 + e % 7) * (e % 11 == 0 ? 100.0F : 0.25F);
    type.weights.push_back(e % 3 == 0 ? 0.0F : skewed);
  }
}

/// Gives edges times that repeat, in no order; a third are negative.
inline void add_times(TestEdgeType& type) {
  for (std::uint64_t e = 0; e < type.edges.size(); ++e) {
    const auto step = static_cast<std::int64_t>(e * 7 % 13);
    type.times.push_back(e % 3 == 0 ? -step : step << 33);
  }
}

/// Gives edges features: edge id + column / 8, a little more for each type.
inline void add_edge_features(TestEdgeType& type, std::uint64_t cols) {
  type.cols = cols;
  for (std::uint64_t e = 0; e < type.edges.size(); ++e) {
    for (std::uint64_t c = 0; c < cols; ++c) {
      type.features.push_back(static_cast<float>(e + type.source) + static_cast<float>(c) / 8);
    }
  }
}

/// A column of so many rows, whose bytes tell rows and columns apart.
inline TestColumn test_column(ColumnInfo info, std::uint64_t rows, unsigned salt) {
  TestColumn column{std::move(info), {}};
  const auto row_bytes = column.info.row_bytes();
  for (std::uint64_t i = 0; i < rows * row_bytes; ++i) {
    column.bytes.push_back(static_cast<std::byte>(i / row_bytes * 31 + i % row_bytes * 7 + salt));
  }
  return column;
}

/// Leaves the parts the lists of out-neighbors alone, with the features beside them.
inline void keep_out_lists(CutGraph& cut, const TestGraph& graph) {
  for (auto& part : cut.parts) {
    auto only = std::make_shared<Part>(*part);
    only->complete_for = CompleteFor::out;
    for (std::size_t e = 0; e < graph.edges.size(); ++e) {
      only->edges[e].in = {};
      only->edges[e].features =
          graph_builder_detail::edge_features(graph.edges[e], only->edges[e].out);
      only->edges[e].columns =
          graph_builder_detail::columns_of(graph.edges[e].columns, only->edges[e].out.edge_ids);
    }
    part = std::move(only);
  }
}

/// Gives all parts alias tables, along all edge types in one direction.
inline void add_alias_tables(CutGraph& cut, EdgeDir dir) {
  std::vector<EdgeTypeId> types;
  for (std::size_t e = 0; e < cut.info.edge_types.size(); ++e) {
    types.push_back(static_cast<EdgeTypeId>(e));
  }
  for (auto& part : cut.parts) {
    part = *with_alias_tables(*part, types, dir);
  }
}

/// Gives all parts the original ids of neighbors, along all edge types in one direction.
inline void add_neighbour_originals(CutGraph& cut, EdgeDir dir) {
  ListTables tables;
  for (std::size_t e = 0; e < cut.info.edge_types.size(); ++e) {
    tables.original_ids.push_back(static_cast<EdgeTypeId>(e));
  }
  for (auto& part : cut.parts) {
    auto knowing = std::make_shared<Part>(*part);
    for (std::size_t t = 0; t < knowing->nodes.size(); ++t) {
      graph_builder_detail::add_nodes_around(*knowing, cut, t);
    }
    part = *with_list_tables(knowing, tables, dir);
  }
}

/// Papers that cite papers and that authors write, with the reverse of writing.
inline TestGraph papers_and_authors() {
  TestGraph graph;
  graph.nodes = {{.name = "paper", .count = 40}, {.name = "author", .count = 15}};
  graph.edges = {{.name = "writes", .source = 1, .destination = 0},
                 {.name = "cites", .source = 0, .destination = 0},
                 {.name = "written_by", .source = 0, .destination = 1}};
  for (std::uint64_t i = 0; i < 40; ++i) {
    for (std::uint64_t k = 0; k < 1 + i % 4; ++k) {
      graph.edges[0].edges.push_back({(i * 3 + k * 5) % 15, i});
      graph.edges[2].edges.push_back({i, (i * 3 + k * 5) % 15});
    }
    for (std::uint64_t k = 0; k < i % 7; ++k) {
      graph.edges[1].edges.push_back({(i * i + 11 * k) % 40, i});
    }
  }
  return graph;
}

/// A graph of `nodes` nodes with skewed degrees: node i gets about `degree` in-edges, some several
/// times, some from itself; nodes divisible by 10 get none, node 1 gets one from every node.
inline TestGraph skewed_graph(std::uint64_t nodes, std::uint64_t degree) {
  std::vector<TestEdge> edges;
  std::uint64_t state = 12345;
  const auto next = [&state](std::uint64_t bound) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33U) % bound;
  };
  for (std::uint64_t i = 0; i < nodes; ++i) {
    edges.push_back({i, 1});
    const std::uint64_t count = i % 10 == 0 ? 0 : 1 + next(2 * degree);
    for (std::uint64_t k = 0; k < count; ++k) {
      edges.push_back({next(nodes), i});
    }
  }
  std::reverse(edges.begin(), edges.end());
  return plain_graph(nodes, std::move(edges));
}

}  // namespace troupe::testing
