#pragma once
/// \file graphbolt_import.hpp
/// Imports data sets of DGL's GraphBolt: metadata.yaml beside csv and NumPy files (docs/formats.md).
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/edge_columns.hpp"
#include "runtime/data/import_options.hpp"
#include "runtime/data/named_columns.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct GraphboltOptions {
  ImportOptions import{};
  /// Of nodes and edges; else "feat". Stated, it must be there.
  std::optional<std::string> features{};
  EdgeColumnNames columns{};  ///< of edges; taken as features only if named twice
  /// Of nodes and edges; taken as anything else only if named for that too.
  std::vector<NamedColumn> named{};
};

/// Reads `dir`/metadata.yaml. The first task's sets become the default split, those of others splits
/// of the task's name; labels are those that stand beside the seeds, -1 for other nodes, and are in
/// memory while importing.
/// \errors unimplemented: another file format; invalid_argument: a value that does not fit, with its
///   place; a row that does not fit, with its file; two labels of one node; not_found: a file, or
///   an array whose name was stated; those of StoreWriter
Result<GraphInfo> import_graphbolt(const std::filesystem::path& dir,
                                   const std::filesystem::path& out,
                                   const GraphboltOptions& options, Executor& executor);

}  // namespace troupe
