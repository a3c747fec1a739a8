// Rows of features, labels and targets of a StoreWriter.
#include "runtime/data/stream_store_state.hpp"
#include "runtime/graph/column_stats.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
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
  std::uint64_t width = 1;  // below 2^25
  for (std::size_t i = 1; i < shape.size(); ++i) {
    width *= shape[i];
  }
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
  for (const auto& column : rows.info.columns) {
    TROUPE_ASSIGN_OR_RETURN(auto file, open_rows(rows, "columns/" + column.name, column.dtype,
                                                 store_layout::column_shape(column, count)));
    rows.columns.push_back(std::move(file));
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

Status StoreWriter::State::add_column(NodeTypeId type, std::size_t column,
                                      std::span<const std::byte> bytes) {
  if (raw(type) >= nodes_.size() || column >= nodes_[raw(type)].columns.size()) {
    return Error(
        Errc::invalid_argument,
        fmt::format("columns: expected a node type with column {}, got {}", column, raw(type)));
  }
  auto& rows = nodes_[raw(type)];
  return write_rows(rows, rows.columns[column], bytes);
}

Status StoreWriter::State::add_rows(NodeTypeId type, bool classes,
                                    std::span<const std::byte> bytes) {
  if (raw(type) >= nodes_.size() || !nodes_[raw(type)].labels ||
      nodes_[raw(type)].info.labels->has_columns() == classes) {
    return Error(Errc::invalid_argument, fmt::format("{0}: expected a node type with {0}, got {1}",
                                                     classes ? "labels" : "targets", raw(type)));
  }
  auto& rows = nodes_[raw(type)];
  return write_rows(rows, *rows.labels, bytes);
}

Status StoreWriter::State::check_labels(NodeTypeId type, std::span<const std::int64_t> labels) {
  if (raw(type) >= nodes_.size() || !nodes_[raw(type)].labels) {
    return ok_status();  // add_rows says it
  }
  auto& rows = nodes_[raw(type)];
  const auto end = static_cast<std::int64_t>(rows.info.labels->classes);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < -1 || labels[i] >= end) {
      return Error(Errc::invalid_argument,
                   fmt::format("{}: row {}: expected a label from -1 (none) to {}, got {}",
                               rows.labels->path, rows.labels->rows + i, end - 1, labels[i]));
    }
    const auto label = static_cast<std::size_t>(labels[i]);
    if (labels[i] >= 0 && label >= rows.classes_seen.size()) {
      rows.classes_seen.resize(label + 1);
      rows.largest_label_at = rows.labels->rows + i;
    }
    if (labels[i] >= 0) {
      rows.classes_seen[label] = true;
    }
  }
  return ok_status();
}

/// A single wrong label makes as many classes as it is large, and a model as wide.
void StoreWriter::State::note_empty_classes() const {
  for (const auto& nodes : nodes_) {
    const auto classes = nodes.classes_seen.size();
    const auto seen = static_cast<std::size_t>(std::ranges::count(nodes.classes_seen, true));
    const bool implied = nodes.info.labels && nodes.info.labels->classes == classes;
    if (options_.note && implied && classes > 2 * seen) {
      options_.note(
          fmt::format("node type {} has {} classes, as node {} has the label {}, but nodes are of "
                      "{} of them alone",
                      nodes.info.name, classes, nodes.largest_label_at, classes - 1, seen));
    }
  }
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
  if (rows.labels) {
    TROUPE_RETURN_IF_ERROR(close_rows(rows, *rows.labels));
  }
  for (auto& column : rows.columns) {
    TROUPE_RETURN_IF_ERROR(close_rows(rows, column));
  }
  return ok_status();
}

Status StoreWriter::State::add_given_rows(GivenRows& to, const std::string& what,
                                          std::size_t row_bytes, std::span<const std::byte> rows) {
  if (row_bytes == 0 || rows.size() % row_bytes != 0) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: row {}: expected whole rows of {} bytes, got {} bytes", what,
                             to.count, row_bytes, rows.size()));
  }
  if (!to.rows) {
    TROUPE_ASSIGN_OR_RETURN(to.rows, ScratchFile::create(staged_.path()));
  }
  to.count += rows.size() / row_bytes;
  return to.rows->append(rows);
}

Status StoreWriter::State::add_edge_features(EdgeTypeId type, std::span<const std::byte> rows) {
  TROUPE_ASSIGN_OR_RETURN(auto* const edges, given_edges(type));
  const auto& features = edges->info.features;
  if (!features) {
    return Error(
        Errc::invalid_argument,
        fmt::format("features: expected an edge type with features, got {}", edges->info.name));
  }
  return add_given_rows(edges->features, "features of edge type " + edges->info.name,
                        features->row_bytes(), rows);
}

Status StoreWriter::State::add_edge_column(EdgeTypeId type, std::size_t column,
                                           std::span<const std::byte> rows) {
  TROUPE_ASSIGN_OR_RETURN(auto* const edges, given_edges(type));
  if (column >= edges->columns.size()) {
    return Error(Errc::invalid_argument,
                 fmt::format("columns: expected an edge type with column {}, got {}", column,
                             edges->info.name));
  }
  const auto& info = edges->info.columns[column];
  return add_given_rows(edges->columns[column],
                        fmt::format("column {} of edge type {}", info.name, edges->info.name),
                        info.row_bytes(), rows);
}

/// Features and columns, once the lists are written.
Status StoreWriter::State::finish_edge_rows(const WrittenEdges& edges) {
  const auto& info = edges.info;
  const auto& given = edges.reverse_of ? edges_[*edges.reverse_of] : edges;
  if (info.features) {
    TROUPE_RETURN_IF_ERROR(
        finish_given_rows(edges, given.features,
                          {"features of edge type " + info.name,
                           store_layout::edges_file(info, EdgeDir::in, "features"),
                           info.features->dtype,
                           {info.count, info.features->cols},
                           info.features->row_bytes()}));
  }
  for (std::size_t i = 0; i < info.columns.size(); ++i) {
    const auto& column = info.columns[i];
    const auto path = store_layout::column_file(info, EdgeDir::in, column);
    TROUPE_RETURN_IF_ERROR(make_folder_of(path));
    TROUPE_RETURN_IF_ERROR(finish_given_rows(
        edges, given.columns[i],
        {fmt::format("column {} of edge type {}", column.name, info.name), path, column.dtype,
         store_layout::column_shape(column, info.count), column.row_bytes()}));
  }
  return ok_status();
}

/// Puts the rows in the order of the lists.
Status StoreWriter::State::finish_given_rows(const WrittenEdges& edges, const GivenRows& given,
                                             const EdgeRowFile& file) {
  const auto& info = edges.info;
  const auto given_edges = edges.reverse_of ? edges_[*edges.reverse_of].given : edges.given;
  if (given.count != given_edges) {
    return Error(Errc::invalid_argument, fmt::format("{}: expected {} rows, one per edge, got {}",
                                                     file.what, given_edges, given.count));
  }
  TROUPE_RETURN_IF_ERROR(check_space(file.path, info.count * file.row_bytes));
  TROUPE_ASSIGN_OR_RETURN(
      auto stream, NpyStream::create(staged_.path() / file.path, npy_type(file.dtype), file.shape));
  Segment rows;
  if (given.rows) {
    TROUPE_ASSIGN_OR_RETURN(rows, given.rows->map());
  }
  const auto ids_path = store_layout::edges_file(info, EdgeDir::in, "edge_ids");
  TROUPE_ASSIGN_OR_RETURN(const auto ids, map_npy(staged_.path() / ids_path));
  std::vector<std::byte> block;
  std::uint64_t done = 0;
  for (const auto id : ids.as<std::uint64_t>()) {
    const auto row = rows.bytes.subspan((id % given_edges) * file.row_bytes, file.row_bytes);
    block.insert(block.end(), row.begin(), row.end());
    ++done;
    if (block.size() >= block_bytes) {
      report("writing " + file.what, done, info.count, "rows");
      TROUPE_RETURN_IF_ERROR(stream.write(block));
      block.clear();
    }
  }
  TROUPE_RETURN_IF_ERROR(stream.write(block));
  TROUPE_RETURN_IF_ERROR(stream.close());
  info_.files.push_back(stream.info(file.path));
  return ok_status();
}

}  // namespace troupe
