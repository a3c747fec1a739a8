#pragma once
/// \file edge_columns.hpp
/// Weights and times of edges that a source keeps apart from the edges: which of its arrays they
/// are, and how they come beside the edges.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/base/scratch_file.hpp"
#include "runtime/data/graph_source.hpp"
#include "runtime/data/table.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Names of the arrays that become weights and times; not stated: no edge type has any.
struct EdgeColumnNames {
  std::optional<std::string> weights{};
  std::optional<std::string> times{};
};

}  // namespace troupe

namespace troupe::graph_source {

/// Gives edge types the arrays that the user named.
/// Lifecycle: wants() for every array of edges, take() for those that it wants, or offer() for every
///   one; check_found() at the end
class NamedEdgeColumns {
 public:
  explicit NamedEdgeColumns(const EdgeColumnNames& names) : names_(names) {}
  /// Whether an array of this name becomes weights or times.
  bool wants(const std::string& array);
  /// Makes an array that is wanted weights or times of `edges`, or both.
  /// \errors invalid_argument: more than one number per edge, or a second array of the name; those
  ///   of `open`
  Status take(const std::string& array, Edges& edges, const std::function<Result<Table>()>& open);
  /// Makes an array weights or times of `edges` where it is wanted, else their features where its name
  /// is `features`.
  /// \errors as take()
  Status offer(const std::string& array, std::string_view features, Edges& edges,
               const std::function<Result<Table>()>& open);
  /// \param place  where arrays of edges are listed, for messages
  /// \errors not_found: no edge type has an array of a stated name
  Status check_found(std::string_view place) const;

 private:
  EdgeColumnNames names_;
  std::set<std::string> arrays_;  ///< names that wants() was asked about
};

/// The weights and times of an edge type, read before its edges and handed out beside them. They are
/// in scratch files meanwhile: text can be read in order only.
/// Lifecycle: read(); beside() for all edges in order; finish() once
class EdgeColumns {
 public:
  /// \param folder  for scratch files
  /// \errors those of the values; failed_precondition: no space
  static Result<EdgeColumns> read(const Edges& type, const std::filesystem::path& folder,
                                  Executor& executor);
  /// Adds the values of the next edges to them, valid until the next call.
  /// \errors invalid_argument: there are fewer values than edges
  Result<EdgePiece> beside(const EdgePiece& edges);
  /// \errors invalid_argument: there are more values than edges
  Status finish() const;

 private:
  template <class T>
  struct Column {
    std::string file;
    ScratchFile values;
    std::vector<T> block{};  ///< those of the last piece
    std::uint64_t rows() const { return values.size() / sizeof(T); }
  };
  explicit EdgeColumns(std::string type) : type_(std::move(type)) {}
  template <class T>
  Status next(Column<T>& column, std::uint64_t count) const;
  template <class T>
  Status check_rows(const Column<T>& column) const;

  std::string type_;  ///< name of the edge type
  std::optional<Column<float>> weights_;
  std::optional<Column<std::int64_t>> times_;
  std::uint64_t edges_ = 0;  ///< that have their values
};

}  // namespace troupe::graph_source
