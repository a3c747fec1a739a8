#include "runtime/base/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t block_bytes = std::size_t{1} << 18;

/// An open file, closed at the end of the scope.
class File {
 public:
  File(const fs::path& path, int flags, mode_t mode = 0)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) {
      close();
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

Status write_all(int fd, const fs::path& path, std::span<const std::byte> bytes) {
  constexpr std::size_t largest_write = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const auto n = ::write(fd, bytes.data(), std::min(bytes.size(), largest_write));
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return file_error(path, "cannot write", errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return ok_status();
}

Status write_pieces(int fd, const fs::path& path,
                    std::span<const std::span<const std::byte>> pieces) {
  for (const auto& piece : pieces) {
    TROUPE_RETURN_IF_ERROR(write_all(fd, path, piece));
  }
  return ok_status();
}

Status flush_directory(const fs::path& path) {
  const File dir(path, O_RDONLY | O_DIRECTORY);
  if (dir.fd() < 0) {
    return file_error(path, "cannot open the directory", errno);
  }
  if (::fsync(dir.fd()) != 0 && errno != EINVAL) {  // some file systems cannot flush directories
    return file_error(path, "cannot flush the directory", errno);
  }
  return ok_status();
}

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

Error exists_error(const fs::path& path) {
  return Error(Errc::failed_precondition,
               fmt::format("{}: expected a name that is free, but it exists\n"
                           "try: another name, or remove it",
                           path.string()));
}

/// rename(2) replaces an empty directory; this does not, where the file system can tell.
int rename_to_free_name(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
    return 0;
  }
  if (errno == EINVAL || errno == ENOSYS) {
    return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  }
  return errno;
}

}  // namespace

Error file_error(const fs::path& path, std::string_view what, int error_number) {
  const auto code = error_number == ENOENT ? Errc::not_found : Errc::failed_precondition;
  return Error(code, fmt::format("{}: {}: {}", path.string(), what,
                                 std::generic_category().message(error_number)));
}

Status for_each_block(const fs::path& path,
                      const std::function<Status(std::span<const std::byte>)>& take) {
  const File file(path, O_RDONLY);
  if (file.fd() < 0) {
    return file_error(path, "cannot open", errno);
  }
  std::vector<std::byte> block(block_bytes);
  for (;;) {
    const auto n = ::read(file.fd(), block.data(), block.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return file_error(path, "cannot read", errno);
    }
    if (n == 0) {
      return ok_status();
    }
    TROUPE_RETURN_IF_ERROR(take(std::span(block.data(), static_cast<std::size_t>(n))));
  }
}

Result<std::string> read_text_file(const fs::path& path, std::uint64_t max_bytes) {
  std::string text;
  TROUPE_RETURN_IF_ERROR(for_each_block(path, [&](std::span<const std::byte> block) -> Status {
    if (text.size() + block.size() > max_bytes) {
      return Error(
          Errc::failed_precondition,
          fmt::format("{}: expected at most {} bytes, found more", path.string(), max_bytes));
    }
    text.append(reinterpret_cast<const char*>(block.data()), block.size());
    return ok_status();
  }));
  return text;
}

Status write_new_file(const fs::path& path, std::span<const std::span<const std::byte>> pieces,
                      Readers readers) {
  File file(path, O_WRONLY | O_CREAT | O_EXCL, readers == Readers::owner ? 0600 : 0644);
  if (file.fd() < 0) {
    return file_error(path, "cannot create", errno);
  }
  auto written = ok_status();
  if (readers == Readers::owner &&
      ::fchmod(file.fd(), 0600) != 0) {  // whatever the umask takes away
    written = file_error(path, "cannot set the mode", errno);
  } else {
    written = write_pieces(file.fd(), path, pieces);
  }
  if (file.close() != 0 && written) {  // where some file systems say that there was no space
    written = file_error(path, "cannot finish writing", errno);
  }
  if (!written) {
    ::unlink(path.c_str());
  }
  return written;
}

Status write_new_text_file(const fs::path& path, std::string_view text, Readers readers) {
  const auto piece = std::as_bytes(std::span(text));
  return write_new_file(path, std::span(&piece, 1), readers);
}

Status make_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? Status(file_error(path, "cannot create the directory", error.value()))
               : ok_status();
}

Status write_file_atomically(const fs::path& path, std::span<const std::byte> bytes) {
  return write_file_atomically(path, std::span<const std::span<const std::byte>>(&bytes, 1));
}

Status write_file_atomically(const fs::path& path,
                             std::span<const std::span<const std::byte>> pieces) {
  auto name = path.string() + ".tmp-XXXXXX";
  const File file(::mkstemp(name.data()));
  if (file.fd() < 0) {
    return file_error(path, "cannot create a temporary file beside it", errno);
  }
  auto written = write_pieces(file.fd(), path, pieces);
  if (written.ok() && (::fchmod(file.fd(), 0644) != 0 || ::fsync(file.fd()) != 0 ||
                       ::rename(name.c_str(), path.c_str()) != 0)) {
    written = file_error(path, "cannot put the file in place", errno);
  }
  if (!written.ok()) {
    ::unlink(name.c_str());
    return written;
  }
  return flush_directory(parent_of(path));
}

StagedDirectory::StagedDirectory(fs::path path, fs::path final_path)
    : path_(std::move(path)), final_path_(std::move(final_path)) {}

StagedDirectory::StagedDirectory(StagedDirectory&& other) noexcept
    : path_(std::move(other.path_)), final_path_(std::move(other.final_path_)) {
  other.path_.clear();
}

StagedDirectory::~StagedDirectory() {
  if (!path_.empty()) {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
}

Result<StagedDirectory> StagedDirectory::create(const fs::path& final_path) {
  const auto target = final_path.has_filename() ? final_path : final_path.parent_path();
  std::error_code error;
  if (fs::exists(fs::symlink_status(target, error))) {
    return exists_error(target);
  }
  fs::create_directories(parent_of(target), error);
  if (error) {
    return file_error(parent_of(target), "cannot create the directory", error.value());
  }
  auto name = target.string() + ".tmp-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    return file_error(target, "cannot create a temporary directory beside it", errno);
  }
  StagedDirectory staged(name, target);
  if (::chmod(name.c_str(), 0755) != 0) {
    return file_error(name, "cannot set the mode", errno);
  }
  return staged;
}

Status StagedDirectory::commit(Flush flush) {
  if (flush == Flush::yes) {
    const File dir(path_, O_RDONLY | O_DIRECTORY);
    if (dir.fd() < 0 || ::syncfs(dir.fd()) != 0) {
      return file_error(path_, "cannot flush the file system", errno);
    }
  }
  const int failed = rename_to_free_name(path_, final_path_);
  if (failed == EEXIST || failed == ENOTEMPTY) {
    return exists_error(final_path_);
  }
  if (failed != 0) {
    return file_error(final_path_, "cannot rename the finished directory", failed);
  }
  path_.clear();
  return flush == Flush::yes ? flush_directory(parent_of(final_path_)) : ok_status();
}

}  // namespace troupe
