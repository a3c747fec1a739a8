#pragma once
/// \file child_end.hpp
/// How a child of this process ended, in words.
#include <cstring>
#include <fmt/format.h>
#include <string>
#include <sys/wait.h>

namespace troupe {

/// "exit code 3", "killed by signal 9 (Killed)".
/// \param info  as waitid(2) with WEXITED fills it in
inline std::string end_of_child(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) {
    return fmt::format("exit code {}", info.si_status);
  }
  return fmt::format("killed by signal {} ({})", info.si_status, strsignal(info.si_status));
}

/// As a shell has it: its exit code, or 128 + the number of the signal.
inline int exit_code_of_child(const siginfo_t& info) {
  return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

}  // namespace troupe
