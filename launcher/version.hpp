#pragma once
/// \file version.hpp
/// What was built, for `--version` and the report.
#include <cstdint>
#include <string>

namespace troupe {

/// Raised by whatever changes a batch's content or digest (design, section 4).
inline constexpr std::uint32_t sampling_version = 1;

struct BuildInfo {
  std::string version;
  std::string compiler;
  std::string build_type;
};
BuildInfo build_info();

}  // namespace troupe
