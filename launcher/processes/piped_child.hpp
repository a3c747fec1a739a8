#pragma once
/// \file piped_child.hpp
/// A program that this one talks with over its standard input and output.
#include "runtime/base/result.hpp"

#include <string>
#include <sys/types.h>
#include <vector>

namespace troupe {

/// How it ended.
struct ChildEnd {
  bool success = false;
  std::string how;     ///< "exit code 3", "killed by signal 9 (Killed)"
  std::string errors;  ///< the end of its standard error
};

/// Lifecycle:  started; wait() once; the destructor kills what still runs
/// Threads:    one; children may be started on several at once
class PipedChild {
 public:
  /// \param words  the program first; looked for in PATH
  /// \errors failed_precondition: it cannot be started
  static Result<PipedChild> start(const std::vector<std::string>& words);
  PipedChild(PipedChild&& other) noexcept;
  PipedChild& operator=(PipedChild&&) = delete;
  ~PipedChild();

  /// A socket: its input and output.
  int peer() const { return peer_; }
  /// Its input is over.
  void end_input();
  ChildEnd wait();

 private:
  PipedChild() = default;

  pid_t pid_ = -1;
  int peer_ = -1;
  int errors_ = -1;  ///< a file in memory
};

}  // namespace troupe
