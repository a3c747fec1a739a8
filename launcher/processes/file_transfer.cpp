// The sender; the receiver is in file_receiver.cpp.
#include "launcher/processes/file_transfer.hpp"

#include "runtime/base/digest.hpp"
#include "runtime/base/files.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds longest_silence{60};
constexpr std::size_t longest_answer_line = std::size_t{1} << 20;

Error silent() {
  return Error(Errc::peer_lost, fmt::format("nothing moves for {} s", longest_silence.count()));
}

/// One end of the stream, with a bound on silence.
class Peer {
 public:
  Peer(int fd, const std::function<bool()>& stop) : fd_(fd), stop_(stop) {}

  /// \errors peer_lost, cancelled; the receiver's if it has said one meanwhile
  Status send(std::span<const char> bytes) {
    while (!bytes.empty()) {
      TROUPE_ASSIGN_OR_RETURN(const auto events, wait(POLLOUT | POLLIN));
      if ((events & POLLIN) != 0) {  // it speaks only to say that it cannot go on
        TROUPE_ASSIGN_OR_RETURN(const auto line, read_line());
        return Error(Errc::data_corruption,
                     fmt::format("the receiver: expected silence, found \"{}\"", line));
      }
      const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        TROUPE_ASSIGN_OR_RETURN(const auto line, read_line());
        return Error(Errc::peer_lost, std::strerror(errno));
      }
      bytes = bytes.subspan(sent > 0 ? static_cast<std::size_t>(sent) : 0);
    }
    return ok_status();
  }
  /// The next line that is not "busy".
  /// \errors peer_lost, cancelled; failed_precondition: it says error
  Result<std::string> read_line() {
    for (;;) {
      const auto end = rest_.find('\n');
      if (end == std::string::npos) {
        TROUPE_RETURN_IF_ERROR(read_more());
        continue;
      }
      auto line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      if (line.starts_with("error ")) {
        return Error(Errc::failed_precondition, line.substr(6));
      }
      if (line != "busy") {
        return line;
      }
    }
  }

 private:
  Result<int> wait(int events) {
    const auto until = Clock::now() + longest_silence;
    for (;;) {
      pollfd watched{fd_, static_cast<short>(events), 0};
      if (poll(&watched, 1, 200) > 0) {
        return static_cast<int>(watched.revents);
      }
      if (stop_()) {
        return Error(Errc::cancelled, "interrupted");
      }
      if (Clock::now() > until) {
        return silent();
      }
    }
  }
  Status read_more() {
    TROUPE_ASSIGN_OR_RETURN([[maybe_unused]] const auto events, wait(POLLIN));
    char block[4096];
    const auto got = recv(fd_, block, sizeof block, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      return ok_status();
    }
    if (got <= 0 || rest_.size() > longest_answer_line) {
      return Error(Errc::peer_lost, "the connection ended");
    }
    rest_.append(block, static_cast<std::size_t>(got));
    return ok_status();
  }

  const int fd_;
  const std::function<bool()>& stop_;
  std::string rest_;
};

Result<std::string> list_of(std::span<const FileToSend> files) {
  std::string text = fmt::format("troupe-files 1 {}\n", files.size());
  for (const auto& file : files) {
    if (file.to.empty() || file.to.find('\n') != std::string::npos) {
      return Error(Errc::invalid_argument,
                   fmt::format("\"{}\": expected a path without line ends", file.to));
    }
    text += fmt::format("{} {} {} {}\n", file.program ? "755" : "644", file.bytes, file.checksum,
                        file.to);
  }
  return text;
}

Result<std::vector<std::size_t>> parse_need(const std::string& line, std::size_t count) {
  std::istringstream words(line);
  std::string need;
  std::size_t size = 0;
  std::vector<std::size_t> indices;
  words >> need >> size;
  for (std::size_t index = 0; words >> index;) {
    indices.push_back(index);
  }
  const bool good = need == "need" && size == indices.size() &&
                    std::ranges::all_of(indices, [&](std::size_t i) { return i < count; });
  if (!good) {
    return Error(Errc::data_corruption,
                 fmt::format("the receiver: expected which files it needs, found \"{}\"; try: the "
                             "same version of Troupe on both hosts",
                             line.substr(0, 100)));
  }
  return indices;
}

Status send_content(Peer& peer, const FileToSend& file) {
  std::ifstream in(file.from, std::ios::binary);
  std::vector<char> block(transfer_block_bytes);
  std::uint64_t sent = 0;
  while (sent < file.bytes) {
    const auto size = std::min<std::uint64_t>(block.size(), file.bytes - sent);
    if (!in.read(block.data(), static_cast<std::streamsize>(size))) {
      return Error(Errc::failed_precondition,
                   fmt::format("{}: expected {} bytes, found {}; it has changed meanwhile",
                               file.from.string(), file.bytes,
                               sent + static_cast<std::uint64_t>(in.gcount())));
    }
    TROUPE_RETURN_IF_ERROR(peer.send(std::span(block.data(), size)));
    sent += size;
  }
  return ok_status();
}

}  // namespace

Result<FileToSend> describe_file(const std::filesystem::path& from, std::string to, bool program) {
  FileToSend file{from, std::move(to), 0, {}, program};
  DigestBuilder digest;
  TROUPE_RETURN_IF_ERROR(for_each_block(from, [&](std::span<const std::byte> block) {
    digest.add_bytes(block);
    file.bytes += block.size();
    return ok_status();
  }));
  file.checksum = to_string(digest.digest());
  return file;
}

Result<TransferTotals> send_files(int peer_fd, std::span<const FileToSend> files,
                                  const std::function<bool()>& stop) {
  Peer peer(peer_fd, stop);
  TROUPE_ASSIGN_OR_RETURN(const auto list, list_of(files));
  TROUPE_RETURN_IF_ERROR(peer.send(list));
  TROUPE_ASSIGN_OR_RETURN(const auto answer, peer.read_line());
  TROUPE_ASSIGN_OR_RETURN(const auto needed, parse_need(answer, files.size()));
  TransferTotals totals;
  for (const auto index : needed) {
    TROUPE_RETURN_IF_ERROR(send_content(peer, files[index]));
    ++totals.files;
    totals.bytes += files[index].bytes;
  }
  TROUPE_ASSIGN_OR_RETURN(const auto last, peer.read_line());
  if (last != "done") {
    return Error(Errc::data_corruption,
                 fmt::format("the receiver: expected \"done\", found \"{}\"", last));
  }
  return totals;
}

}  // namespace troupe
