// The receiving end of file_transfer.hpp.
#include "launcher/processes/file_transfer.hpp"
#include "runtime/base/digest.hpp"
#include "runtime/base/files.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_header_line = 16384;
constexpr std::size_t most_files = std::size_t{1} << 20;

Error gone() {
  return Error(Errc::peer_lost, "the sender is gone");
}

Error bad_list(const std::string& line) {
  return Error(Errc::data_corruption,
               fmt::format("expected a list of files, found \"{}\"; try: the same version of "
                           "Troupe on both hosts",
                           line.substr(0, 100)));
}

/// What the sender sends: lines, then bytes.
class Input {
 public:
  explicit Input(int fd) : fd_(fd), block_(transfer_block_bytes) {}

  Result<std::string> line() {
    std::string text;
    for (;;) {
      if (at_ == end_) {
        TROUPE_RETURN_IF_ERROR(fill());
      }
      const char c = block_[at_++];
      if (c == '\n') {
        return text;
      }
      text += c;
      if (text.size() > longest_header_line) {
        return bad_list(text);
      }
    }
  }
  /// Up to `most` of the next bytes; valid until the next call.
  Result<std::span<const char>> bytes(std::uint64_t most) {
    if (at_ == end_) {
      TROUPE_RETURN_IF_ERROR(fill());
    }
    const auto size = std::min<std::uint64_t>(most, end_ - at_);
    const std::span<const char> found(block_.data() + at_, size);
    at_ += size;
    return found;
  }

 private:
  Status fill() {
    const auto got = read(fd_, block_.data(), block_.size());
    if (got < 0 && errno == EINTR) {
      return fill();
    }
    if (got <= 0) {
      return gone();
    }
    at_ = 0;
    end_ = static_cast<std::size_t>(got);
    return ok_status();
  }

  const int fd_;
  std::vector<char> block_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

void say(int out, std::string line) {
  std::ranges::replace(line, '\n', ' ');
  line += '\n';
  for (std::size_t at = 0; at < line.size();) {
    const auto written = ::write(out, line.data() + at, line.size() - at);
    if (written <= 0) {
      return;  // reading will tell that nobody is there
    }
    at += static_cast<std::size_t>(written);
  }
}

Result<std::vector<FileToSend>> read_list(Input& input) {
  TROUPE_ASSIGN_OR_RETURN(const auto first, input.line());
  std::istringstream head(first);
  std::string name;
  int version = 0;
  std::size_t count = 0;
  if (!(head >> name >> version >> count) || name != "troupe-files" || version != 1 ||
      count > most_files) {
    return bad_list(first);
  }
  std::vector<FileToSend> files;
  for (std::size_t i = 0; i < count; ++i) {
    TROUPE_ASSIGN_OR_RETURN(const auto line, input.line());
    std::istringstream words(line);
    FileToSend file;
    std::string mode;
    if (!(words >> mode >> file.bytes >> file.checksum) || words.get() != ' ' ||
        !std::getline(words, file.to) || file.to.empty()) {
      return bad_list(line);
    }
    file.program = mode == "755";
    files.push_back(std::move(file));
  }
  return files;
}

/// Whether the file is here already. Says now and then that it is busy.
class Comparison {
 public:
  explicit Comparison(int out) : out_(out) {}

  bool has(const FileToSend& file) {
    const int fd = open(file.to.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      return false;
    }
    struct stat status {};
    const bool sized = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                       static_cast<std::uint64_t>(status.st_size) == file.bytes &&
                       (!file.program || (status.st_mode & S_IXUSR) != 0);
    const bool same = sized && checksum(fd) == file.checksum;
    close(fd);
    return same;
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::string checksum(int fd) {
    DigestBuilder digest;
    for (;;) {
      const auto got = read(fd, block_.data(), block_.size());
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got <= 0) {
        return got == 0 ? to_string(digest.digest()) : "";
      }
      digest.add_bytes(std::as_bytes(std::span(block_.data(), static_cast<std::size_t>(got))));
      if (Clock::now() - told_ > std::chrono::seconds(1)) {
        told_ = Clock::now();
        say(out_, "busy");
      }
    }
  }

  const int out_;
  std::vector<char> block_ = std::vector<char>(transfer_block_bytes);
  Clock::time_point told_ = Clock::now();
};

/// Has another name until it is whole; goes away if it never is.
class IncomingFile {
 public:
  explicit IncomingFile(const FileToSend& file)
      : file_(file), name_(fmt::format("{}.incoming-{}", file.to, getpid())) {}
  ~IncomingFile() {
    if (fd_ >= 0) {
      close(fd_);
      unlink(name_.c_str());
    }
  }
  IncomingFile(const IncomingFile&) = delete;
  IncomingFile& operator=(const IncomingFile&) = delete;

  Status open() {
    std::error_code error;
    const auto folder = fs::path(file_.to).parent_path();
    if (!folder.empty() && !fs::create_directories(folder, error) && error) {
      return file_error(folder, "cannot create the folder", error.value());
    }
    fd_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                 file_.program ? 0755 : 0644);
    if (fd_ < 0) {
      return file_error(file_.to, "cannot create", errno);
    }
    // No space is told now and not after gigabytes.
    const int problem =
        file_.bytes == 0 ? 0 : posix_fallocate(fd_, 0, static_cast<off_t>(file_.bytes));
    if (problem != 0 && problem != EOPNOTSUPP && problem != EINVAL) {
      return file_error(file_.to, fmt::format("cannot have {} bytes", file_.bytes), problem);
    }
    return ok_status();
  }
  Status add(std::span<const char> bytes) {
    digest_.add_bytes(std::as_bytes(bytes));
    while (!bytes.empty()) {
      const auto written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) {
        return file_error(file_.to, "cannot write", errno);
      }
      bytes = bytes.subspan(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
    return ok_status();
  }
  Status finish() {
    if (const auto found = to_string(digest_.digest()); found != file_.checksum) {
      return Error(Errc::data_corruption, fmt::format("{}: expected checksum {}, found {}",
                                                      file_.to, file_.checksum, found));
    }
    if (rename(name_.c_str(), file_.to.c_str()) != 0) {
      return file_error(file_.to, "cannot replace", errno);
    }
    close(std::exchange(fd_, -1));
    return ok_status();
  }

 private:
  const FileToSend& file_;
  const std::string name_;
  int fd_ = -1;
  DigestBuilder digest_;
};

Status take_in(Input& input, const FileToSend& file) {
  IncomingFile incoming(file);
  TROUPE_RETURN_IF_ERROR(incoming.open());
  for (std::uint64_t got = 0; got < file.bytes;) {
    TROUPE_ASSIGN_OR_RETURN(const auto bytes, input.bytes(file.bytes - got));
    TROUPE_RETURN_IF_ERROR(incoming.add(bytes));
    got += bytes.size();
  }
  return incoming.finish();
}

Status receive(Input& input, int out) {
  TROUPE_ASSIGN_OR_RETURN(const auto files, read_list(input));
  Comparison comparison(out);
  std::vector<std::size_t> needed;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!comparison.has(files[i])) {
      needed.push_back(i);
    }
  }
  auto answer = fmt::format("need {}", needed.size());
  for (const auto index : needed) {
    answer += fmt::format(" {}", index);
  }
  say(out, answer);
  for (const auto index : needed) {
    TROUPE_RETURN_IF_ERROR(take_in(input, files[index]));
  }
  say(out, "done");
  return ok_status();
}

}  // namespace

Status receive_files(int in, int out) {
  Input input(in);
  auto received = receive(input, out);
  if (!received) {
    say(out, "error " + received.error().what());
  }
  return received;
}

}  // namespace troupe
