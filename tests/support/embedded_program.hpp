#pragma once
/// \file embedded_program.hpp
/// The example of a user program, built for tests as a user would.
#include <string>

namespace troupe::testing {

/// Installs Troupe to `folder`/installed and builds examples/embed against it with find_package, as
/// `folder`/build/my_trainer.
/// \returns the output of the commands that failed
std::string build_embedded_program(const std::string& folder);

}  // namespace troupe::testing
