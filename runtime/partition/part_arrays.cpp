#include "runtime/partition/part_arrays.hpp"

#include "runtime/base/files.hpp"

namespace troupe {

Status PartArrays::write_rows(const std::string& path, const FeatureTable& table,
                              std::span<const std::uint64_t> nodes, const RowShape& shape) {
  TROUPE_ASSIGN_OR_RETURN(auto column, open_bytes(path, table.info, nodes.size(), shape));
  for (const auto node : nodes) {
    TROUPE_RETURN_IF_ERROR(column.push(table.row(node)));
  }
  return close(column, path);
}

Status PartArrays::write_edge_rows(const std::string& path, const FeatureTable& table,
                                   const WholeLists& lists, std::span<const std::uint64_t> nodes,
                                   const RowShape& shape) {
  std::uint64_t edges = 0;
  for (const auto node : nodes) {
    edges += lists.degree(node);
  }
  TROUPE_ASSIGN_OR_RETURN(auto column, open_bytes(path, table.info, edges, shape));
  for (const auto node : nodes) {
    for (auto i = lists.offsets[node]; i < lists.offsets[node + 1]; ++i) {
      TROUPE_RETURN_IF_ERROR(column.push(table.row(lists.place(i))));
    }
  }
  return close(column, path);
}

Result<NpyStream> PartArrays::open_stream(const std::string& path, NpyType type,
                                          std::vector<std::uint64_t> shape) const {
  const auto full = dir_ / path;
  TROUPE_RETURN_IF_ERROR(make_folders(full.parent_path()));
  return NpyStream::create(full, type, std::move(shape));
}

Result<Column<std::byte>> PartArrays::open_bytes(const std::string& path, const FeatureInfo& info,
                                                 std::uint64_t rows,
                                                 const RowShape& row_shape) const {
  std::vector<std::uint64_t> shape = {rows};
  if (row_shape) {
    shape.insert(shape.end(), row_shape->begin(), row_shape->end());
  } else {
    shape.push_back(info.cols);
  }
  TROUPE_ASSIGN_OR_RETURN(auto stream, open_stream(path, npy_type(info.dtype), std::move(shape)));
  return Column<std::byte>(std::move(stream));
}

}  // namespace troupe
