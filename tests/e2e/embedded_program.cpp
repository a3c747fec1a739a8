#include "tests/support/embedded_program.hpp"

#include "tests/support/process.hpp"

#include <vector>

namespace troupe::testing {

std::string build_embedded_programs(const std::string& folder) {
  const auto prefix = folder + "/installed";
  const auto build = folder + "/build";
  const auto stores = folder + "/store_build";
  const auto model = folder + "/model_build";
  const auto examples = std::string(TROUPE_SOURCE_DIR) + "/examples/";
  const std::vector<std::vector<std::string>> steps = {
      {TROUPE_CMAKE, "--install", TROUPE_BUILD_DIR, "--prefix", prefix},
      {TROUPE_CMAKE, "-S", examples + "embed", "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix},
      {TROUPE_CMAKE, "--build", build},
      {TROUPE_CMAKE, "-S", examples + "store", "-B", stores, "-DCMAKE_PREFIX_PATH=" + prefix},
      {TROUPE_CMAKE, "--build", stores},
      {TROUPE_CMAKE, "-S", examples + "own_model", "-B", model, "-DCMAKE_PREFIX_PATH=" + prefix},
      {TROUPE_CMAKE, "--build", model}};
  std::string problems;
  for (const auto& step : steps) {
    const auto done = run_process(step, folder);
    if (done.exit_code != 0) {
      problems += done.out + done.err;
    }
  }
  return problems;
}

}  // namespace troupe::testing
