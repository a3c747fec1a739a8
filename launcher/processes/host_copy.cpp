#include "launcher/processes/host_copy.hpp"

#include "launcher/make_cluster.hpp"
#include "launcher/processes/agent_starters.hpp"
#include "launcher/processes/child_processes.hpp"
#include "launcher/processes/piped_child.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/job/host_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fmt/format.h>
#include <future>
#include <poll.h>
#include <sstream>
#include <string_view>
#include <sys/socket.h>

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t hosts_at_once = 8;

/// Rsync gives up on a host that says nothing for so long, in seconds: reading one large file to
/// compare it takes a while.
constexpr const char* longest_silence = "300";
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

/// Where a path of the command line of a host's processes lies there.
std::string path_there(const std::string& path, const std::string& folder) {
  return path.starts_with('/') || folder.empty() ? path : (fs::path(folder) / path).string();
}

/// A word of the command that rsync takes with -e: it knows quotes, which stand twice within.
std::string rsync_quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) {
    text += c == '\'' ? std::string("''") : std::string(1, c);
  }
  return text + "'";
}

/// One host, reached by ssh.
class RemoteHost {
 public:
  RemoteHost(const SshJob& ssh, HostSpec spec, const std::function<bool()>& stop)
      : ssh_(ssh), spec_(std::move(spec)), stop_(stop) {
    ssh_.dir.clear();  // it may be missing
    spec_.dir.clear();
    ssh_.env.clear();  // that of the run's processes
    spec_.env.clear();
  }

  Result<HostCopy> copy(const HostCopyPlan& plan) {
    std::vector<std::string> prepare{"sh", "-c", prepare_script, "sh", plan.folder};
    for (const auto& file : plan.placed) {
      prepare.push_back(file.to);
    }
    prepare.push_back(plan.files.front());
    prepare.insert(prepare.end(), plan.descriptions.begin(), plan.descriptions.end());
    TROUPE_ASSIGN_OR_RETURN([[maybe_unused]] const auto printed,
                            run(ssh_command(ssh_, spec_, prepare), {}));
    HostCopy copy;
    for (std::size_t i = 0; i < plan.placed.size(); ++i) {
      const auto& file = plan.placed[i];
      TROUPE_ASSIGN_OR_RETURN(const auto sent, send({"--", file.from.string(), at(file.to)}, {}));
      copy.program = copy.program || (i == 0 && sent.files > 0);
      copy.files += i == 0 ? 0 : sent.files;
      copy.bytes += sent.bytes;
    }
    for (const auto* files : {&plan.files, &plan.descriptions}) {
      std::string list;
      for (const auto& file : *files) {
        list += file + '\0';
      }
      TROUPE_ASSIGN_OR_RETURN(
          const auto sent,
          send({"--from0", "--files-from=-", "--no-implied-dirs", "--", "/", at("/")}, list));
      copy.files += sent.files;
      copy.bytes += sent.bytes;
    }
    return copy;
  }

 private:
  std::string at(const std::string& path) const {
    const bool v6 = spec_.address.find(':') != std::string::npos && spec_.address.front() != '[';
    return (v6 ? "[" + spec_.address + "]" : spec_.address) + ":" + path;
  }
  /// Rsync writes beside a file's place and renames, so that nothing there is written through.
  Result<HostCopy> send(const std::vector<std::string>& what, const std::string& list) const {
    std::string shell;
    for (const auto& word : ssh_options(ssh_, spec_)) {
      shell += (shell.empty() ? "" : " ") + rsync_quoted(word);
    }
    std::vector<std::string> words{
        "rsync", "--checksum", "--whole-file",       "--copy-links", "--executability",
        "-e",    shell,        "--out-format=%i %l", "--timeout",    longest_silence};
    words.insert(words.end(), what.begin(), what.end());
    TROUPE_ASSIGN_OR_RETURN(const auto printed, run(words, list));
    HostCopy sent;
    std::istringstream lines(printed);
    std::string how;
    for (std::uint64_t bytes = 0; lines >> how >> bytes;) {
      const bool is_new = how.starts_with("<f");  // else something of it that is no content
      sent.files += is_new ? 1 : 0;
      sent.bytes += is_new ? bytes : 0;
    }
    return sent;
  }
  static bool is_away(const ChildEnd& end) {
    // The codes of ssh, and of rsync, for a connection that is not there or ends.
    constexpr std::array<const char*, 4> codes{"exit code 255", "exit code 10", "exit code 12",
                                               "exit code 30"};
    return std::ranges::find(codes, end.how) != codes.end();
  }
  static Error ended_badly(const ChildEnd& end) {
    const bool away = is_away(end);
    return Error(away ? Errc::peer_lost : Errc::failed_precondition,
                 fmt::format("{}{}", end.errors.empty() ? "ended with " + end.how : end.errors,
                             away ? "" : "; try: space and permission there"));
  }
  struct Ran {
    std::string printed;
    ChildEnd end;
  };
  /// Runs a program with `input`, which it reads before it prints much. \returns what it prints
  Result<std::string> run(const std::vector<std::string>& words, std::string_view input) const {
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
  Result<Ran> run_once(const std::vector<std::string>& words, std::string_view input) const {
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

  SshJob ssh_;
  HostSpec spec_;
  const std::function<bool()>& stop_;
};

std::string size_text(std::uint64_t bytes) {
  const auto number = static_cast<double>(bytes);
  return bytes < 1000      ? fmt::format("{} bytes", bytes)
         : bytes < 1000000 ? fmt::format("{:.1f} kB", number / 1e3)
                           : fmt::format("{:.1f} MB", number / 1e6);
}

}  // namespace

Result<HostCopyPlan> plan_host_copy(const Job& job, const PartitionedStore& store,
                                    const Layout& layout, HostId host, const CopySources& sources) {
  const auto& spec = job.cluster.named.at(raw(host));
  const auto& ssh = job.cluster.ssh;
  HostCopyPlan plan;
  plan.folder = own_or(spec.dir, ssh.dir);
  const auto& program = own_or(spec.program, ssh.program);
  plan.program = program.empty() ? sources.program.string() : path_there(program, plan.folder);
  if (plan.program.find('/') == std::string::npos) {
    return Error(Errc::invalid_argument,
                 fmt::format("cluster.ssh.program: expected a path to copy the program to, found "
                             "\"{}\"",
                             program));
  }
  plan.placed.push_back({sources.program, plan.program});
  if (sources.own_program.find('/') != std::string::npos) {  // else it is looked for in PATH there
    if (!fs::is_regular_file(sources.own_program)) {
      return Error(Errc::not_found,
                   fmt::format("{}: expected a program, found none", sources.own_program));
    }
    plan.placed.push_back(
        {fs::absolute(sources.own_program), path_there(sources.own_program, plan.folder)});
  }
  const auto folder = fs::absolute(store.dir()).lexically_normal();
  plan.files.push_back(fs::absolute(sources.job_file).lexically_normal().string());
  auto files = store_files_of_host(layout, host, store.info(), store.partition(),
                                   job.partition.replicated_topology);
  TROUPE_ASSIGN_OR_RETURN(const auto added, added_files_of_host(layout, host, store));
  files.insert(files.end(), added.begin(), added.end());
  for (const auto& file : files) {
    plan.files.push_back((folder / file.path).lexically_normal().string());
  }
  for (const auto name : {store_layout::partition_file, store_layout::graph_file}) {
    plan.descriptions.push_back((folder / name).string());
  }
  return plan;
}

std::string to_string(const HostCopy& copy) {
  if (!copy.program && copy.files == 0) {
    return "up to date";
  }
  const auto files = fmt::format("{} file{}", copy.files, copy.files == 1 ? "" : "s");
  return fmt::format("copied {}: {}", size_text(copy.bytes),
                     !copy.program     ? files
                     : copy.files == 0 ? "the program"
                                       : "the program and " + files);
}

Status copy_to_hosts(const Job& job, const PartitionedStore& store, const CopySources& sources,
                     const Say& say, const std::function<bool()>& stop) {
  const auto layout = make_layout(job);
  const auto& named = job.cluster.named;
  const auto copy = [&](std::size_t host) -> Result<HostCopy> {
    TROUPE_ASSIGN_OR_RETURN(const auto plan,
                            plan_host_copy(job, store, layout, static_cast<HostId>(host), sources));
    return RemoteHost(job.cluster.ssh, named[host], stop).copy(plan);
  };
  Status first = ok_status();
  for (std::size_t begin = 0; begin < named.size() && first; begin += hosts_at_once) {
    std::vector<std::future<Result<HostCopy>>> copies;
    for (auto host = begin; host < std::min(named.size(), begin + hosts_at_once); ++host) {
      copies.push_back(std::async(std::launch::async, copy, host));
    }
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const auto& address = named[begin + i].address;
      const auto copied = copies[i].get();
      if (copied) {
        say(fmt::format("{}: {}", address, to_string(*copied)));
      } else if (first) {
        first = Error(copied.error()).with(address);
      }
    }
  }
  return first;
}

Status copy_if_asked(const Job& job, const PartitionedStore& store,
                     const std::filesystem::path& job_file, const std::string& own_program,
                     const Say& say) {
  if (job.cluster.launch != "ssh" || !job.cluster.ssh.copy) {
    return ok_status();
  }
  return copy_to_hosts(job, store, {troupe::own_program(), job_file, own_program}, say, stop_asked);
}

}  // namespace troupe
