#pragma once
/// \file npy_graph.hpp
/// Imports a graph of any node and edge types whose NumPy files a JSON document names
/// (docs/formats.md).
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/import_options.hpp"

#include <filesystem>

namespace troupe {

/// \param document  paths in it are relative to its folder
/// \errors invalid_argument: a key or value that does not fit, with its JSON pointer; a shape, dtype
///   or number that does not fit, with file and row; not_found: a file is missing; those of
///   StoreWriter
Result<GraphInfo> import_npy_graph(const std::filesystem::path& document,
                                   const std::filesystem::path& out, const ImportOptions& options,
                                   Executor& executor);

}  // namespace troupe
