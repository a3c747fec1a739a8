#pragma once
/// \file npy_source.hpp
/// The pieces of an import: each reads some of the NumPy files of a directory and checks them. Used
/// by npy_import.cpp only.
#include "runtime/base/buffer.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/npy.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
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
/// number of `begin`
/// The elements [begin, begin + count) of an integer array, which must be below `end`.
struct IdRange {
  std::string file;
  std::string what;  ///< "a node id", for messages
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
  std::uint64_t end = 0;
};
/// Reads them; an error names the row, counted from `begin`.
Result<std::vector<std::uint64_t>> read_ids(const NpyArray& array, const IdRange& range);

struct Edges {
  std::vector<std::uint64_t> sources;
  std::vector<std::uint64_t> destinations;
  std::uint64_t least_nodes = 0;  ///< largest id + 1, or the number of lists
};
/// Reads `edge_index.npy`, or `indptr.npy` and `indices*.npy`.
/// \param known_nodes  upper end of ids, if known
Result<Edges> read_edges(const Source& source, std::optional<std::uint64_t> known_nodes);

/// Rows of `x`, dense. Nothing if there are no feature files.
struct Features {
  FeatureInfo info;
  std::uint64_t rows = 0;
  Segment data;
};
Result<std::optional<Features>> read_features(const Source& source);

/// `y.npy`. Nothing if there is none.
struct Labels {
  LabelInfo info;
  std::uint64_t rows = 0;
  std::vector<std::int64_t> classes;
  std::vector<float> targets;
};
Result<std::optional<Labels>> read_labels(const Source& source);

/// (split, role) -> ascending node ids.
using Seeds = std::map<std::pair<std::string, std::string>, std::vector<std::uint64_t>>;
Result<Seeds> read_seeds(const Source& source, std::uint64_t nodes);

/// Names of files in the directory that begin with `prefix` and end in .npy, ascending.
Result<std::vector<std::string>> list_files(const std::filesystem::path& dir,
                                            std::string_view prefix);

}  // namespace troupe::npy_source
