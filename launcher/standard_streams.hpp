#pragma once
/// \file standard_streams.hpp
/// Standard input, output and error of the program `troupe`: closed ones, full disks, pipes without a reader.
#include "launcher/exit_code.hpp"

#include <string>

namespace troupe {

/// Opens /dev/null in the place of closed standard descriptors: files opened later would get their numbers, and
/// be written by messages.
void open_standard_streams();

/// Flushes standard output at the end of the process.
/// \returns `code`; ExitCode::data, after a line on standard error, if that is `done` and something that was
///   printed could not be written
ExitCode with_output_written(ExitCode code);

/// Prints a line to standard error, unless that would block. The stream's lock is not taken: a thread that
/// waits for a reader may hold it.
void print_if_taken(const std::string& line);

inline constexpr const char* stopping_text =
    "troupe: stopping after the current step; press Ctrl-C again to stop immediately";
/// In the place of that one where EndOrSignal::reader_gone().
inline constexpr const char* reader_gone_text =
    "troupe: standard output is a pipe that is no longer read; stopping after the current step";

/// While it lives, a write to a pipe without a reader fails instead of ending this process with SIGPIPE.
/// Threads: one; of the whole process
class WithoutPipeSignal {
 public:
  WithoutPipeSignal();
  ~WithoutPipeSignal();
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

  /// Descriptor of standard output, if it is a pipe whose reader's end would have ended this process; else -1.
  int output() const { return output_; }

 private:
  bool ignored_before_ = false;
  int output_ = -1;
};

}  // namespace troupe
