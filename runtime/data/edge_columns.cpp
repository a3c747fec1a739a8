#include "runtime/data/edge_columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <span>
#include <utility>

namespace troupe::graph_source {
namespace {

using npy_source::bad_input;

Status give(std::unique_ptr<EdgeValues>& place, std::string_view what, const std::string& type,
            const std::function<Result<Table>()>& open) {
  TROUPE_ASSIGN_OR_RETURN(auto table, open());
  if (place) {
    return bad_input(
        table.file(),
        fmt::format("expected {} of edge type {} once, got a second array", what, type));
  }
  TROUPE_ASSIGN_OR_RETURN(place, edge_values_of(std::move(table)));
  return ok_status();
}

Status check_name(std::string_view place, std::string_view what,
                  const std::optional<std::string>& name, const std::set<std::string>& arrays) {
  if (!name || arrays.contains(*name)) {
    return ok_status();
  }
  return Error(Errc::not_found,
               fmt::format("{}: expected {} of edges named \"{}\", found {}", place, what, *name,
                           arrays.empty() ? "no arrays of edges"
                                          : fmt::format("{}", fmt::join(arrays, ", "))));
}

}  // namespace

bool NamedEdgeColumns::wants(const std::string& array) {
  arrays_.insert(array);
  return array == names_.weights || array == names_.times;
}

Status NamedEdgeColumns::take(const std::string& array, Edges& edges,
                              const std::function<Result<Table>()>& open) {
  if (array == names_.weights) {
    TROUPE_RETURN_IF_ERROR(give(edges.weights, "weights", edges.name, open));
  }
  if (array == names_.times) {
    TROUPE_RETURN_IF_ERROR(give(edges.times, "times", edges.name, open));
  }
  return ok_status();
}

Status NamedEdgeColumns::offer(const std::string& array, std::string_view features, Edges& edges,
                               const std::function<Result<Table>()>& open) {
  if (wants(array)) {
    return take(array, edges, open);
  }
  if (array == features) {
    TROUPE_ASSIGN_OR_RETURN(auto table, open());
    TROUPE_ASSIGN_OR_RETURN(edges.features, features_of(std::move(table)));
  }
  return ok_status();
}

Status NamedEdgeColumns::check_found(std::string_view place) const {
  TROUPE_RETURN_IF_ERROR(check_name(place, "weights", names_.weights, arrays_));
  return check_name(place, "times", names_.times, arrays_);
}

Result<EdgeColumns> EdgeColumns::read(const Edges& type, const std::filesystem::path& folder,
                                      Executor& executor) {
  EdgeColumns columns(type.name);
  if (type.weights) {
    TROUPE_ASSIGN_OR_RETURN(auto scratch, ScratchFile::create(folder));
    auto& column =
        columns.weights_.emplace(Column<float>{type.weights->file(), std::move(scratch)});
    TROUPE_RETURN_IF_ERROR(
        type.weights->read_weights(executor, [&column](std::span<const float> some) {
          return column.values.append(std::as_bytes(some));
        }));
  }
  if (type.times) {
    TROUPE_ASSIGN_OR_RETURN(auto scratch, ScratchFile::create(folder));
    auto& column =
        columns.times_.emplace(Column<std::int64_t>{type.times->file(), std::move(scratch)});
    TROUPE_RETURN_IF_ERROR(
        type.times->read_times(executor, [&column](std::span<const std::int64_t> some) {
          return column.values.append(std::as_bytes(some));
        }));
  }
  return columns;
}

Result<EdgePiece> EdgeColumns::beside(const EdgePiece& edges) {
  auto piece = edges;
  if (weights_) {
    TROUPE_RETURN_IF_ERROR(next(*weights_, edges.sources.size()));
    piece.weights = weights_->block;
  }
  if (times_) {
    TROUPE_RETURN_IF_ERROR(next(*times_, edges.sources.size()));
    piece.times = times_->block;
  }
  edges_ += edges.sources.size();
  return piece;
}

Status EdgeColumns::finish() const {
  TROUPE_RETURN_IF_ERROR(weights_ ? check_rows(*weights_) : ok_status());
  return times_ ? check_rows(*times_) : ok_status();
}

template <class T>
Status EdgeColumns::next(Column<T>& column, std::uint64_t count) const {
  if (count > column.rows() - edges_) {
    return bad_input(column.file,
                     fmt::format("expected a row for each edge of type {}, got {} rows for {} "
                                 "edges or more",
                                 type_, column.rows(), edges_ + count));
  }
  column.block.resize(count);
  return column.values.read(edges_ * sizeof(T), std::as_writable_bytes(std::span(column.block)));
}

template <class T>
Status EdgeColumns::check_rows(const Column<T>& column) const {
  return column.rows() == edges_
             ? ok_status()
             : Status(bad_input(column.file,
                                fmt::format("expected {} rows, one per edge of type {}, got {}",
                                            edges_, type_, column.rows())));
}

}  // namespace troupe::graph_source
