#include "launcher/version.hpp"

namespace troupe {

BuildInfo build_info() {
  return {TROUPE_VERSION, TROUPE_COMPILER, TROUPE_BUILD_TYPE};
}

}  // namespace troupe
