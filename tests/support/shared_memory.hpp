#pragma once
/// \file shared_memory.hpp
/// A /dev/shm that one run has for itself, so that a test sees all of the run's shared memory and no
/// other's. Needs root and `unshare`.
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace troupe::testing {

/// Lifecycle: mounts a tmpfs in the constructor, and removes it in the destructor
/// Threads:   one
class SharedMemory {
 public:
  /// \param folder  of the test; a folder in it becomes the tmpfs
  explicit SharedMemory(const std::string& folder);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Reason why there is none; empty: there is.
  const std::string& problem() const { return problem_; }
  const std::string& folder() const { return folder_; }
  /// Command prefix for a program whose /dev/shm, and that of all its children, is to be this one.
  std::vector<std::string> words() const;
  /// Bytes in use, also those of files without a name, which live as long as a process maps them.
  std::uint64_t bytes() const;
  /// Files, also those without a name.
  std::uint64_t files() const;

 private:
  std::string folder_;
  std::string problem_;
};

/// Whether a process has mapped a segment of System V, which outlives the processes that use it.
bool maps_system_v(pid_t process);

}  // namespace troupe::testing
