#include "runtime/base/mapped_file.hpp"

#include "runtime/base/files.hpp"
#include "runtime/base/large_memory.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {
namespace {

/// A regular file opened for reading, with its size.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct ::stat status {};
    if (fd_ < 0 || ::fstat(fd_, &status) != 0) {
      error_ = errno;
    } else if (!S_ISREG(status.st_mode)) {
      error_ = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    } else {
      size_ = static_cast<std::size_t>(status.st_size);
    }
  }
  ~InputFile() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  int fd() const { return fd_; }
  int error() const { return error_; }
  std::size_t size() const { return size_; }

 private:
  int fd_ = -1;
  int error_ = 0;
  std::size_t size_ = 0;
};

}  // namespace

Result<Segment> map_file(const std::filesystem::path& path) {
  const InputFile file(path);
  if (file.error() != 0) {
    return file_error(path, "cannot open", file.error());
  }
  const auto size = file.size();
  if (size == 0) {
    return Segment{};
  }
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd(), 0);
  if (memory == MAP_FAILED) {
    return file_error(path, "cannot map", errno);
  }
  std::shared_ptr<const void> owner(memory, [size](void* mapped) { ::munmap(mapped, size); });
  return Segment{std::move(owner), {static_cast<const std::byte*>(memory), size}};
}

Result<Segment> load_file(const std::filesystem::path& path) {
  const InputFile file(path);
  if (file.error() != 0) {
    return file_error(path, "cannot open", file.error());
  }
  if (file.size() == 0) {
    return Segment{};
  }
  const auto memory = allocate_large(file.size());
  if (memory == nullptr) {
    return Error(Errc::out_of_memory,
                 fmt::format("{}: no memory for {} bytes", path.string(), file.size()));
  }
  std::size_t done = 0;
  while (done < file.size()) {
    const auto n = ::read(file.fd(), memory.get() + done, file.size() - done);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return file_error(path, "cannot read", errno);
    }
    if (n == 0) {
      return Error(Errc::data_corruption, fmt::format("{}: expected {} bytes, it ends after {}",
                                                      path.string(), file.size(), done));
    }
    done += static_cast<std::size_t>(n);
  }
  return Segment{memory, {memory.get(), file.size()}};
}

}  // namespace troupe
