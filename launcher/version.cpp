#include "launcher/version.hpp"

#include "runtime/net/frame.hpp"

#include <fmt/format.h>

namespace troupe {

extern const char build_id[];  // made by cmake/build_id.cmake

BuildInfo build_info() {
  return {TROUPE_VERSION, build_id, TROUPE_COMPILER, TROUPE_BUILD_TYPE};
}

std::string build_identity() {
  return fmt::format("{}, build {}, sampling version {}, wire version {}", TROUPE_VERSION, build_id,
                     sampling_version, net::FrameHeader::protocol_version);
}

std::string build_text() {
  const auto build = build_info();
  return fmt::format("{}, {}, {}", build_identity(), build.compiler, build.build_type);
}

}  // namespace troupe
