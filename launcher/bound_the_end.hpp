#pragma once
/// \file bound_the_end.hpp
/// A last resort for processes whose threads may not end.
#include "launcher/exit_code.hpp"

#include <chrono>
#include <string>

namespace troupe {

/// Ends this process should it still be there after `time`.
/// \param line  printed to standard error before; empty: none
void bound_the_end(std::chrono::seconds time, ExitCode code, std::string line = {});

}  // namespace troupe
