#pragma once
/// \file checkpoint_shards.hpp
/// The files inside one checkpoint (docs/outputs.md). For CheckpointFolder only.
#include "runtime/base/result.hpp"
#include "runtime/run/checkpoint.hpp"

#include <cstdint>
#include <filesystem>

namespace troupe {

/// Writes all files into the empty folder `dir`, the manifest last.
/// \errors as CheckpointFolder::write
Status write_shards(const CheckpointFolderOptions& options, const std::filesystem::path& dir,
                    const Checkpoint& checkpoint);

/// Reads a checkpoint back.
/// \param step  that its manifest has to say
/// \errors data_corruption: something is not as it was written; not_found: a file is missing;
///   invalid_argument: parameters of another layout; unimplemented: a newer version
Result<Checkpoint> read_shards(const CheckpointFolderOptions& options,
                               const std::filesystem::path& dir, std::uint64_t step);

/// `Checkpoint::job`, of the manifest alone.
/// \errors as read_shards
Result<std::string> read_job(const std::filesystem::path& dir);

}  // namespace troupe
