#pragma once
/// \file ogb_import.hpp
/// Imports node-property data sets of the Open Graph Benchmark as they are downloaded: csv.gz files
/// in raw/ and split/ (docs/formats.md).
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/edge_columns.hpp"
#include "runtime/data/import_options.hpp"

#include <filesystem>

namespace troupe {

struct OgbOptions {
  ImportOptions import{};
  /// Of edges, by names of files without .csv.gz: edge_weight, edge_year, edge-feat of one column.
  EdgeColumnNames columns{};
};

/// Reads `dir`, homogeneous or, where raw/triplet-type-list.csv.gz is, heterogeneous. A single split
/// becomes the default; several keep their names. Labels in one column are classes, in several
/// targets.
/// \errors unimplemented: binary npz files; invalid_argument: a line or count that does not fit, with
///   file and line; not_found: a file, or an array whose name was stated; data_corruption:
///   damaged gzip; those of StoreWriter
Result<GraphInfo> import_ogb(const std::filesystem::path& dir, const std::filesystem::path& out,
                             const OgbOptions& options, Executor& executor);

}  // namespace troupe
