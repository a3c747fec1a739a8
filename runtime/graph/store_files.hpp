#pragma once
/// \file store_files.hpp
/// The arrays of a store: found in its list of files, checked against size and checksum, mapped or
/// copied, and checked against the dtype and shape that the reader expects.
#include "runtime/base/result.hpp"
#include "runtime/graph/npy.hpp"
#include "runtime/graph/store.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What helps where a file of a store is damaged or gone.
inline constexpr std::string_view damaged_advice =
    "\ntry: remove the store and make it again; a run does so with what lay in its own store/";

/// What an array must be. An extent without a value may be anything.
struct ArrayShape {
  NpyType type;
  std::vector<std::optional<std::uint64_t>> extents;
};

/// Threads: immutable; any number at once.
/// Borrows: nothing.
class StoreFiles {
 public:
  /// \param listing  name of the file that lists `files`, for messages
  StoreFiles(std::filesystem::path dir, StoreOptions options, const std::vector<FileInfo>& files,
             std::string_view listing);

  const StoreOptions& options() const { return options_; }
  bool lists(const std::string& path) const { return files_.contains(path); }
  /// Loads an array.
  /// \param path  relative to the store
  /// \errors data_corruption: not listed, other size, checksum, dtype or shape than expected;
  ///   not_found: the file is gone
  Result<NpyArray> load(const std::string& path, const ArrayShape& expected) const;
  /// Compares the files that are not in `loaded` with size and checksum, also those that are no
  /// arrays.
  /// \errors data_corruption: other size or checksum than expected; not_found: a file is gone
  Status verify_others(const std::set<std::string>& loaded) const;

 private:
  /// Reads a file and compares its size and, if `checksum`, its checksum.
  Result<Segment> read(const FileInfo& file, StoreMemory memory, bool checksum) const;

  std::filesystem::path dir_;
  StoreOptions options_;
  std::map<std::string, FileInfo> files_;
  std::string listing_;
};

}  // namespace troupe
