#pragma once
/// \file process.hpp
/// Runs a program for a test: its output, its exit code, signals to it.
#include <chrono>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace troupe::testing {

struct ProcessResult {
  int exit_code = -1;  ///< 128 + n if signal n ended it
  std::string out;
  std::string err;
  std::uint64_t peak_bytes = 0;  ///< Largest resident memory of it, or of a child it waited for
};

/// Lifecycle: starts in the constructor; wait() once. A process that still runs at the end of the
/// test is killed.
class Process {
 public:
  /// \param arguments  the program first. Output goes to files in `folder`
  Process(const std::vector<std::string>& arguments, const std::string& folder);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Waits until standard output holds `text`; false after `timeout`.
  bool wait_for_output(const std::string& text, std::chrono::milliseconds timeout);
  void signal(int number);
  ProcessResult wait();
  /// Whether wait() returns at once.
  bool has_ended() const;
  pid_t pid() const { return pid_; }
  const std::string& out_file() const { return out_file_; }
  const std::string& err_file() const { return err_file_; }

 private:
  std::string out_file_;
  std::string err_file_;
  pid_t pid_ = -1;
};

/// Starts and waits.
ProcessResult run_process(const std::vector<std::string>& arguments, const std::string& folder);

/// Whether a folder of PATH, or /usr/sbin, has the program.
bool is_installed(const std::string& program);

}  // namespace troupe::testing
