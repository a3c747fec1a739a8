#pragma once
/// \file mapped_file.hpp
/// Files as read-only memory: mapped (shared between processes through the page cache) or copied
/// (into huge pages where the system grants them, which file mappings rarely get).
#include "runtime/base/buffer.hpp"
#include "runtime/base/result.hpp"

#include <filesystem>

namespace troupe {

/// Maps a file. An empty file gives an empty segment. The file must not be truncated while the
/// segment lives.
/// \errors not_found; failed_precondition: not a regular file, or unreadable
Result<Segment> map_file(const std::filesystem::path& path);

/// Reads a file into memory of its own, aligned to 64 bytes or more.
/// \errors as map_file; also out_of_memory
Result<Segment> load_file(const std::filesystem::path& path);

}  // namespace troupe
