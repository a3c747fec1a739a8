#pragma once
/// \file tool_output.hpp
/// Other programs, run for what they print.
#include "runtime/base/result.hpp"

#include <string>
#include <vector>

namespace troupe {

/// Runs a program to its end.
/// \param words  the program first; looked for in PATH
/// \returns its standard output
/// \errors failed_precondition: it cannot be started, or does not exit with 0; with its standard error
Result<std::string> tool_output(const std::vector<std::string>& words);

}  // namespace troupe
