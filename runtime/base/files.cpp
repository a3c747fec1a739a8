#include "runtime/base/files.hpp"

#include "runtime/base/open_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <stdlib.h>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t block_bytes = std::size_t{1} << 18;

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

}  // namespace

fs::path parent_directory(const fs::path& path) {
  const auto named = path.has_filename() ? path : path.parent_path();  // "a/b/" names a/b
  return named.has_parent_path() ? named.parent_path() : fs::path(".");
}

Status flush_directory(const fs::path& path) {
  const OpenFile dir(path, O_RDONLY | O_DIRECTORY);
  if (dir.fd() < 0) {
    return file_error(path, "cannot open the directory", errno);
  }
  if (::fsync(dir.fd()) != 0 && errno != EINVAL) {  // some file systems cannot flush directories
    return file_error(path, "cannot flush the directory", errno);
  }
  return ok_status();
}

Error file_error(const fs::path& path, std::string_view what, int error_number) {
  const auto code = error_number == ENOENT ? Errc::not_found : Errc::failed_precondition;
  auto text =
      fmt::format("{}: {}: {}", path.string(), what, std::generic_category().message(error_number));
  std::error_code ignored;
  if (error_number == ENOENT && fs::is_symlink(path, ignored)) {
    text += fmt::format(
        "; it is a link to {}, which is missing\n"
        "try: fetch the data that the link stands for",
        fs::read_symlink(path, ignored).string());
  }
  if (error_number == ENOSPC || error_number == EDQUOT) {
    text += "; try: make space on its disk, or name a folder on another one";
  }
  return Error(code, text);
}

bool has_name(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

Status for_each_block(const fs::path& path,
                      const std::function<Status(std::span<const std::byte>)>& take) {
  const OpenFile file(path, O_RDONLY);
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
  OpenFile file(path, O_WRONLY | O_CREAT | O_EXCL, readers == Readers::owner ? 0600 : 0644);
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

namespace {

/// What open() would give a file, which mkstemp() does not. The system tells the mask by its own file: to
/// ask for it by umask() would change it for a moment, for all threads.
mode_t mode_of_new_files() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Umask:")) {
      return 0666U & ~static_cast<mode_t>(std::strtoul(line.c_str() + 6, nullptr, 8));
    }
  }
  return 0600;
}

}  // namespace

Status write_file_atomically(const fs::path& path, std::span<const std::byte> bytes) {
  return write_file_atomically(path, std::span<const std::span<const std::byte>>(&bytes, 1));
}

Status write_file_atomically(const fs::path& path,
                             std::span<const std::span<const std::byte>> pieces) {
  auto name = path.string() + ".tmp-XXXXXX";
  const OpenFile file(::mkstemp(name.data()));
  if (file.fd() < 0) {
    return file_error(path, "cannot create a temporary file beside it", errno);
  }
  auto written = write_pieces(file.fd(), path, pieces);
  if (written.ok() && (::fchmod(file.fd(), mode_of_new_files()) != 0 || ::fsync(file.fd()) != 0 ||
                       ::rename(name.c_str(), path.c_str()) != 0)) {
    written = file_error(path, "cannot put the file in place", errno);
  }
  if (!written.ok()) {
    ::unlink(name.c_str());
    return written;
  }
  return flush_directory(parent_directory(path));
}

}  // namespace troupe
