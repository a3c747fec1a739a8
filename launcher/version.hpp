#pragma once
/// \file version.hpp
/// What was built, for `--version`, the report, and other processes of the run.
#include <cstdint>
#include <string>

namespace troupe {

/// Raised by whatever changes a batch's content or digest (design, section 4).
inline constexpr std::uint32_t sampling_version = 1;

struct BuildInfo {
  std::string version;
  std::string id;  ///< 16 hexadecimal digits: digest of the library's sources
  std::string compiler;
  std::string build_type;
};
BuildInfo build_info();
/// Version, compiler and build type, as checkpoints and metrics name the program.
std::string build_text();

/// Version, build id, sampling and wire version: what processes of a run must have in common.
std::string build_identity();

}  // namespace troupe
