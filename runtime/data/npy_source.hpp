#pragma once
/// \file npy_source.hpp
/// NumPy files of a directory, opened and checked. Used by the importers that read such files.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/graph_source.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/npy.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::npy_source {

/// What `meta.json` says, all of it optional.
struct Meta {
  std::optional<std::uint64_t> num_nodes;
  std::optional<std::uint64_t> num_features;
  std::optional<std::uint64_t> num_classes;
  bool numbers = false;  ///< `"labels": "numbers"`: labels are numbers to predict
  std::string node_type = "node";
  std::string edge_type = "edge";
};
/// \errors data_corruption: not JSON; invalid_argument: a known key of another type
Result<Meta> read_meta(const std::filesystem::path& dir);

/// The directory that is imported. Errors begin with the file's name, relative to it.
struct Source {
  std::filesystem::path dir;
  Meta meta;
  std::set<std::string>* taken = nullptr;  ///< names of the files that were read; borrowed
  /// Whether there is a file of this name, or a link to one that is missing, which is then an error.
  bool has(const std::string& file) const;
  Result<NpyArray> read(const std::string& file) const;
};

/// "FILE: WHAT" as an invalid_argument.
Error bad_input(const std::string& file, const std::string& what);
/// Elements that are converted at once.
inline constexpr std::uint64_t block_elements = std::uint64_t{1} << 20;

/// `count` elements of an integer array from `begin` on, which must be below `end`.
struct IdRange {
  std::string file;
  std::string what;  ///< "a node id", for messages
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
  std::uint64_t end = 0;
  std::uint64_t row = 0;     ///< number of `begin`, for messages
  std::uint64_t stride = 1;  ///< from one to the next
};
/// Reads them; an error names the row.
Result<std::vector<std::uint64_t>> read_ids(const NpyArray& array, const IdRange& range);
/// Reads them block by block; `take` gets the row of the first and the ids.
Status for_each_id_block(
    const NpyArray& array, const IdRange& range,
    const std::function<Status(std::uint64_t, std::span<const std::uint64_t>)>& take);
/// Checks them. \returns the largest + 1
Result<std::uint64_t> end_of_ids(const NpyArray& array, const IdRange& range);

/// Edges of a directory: `edge_index.npy`, or `indptr.npy` and `indices*.npy`; mapped.
struct FoundEdges {
  std::unique_ptr<graph_source::EdgeRows> rows;
  std::uint64_t nodes = 0;
};
/// Opens them and checks all but ids.
/// \param known_nodes  upper end of ids, if known; else it is found out
Result<FoundEdges> open_edges(const Source& source, std::optional<std::uint64_t> known_nodes);

/// Names of the files of sparse rows.
struct SparseFiles {
  std::string offsets;  ///< indptr
  std::string columns;  ///< indices
  std::string values;   ///< empty: every value is 1
};
/// Sparse rows, handed out dense. \param cols  if known; else the largest column + 1
Result<std::unique_ptr<graph_source::FeatureRows>> open_sparse(const Source& source,
                                                               SparseFiles files,
                                                               std::optional<std::uint64_t> cols);
/// The features of a directory: `x.npy`, or `x_indptr.npy` and so on. Nothing if there are none.
Result<std::unique_ptr<graph_source::FeatureRows>> open_features(const Source& source);
/// Row i has 1 in column i, else 0.
/// \errors invalid_argument: more than 65536 rows
Result<std::unique_ptr<graph_source::FeatureRows>> one_hot(const std::string& name,
                                                           std::uint64_t rows);

/// (split, role) -> ascending node ids.
using SeedsByRole = std::map<std::pair<std::string, std::string>, std::vector<std::uint64_t>>;
Result<SeedsByRole> read_seeds(const Source& source, std::uint64_t nodes);

/// Links of the default split in a directory: `ROLE_links.npy`, with `ROLE_links_times.npy` and
/// `ROLE_links_labels.npy` where they are there.
/// \errors invalid_argument: times or labels without their links
Result<graph_source::AllLinks> open_links(const Source& source, std::uint64_t nodes);

/// Names of files in the directory that begin with `prefix` and end in .npy, ascending.
Result<std::vector<std::string>> list_files(const std::filesystem::path& dir,
                                            std::string_view prefix);

}  // namespace troupe::npy_source
