#pragma once
/// \file command_line.hpp
/// Command line of the program `troupe`: all commands with their options.

namespace troupe {

/// Parses the command line, runs the command and prints usage errors.
/// \returns the exit code of the process (exit_code.hpp)
int run_command_line(int argc, char** argv);

}  // namespace troupe
