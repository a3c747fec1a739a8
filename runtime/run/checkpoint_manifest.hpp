#pragma once
/// \file checkpoint_manifest.hpp
/// `manifest.json` of a checkpoint (docs/outputs.md): all of it but the arrays, and the list of the
/// files that hold those.
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/run/checkpoint.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

namespace checkpoint_layout {
inline constexpr std::string_view manifest = "manifest.json";
inline constexpr std::string_view parameters = "parameters.safetensors";
inline constexpr std::string_view optimizer = "optimizer.safetensors";
inline constexpr std::string_view best = "best.safetensors";
inline constexpr std::string_view blobs = "blobs.bin";
inline constexpr std::uint64_t largest_manifest = std::uint64_t{1} << 28;
}  // namespace checkpoint_layout

struct CheckpointManifest {
  Checkpoint checkpoint;                                     ///< without the arrays
  std::vector<std::pair<std::string, std::uint64_t>> blobs;  ///< names and sizes, in file order
  std::map<std::string, FileInfo> files;                     ///< by name, of those above
};

/// \param origin  Store and program of the run; members that are empty get no key
/// \param files   all but the manifest itself
/// \errors invalid_argument: a text that is not UTF-8, or more than `largest_manifest`
Result<std::string> manifest_to_json(const Checkpoint& checkpoint, const CheckpointOrigin& origin,
                                     const std::vector<FileInfo>& files);

/// \errors data_corruption: not such a text, or its checksum is another; unimplemented: a newer
///   version
Result<CheckpointManifest> manifest_from_json(const std::string& text, std::string_view name);

}  // namespace troupe
