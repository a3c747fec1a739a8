#pragma once
/// \file scratch_file.hpp
/// Bytes that do not fit into memory for a while. For files that stay, see files.hpp.
#include "runtime/base/buffer.hpp"
#include "runtime/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace troupe {

/// A file without a name: it is gone when this object or the process ends, however that happens.
/// Threads: read() from any number at once while nobody appends
class ScratchFile {
 public:
  /// \errors not_found: no such folder; failed_precondition: no file can be made there
  static Result<ScratchFile> create(const std::filesystem::path& folder);
  ~ScratchFile();
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&& other) noexcept;

  /// \errors failed_precondition: no space
  Status append(std::span<const std::byte> bytes);
  /// Fills `bytes` with those from `offset` on.
  /// \errors failed_precondition: unreadable; data_corruption: the file ends before
  Status read(std::uint64_t offset, std::span<std::byte> bytes) const;
  std::uint64_t size() const { return size_; }
  /// All of it, to read. It outlives this object; what is appended later is not in it.
  /// \errors out_of_memory: no addresses
  Result<Segment> map() const;

 private:
  ScratchFile(int fd, std::filesystem::path folder) : fd_(fd), folder_(std::move(folder)) {}

  int fd_ = -1;
  std::uint64_t size_ = 0;
  std::filesystem::path folder_;  ///< for messages
};

}  // namespace troupe
