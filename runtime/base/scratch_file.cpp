#include "runtime/base/scratch_file.hpp"

#include "runtime/base/files.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t largest_piece = std::size_t{1} << 30;

Error no_addresses(const std::filesystem::path& folder, std::uint64_t bytes) {
  return {Errc::out_of_memory,
          fmt::format("{}: cannot map {} bytes of a scratch file", folder.string(), bytes)};
}

}  // namespace

Result<ScratchFile> ScratchFile::create(const std::filesystem::path& folder) {
  auto name = (folder / "scratch-XXXXXX").string();
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) {
    return file_error(folder, "cannot create a scratch file there", errno);
  }
  ScratchFile file(fd, folder);
  if (::unlink(name.c_str()) != 0) {
    return file_error(name, "cannot remove the name of a scratch file", errno);
  }
  return file;
}

ScratchFile::~ScratchFile() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_(other.size_), folder_(std::move(other.folder_)) {}

ScratchFile& ScratchFile::operator=(ScratchFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(folder_, other.folder_);
  return *this;
}

Result<Segment> ScratchFile::map() const {
  if (size_ == 0) {
    return Segment{};
  }
  const auto bytes = size_;
  void* const place = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd_, 0);
  if (place == MAP_FAILED) {
    return no_addresses(folder_, bytes);
  }
  return Segment{std::shared_ptr<const void>(place, [bytes](void* p) { ::munmap(p, bytes); }),
                 {static_cast<const std::byte*>(place), bytes}};
}

Status ScratchFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto n = ::pwrite(fd_, bytes.data(), std::min(bytes.size(), largest_piece),
                            static_cast<off_t>(size_));
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return file_error(folder_, "cannot write a scratch file there", errno);
    }
    size_ += static_cast<std::uint64_t>(n);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return ok_status();
}

Status ScratchFile::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto n = ::pread(fd_, bytes.data(), std::min(bytes.size(), largest_piece),
                           static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return file_error(folder_, "cannot read a scratch file there", errno);
    }
    if (n == 0) {
      return Error(Errc::data_corruption,
                   fmt::format("{}: expected {} more bytes of a scratch file at {}, found its end",
                               folder_.string(), bytes.size(), offset));
    }
    offset += static_cast<std::uint64_t>(n);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return ok_status();
}

}  // namespace troupe
