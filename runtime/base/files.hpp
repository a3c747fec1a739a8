#pragma once
/// \file files.hpp
/// Whole files read, and files and directories written so that they appear complete or not at all.
/// Large arrays are mapped instead (mapped_file.hpp). A failure names the path and what the system
/// said.
#include "runtime/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// The error of a failed system call on `path`: not_found for a missing file, which may be the target
/// of a link, else failed_precondition.
Error file_error(const std::filesystem::path& path, std::string_view what, int error_number);

/// Whether a folder has an entry of this name. Also a link to a missing file counts: reading it
/// reports what is missing.
bool has_name(const std::filesystem::path& path);

/// Reads a file whole.
/// \errors not_found; failed_precondition: larger than `max_bytes`, or unreadable
Result<std::string> read_text_file(const std::filesystem::path& path, std::uint64_t max_bytes);

/// Reads a file of any size from begin to end. `take` gets a block at a time.
/// \errors not_found; failed_precondition: unreadable; the first of `take`, which ends it
Status for_each_block(const std::filesystem::path& path,
                      const std::function<Status(std::span<const std::byte>)>& take);

/// Who may read a new file, from its first byte on.
enum class Readers : std::uint8_t { all, owner };

/// Writes the pieces one after the other into a new file, which is removed again if that fails. It is
/// not flushed: `StagedDirectory::commit` does that for all files of a directory at once.
/// \errors not_found: no such folder; failed_precondition: exists, no space, or not writable
Status write_new_file(const std::filesystem::path& path,
                      std::span<const std::span<const std::byte>> pieces,
                      Readers readers = Readers::all);
Status write_new_text_file(const std::filesystem::path& path, std::string_view text,
                           Readers readers = Readers::all);

/// Directory that holds `path`: "." for a bare name. A slash at the end of `path` changes nothing.
std::filesystem::path parent_directory(const std::filesystem::path& path);

/// Makes a directory and the parents of it that are missing.
Status make_folders(const std::filesystem::path& path);

/// Replaces `path` at once: a temporary file beside it is written, flushed and renamed over it.
Status write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
/// The same for pieces, written one after the other.
Status write_file_atomically(const std::filesystem::path& path,
                             std::span<const std::span<const std::byte>> pieces);

/// Makes the names in a directory survive a power cut, where the file system can.
Status flush_directory(const std::filesystem::path& path);

}  // namespace troupe
