#include "launcher/processes/remote_host.hpp"

#include "launcher/processes/agent_starters.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fmt/format.h>
#include <poll.h>
#include <sstream>
#include <sys/socket.h>

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// Rsync gives up on a host that says nothing for so long, in seconds: reading one large file to
/// compare it takes a while.
constexpr const char* longest_silence = "300";
/// Files are what they name, whatever their times.
const std::vector<std::string> by_content{"--checksum", "--copy-links", "--executability"};
/// Of a copy that failed without a reason.
constexpr int most_repeats = 3;

/// $1: the working folder or nothing; then files whose folders are made, so that rsync's first trouble is
/// not one for each file.
constexpr const char* prepare_script = R"sh(
if ! command -v rsync > /dev/null; then
  echo "expected rsync there, found none; try: install the packages of packages.txt [run]" >&2
  exit 1
fi
if [ -n "$1" ]; then mkdir -p -- "$1" || exit 1; fi
shift
for f; do
  if [ -d "$f" ]; then echo "$f: expected a file or nothing, found a folder" >&2; exit 1; fi
  mkdir -p -- "$(dirname -- "$f")" || exit 1
done)sh";

/// A word of the command that rsync takes with -e: it knows quotes, which stand twice within.
std::string rsync_quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) {
    text += c == '\'' ? std::string("''") : std::string(1, c);
  }
  return text + "'";
}

bool is_away(const ChildEnd& end) {
  // The codes of ssh, and of rsync, for a connection that is not there or ends.
  constexpr std::array<const char*, 4> codes{"exit code 255", "exit code 10", "exit code 12",
                                             "exit code 30"};
  return std::ranges::find(codes, end.how) != codes.end();
}
Error ended_badly(const ChildEnd& end) {
  const bool away = is_away(end);
  return Error(away ? Errc::peer_lost : Errc::failed_precondition,
               fmt::format("{}{}", end.errors.empty() ? "ended with " + end.how : end.errors,
                           away ? "" : "; try: space and permission there"));
}

}  // namespace

RemoteHost::RemoteHost(const SshJob& ssh, HostSpec spec, std::function<bool()> stop)
    : ssh_(ssh), spec_(std::move(spec)), stop_(std::move(stop)) {
  ssh_.dir.clear();  // it may be missing
  spec_.dir.clear();
  ssh_.env.clear();  // that of the run's processes
  spec_.env.clear();
}

Status RemoteHost::make_folders(const std::string& working_folder,
                                const std::vector<std::string>& files) const {
  std::vector<std::string> words{"sh", "-c", prepare_script, "sh", working_folder};
  words.insert(words.end(), files.begin(), files.end());
  TROUPE_ASSIGN_OR_RETURN([[maybe_unused]] const auto printed,
                          run(ssh_command(ssh_, spec_, words), {}));
  return ok_status();
}

Result<SentFiles> RemoteHost::send(const fs::path& file, const std::string& to) const {
  return send(by_content, {"--", file.string(), at(to)}, {});
}

Result<SentFiles> RemoteHost::send(const std::vector<std::string>& files) const {
  std::string list;
  for (const auto& file : files) {
    list += file + '\0';
  }
  return send(by_content, {"--from0", "--files-from=-", "--no-implied-dirs", "--", "/", at("/")},
              list);
}

Result<SentFiles> RemoteHost::mirror(const fs::path& folder) const {
  const auto inside = folder.string() + "/";
  return send({"--recursive", "--times", "--delete-after"}, {"--", inside, at(inside)}, {});
}

std::string RemoteHost::at(const std::string& path) const {
  const bool v6 = spec_.address.find(':') != std::string::npos && spec_.address.front() != '[';
  return (v6 ? "[" + spec_.address + "]" : spec_.address) + ":" + path;
}

Result<SentFiles> RemoteHost::send(const std::vector<std::string>& options,
                                   const std::vector<std::string>& what,
                                   const std::string& list) const {
  std::string shell;
  for (const auto& word : ssh_options(ssh_, spec_)) {
    shell += (shell.empty() ? "" : " ") + rsync_quoted(word);
  }
  std::vector<std::string> words{"rsync",         "--whole-file",      "-e", shell, "--timeout",
                                 longest_silence, "--out-format=%i %l"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), what.begin(), what.end());
  TROUPE_ASSIGN_OR_RETURN(const auto printed, run(words, list));
  SentFiles sent;
  std::istringstream lines(printed);
  std::string how;
  for (std::uint64_t bytes = 0; lines >> how >> bytes;) {
    const bool is_new = how.starts_with("<f");  // else something of it that is no content
    sent.files += is_new ? 1 : 0;
    sent.bytes += is_new ? bytes : 0;
  }
  return sent;
}

Result<std::string> RemoteHost::run(const std::vector<std::string>& words,
                                    std::string_view input) const {
  TROUPE_ASSIGN_OR_RETURN(auto ran, run_once(words, input));
  for (int again = 0;
       again < most_repeats && !ran.end.success && ran.end.errors.empty() && !is_away(ran.end);
       ++again) {
    // The other end's reason may be lost with the connection; copying again is harmless.
    TROUPE_ASSIGN_OR_RETURN(ran, run_once(words, input));
  }
  if (!ran.end.success) {
    return ended_badly(ran.end);
  }
  return std::move(ran.printed);
}
Result<RemoteHost::Ran> RemoteHost::run_once(const std::vector<std::string>& words,
                                             std::string_view input) const {
  TROUPE_ASSIGN_OR_RETURN(auto child, PipedChild::start(words));
  std::string printed;
  std::array<char, 4096> block{};
  for (bool ended = false; !ended;) {
    if (stop_()) {
      return Error(Errc::cancelled, "interrupted");
    }
    pollfd peer{child.peer(), static_cast<short>(input.empty() ? POLLIN : POLLIN | POLLOUT), 0};
    poll(&peer, 1, 200);
    if ((peer.revents & POLLOUT) != 0 && !input.empty()) {
      const auto sent =
          ::send(child.peer(), input.data(), input.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      const bool again = sent < 0 && (errno == EAGAIN || errno == EINTR);
      // A child that takes no more is ending: its exit status says why.
      input.remove_prefix(sent > 0 ? static_cast<std::size_t>(sent) : again ? 0 : input.size());
    }
    if (input.empty()) {
      child.end_input();
    }
    if ((peer.revents & (POLLIN | POLLHUP)) != 0) {
      const auto got = recv(child.peer(), block.data(), block.size(), 0);
      ended = got <= 0;
      printed.append(block.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    }
  }
  return Ran{std::move(printed), child.wait()};
}

}  // namespace troupe
