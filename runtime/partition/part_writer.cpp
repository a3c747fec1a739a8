#include "runtime/partition/part_writer.hpp"

#include "runtime/graph/directory.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/partition/part_arrays.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

namespace troupe {
namespace {

/// Lists of some nodes, and where they go.
struct ListsToWrite {
  const WholeLists* lists = nullptr;
  const NeighbourLists* data = nullptr;  ///< in-lists of the type, whose places `lists` names
  std::span<const std::uint64_t> nodes;  ///< original ids
  const std::vector<std::uint64_t>* global_of = nullptr;  ///< of the neighbours
  std::function<std::string(std::string_view)> path;      ///< of "offsets", …
  std::uint64_t edges = 0;
};

class PartWriter {
 public:
  PartWriter(const PartSource& source, PartId part)
      : source_(source), info_(source.graph.info()), part_(part), arrays_(source.dir) {}

  Result<WrittenPart> write() {
    halo_ = find_halo(info_, source_.relabelling, source_.lists, part_, source_.halo.hops);
    for (std::size_t type = 0; type < info_.edge_types.size(); ++type) {
      TROUPE_RETURN_IF_ERROR(write_edges(type));
    }
    for (std::size_t type = 0; type < info_.node_types.size(); ++type) {
      written_.halo_nodes.push_back(halo_[type].ids.size());
      TROUPE_RETURN_IF_ERROR(write_nodes(type));
    }
    written_.files = arrays_.files();
    return std::move(written_);
  }

 private:
  Status write_edges(std::size_t type) {
    const auto& info = info_.edge_types[type];
    const bool has_in = !source_.lists.in.empty();
    if (has_in) {
      TROUPE_RETURN_IF_ERROR(write_direction(type, EdgeDir::in, source_.lists.in[type]));
    }
    if (!source_.lists.out.empty()) {
      TROUPE_RETURN_IF_ERROR(write_direction(type, EdgeDir::out, source_.lists.out[type]));
    }
    const auto main = has_in ? main_lists(type, EdgeDir::in, source_.lists.in[type])
                             : main_lists(type, EdgeDir::out, source_.lists.out[type]);
    written_.edges.push_back(main.edges);
    const auto& whole = source_.graph.graph()->edges[type];
    for (std::size_t i = 0; i < info.columns.size(); ++i) {
      const auto dir = has_in ? EdgeDir::in : EdgeDir::out;
      TROUPE_RETURN_IF_ERROR(arrays_.write_edge_rows(
          store_layout::part_prefix(part_) + store_layout::column_file(info, dir, info.columns[i]),
          whole.columns[i], *main.lists, main.nodes, info.columns[i].shape));
    }
    if (!info.features || source_.features_later) {
      return ok_status();
    }
    return arrays_.write_edge_rows(main.path("features"), *whole.features, *main.lists, main.nodes);
  }

  ListsToWrite lists_of(std::size_t type, EdgeDir dir, const WholeLists& lists,
                        std::span<const std::uint64_t> nodes, std::string_view name) const {
    const auto& info = info_.edge_types[type];
    const auto other = raw(info.neighbour_type(dir));
    ListsToWrite write;
    write.lists = &lists;
    write.data = &source_.graph.graph()->edges[type].in;
    write.nodes = nodes;
    write.global_of = &source_.relabelling.global_of[other];
    write.path = [this, &info, dir, name](std::string_view what) {
      return store_layout::part_prefix(part_) +
             store_layout::edges_file(info, dir, std::string(name) + std::string(what));
    };
    for (const auto node : nodes) {
      write.edges += lists.degree(node);
    }
    return write;
  }

  ListsToWrite main_lists(std::size_t type, EdgeDir dir, const WholeLists& lists) const {
    const auto& info = info_.edge_types[type];
    const auto owner = raw(info.list_type(dir));
    return lists_of(type, dir, lists, source_.relabelling.owned(owner, part_), "");
  }

  Status write_direction(std::size_t type, EdgeDir dir, const WholeLists& lists) {
    TROUPE_RETURN_IF_ERROR(write_lists(info_.edge_types[type], main_lists(type, dir, lists)));
    if (source_.halo.hops == 0) {
      return ok_status();
    }
    const auto& info = info_.edge_types[type];
    const auto nodes = halo_with_lists(raw(info.list_type(dir)));
    return write_lists(info, lists_of(type, dir, lists, nodes, "halo_"));
  }

  /// Original ids of the halo nodes whose lists are kept, in order of global ids.
  std::vector<std::uint64_t> halo_with_lists(std::size_t type) const {
    std::vector<std::uint64_t> nodes;
    for (std::size_t i = 0; i < halo_[type].ids.size(); ++i) {
      if (halo_[type].hops[i] <= source_.halo.hops) {
        nodes.push_back(source_.relabelling.original_of[type][halo_[type].ids[i]]);
      }
    }
    return nodes;
  }

  Status write_lists(const EdgeTypeInfo& info, const ListsToWrite& lists) {
    TROUPE_RETURN_IF_ERROR(write_offsets(lists));
    if (id_width_bytes(lists.global_of->size()) == 4) {
      TROUPE_RETURN_IF_ERROR(write_neighbours<std::uint32_t>(lists));
    } else {
      TROUPE_RETURN_IF_ERROR(write_neighbours<std::uint64_t>(lists));
    }
    if (info.has_edge_ids) {
      TROUPE_RETURN_IF_ERROR(write_data(lists, "edge_ids", lists.data->edge_ids));
    }
    if (info.has_weights) {
      TROUPE_RETURN_IF_ERROR(write_data(lists, "weights", lists.data->weights));
    }
    return info.has_times ? write_data(lists, "times", lists.data->times) : ok_status();
  }

  Status write_offsets(const ListsToWrite& lists) {
    const auto path = lists.path("offsets");
    TROUPE_ASSIGN_OR_RETURN(auto column,
                            arrays_.open<std::uint64_t>(path, {lists.nodes.size() + 1}));
    std::uint64_t at = 0;
    TROUPE_RETURN_IF_ERROR(column.push(at));
    for (const auto node : lists.nodes) {
      at += lists.lists->degree(node);
      TROUPE_RETURN_IF_ERROR(column.push(at));
    }
    return arrays_.close(column, path);
  }

  template <class Id>
  Status write_neighbours(const ListsToWrite& lists) {
    const auto path = lists.path("neighbours");
    TROUPE_ASSIGN_OR_RETURN(auto column, arrays_.open<Id>(path, {lists.edges}));
    const auto& global_of = *lists.global_of;
    std::vector<Id> list;
    for (const auto node : lists.nodes) {
      lists.lists->neighbours.visit([&](auto ids) {
        const auto of_node = ids.subspan(lists.lists->offsets[node], lists.lists->degree(node));
        list.resize(of_node.size());
        std::ranges::transform(of_node, list.begin(),
                               [&](auto id) { return static_cast<Id>(global_of[id]); });
      });
      TROUPE_RETURN_IF_ERROR(column.push(list));
    }
    return arrays_.close(column, path);
  }

  template <class T>
  Status write_data(const ListsToWrite& lists, std::string_view what, std::span<const T> values) {
    const auto path = lists.path(what);
    TROUPE_ASSIGN_OR_RETURN(auto column, arrays_.open<T>(path, {lists.edges}));
    for (const auto node : lists.nodes) {
      const auto begin = lists.lists->offsets[node];
      const auto count = lists.lists->degree(node);
      if (lists.lists->places.empty()) {
        TROUPE_RETURN_IF_ERROR(column.push(values.subspan(begin, count)));
        continue;
      }
      for (const auto place : lists.lists->places.subspan(begin, count)) {
        TROUPE_RETURN_IF_ERROR(column.push(values[place]));
      }
    }
    return arrays_.close(column, path);
  }

  Status write_nodes(std::size_t type) {
    const auto& info = info_.node_types[type];
    const auto& nodes = source_.graph.graph()->nodes[type];
    const auto own = source_.relabelling.owned(type, part_);
    const auto& halo = halo_[type];
    std::vector<std::uint64_t> halo_original;
    for (const auto id : halo.ids) {
      halo_original.push_back(source_.relabelling.original_of[type][id]);
    }
    TROUPE_RETURN_IF_ERROR(write_array(info, "original_ids", own));
    TROUPE_RETURN_IF_ERROR(write_array<std::uint64_t>(info, "halo_ids", halo.ids));
    TROUPE_RETURN_IF_ERROR(write_array<std::uint64_t>(info, "halo_original_ids", halo_original));
    if (source_.halo.hops > 0) {
      TROUPE_RETURN_IF_ERROR(write_array<std::uint8_t>(info, "halo_hops", halo.hops));
    }
    if (nodes.features && !source_.features_later) {
      const auto& table = *nodes.features;
      TROUPE_RETURN_IF_ERROR(write_rows(info, "features", table, own));
      if (source_.halo.features) {
        TROUPE_RETURN_IF_ERROR(write_rows(info, "halo_features", table, halo_original));
      }
    }
    if (info.labels) {
      TROUPE_RETURN_IF_ERROR(write_labels(info, nodes, own));
    }
    for (std::size_t i = 0; i < info.columns.size(); ++i) {
      TROUPE_RETURN_IF_ERROR(arrays_.write_rows(
          store_layout::part_prefix(part_) + store_layout::column_file(info, info.columns[i]),
          nodes.columns[i], own, info.columns[i].shape));
    }
    return id_width_bytes(info.count) == 4 ? write_directory<std::uint32_t>(type)
                                           : write_directory<std::uint64_t>(type);
  }

  /// Global ids of the part's slice of original ids.
  template <class Id>
  Status write_directory(std::size_t type) {
    const auto& info = info_.node_types[type];
    const auto parts = source_.relabelling.ranges.first_node[type].size() - 1;
    const DirectorySlices slices{info.count, static_cast<std::uint32_t>(parts)};
    const auto first = slices.first(raw(part_));
    const auto count = slices.first(raw(part_) + 1) - first;
    const auto path = nodes_file(info, "directory");
    TROUPE_ASSIGN_OR_RETURN(auto column, arrays_.open<Id>(path, {count}));
    for (const auto global : std::span(source_.relabelling.global_of[type]).subspan(first, count)) {
      TROUPE_RETURN_IF_ERROR(column.push(static_cast<Id>(global)));
    }
    return arrays_.close(column, path);
  }

  Status write_labels(const NodeTypeInfo& info, const PartNodes& nodes,
                      std::span<const std::uint64_t> own) {
    if (info.labels->has_columns()) {
      const auto bytes = std::as_bytes(nodes.targets);
      return write_rows(info, "targets",
                        {{DType::f32, info.labels->classes, 1}, nodes.count, {nullptr, bytes}},
                        own);
    }
    const auto path = nodes_file(info, "labels");
    TROUPE_ASSIGN_OR_RETURN(auto column, arrays_.open<std::int64_t>(path, {own.size()}));
    for (const auto node : own) {
      TROUPE_RETURN_IF_ERROR(column.push(nodes.labels[node]));
    }
    return arrays_.close(column, path);
  }

  template <class T>
  Status write_array(const NodeTypeInfo& info, std::string_view what, std::span<const T> values) {
    const auto path = nodes_file(info, what);
    TROUPE_ASSIGN_OR_RETURN(auto column, arrays_.open<T>(path, {values.size()}));
    TROUPE_RETURN_IF_ERROR(column.push(values));
    return arrays_.close(column, path);
  }

  Status write_rows(const NodeTypeInfo& info, std::string_view what, const FeatureTable& table,
                    std::span<const std::uint64_t> nodes) {
    return arrays_.write_rows(nodes_file(info, what), table, nodes);
  }

  std::string nodes_file(const NodeTypeInfo& info, std::string_view what) const {
    return store_layout::part_prefix(part_) + store_layout::nodes_file(info, what);
  }

  const PartSource& source_;
  const GraphInfo& info_;
  PartId part_;
  PartArrays arrays_;
  std::vector<HaloNodes> halo_;
  WrittenPart written_;
};

}  // namespace

Result<WrittenPart> write_part(const PartSource& source, PartId part) {
  return PartWriter(source, part).write();
}

}  // namespace troupe
