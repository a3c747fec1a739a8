#pragma once
/// \file staged_directory.hpp
/// Directories that appear complete or not at all, and leave nothing behind where they do not.
#include "runtime/base/open_file.hpp"
#include "runtime/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace troupe {

/// Whether a finished directory survives a power cut at once (one flush of the whole file system,
/// some 10 ms to seconds on a busy disk), or may be torn by it: enough for what has checksums and
/// can be made again.
enum class Flush : std::uint8_t { yes, no };

/// A directory under construction: files are written into `path()`, then `commit` renames it to its
/// final name. Without a commit the destructor removes it; what a killed process has left is removed
/// by the next that makes the same directory.
/// Lifecycle:  create, write, commit or drop
/// Guarantees: the final name never shows a half-written directory; an existing one is never
///   replaced
class StagedDirectory {
 public:
  /// Makes a temporary directory beside `final_path`, and the parents of it that are missing.
  /// \errors failed_precondition: `final_path` exists, or the parent is not writable
  static Result<StagedDirectory> create(const std::filesystem::path& final_path);
  ~StagedDirectory();
  StagedDirectory(StagedDirectory&& other) noexcept;
  StagedDirectory& operator=(StagedDirectory&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Flushes if asked to, then renames.
  /// \errors failed_precondition: the final name has appeared meanwhile
  Status commit(Flush flush);

 private:
  /// \requires `path` is registered
  StagedDirectory(std::filesystem::path path, std::filesystem::path final_path);

  std::filesystem::path path_;  ///< empty once committed or moved from
  std::filesystem::path final_path_;
  OpenFile lock_;  ///< of `path_`; while it is held the directory is in use
};

/// Removes from `folder` what killed processes have left of directories whose final names begin with
/// `begin`. Directories that a process still holds stay; where the file system has no locks, all do.
void remove_left_behind(const std::filesystem::path& folder, std::string_view begin);

/// Removes all directories under construction of this process, which must end next: no other can be
/// made, committed or dropped any more.
void remove_staged_directories();

}  // namespace troupe
