#pragma once
/// \file edgelist_import.hpp
/// Imports edges written as text, one a line, as a graph store (docs/formats.md).
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/import_options.hpp"
#include "runtime/data/named_columns.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace troupe {

struct EdgelistOptions {
  ImportOptions import{};
  std::uint32_t source_column = 0;
  std::uint32_t destination_column = 1;
  std::uint64_t first_id = 0;  ///< the smallest id in the files: it becomes node 0
  std::optional<std::uint32_t> weight_column{};  ///< Column with weights of edges
  std::optional<std::uint32_t> time_column{};    ///< Column with times of edges; not with dedup
  bool header = false;    ///< the first line with data of every file is no edge
  bool text_ids = false;  ///< ids are any text; nodes are numbered in order of first appearance
  std::optional<std::uint64_t> nodes;  ///< not stated: the largest id + 1
  std::vector<LineColumn> columns{};   ///< Fields with named columns of edges
};

/// Reads the files one after the other; an edge's original id is its number among all lines with an
/// edge. Columns are separated as text_lines::Fields says; with text_ids by the same separator, up to
/// the one after the last column that is read. Skipped: empty lines, lines that begin with #, % or //
/// (with text_ids their number is reported as left out), and the first line of a file that has a
/// letter where its source's number should be (a header; not with text_ids). Where a column of
/// weights or times is stated, every edge has one: a finite number of 0 or more, rounded to f32, or
/// an integer of 64 bits; likewise for named columns, as number_text::append() reads them. Files may
/// be compressed by gzip or zstd, found by their first bytes. Text ids are kept in the store as
/// nodes-node/names.txt, line i + 1 for node i; while importing they are all in memory, beside
/// `memory_bytes`.
/// \errors not_found: a file is missing; invalid_argument: a line that does not fit, with file, line
///   and text; data_corruption: compressed bytes that are damaged; failed_precondition: `out` exists
///   or cannot be written
Result<GraphInfo> import_edgelist(std::span<const std::filesystem::path> files,
                                  const std::filesystem::path& out, const EdgelistOptions& options,
                                  Executor& executor);

}  // namespace troupe
