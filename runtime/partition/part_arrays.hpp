#pragma once
/// \file part_arrays.hpp
/// Arrays of a part on their way to disk, rows of features among them. For part_writer.cpp and
/// add_features.cpp.
#include "runtime/base/result.hpp"
#include "runtime/data/npy_stream.hpp"
#include "runtime/graph/feature_table.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/partition/whole_lists.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

/// An array under way, written block by block.
template <class T>
class Column {
 public:
  explicit Column(NpyStream stream) : stream_(std::move(stream)) {
    block_.reserve(block_bytes / sizeof(T));
  }

  Status push(T value) {
    block_.push_back(value);
    return block_.size() * sizeof(T) < block_bytes ? ok_status() : flush();
  }
  Status push(std::span<const T> values) {
    if (values.size_bytes() >= block_bytes) {  // as it is: no copy of it in memory
      TROUPE_RETURN_IF_ERROR(flush());
      return stream_.write_elements<T>(values);
    }
    block_.insert(block_.end(), values.begin(), values.end());
    return block_.size() * sizeof(T) < block_bytes ? ok_status() : flush();
  }
  Result<FileInfo> close(std::string path) {
    TROUPE_RETURN_IF_ERROR(flush());
    TROUPE_RETURN_IF_ERROR(stream_.close());
    return stream_.info(std::move(path));
  }

 private:
  static constexpr std::size_t block_bytes = std::size_t{1} << 20;

  Status flush() {
    auto done = stream_.write_elements<T>(block_);
    block_.clear();
    return done;
  }

  NpyStream stream_;
  std::vector<T> block_;
};

/// Writes arrays below a folder and lists them in the order in which they are closed. Paths are
/// relative to the folder; memory is that of a few blocks.
class PartArrays {
 public:
  explicit PartArrays(std::filesystem::path dir) : dir_(std::move(dir)) {}

  template <class T>
  Result<Column<T>> open(const std::string& path, std::vector<std::uint64_t> shape) const {
    constexpr NpyType type{std::is_floating_point_v<T> ? 'f' : (std::is_signed_v<T> ? 'i' : 'u'),
                           sizeof(T)};
    TROUPE_ASSIGN_OR_RETURN(auto stream, open_stream(path, type, std::move(shape)));
    return Column<T>(std::move(stream));
  }
  template <class T>
  Status close(Column<T>& column, const std::string& path) {
    TROUPE_ASSIGN_OR_RETURN(auto file, column.close(path));
    files_.push_back(std::move(file));
    return ok_status();
  }

  /// Extents of a row; nothing: the columns of the table.
  using RowShape = std::optional<std::vector<std::uint64_t>>;

  /// Rows of nodes. \requires each is below `table.rows`
  Status write_rows(const std::string& path, const FeatureTable& table,
                    std::span<const std::uint64_t> nodes, const RowShape& shape = {});
  /// Rows of the edges in the lists of nodes. \param table  in the order of the type's in-lists
  Status write_edge_rows(const std::string& path, const FeatureTable& table,
                         const WholeLists& lists, std::span<const std::uint64_t> nodes,
                         const RowShape& shape = {});

  const std::vector<FileInfo>& files() const { return files_; }

 private:
  Result<NpyStream> open_stream(const std::string& path, NpyType type,
                                std::vector<std::uint64_t> shape) const;
  Result<Column<std::byte>> open_bytes(const std::string& path, const FeatureInfo& info,
                                       std::uint64_t rows, const RowShape& row_shape) const;

  std::filesystem::path dir_;
  std::vector<FileInfo> files_;
};

}  // namespace troupe
