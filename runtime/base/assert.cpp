#include "runtime/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace troupe {

void assertion_failed(const char* condition, const char* file, int line,
                      const std::string& values) {
  std::fprintf(stderr, "%s:%d: assertion `%s` failed: %s\n", file, line, condition, values.c_str());
  std::abort();
}

}  // namespace troupe
