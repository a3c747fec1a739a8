#pragma once
/// \file print_error.hpp
/// Errors as commands tell them: a line on standard error, and an exit code.
#include "launcher/exit_code.hpp"

#include <cstdio>

namespace troupe {

inline ExitCode print_error(const Error& error, ExitCode code) {
  std::fprintf(stderr, "troupe: %s\n", error.what().c_str());
  return code;
}
/// Of a command that reads or makes data.
inline ExitCode data_error(const Error& error) {
  return print_error(error, error.code() == Errc::unimplemented ? ExitCode::usage : ExitCode::data);
}
inline ExitCode print_error(const Error& error) {
  return print_error(error, exit_code_of(error.code()));
}

}  // namespace troupe
