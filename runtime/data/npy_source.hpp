#pragma once
/// \file npy_source.hpp
/// The pieces of an import: each reads some of the NumPy files of a directory and checks them. Used
/// by npy_import.cpp only.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/npy.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
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
  std::string node_type = "node";
  std::string edge_type = "edge";
};
/// \errors data_corruption: not JSON; invalid_argument: a known key of another type
Result<Meta> read_meta(const std::filesystem::path& dir);

/// The directory that is imported. Errors begin with the file's name, relative to it.
struct Source {
  std::filesystem::path dir;
  Meta meta;
  bool has(const std::string& file) const;
  Result<NpyArray> read(const std::string& file) const;
};

/// "FILE: WHAT" as an invalid_argument.
Error bad_input(const std::string& file, const std::string& what);
/// Elements that are converted at once.
inline constexpr std::uint64_t block_elements = std::uint64_t{1} << 20;

/// The elements [begin, begin + count) of an integer array, which must be below `end`.
struct IdRange {
  std::string file;
  std::string what;  ///< "a node id", for messages
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
  std::uint64_t end = 0;
  std::uint64_t row = 0;  ///< number of `begin`, for messages
};
/// Reads them; an error names the row.
Result<std::vector<std::uint64_t>> read_ids(const NpyArray& array, const IdRange& range);
/// Reads them block by block; `take` gets the row of the first and the ids.
Status for_each_id_block(
    const NpyArray& array, const IdRange& range,
    const std::function<Status(std::uint64_t, std::span<const std::uint64_t>)>& take);
/// Checks them. \returns the largest + 1
Result<std::uint64_t> end_of_ids(const NpyArray& array, const IdRange& range);

/// `edge_index.npy`, or `indptr.npy` and `indices*.npy`; mapped.
struct EdgeFiles {
  struct Piece {
    std::string file;
    NpyArray ids;
  };
  std::uint64_t count = 0;
  std::uint64_t least_nodes = 0;  ///< number of lists; or the largest id + 1, if no number is known
  std::optional<NpyArray> offsets;  ///< of lists
  std::vector<Piece> pieces;        ///< the edge list, or sources list by list
};
/// Opens them and checks all but ids.
/// \param known_nodes  upper end of ids, if known
Result<EdgeFiles> open_edges(const Source& source, std::optional<std::uint64_t> known_nodes);
/// Hands out all edges in order, block by block: sources and destinations.
/// \errors invalid_argument: an id that is not below `nodes`
Status read_edges(const EdgeFiles& files, std::uint64_t nodes, Executor& executor,
                  const std::function<Status(std::span<const std::uint64_t>,
                                             std::span<const std::uint64_t>)>& take);

/// The feature files; mapped.
struct FeatureFiles {
  FeatureInfo info;
  std::uint64_t rows = 0;
  std::string values_file;
  std::optional<NpyArray> values;   ///< dense rows, or one value per column of sparse rows; else 1
  std::optional<NpyArray> offsets;  ///< of sparse rows
  std::optional<NpyArray> columns;
};
/// Nothing if there are none. Checks all but values.
Result<std::optional<FeatureFiles>> open_features(const Source& source);
/// Hands out all rows in order as the stored dtype, block by block.
Status read_features(const FeatureFiles& files,
                     const std::function<Status(std::span<const std::byte>)>& take);

/// `y.npy`, checked; mapped.
struct LabelFile {
  LabelInfo info;
  std::uint64_t rows = 0;
  NpyArray array;
};
/// Nothing if there is none.
Result<std::optional<LabelFile>> open_labels(const Source& source);
/// Hands out all classes or targets in order, block by block.
Status read_labels(const LabelFile& file,
                   const std::function<Status(std::span<const std::int64_t>)>& take_classes,
                   const std::function<Status(std::span<const float>)>& take_targets);

/// (split, role) -> ascending node ids.
using Seeds = std::map<std::pair<std::string, std::string>, std::vector<std::uint64_t>>;
Result<Seeds> read_seeds(const Source& source, std::uint64_t nodes);

/// Names of files in the directory that begin with `prefix` and end in .npy, ascending.
Result<std::vector<std::string>> list_files(const std::filesystem::path& dir,
                                            std::string_view prefix);

}  // namespace troupe::npy_source
