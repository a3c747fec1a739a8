#include "runtime/graph/part_loader.hpp"

#include "runtime/graph/array_checks.hpp"
#include "runtime/graph/directory.hpp"
#include "runtime/graph/node_counts.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace troupe {
namespace {

/// Loads the arrays of one part into a `Part`.
class PartLoader {
 public:
  explicit PartLoader(const PartRequest& request)
      : request_(request),
        prefix_(request.partition == nullptr ? "" : store_layout::part_prefix(request.part)),
        full_(request.files.options().verify == Verify::full) {
    part_.id = request.part;
    part_.complete_for =
        request.partition == nullptr ? CompleteFor::in : request.partition->complete_for;
    const bool halo = request.partition != nullptr && !lists_only();
    part_.halo_hops = halo ? request.partition->halo_hops : 0;
  }

  Result<std::shared_ptr<const Part>> load() {
    for (std::size_t type = 0; type < request_.info.node_types.size(); ++type) {
      TROUPE_RETURN_IF_ERROR(load_nodes(type));
    }
    for (std::size_t type = 0; type < request_.info.edge_types.size(); ++type) {
      TROUPE_RETURN_IF_ERROR(load_edges(type));
    }
    if (request_.partition == nullptr) {  // last: by now the arrays have confirmed what they can
      TROUPE_RETURN_IF_ERROR(check_counts());
      TROUPE_RETURN_IF_ERROR(number_nodes());
    }
    return std::shared_ptr<const Part>(std::make_shared<Part>(std::move(part_)));
  }

 private:
  bool lists_only() const { return request_.scope == PartScope::lists; }
  bool has_features() const { return request_.scope == PartScope::all; }

  /// Loads an array and keeps it alive with the part.
  Result<NpyArray> load_array(const std::string& path, const ArrayShape& expected) {
    TROUPE_ASSIGN_OR_RETURN(auto array, request_.files.load(path, expected));
    part_.bytes += array.data.bytes.size();
    if (array.data.owner != nullptr) {
      part_.owners.push_back(array.data.owner);
    }
    return array;
  }

  Status load_nodes(std::size_t type) {
    const auto& info = request_.info.node_types[type];
    PartNodes nodes;
    nodes.count = info.count;
    if (request_.partition != nullptr) {
      const auto& first = request_.partition->ranges.first_node[type];
      nodes.first = static_cast<NodeId>(first[raw(request_.part)]);
      nodes.count = first[raw(request_.part) + 1] - first[raw(request_.part)];
      TROUPE_RETURN_IF_ERROR(load_ids(nodes, info));
      TROUPE_RETURN_IF_ERROR(load_directory(nodes, info));
    }
    if (lists_only()) {
      part_.nodes.push_back(std::move(nodes));
      return ok_status();
    }
    const bool features = info.features && has_features();
    if (features) {
      TROUPE_ASSIGN_OR_RETURN(
          auto array,
          load_array(prefix_ + store_layout::nodes_file(info, "features"),
                     {npy_type(info.features->dtype), {nodes.count, info.features->cols}}));
      nodes.features = FeatureTable{*info.features, nodes.count, std::move(array.data)};
    }
    if (features && request_.partition != nullptr && request_.partition->halo_features) {
      const auto rows = nodes.halo_ids.size();
      TROUPE_ASSIGN_OR_RETURN(
          auto array, load_array(prefix_ + store_layout::nodes_file(info, "halo_features"),
                                 {npy_type(info.features->dtype), {rows, info.features->cols}}));
      nodes.halo_features = FeatureTable{*info.features, rows, std::move(array.data)};
    }
    if (info.labels) {
      TROUPE_RETURN_IF_ERROR(load_labels(nodes, info));
    }
    TROUPE_RETURN_IF_ERROR(load_columns(
        info.columns, nodes.count,
        [&](const ColumnInfo& column) { return store_layout::column_file(info, column); },
        nodes.columns));
    part_.nodes.push_back(std::move(nodes));
    return ok_status();
  }

  /// \param path_of  of a column
  template <class PathOf>
  Status load_columns(const std::vector<ColumnInfo>& columns, std::uint64_t rows, PathOf path_of,
                      std::vector<FeatureTable>& to) {
    for (const auto& column : columns) {
      const auto shape = store_layout::column_shape(column, rows);
      TROUPE_ASSIGN_OR_RETURN(auto array,
                              load_array(prefix_ + path_of(column),
                                         {npy_type(column.dtype), {shape.begin(), shape.end()}}));
      to.push_back(
          {{.dtype = column.dtype, .cols = column.row_values()}, rows, std::move(array.data)});
    }
    return ok_status();
  }

  /// Counts of nodes that no array's size confirms must be in proportion to the edges: memory is
  /// taken for them.
  Status check_counts() const {
    const auto found = find_unconfirmed_count(request_.info);
    if (found.type != nullptr) {
      return Error(
          Errc::data_corruption,
          fmt::format("{}: node type \"{}\": expected a count near its {} edges, as it "
                      "has no arrays, found {}",
                      store_layout::graph_file, found.type->name, found.edges, found.type->count));
    }
    return ok_status();
  }

  /// Original ids of a whole graph: 0, 1, 2, …
  Status number_nodes() {
    for (auto& nodes : part_.nodes) {
      try {
        std::vector<std::uint64_t> ids(nodes.count);
        std::iota(ids.begin(), ids.end(), std::uint64_t{0});
        const auto segment = Segment::of(std::move(ids));
        part_.bytes += segment.bytes.size();
        part_.owners.push_back(segment.owner);
        nodes.original_ids = segment.as<std::uint64_t>();
      } catch (const std::bad_alloc&) {
        return Error(Errc::out_of_memory,
                     fmt::format("no memory for the ids of {} nodes", nodes.count));
      }
    }
    return ok_status();
  }

  Status load_ids(PartNodes& nodes, const NodeTypeInfo& info) {
    const auto path = [&](std::string_view what) {
      return prefix_ + store_layout::nodes_file(info, what);
    };
    const auto u64_type = npy_type(DType::u64);
    TROUPE_ASSIGN_OR_RETURN(const auto original,
                            load_array(path("original_ids"), {u64_type, {nodes.count}}));
    nodes.original_ids = original.as<std::uint64_t>();
    if (lists_only()) {
      return full_ ? check_below(nodes.original_ids, info.count, path("original_ids"))
                   : ok_status();
    }
    TROUPE_ASSIGN_OR_RETURN(const auto halo,
                            load_array(path("halo_ids"), {u64_type, {std::nullopt}}));
    TROUPE_ASSIGN_OR_RETURN(const auto halo_original,
                            load_array(path("halo_original_ids"), {u64_type, {halo.size()}}));
    nodes.halo_ids = halo.as<std::uint64_t>();
    nodes.halo_original_ids = halo_original.as<std::uint64_t>();
    if (part_.halo_hops > 0) {
      TROUPE_ASSIGN_OR_RETURN(const auto hops,
                              load_array(path("halo_hops"), {npy_type(DType::u8), {halo.size()}}));
      nodes.halo_hops = hops.as<std::uint8_t>();
    }
    if (part_.halo_hops > 0 || request_.partition->halo_features) {
      TROUPE_RETURN_IF_ERROR(check_below(nodes.halo_ids, info.count, path("halo_ids")));
      TROUPE_RETURN_IF_ERROR(check_order(nodes.halo_ids, std::less<>(), path("halo_ids")));
      index_halo(nodes, info.count);
    }
    if (!full_) {
      return ok_status();
    }
    TROUPE_RETURN_IF_ERROR(check_below(nodes.original_ids, info.count, path("original_ids")));
    TROUPE_RETURN_IF_ERROR(check_below(nodes.halo_ids, info.count, path("halo_ids")));
    TROUPE_RETURN_IF_ERROR(
        check_below(nodes.halo_original_ids, info.count, path("halo_original_ids")));
    TROUPE_RETURN_IF_ERROR(check_order(nodes.halo_ids, std::less<>(), path("halo_ids")));
    for (std::size_t i = 0; i < nodes.halo_ids.size(); ++i) {
      if (nodes.owns(static_cast<NodeId>(nodes.halo_ids[i]))) {
        return bad_element(path("halo_ids"), i, "a node of another part",
                           fmt::to_string(nodes.halo_ids[i]));
      }
    }
    return ok_status();
  }

  /// The part's slice, whichever nodes the part owns. Nothing in stores that were written before
  /// parts had directories.
  Status load_directory(PartNodes& nodes, const NodeTypeInfo& info) {
    if (!request_.partition->directory) {
      return ok_status();
    }
    const DirectorySlices slices{info.count, request_.partition->parts};
    const auto part = raw(request_.part);
    const auto path = prefix_ + store_layout::nodes_file(info, "directory");
    const bool narrow = id_width_bytes(info.count) == 4;
    TROUPE_ASSIGN_OR_RETURN(const auto array,
                            load_array(path, {npy_type(narrow ? DType::u32 : DType::u64),
                                              {slices.first(part + 1) - slices.first(part)}}));
    nodes.directory = IdSpan(array.data.bytes, narrow ? 4 : 8);
    return full_
               ? nodes.directory.visit([&](auto ids) { return check_below(ids, info.count, path); })
               : ok_status();
  }

  void index_halo(PartNodes& nodes, std::uint64_t count) {
    std::vector<std::uint64_t> listed;
    for (std::size_t i = 0; i < nodes.halo_hops.size(); ++i) {
      if (nodes.halo_hops[i] <= part_.halo_hops) {
        listed.push_back(nodes.halo_ids[i]);
      }
    }
    nodes.halo = RankedSet(nodes.halo_ids, count);
    nodes.halo_listed = RankedSet(listed, count);
    part_.bytes += nodes.halo.bytes() + nodes.halo_listed.bytes();
  }

  Status load_labels(PartNodes& nodes, const NodeTypeInfo& info) {
    const auto classes = info.labels->classes;
    if (info.labels->has_columns()) {
      TROUPE_ASSIGN_OR_RETURN(const auto array,
                              load_array(prefix_ + store_layout::nodes_file(info, "targets"),
                                         {npy_type(DType::f32), {nodes.count, classes}}));
      nodes.targets = array.as<float>();
      const bool numbers = info.labels->kind == LabelInfo::Kind::numbers;
      const auto bad = std::ranges::find_if(nodes.targets, [numbers](float target) {
        const bool fits = numbers ? !std::isinf(target) : target == 0.0F || target == 1.0F;
        return !fits && !std::isnan(target);
      });
      if (full_ && bad != nodes.targets.end()) {
        return bad_element(prefix_ + store_layout::nodes_file(info, "targets"),
                           static_cast<std::size_t>(bad - nodes.targets.begin()),
                           numbers ? "a finite number, or NaN" : "a target 0 or 1, or NaN",
                           fmt::to_string(*bad));
      }
      return ok_status();
    }
    const auto path = prefix_ + store_layout::nodes_file(info, "labels");
    TROUPE_ASSIGN_OR_RETURN(const auto array,
                            load_array(path, {npy_type(DType::i64), {nodes.count}}));
    nodes.labels = array.as<std::int64_t>();
    if (full_) {
      const auto end = static_cast<std::int64_t>(classes);
      const auto bad = std::ranges::find_if(
          nodes.labels, [end](std::int64_t label) { return label < -1 || label >= end; });
      if (bad != nodes.labels.end()) {
        return bad_element(path, static_cast<std::size_t>(bad - nodes.labels.begin()),
                           fmt::format("a label from -1 to {}", end - 1), fmt::to_string(*bad));
      }
    }
    return ok_status();
  }

  Status load_edges(std::size_t type) {
    const auto& info = request_.info.edge_types[type];
    PartEdges edges;
    edges.source_type = info.source;
    edges.destination_type = info.destination;
    std::optional<std::uint64_t> main_count = info.count;
    if (request_.partition != nullptr) {
      main_count = request_.partition->edges[type][raw(request_.part)];
    }
    if (part_.complete_for != CompleteFor::out) {
      TROUPE_ASSIGN_OR_RETURN(edges.in, load_lists({info, EdgeDir::in, "", main_count}));
      main_count.reset();
    }
    if (part_.complete_for != CompleteFor::in) {
      TROUPE_ASSIGN_OR_RETURN(edges.out, load_lists({info, EdgeDir::out, "", main_count}));
    }
    if (part_.halo_hops > 0 && edges.in.present()) {
      TROUPE_ASSIGN_OR_RETURN(edges.halo_in, load_lists({info, EdgeDir::in, "halo_", {}}));
    }
    if (part_.halo_hops > 0 && edges.out.present()) {
      TROUPE_ASSIGN_OR_RETURN(edges.halo_out, load_lists({info, EdgeDir::out, "halo_", {}}));
    }
    if (info.features && has_features()) {
      const bool in = edges.in.present();
      const auto rows = (in ? edges.in : edges.out).neighbours.size();
      const auto path =
          prefix_ + store_layout::edges_file(info, in ? EdgeDir::in : EdgeDir::out, "features");
      TROUPE_ASSIGN_OR_RETURN(auto array, load_array(path, {npy_type(info.features->dtype),
                                                            {rows, info.features->cols}}));
      edges.features = FeatureTable{*info.features, rows, std::move(array.data)};
    }
    if (!lists_only()) {
      const auto dir = edges.in.present() ? EdgeDir::in : EdgeDir::out;
      TROUPE_RETURN_IF_ERROR(load_columns(
          info.columns, edges.lists(dir).neighbours.size(),
          [&](const ColumnInfo& column) { return store_layout::column_file(info, dir, column); },
          edges.columns));
    }
    part_.edges.push_back(std::move(edges));
    return ok_status();
  }

  Status load_weights(NeighbourLists& lists, const std::string& path) {
    TROUPE_ASSIGN_OR_RETURN(const auto array,
                            load_array(path, {npy_type(DType::f32), {lists.neighbours.size()}}));
    lists.weights = array.as<float>();
    const auto bad = std::ranges::find_if(
        lists.weights, [](float weight) { return !(weight >= 0 && std::isfinite(weight)); });
    if (full_ && bad != lists.weights.end()) {
      return bad_element(path, static_cast<std::size_t>(bad - lists.weights.begin()),
                         "a finite weight of 0 or more", fmt::to_string(*bad));
    }
    return ok_status();
  }

  Status load_times(NeighbourLists& lists, const std::string& path) {
    TROUPE_ASSIGN_OR_RETURN(const auto array,
                            load_array(path, {npy_type(DType::i64), {lists.neighbours.size()}}));
    lists.times = array.as<std::int64_t>();
    for (std::size_t node = 0; full_ && node + 1 < lists.offsets.size(); ++node) {
      for (auto i = lists.offsets[node] + 1; i < lists.offsets[node + 1]; ++i) {
        if (lists.times[i] < lists.times[i - 1]) {
          return bad_element(path, i,
                             fmt::format("times in order, at least {}", lists.times[i - 1]),
                             fmt::to_string(lists.times[i]));
        }
      }
    }
    return ok_status();
  }

  struct ListsFiles {
    const EdgeTypeInfo& info;
    EdgeDir dir = EdgeDir::in;
    std::string_view prefix;             ///< of their names
    std::optional<std::uint64_t> count;  ///< of edges, if known
  };

  Result<NeighbourLists> load_lists(const ListsFiles& wanted) {
    const auto& info = wanted.info;
    const auto dir = wanted.dir;
    const auto path = [&](std::string_view what) {
      return prefix_ +
             store_layout::edges_file(info, dir, std::string(wanted.prefix) + std::string(what));
    };
    const auto owner_type = info.list_type(dir);
    const auto other_count = request_.info.node_types[raw(info.neighbour_type(dir))].count;
    const bool narrow = id_width_bytes(other_count) == 4;
    const auto lists_of = wanted.prefix.empty() ? part_.nodes_of(owner_type).count
                                                : part_.nodes_of(owner_type).halo_listed.size();
    TROUPE_ASSIGN_OR_RETURN(const auto offsets,
                            load_array(path("offsets"), {npy_type(DType::u64), {lists_of + 1}}));
    TROUPE_ASSIGN_OR_RETURN(
        const auto neighbours,
        load_array(path("neighbours"),
                   {npy_type(narrow ? DType::u32 : DType::u64), {wanted.count}}));
    NeighbourLists lists;
    lists.offsets = offsets.as<std::uint64_t>();
    lists.neighbours = IdSpan(neighbours.data.bytes, narrow ? 4 : 8);
    if (lists.offsets.front() != 0 || lists.offsets.back() != lists.neighbours.size()) {
      return bad_element(path("offsets"), lists.offsets.size() - 1,
                         fmt::format("offsets from 0 to {}", lists.neighbours.size()),
                         fmt::format("{} to {}", lists.offsets.front(), lists.offsets.back()));
    }
    TROUPE_RETURN_IF_ERROR(check_order(lists.offsets, std::less_equal<>(), path("offsets")));
    if (full_) {
      TROUPE_RETURN_IF_ERROR(lists.neighbours.visit(
          [&](auto ids) { return check_below(ids, other_count, path("neighbours")); }));
    }
    if (info.has_edge_ids) {
      TROUPE_ASSIGN_OR_RETURN(
          const auto edge_ids,
          load_array(path("edge_ids"), {npy_type(DType::u64), {neighbours.size()}}));
      lists.edge_ids = edge_ids.as<std::uint64_t>();
      if (full_) {
        TROUPE_RETURN_IF_ERROR(
            check_below(lists.edge_ids, info.end_of_edge_ids(), path("edge_ids")));
      }
    }
    if (info.has_weights) {
      TROUPE_RETURN_IF_ERROR(load_weights(lists, path("weights")));
    }
    if (info.has_times) {
      TROUPE_RETURN_IF_ERROR(load_times(lists, path("times")));
    }
    return lists;
  }

  const PartRequest& request_;
  std::string prefix_;
  bool full_;
  Part part_;
};

}  // namespace

Result<std::shared_ptr<const Part>> load_part_arrays(const PartRequest& request) {
  return PartLoader(request).load();
}

}  // namespace troupe
