// Rows of features, labels and targets of a StoreWriter.
#include "runtime/data/stream_store_state.hpp"
#include "runtime/graph/column_stats.hpp"
#include "runtime/graph/store_layout.hpp"

#include <fmt/format.h>

namespace troupe {

using namespace stream_store;

namespace {
constexpr std::size_t block_bytes = std::size_t{1} << 20;
}  // namespace

Result<RowFile> StoreWriter::State::open_rows(const NodeRows& rows, std::string_view what,
                                              DType dtype, std::vector<std::uint64_t> shape) {
  const auto path = store_layout::nodes_file(rows.info, what);
  TROUPE_RETURN_IF_ERROR(make_folder_of(path));
  const auto width = shape.size() == 2 ? shape[1] : 1;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(width * size_bytes(dtype), shape[0], &bytes) ||
      bytes > store_layout::largest_count) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected an array of at most {} bytes, got {} rows of {}", path,
                             store_layout::largest_count, shape[0], width));
  }
  TROUPE_RETURN_IF_ERROR(check_space(path, bytes));
  TROUPE_ASSIGN_OR_RETURN(
      auto stream, NpyStream::create(staged_.path() / path, npy_type(dtype), std::move(shape)));
  return RowFile{path, std::move(stream), width * size_bytes(dtype), 0};
}

Status StoreWriter::State::open_row_files(NodeRows& rows) {
  const auto count = rows.info.count;
  if (const auto& features = rows.info.features) {
    TROUPE_ASSIGN_OR_RETURN(rows.features,
                            open_rows(rows, "features", features->dtype, {count, features->cols}));
  }
  if (const auto& labels = rows.info.labels) {
    const bool classes = labels->kind == LabelInfo::Kind::classes;
    const auto shape = classes ? std::vector{count} : std::vector{count, labels->classes};
    TROUPE_ASSIGN_OR_RETURN(rows.labels, open_rows(rows, classes ? "labels" : "targets",
                                                   classes ? DType::i64 : DType::f32, shape));
  }
  return ok_status();
}

Status StoreWriter::State::write_rows(const NodeRows& rows, RowFile& file,
                                      std::span<const std::byte> bytes) {
  if (file.row_bytes == 0 || bytes.size() % file.row_bytes != 0) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: row {}: expected whole rows of {} bytes, got {} bytes", file.path,
                             file.rows, file.row_bytes, bytes.size()));
  }
  const auto count = bytes.size() / file.row_bytes;
  if (count > rows.info.count - file.rows) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected {} rows, one per node of type {}, got {}", file.path,
                             rows.info.count, rows.info.name, file.rows + count));
  }
  file.rows += count;
  return file.stream.write(bytes);
}

Status StoreWriter::State::add_features(NodeTypeId type, std::span<const std::byte> bytes) {
  if (raw(type) >= nodes_.size() || !nodes_[raw(type)].features) {
    return Error(Errc::invalid_argument,
                 fmt::format("features: expected a node type with features, got {}", raw(type)));
  }
  auto& rows = nodes_[raw(type)];
  return write_rows(rows, *rows.features, bytes);
}

Status StoreWriter::State::add_rows(NodeTypeId type, LabelInfo::Kind kind,
                                    std::span<const std::byte> bytes) {
  const bool classes = kind == LabelInfo::Kind::classes;
  if (raw(type) >= nodes_.size() || !nodes_[raw(type)].labels ||
      nodes_[raw(type)].info.labels->kind != kind) {
    return Error(Errc::invalid_argument, fmt::format("{0}: expected a node type with {0}, got {1}",
                                                     classes ? "labels" : "targets", raw(type)));
  }
  auto& rows = nodes_[raw(type)];
  return write_rows(rows, *rows.labels, bytes);
}

Status StoreWriter::State::check_labels(NodeTypeId type,
                                        std::span<const std::int64_t> labels) const {
  if (raw(type) >= nodes_.size() || !nodes_[raw(type)].labels) {
    return ok_status();  // add_rows says it
  }
  const auto& rows = nodes_[raw(type)];
  const auto end = static_cast<std::int64_t>(rows.info.labels->classes);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < -1 || labels[i] >= end) {
      return Error(Errc::invalid_argument,
                   fmt::format("{}: row {}: expected a label from -1 (none) to {}, got {}",
                               rows.labels->path, rows.labels->rows + i, end - 1, labels[i]));
    }
  }
  return ok_status();
}

Status StoreWriter::State::close_rows(const NodeRows& rows, RowFile& file) {
  if (file.rows != rows.info.count) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected {} rows, one per node of type {}, got {}", file.path,
                             rows.info.count, rows.info.name, file.rows));
  }
  TROUPE_RETURN_IF_ERROR(file.stream.close());
  info_.files.push_back(file.stream.info(file.path));
  return ok_status();
}

Status StoreWriter::State::finish_rows(NodeRows& rows) {
  if (rows.features) {
    TROUPE_RETURN_IF_ERROR(close_rows(rows, *rows.features));
    report("statistics of features", 0, rows.info.count, "rows");
    TROUPE_ASSIGN_OR_RETURN(const auto array, map_npy(staged_.path() / rows.features->path));
    rows.info.column_stats = column_stats({*rows.info.features, rows.info.count, array.data});
  }
  return rows.labels ? close_rows(rows, *rows.labels) : ok_status();
}

Status StoreWriter::State::add_edge_features(EdgeTypeId type, std::span<const std::byte> rows) {
  TROUPE_ASSIGN_OR_RETURN(auto* const edges, given_edges(type));
  const auto& features = edges->info.features;
  const auto row_bytes = features ? features->row_bytes() : 0;
  if (row_bytes == 0 || rows.size() % row_bytes != 0) {
    return Error(
        Errc::invalid_argument,
        fmt::format("features of edge type {}: row {}: expected whole rows of {} bytes, got "
                    "{} bytes",
                    edges->info.name, edges->feature_rows, row_bytes, rows.size()));
  }
  if (!edges->features) {
    TROUPE_ASSIGN_OR_RETURN(edges->features, ScratchFile::create(staged_.path()));
  }
  edges->feature_rows += rows.size() / row_bytes;
  return edges->features->append(rows);
}

/// Puts the rows in the order of the lists, which are written.
Status StoreWriter::State::finish_edge_features(const WrittenEdges& edges) {
  const auto& info = edges.info;
  const auto& given = edges.reverse_of ? edges_[*edges.reverse_of] : edges;
  if (given.feature_rows != given.given) {
    return Error(Errc::invalid_argument,
                 fmt::format("features of edge type {}: expected {} rows, one per edge, got {}",
                             info.name, given.given, given.feature_rows));
  }
  const auto path = store_layout::edges_file(info, EdgeDir::in, "features");
  const auto row_bytes = info.features->row_bytes();
  TROUPE_RETURN_IF_ERROR(check_space(path, info.count * row_bytes));
  TROUPE_ASSIGN_OR_RETURN(auto stream,
                          NpyStream::create(staged_.path() / path, npy_type(info.features->dtype),
                                            {info.count, info.features->cols}));
  Segment rows;
  if (given.features) {
    TROUPE_ASSIGN_OR_RETURN(rows, given.features->map());
  }
  const auto ids_path = store_layout::edges_file(info, EdgeDir::in, "edge_ids");
  TROUPE_ASSIGN_OR_RETURN(const auto ids, map_npy(staged_.path() / ids_path));
  std::vector<std::byte> block;
  std::uint64_t done = 0;
  for (const auto id : ids.as<std::uint64_t>()) {
    const auto row = rows.bytes.subspan((id % given.given) * row_bytes, row_bytes);
    block.insert(block.end(), row.begin(), row.end());
    ++done;
    if (block.size() >= block_bytes) {
      report(fmt::format("writing features of {}", info.name), done, info.count, "rows");
      TROUPE_RETURN_IF_ERROR(stream.write(block));
      block.clear();
    }
  }
  TROUPE_RETURN_IF_ERROR(stream.write(block));
  TROUPE_RETURN_IF_ERROR(stream.close());
  info_.files.push_back(stream.info(path));
  return ok_status();
}

}  // namespace troupe
