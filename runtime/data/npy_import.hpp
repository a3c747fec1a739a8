#pragma once
/// \file npy_import.hpp
/// Imports NumPy files as a graph store (docs/store.md, "Importing").
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/import_options.hpp"
#include "runtime/graph/graph_info.hpp"

#include <filesystem>
#include <vector>

namespace troupe {

/// Reads a directory: `edge_index.npy` [2, E], or `indptr.npy` + `indices.npy` (lists of in-neighbours;
/// `indices*.npy` pieces are joined in name order); `x.npy` [N, D] or CSR `x_indptr.npy`,
/// `x_indices.npy`, optional `x_data.npy`; `y.npy`; `{train,val,test}_idx[_NAME].npy`;
/// `{train,val,test}_masks.npy` [k, N] give splits mask0…; `{train,val,test}_mask.npy` [N] give the
/// default split; `{train,val,test}_links.npy` [n, 2] with `…_links_times.npy` and
/// `…_links_labels.npy` give links of the default split; `meta.json` is optional. Other .npy files
/// are reported as left out. Writes the store `out`, atomically; an existing `out` is an error. A
/// file instead of a directory is a JSON document that names arrays (npy_graph.hpp); so is
/// `arrays.json` of a directory that has one. The files are mapped and read in blocks; seeds are
/// kept in memory beside `options.writer.memory_bytes`.
/// \errors invalid_argument: a shape, dtype, range or NaN that does not fit, with file and row;
///   not_found: a file is missing; failed_precondition: `out` exists or cannot be written;
///   out_of_memory
Result<GraphInfo> import_npy(const std::filesystem::path& source, const std::filesystem::path& out,
                             const ImportOptions& options, Executor& executor);
/// The same with the defaults, on the caller's thread.
Result<GraphInfo> import_npy(const std::filesystem::path& source, const std::filesystem::path& out);

/// The files of a directory that import_npy() may read, in order of their names: from the same ones it makes the
/// same store.
/// \errors not_found: no directory; invalid_argument: its `arrays.json` is no JSON
Result<std::vector<std::filesystem::path>> files_of_npy(const std::filesystem::path& source);

}  // namespace troupe
