#pragma once
/// \file dgl_import.hpp
/// Imports graphs in DGL's chunked format: metadata.json beside csv and NumPy files
/// (docs/formats.md).
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

/// Which arrays are taken. A name that is not stated need not be there.
struct DglOptions {
  ImportOptions import{};
  std::optional<std::string> features{};  ///< of nodes and edges; else "feat"
  std::optional<std::string> labels{};    ///< of nodes; else "label"
  EdgeColumnNames columns{};              ///< of edges; taken as features only if named twice
  /// Of nodes and edges; taken as anything else only if named for that too.
  std::vector<NamedColumn> named{};
};

/// Reads `dir`/metadata.json. Seeds are what train_mask, val_mask, test_mask (0 or 1 per node) or
/// train_idx, val_idx, test_idx say.
/// \errors unimplemented: Parquet, another delimiter; invalid_argument: a key or value that does not
///   fit, with its JSON pointer; a row that does not fit, with its file; not_found: a file, or an
///   array whose name was stated; those of StoreWriter
Result<GraphInfo> import_dgl(const std::filesystem::path& dir, const std::filesystem::path& out,
                             const DglOptions& options, Executor& executor);

}  // namespace troupe
