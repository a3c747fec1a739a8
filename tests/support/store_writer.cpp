#include "tests/support/store_writer.hpp"

#include "runtime/base/digest.hpp"
#include "runtime/base/files.hpp"
#include "runtime/base/id_list.hpp"
#include "runtime/base/staged_directory.hpp"
#include "runtime/graph/column_stats.hpp"
#include "runtime/graph/graph_json.hpp"
#include "runtime/graph/npy.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace troupe::testing {
namespace {

const NpyType u64_type = npy_type(DType::u64);

/// Writes .npy files below a directory and remembers path, size and checksum of each.
class ArrayWriter {
 public:
  explicit ArrayWriter(std::filesystem::path dir) : dir_(std::move(dir)) {}

  /// Writes `bytes` as an array.
  /// \param path  relative to the directory; missing folders are made
  Status write(const std::string& path, NpyType type, std::span<const std::uint64_t> shape,
               std::span<const std::byte> bytes);
  /// A one-dimensional array.
  template <class T>
  Status write(const std::string& path, NpyType type, std::span<const T> values) {
    const std::uint64_t shape[] = {values.size()};
    return write(path, type, shape, std::as_bytes(values));
  }
  /// Ids, 4 bytes each where all ids below `end` fit, else 8.
  Status write_ids(const std::string& path, std::span<const std::uint64_t> ids, std::uint64_t end);

  /// What was written, in order of writing.
  const std::vector<FileInfo>& files() const { return files_; }

 private:
  std::filesystem::path dir_;
  std::vector<FileInfo> files_;
};

Status ArrayWriter::write(const std::string& path, NpyType type,
                          std::span<const std::uint64_t> shape, std::span<const std::byte> bytes) {
  const auto header = npy_header(type, shape);
  const auto header_bytes = std::as_bytes(std::span(header));
  const auto full_path = dir_ / path;
  std::error_code error;
  std::filesystem::create_directories(full_path.parent_path(), error);
  if (error) {
    return file_error(full_path.parent_path(), "cannot create the directory", error.value());
  }
  const std::array<std::span<const std::byte>, 2> pieces{header_bytes, bytes};
  TROUPE_RETURN_IF_ERROR(write_new_file(full_path, pieces));
  DigestBuilder digest;
  digest.add_bytes(header_bytes);
  digest.add_bytes(bytes);
  files_.push_back({path, header_bytes.size() + bytes.size(), to_string(digest.digest())});
  return ok_status();
}

Status ArrayWriter::write_ids(const std::string& path, std::span<const std::uint64_t> ids,
                              std::uint64_t end) {
  if (id_width_bytes(end) == 8) {
    return write<std::uint64_t>(path, u64_type, ids);
  }
  std::vector<std::uint32_t> narrow(ids.size());
  std::ranges::transform(ids, narrow.begin(),
                         [](std::uint64_t id) { return static_cast<std::uint32_t>(id); });
  return write<std::uint32_t>(path, npy_type(DType::u32), narrow);
}

Status write_nodes(ArrayWriter& writer, const NodeTypeInfo& type,
                   const GraphContents::Nodes& nodes) {
  if (type.features) {
    const std::uint64_t shape[] = {type.count, type.features->cols};
    TROUPE_RETURN_IF_ERROR(writer.write(store_layout::nodes_file(type, "features"),
                                        npy_type(type.features->dtype), shape,
                                        nodes.features.bytes));
  }
  if (!type.labels) {
    return ok_status();
  }
  if (type.labels->kind == LabelInfo::Kind::classes) {
    return writer.write<std::int64_t>(store_layout::nodes_file(type, "labels"),
                                      npy_type(DType::i64), nodes.labels);
  }
  const std::uint64_t shape[] = {type.count, type.labels->classes};
  return writer.write(store_layout::nodes_file(type, "targets"), npy_type(DType::f32), shape,
                      std::as_bytes(std::span(nodes.targets)));
}

Status write_in_lists(ArrayWriter& writer, const GraphInfo& info, const EdgeTypeInfo& type,
                      const ListArrays& lists) {
  const auto path = [&](std::string_view what) {
    return store_layout::edges_file(type, EdgeDir::in, what);
  };
  TROUPE_RETURN_IF_ERROR(writer.write<std::uint64_t>(path("offsets"), u64_type, lists.offsets));
  TROUPE_RETURN_IF_ERROR(writer.write_ids(path("neighbours"), lists.neighbours,
                                          info.node_types[raw(type.source)].count));
  if (type.has_edge_ids) {
    TROUPE_RETURN_IF_ERROR(writer.write<std::uint64_t>(path("edge_ids"), u64_type, lists.edge_ids));
  }
  return ok_status();
}

Status write_split(ArrayWriter& writer, const GraphContents& contents, const SplitInfo& split) {
  const auto path = [&split](std::string_view role, std::string_view what) {
    return store_layout::split_file(split.name, role, what);
  };
  for (const auto& [role, info] : split.roles) {
    TROUPE_RETURN_IF_ERROR(writer.write<std::uint64_t>(store_layout::seeds_file(split.name, role),
                                                       u64_type,
                                                       contents.seeds.at({split.name, role})));
    if (info.has_times) {
      TROUPE_RETURN_IF_ERROR(writer.write<std::int64_t>(
          path(role, "times"), npy_type(DType::i64), contents.seed_times.at({split.name, role})));
    }
  }
  for (const auto& [role, info] : split.links) {
    const auto& links = contents.links.at({split.name, role});
    const std::uint64_t shape[] = {info.count, 2};
    TROUPE_RETURN_IF_ERROR(
        writer.write(path(role, "links"), u64_type, shape, std::as_bytes(std::span(links.ends))));
    if (info.has_times) {
      TROUPE_RETURN_IF_ERROR(
          writer.write<std::int64_t>(path(role, "links.times"), npy_type(DType::i64), links.times));
    }
    if (info.has_labels) {
      TROUPE_RETURN_IF_ERROR(
          writer.write<float>(path(role, "links.labels"), npy_type(DType::f32), links.labels));
    }
  }
  return ok_status();
}

/// Start positions of groups from the keys of their members: [groups + 1].
std::vector<std::uint64_t> group_offsets(std::span<const std::uint64_t> keys,
                                         std::uint64_t groups) {
  std::vector<std::uint64_t> offsets(groups + 1, 0);
  for (const auto key : keys) {
    ++offsets[key + 1];
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return offsets;
}

}  // namespace

ListArrays build_in_lists(const EdgeList& edges, std::uint64_t source_count,
                          std::uint64_t destination_count) {
  const auto count = edges.sources.size();
  std::vector<std::uint64_t> by_source(count);  // stable: parallel edges stay in order of edge ids
  auto next = group_offsets(edges.sources, source_count);
  for (std::uint64_t edge = 0; edge < count; ++edge) {
    by_source[next[edges.sources[edge]]++] = edge;
  }
  ListArrays lists;
  lists.offsets = group_offsets(edges.destinations, destination_count);
  lists.neighbours.resize(count);
  lists.edge_ids.resize(count);
  next = lists.offsets;
  for (const auto edge : by_source) {
    const auto at = next[edges.destinations[edge]]++;
    lists.neighbours[at] = edges.sources[edge];
    lists.edge_ids[at] = edge;
  }
  return lists;
}

Result<GraphInfo> write_graph_store(const GraphContents& contents,
                                    const std::filesystem::path& out) {
  auto info = contents.info;
  TROUPE_ASSIGN_OR_RETURN(auto staged, StagedDirectory::create(out));
  ArrayWriter writer(staged.path());
  for (std::size_t i = 0; i < info.node_types.size(); ++i) {
    auto& type = info.node_types[i];
    if (type.features && !type.column_stats) {
      type.column_stats = column_stats({*type.features, type.count, contents.nodes[i].features});
    }
    TROUPE_RETURN_IF_ERROR(write_nodes(writer, type, contents.nodes[i]));
  }
  for (std::size_t i = 0; i < info.edge_types.size(); ++i) {
    TROUPE_RETURN_IF_ERROR(write_in_lists(writer, info, info.edge_types[i], contents.in_lists[i]));
  }
  for (const auto& split : info.splits) {
    TROUPE_RETURN_IF_ERROR(write_split(writer, contents, split));
  }
  info.files = writer.files();
  TROUPE_RETURN_IF_ERROR(
      write_new_text_file(staged.path() / store_layout::graph_file, graph_to_json(info)));
  TROUPE_RETURN_IF_ERROR(staged.commit(Flush::no));
  return info;
}

}  // namespace troupe::testing
