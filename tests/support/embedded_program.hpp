#pragma once
/// \file embedded_program.hpp
/// The examples of user programs, built for tests as a user would.
#include <string>

namespace troupe::testing {

struct EmbeddedPrograms {
  std::string folder;
  std::string problems;  ///< output of the commands that failed
};

/// Installs Troupe to `folder`/installed and builds examples/embed, examples/store and examples/own_model
/// against it with find_package, as `folder`/build/my_trainer, `folder`/store_build/write_store and
/// partition_store, and `folder`/model_build/own_model: at the first call, for the whole process.
const EmbeddedPrograms& embedded_programs();

}  // namespace troupe::testing
