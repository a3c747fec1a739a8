#pragma once
/// \file embedded_program.hpp
/// The examples of user programs, built for tests as a user would.
#include <string>
#include <vector>

namespace troupe::testing {

struct EmbeddedPrograms {
  std::string folder;
  std::string problems;  ///< output of the commands that failed
};

/// Installs Troupe to `folder`/installed and builds examples/embed, examples/store and examples/own_model
/// against it with find_package, as `folder`/build/my_trainer, `folder`/store_build/write_store and
/// partition_store, and `folder`/model_build/own_model: at the first call, for the whole process.
const EmbeddedPrograms& embedded_programs();

/// The command with which a user configures examples/`example` in the folder `build`, with Troupe installed at `prefix`. At -O1
/// in the place of a release's -O3: compiling takes longer than what these programs compute.
std::vector<std::string> configure_example(const std::string& example, const std::string& build,
                                           const std::string& prefix);

}  // namespace troupe::testing
