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

}  // namespace

const EmbeddedPrograms& embedded_programs() {
  static const ScratchFolder folder;
  static const EmbeddedPrograms built = {folder.path().string(), build(folder.path().string())};
  return built;
}

}  // namespace troupe::testing
