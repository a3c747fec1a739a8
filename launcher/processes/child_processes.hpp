#pragma once
/// \file child_processes.hpp
/// Starts programs, passes on what they print line by line, and tells how they end. They end with
/// this process, however it ends.
#include "runtime/base/result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct ChildCommand {
  std::vector<std::string> arguments;  ///< the program first; looked for in PATH without a slash
  bool own_program = false;  ///< runs this process's program, also if another lies there by now
  std::vector<std::string> environment;  ///< NAME=VALUE each, besides this process's
  std::string prefix;                    ///< before each line of output
  std::string input;                     ///< its standard input; for secrets
  std::string folder;                    ///< its working folder; empty: this process's
};

struct ChildEvents {
  /// A whole line without its end, with the prefix; `error`: from standard error.
  std::function<void(const std::string& line, bool error)> line;
  /// After its last line. `how`: "exit code 3", "killed by signal 9 (Killed)".
  /// \param code  exit code, or 128 + the number of the signal
  std::function<void(std::uint64_t child, const std::string& how, int code)> exited;
};

/// ChildEvents::line that passes lines on to this process's standard output and error.
void print_line(const std::string& line, bool error);
/// Path of the program that this process runs; that it had, if the file is gone.
std::string own_program();

/// Lifecycle:  the destructor kills what is left and waits for it
/// Threads:    all members from any thread; events on one thread of its own, no lock held
/// Guarantees: every child is killed when this process ends (Linux parent-death signal); processes that
///   a child has started go with it, unless they have a process group of their own or the child ends
///   with exit code 0; a line is cut after 64 KiB; descriptors of this process are not inherited
class ChildProcesses {
 public:
  explicit ChildProcesses(ChildEvents events);
  ~ChildProcesses();
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;

  /// \param child  a number of the caller's choice, not in use
  /// \errors failed_precondition: it cannot be started, with the system's reason
  Status start(std::uint64_t child, ChildCommand command);
  /// Ends it at once (SIGKILL, also if it is stopped); nothing if it has ended.
  void kill(std::uint64_t child);
  /// Sends a signal to all.
  void signal_all(int signal);
  /// Waits until none is left; false: some are after `milliseconds`.
  bool wait(std::uint32_t milliseconds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
