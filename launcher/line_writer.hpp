#pragma once
/// \file line_writer.hpp
/// What a run prints while it runs, written by a thread of its own. For threads that no reader of the output
/// may hold up, such as those of actors; commands without any use say_line.hpp.
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace troupe {

/// Writes texts to standard output and standard error, in the order in which they came.
/// Lifecycle:  a thread starts with the first text; the destructor ends it once all texts are written
/// Threads:    all members from any thread
/// Guarantees: at most `most_bytes` and one more text wait for the reader; print() waits for room, until release()
class LineWriter {
 public:
  static constexpr std::size_t most_bytes = std::size_t{16} << 20U;

  LineWriter();
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// \param fd    STDOUT_FILENO or STDERR_FILENO
  /// \param text  written as it is
  void print(int fd, std::string text);
  /// Ends all waiting for a reader: texts for which there is no room are dropped from now on, and the destructor
  /// leaves those that are not written within a second.
  void release();
  /// Waits until all texts are written. \returns false: some are not after `time`
  bool flush_for(std::chrono::milliseconds time) const;
  /// Waits until all texts are written, or release() is called.
  void flush() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace troupe
