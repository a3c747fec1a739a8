#pragma once
/// \file open_file.hpp
/// A file descriptor that is closed at the end of its scope.
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>
#include <utility>

namespace troupe {

/// Owns: the descriptor
class OpenFile {
 public:
  OpenFile() = default;
  /// Where it cannot be opened, fd() is negative and errno says why.
  OpenFile(const std::filesystem::path& path, int flags, mode_t mode = 0)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() { close(); }
  OpenFile(OpenFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int fd() const { return fd_; }
  /// \returns 0, or -1 with the reason in errno: what was written may be lost
  int close() { return fd_ < 0 ? 0 : ::close(std::exchange(fd_, -1)); }

 private:
  int fd_ = -1;
};

}  // namespace troupe
