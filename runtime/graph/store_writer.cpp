#include "runtime/graph/store_writer.hpp"

#include "runtime/base/digest.hpp"
#include "runtime/base/files.hpp"
#include "runtime/base/id_list.hpp"
#include "runtime/graph/column_stats.hpp"
#include "runtime/graph/graph_json.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <array>

namespace troupe {
namespace {

const NpyType u64_type = npy_type(DType::u64);

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

}  // namespace

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
  for (const auto& [name, seeds] : contents.seeds) {
    TROUPE_RETURN_IF_ERROR(writer.write<std::uint64_t>(
        store_layout::seeds_file(name.first, name.second), u64_type, seeds));
  }
  info.files = writer.files();
  const auto json = graph_to_json(info);
  const std::array<std::span<const std::byte>, 1> pieces{std::as_bytes(std::span(json))};
  TROUPE_RETURN_IF_ERROR(write_new_file(staged.path() / store_layout::graph_file, pieces));
  TROUPE_RETURN_IF_ERROR(staged.commit(Flush::no));
  return info;
}

}  // namespace troupe
