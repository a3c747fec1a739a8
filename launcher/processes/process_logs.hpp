#pragma once
/// \file process_logs.hpp
/// Lines that the processes of a run print, kept in a file for each process.
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>

namespace troupe {

/// Splits the lines by the process name in front of them, `[NAME] `, into `NAME.log`, spaces as
/// `-`; lines of agents themselves go to `agents.log`.
/// Threads: any
class ProcessLogs {
 public:
  /// \param dir  made at the first line
  explicit ProcessLogs(std::filesystem::path dir) : dir_(std::move(dir)) {}

  /// Appends a line. A file that cannot be written is reported once, on standard error.
  void add(std::string_view line);

 private:
  const std::filesystem::path dir_;
  std::mutex mutex_;
  bool failed_ = false;
};

}  // namespace troupe
