#pragma once
/// \file text_blocks.hpp
/// Text files of any size, plain or compressed, in blocks that end where a line ends.
#include "runtime/base/result.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string_view>

namespace troupe {

/// Reads a file; gzip and zstd are found by the first bytes and undone. A byte order mark of UTF-8 at its
/// beginning is left out.
/// \param block_bytes  about the size of a block; a line that is longer makes a block as long as it
/// \param take  gets whole lines, all with their '\n' but perhaps the file's last
/// \errors not_found; failed_precondition: unreadable; data_corruption: compressed bytes that are
///   damaged or cut off; invalid_argument: a line over 32 MiB; the first of `take`, which ends it
Status for_each_line_block(const std::filesystem::path& path, std::size_t block_bytes,
                           const std::function<Status(std::string_view)>& take);

}  // namespace troupe
