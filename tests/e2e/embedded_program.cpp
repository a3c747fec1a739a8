#include "tests/support/embedded_program.hpp"

#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <vector>

namespace troupe::testing {
namespace {

/// \returns the output of the commands that failed
std::string build(const std::string& folder) {
  const auto prefix = folder + "/installed";
  const auto build = folder + "/build";
  const auto stores = folder + "/store_build";
  const auto model = folder + "/model_build";
  const std::vector<std::vector<std::string>> steps = {
      {TROUPE_CMAKE, "--install", TROUPE_BUILD_DIR, "--prefix", prefix},
      configure_example("embed", build, prefix),
      {TROUPE_CMAKE, "--build", build},
      configure_example("store", stores, prefix),
      {TROUPE_CMAKE, "--build", stores},
      configure_example("own_model", model, prefix),
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

}  // namespace

std::vector<std::string> configure_example(const std::string& example, const std::string& build,
                                           const std::string& prefix) {
  return {TROUPE_CMAKE,
          "-S",
          std::string(TROUPE_SOURCE_DIR) + "/examples/" + example,
          "-B",
          build,
          "-DCMAKE_PREFIX_PATH=" + prefix,
          "-DCMAKE_CXX_FLAGS_RELEASE=-O1"};
}

const EmbeddedPrograms& embedded_programs() {
  static const ScratchFolder folder;
  static const EmbeddedPrograms built = {folder.path().string(), build(folder.path().string())};
  return built;
}

}  // namespace troupe::testing
