#pragma once
/// \file ogb_import.hpp
/// Imports data sets of the Open Graph Benchmark as they are downloaded: csv.gz files or .npz archives
/// in raw/ and split/, or the folders of MAG240M (docs/formats.md).
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/edge_columns.hpp"
#include "runtime/data/import_options.hpp"
#include "runtime/data/named_columns.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace troupe {

struct OgbOptions {
  ImportOptions import{};
  /// Of edges, by names of files without their ending, or of arrays in an archive: edge_weight,
  /// edge_year, edge-feat of one column.
  EdgeColumnNames columns{};
  /// Of nodes and edges, by such names too; taken as features or labels no longer.
  std::vector<NamedColumn> named{};
  /// Numbers of nodes by type, for data that do not state them.
  std::map<std::string, std::uint64_t> counts{};
};

/// Reads "author=122383112,institution=25721". \errors invalid_argument
Result<std::map<std::string, std::uint64_t>> parse_node_counts(const std::string& text);

/// Reads `dir`, homogeneous or heterogeneous. A single split becomes the default; several keep their
/// names. Labels in one column are classes, in several targets. Pickled files are never read.
/// \errors unimplemented: a split in files of torch alone; invalid_argument: a line, count or array
///   that does not fit, with its place; not_found: a file, or an array whose name was stated;
///   data_corruption: damaged gzip or archives; those of StoreWriter
Result<GraphInfo> import_ogb(const std::filesystem::path& dir, const std::filesystem::path& out,
                             const OgbOptions& options, Executor& executor);

}  // namespace troupe
