#include "runtime/partition/partition_writer.hpp"

#include "runtime/base/files.hpp"
#include "runtime/graph/graph_json.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/graph/store_writer.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace troupe {
namespace {

const NpyType u64_type = npy_type(DType::u64);

ListArrays copy_lists(const NeighbourLists& lists) {
  ListArrays copy;
  copy.offsets.assign(lists.offsets.begin(), lists.offsets.end());
  lists.neighbours.visit([&](auto ids) { copy.neighbours.assign(ids.begin(), ids.end()); });
  copy.edge_ids.assign(lists.edge_ids.begin(), lists.edge_ids.end());
  return copy;
}

/// The rows of `ids`, in that order, from a table of rows of `row_bytes`.
std::vector<std::byte> gather(std::span<const std::byte> table, std::size_t row_bytes,
                              std::span<const std::uint64_t> ids) {
  std::vector<std::byte> rows(ids.size() * row_bytes);
  if (rows.empty()) {
    return rows;
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::memcpy(rows.data() + i * row_bytes, table.data() + ids[i] * row_bytes, row_bytes);
  }
  return rows;
}

class PartitionWriter {
 public:
  PartitionWriter(const GraphStore& graph, const Relabelling& relabelling, PartitionInfo partition,
                  const std::filesystem::path& dir)
      : graph_(graph),
        info_(graph.info()),
        relabelling_(relabelling),
        partition_(std::move(partition)),
        writer_(dir) {
    partition_.ranges = relabelling.ranges;
    partition_.edges.assign(info_.edge_types.size(), {});
    for (const auto& edges : graph.graph()->edges) {
      in_lists_.push_back(copy_lists(edges.in));
    }
    if (partition_.complete_for != CompleteFor::in) {
      for (std::size_t type = 0; type < info_.edge_types.size(); ++type) {
        const auto source = info_.edge_types[type].source;
        out_lists_.push_back(reverse_lists(in_lists_[type], info_.node_types[raw(source)].count));
      }
    }
  }

  Result<PartitionInfo> write_all(const std::filesystem::path& dir) {
    for (std::uint32_t part = 0; part < partition_.parts; ++part) {
      TROUPE_RETURN_IF_ERROR(write_part(static_cast<PartId>(part)));
    }
    partition_.files = writer_.files();
    partition_.cut_edges = count_cut_edges();
    auto info = info_;
    TROUPE_ASSIGN_OR_RETURN(info.files, write_seeds(dir));
    TROUPE_RETURN_IF_ERROR(write_text(dir / store_layout::graph_file, graph_to_json(info)));
    TROUPE_RETURN_IF_ERROR(
        write_text(dir / store_layout::partition_file, partition_to_json(partition_, info)));
    return partition_;
  }

 private:
  static Status write_text(const std::filesystem::path& path, const std::string& text) {
    const std::array<std::span<const std::byte>, 1> pieces{std::as_bytes(std::span(text))};
    return write_new_file(path, pieces);
  }

  /// Original ids of the nodes that a part owns, in order of global ids.
  std::span<const std::uint64_t> owned(std::size_t type, PartId part) const {
    const auto& first = relabelling_.ranges.first_node[type];
    const auto begin = first[raw(part)];
    return std::span(relabelling_.original_of[type]).subspan(begin, first[raw(part) + 1] - begin);
  }

  Status write_part(PartId part) {
    std::vector<std::vector<std::uint64_t>> halo(info_.node_types.size());
    for (std::size_t type = 0; type < info_.edge_types.size(); ++type) {
      TROUPE_RETURN_IF_ERROR(write_edges(type, part, halo));
    }
    for (std::size_t type = 0; type < info_.node_types.size(); ++type) {
      std::ranges::sort(halo[type]);
      halo[type].erase(std::unique(halo[type].begin(), halo[type].end()), halo[type].end());
      TROUPE_RETURN_IF_ERROR(write_nodes(type, part, halo[type]));
    }
    return ok_status();
  }

  Status write_edges(std::size_t type, PartId part, std::vector<std::vector<std::uint64_t>>& halo) {
    std::uint64_t main_count = 0;
    const bool has_in = partition_.complete_for != CompleteFor::out;
    if (has_in) {
      TROUPE_ASSIGN_OR_RETURN(main_count, write_lists(type, part, EdgeDir::in, halo));
    }
    if (partition_.complete_for != CompleteFor::in) {
      TROUPE_ASSIGN_OR_RETURN(const auto count, write_lists(type, part, EdgeDir::out, halo));
      main_count = has_in ? main_count : count;
    }
    partition_.edges[type].push_back(main_count);
    return ok_status();
  }

  /// Writes the lists of the part's own nodes, neighbours as global ids; adds the foreign ones to
  /// `halo`.
  Result<std::uint64_t> write_lists(std::size_t type, PartId part, EdgeDir dir,
                                    std::vector<std::vector<std::uint64_t>>& halo) {
    const auto& info = info_.edge_types[type];
    const auto owner_type = raw(dir == EdgeDir::in ? info.destination : info.source);
    const auto other_type = raw(dir == EdgeDir::in ? info.source : info.destination);
    const auto& all = dir == EdgeDir::in ? in_lists_[type] : out_lists_[type];
    const auto& global_of = relabelling_.global_of[other_type];
    const auto& first = relabelling_.ranges.first_node[other_type];
    const auto begin = first[raw(part)];
    const auto end = first[raw(part) + 1];
    ListArrays lists;
    lists.offsets.push_back(0);
    for (const auto node : owned(owner_type, part)) {
      for (auto i = all.offsets[node]; i < all.offsets[node + 1]; ++i) {
        const auto neighbour = global_of[all.neighbours[i]];
        lists.neighbours.push_back(neighbour);
        if (neighbour < begin || neighbour >= end) {
          halo[other_type].push_back(neighbour);
        }
        if (info.has_edge_ids) {
          lists.edge_ids.push_back(all.edge_ids[i]);
        }
      }
      lists.offsets.push_back(lists.neighbours.size());
    }
    const auto path = [&](std::string_view what) {
      return store_layout::part_prefix(part) + store_layout::edges_file(info, dir, what);
    };
    TROUPE_RETURN_IF_ERROR(writer_.write<std::uint64_t>(path("offsets"), u64_type, lists.offsets));
    TROUPE_RETURN_IF_ERROR(
        writer_.write_ids(path("neighbours"), lists.neighbours, global_of.size()));
    if (info.has_edge_ids) {
      TROUPE_RETURN_IF_ERROR(
          writer_.write<std::uint64_t>(path("edge_ids"), u64_type, lists.edge_ids));
    }
    return std::uint64_t{lists.neighbours.size()};
  }

  Status write_nodes(std::size_t type, PartId part, std::span<const std::uint64_t> halo) {
    const auto& info = info_.node_types[type];
    const auto& nodes = graph_.graph()->nodes[type];
    const auto ids = owned(type, part);
    const auto path = [&](std::string_view what) {
      return store_layout::part_prefix(part) + store_layout::nodes_file(info, what);
    };
    TROUPE_RETURN_IF_ERROR(writer_.write<std::uint64_t>(path("original_ids"), u64_type, ids));
    std::vector<std::uint64_t> halo_original;
    for (const auto id : halo) {
      halo_original.push_back(relabelling_.original_of[type][id]);
    }
    TROUPE_RETURN_IF_ERROR(writer_.write<std::uint64_t>(path("halo_ids"), u64_type, halo));
    TROUPE_RETURN_IF_ERROR(
        writer_.write<std::uint64_t>(path("halo_original_ids"), u64_type, halo_original));
    if (nodes.features) {
      const std::uint64_t shape[] = {ids.size(), info.features->cols};
      TROUPE_RETURN_IF_ERROR(
          writer_.write(path("features"), npy_type(info.features->dtype), shape,
                        gather(nodes.features->data.bytes, nodes.features->row_bytes(), ids)));
    }
    if (!info.labels) {
      return ok_status();
    }
    if (info.labels->kind == LabelInfo::Kind::targets) {
      const std::uint64_t shape[] = {ids.size(), info.labels->classes};
      return writer_.write(
          path("targets"), npy_type(DType::f32), shape,
          gather(std::as_bytes(nodes.targets), info.labels->classes * sizeof(float), ids));
    }
    const std::uint64_t shape[] = {ids.size()};
    return writer_.write(path("labels"), npy_type(DType::i64), shape,
                         gather(std::as_bytes(nodes.labels), sizeof(std::int64_t), ids));
  }

  /// Writes every role's seeds as [n, 2] (original, global); returns the files.
  Result<std::vector<FileInfo>> write_seeds(const std::filesystem::path& dir) const {
    ArrayWriter writer(dir);
    for (const auto& split : info_.splits) {
      for (const auto& role : split.roles) {
        TROUPE_ASSIGN_OR_RETURN(const auto seeds, graph_.seeds(split.name, role.first));
        const auto& global_of = relabelling_.global_of[raw(seeds.node_type)];
        std::vector<std::uint64_t> pairs;
        for (const auto id : seeds.original) {
          pairs.push_back(raw(id));
          pairs.push_back(global_of[raw(id)]);
        }
        const std::uint64_t shape[] = {seeds.original.size(), 2};
        TROUPE_RETURN_IF_ERROR(writer.write(store_layout::seeds_file(split.name, role.first),
                                            u64_type, shape, std::as_bytes(std::span(pairs))));
      }
    }
    return writer.files();
  }

  std::uint64_t count_cut_edges() const {
    std::uint64_t cut = 0;
    for (std::size_t type = 0; type < info_.edge_types.size(); ++type) {
      const auto source_type = raw(info_.edge_types[type].source);
      const auto destination_type = raw(info_.edge_types[type].destination);
      const auto& source_first = relabelling_.ranges.first_node[source_type];
      const auto& lists = in_lists_[type];
      for (std::uint32_t part = 0; part < partition_.parts; ++part) {
        const auto begin = source_first[part];
        const auto end = source_first[part + 1];
        for (const auto node : owned(destination_type, static_cast<PartId>(part))) {
          for (auto i = lists.offsets[node]; i < lists.offsets[node + 1]; ++i) {
            const auto source = relabelling_.global_of[source_type][lists.neighbours[i]];
            cut += source < begin || source >= end ? 1 : 0;
          }
        }
      }
    }
    return cut;
  }

  const GraphStore& graph_;
  const GraphInfo& info_;
  const Relabelling& relabelling_;
  PartitionInfo partition_;
  ArrayWriter writer_;
  std::vector<ListArrays> in_lists_;   ///< of the whole graph, original ids
  std::vector<ListArrays> out_lists_;  ///< only where the parts keep them
};

}  // namespace

Result<PartitionInfo> write_partitioned_store(const GraphStore& graph,
                                              const Relabelling& relabelling,
                                              const PartitionInfo& partition,
                                              const std::filesystem::path& out) {
  TROUPE_ASSIGN_OR_RETURN(auto staged, StagedDirectory::create(out));
  PartitionWriter writer(graph, relabelling, partition, staged.path());
  TROUPE_ASSIGN_OR_RETURN(auto written, writer.write_all(staged.path()));
  TROUPE_RETURN_IF_ERROR(staged.commit(Flush::no));
  return written;
}

}  // namespace troupe
