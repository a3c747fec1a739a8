#pragma once
/// \file edgelist_import.hpp
/// Imports edges written as text, one a line, as a graph store (docs/formats.md): one list, or one for
/// each edge type.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/import_options.hpp"
#include "runtime/data/named_columns.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// The nodes of one type: each type has ids of its own.
struct EdgelistNodes {
  std::string name = "node";
  bool text_ids = false;  ///< ids are any text; nodes are numbered in order of first appearance
  std::uint64_t first_id = 0;               ///< the smallest id in the lists: it becomes node 0
  std::optional<std::uint64_t> count = {};  ///< not stated: the largest id + 1
};

/// A list of edges of one type.
struct Edgelist {
  std::string name = "edge";
  std::size_t source = 0;  ///< place among the node types
  std::size_t destination = 0;
  std::vector<std::filesystem::path> files = {};  ///< read one after the other
  std::uint32_t source_column = 0;
  std::uint32_t destination_column = 1;
  std::optional<std::uint32_t> weight_column = {};  ///< Column with weights of edges
  std::optional<std::uint32_t> time_column = {};    ///< Column with times of edges; not with dedup
  bool header = false;                   ///< the first line with data of every file is no edge
  std::vector<LineColumn> columns = {};  ///< Fields with named columns of edges
  EdgeTransforms transforms = {};
};

/// A graph in lists of edges, one for each edge type.
struct Edgelists {
  std::vector<EdgelistNodes> nodes;
  std::vector<Edgelist> edges;
  std::filesystem::path document = {};  ///< that says so, for messages; empty: the command line
};

/// Reads the lists one after the other; an edge's original id is its number among all lines of its
/// list with an edge. Columns are separated as text_lines::Fields says; where ids of an end are text
/// by the same separator, up to the one after the last column that is read. Skipped: empty lines,
/// lines that begin with #, % or // (where ids are text their number is reported as left out), and
/// the first line of a file that has a letter where its source's number should be (a header; not
/// where ids are text). Quotes are undone around numbers alone: between commas and semicolons a field
/// that begins with one must end with one. Where a column of weights or times is stated, every edge
/// has one: a finite number of 0 or more, rounded to f32, or an integer of 64 bits; likewise for named
/// columns, as number_text::append() reads them. Files may be compressed by gzip or zstd, found by
/// their first bytes. Text ids are kept in the store as nodes-TYPE/names.txt, line i + 1 for node i;
/// while importing they are all in memory, beside `memory_bytes`.
/// \param options  its transforms of edges are not read: each list has its own
/// \errors not_found: a file is missing; invalid_argument: columns or ids that cannot be, a line that
///   does not fit, with file, line and text; data_corruption: compressed bytes that are damaged;
///   failed_precondition: `out` exists or cannot be written
Result<GraphInfo> import_edgelists(const Edgelists& lists, const std::filesystem::path& out,
                                   const ImportOptions& options, Executor& executor);

/// One list as options say.
struct EdgelistOptions {
  ImportOptions import{};
  std::uint32_t source_column = 0;
  std::uint32_t destination_column = 1;
  std::uint64_t first_id = 0;  ///< of both node types
  std::optional<std::uint32_t> weight_column{};
  std::optional<std::uint32_t> time_column{};
  bool header = false;
  bool text_ids = false;                 ///< of both node types
  std::optional<std::uint64_t> nodes{};  ///< number of nodes where there is one node type
  std::vector<LineColumn> columns{};
  /// Source's node type, edge type, destination's node type; empty: node, edge, node.
  std::vector<std::string> types{};
  std::map<std::string, std::uint64_t> counts{};  ///< numbers of nodes by type
};

/// import_edgelists() of one list in these files.
Result<GraphInfo> import_edgelist(std::span<const std::filesystem::path> files,
                                  const std::filesystem::path& out, const EdgelistOptions& options,
                                  Executor& executor);

}  // namespace troupe
