#include "launcher/processes/host_copy.hpp"

#include "launcher/make_cluster.hpp"
#include "launcher/processes/agent_starters.hpp"
#include "launcher/processes/child_processes.hpp"
#include "launcher/processes/piped_child.hpp"
#include "runtime/base/files.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/job/host_files.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <future>
#include <openssl/evp.h>
#include <sys/socket.h>

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t hosts_at_once = 8;

/// $1: the program's path there, $2: the working folder or nothing. Prints its SHA-256.
constexpr const char* look_script = R"sh(
if [ -n "$2" ]; then mkdir -p -- "$2" || exit 1; fi
if [ -x "$1" ]; then sha256sum < "$1"; else echo missing; fi)sh";

/// $1: the program's path there, $2: its SHA-256. Takes it from the standard input.
constexpr const char* program_script = R"sh(
umask 022
mkdir -p -- "$(dirname -- "$1")" || exit 1
t=$(mktemp -- "$1.incoming-XXXXXX") || exit 1
if cat > "$t" && [ "$(sha256sum < "$t" | cut -d ' ' -f 1)" = "$2" ] &&
   chmod 755 -- "$t" && mv -f -- "$t" "$1"
then exit 0; fi
echo "$1: it did not arrive whole" >&2
rm -f -- "$t"
exit 1)sh";

/// Where a path of the command line of a host's processes lies there.
std::string path_there(const std::string& path, const std::string& folder) {
  return path.starts_with('/') || folder.empty() ? path : (fs::path(folder) / path).string();
}

Result<std::string> sha256_of(const fs::path& file) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  TROUPE_RETURN_IF_ERROR(for_each_block(file, [&](std::span<const std::byte> block) {
    EVP_DigestUpdate(context.get(), block.data(), block.size());
    return ok_status();
  }));
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_DigestFinal_ex(context.get(), digest.data(), &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += fmt::format("{:02x}", digest[i]);
  }
  return text;
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

  Result<HostCopy> copy(const HostCopyPlan& plan, const fs::path& program,
                        const std::string& sha256) {
    HostCopy copy;
    TROUPE_ASSIGN_OR_RETURN(const auto found, run(look_script, plan.program, plan.folder, {}));
    if (found.substr(0, sha256.size()) != sha256) {
      TROUPE_ASSIGN_OR_RETURN([[maybe_unused]] const auto printed,
                              run(program_script, plan.program, sha256, program));
      copy.program = true;
      std::error_code error;
      copy.bytes = fs::file_size(program, error);
    }
    TROUPE_ASSIGN_OR_RETURN(auto child, start({plan.program, "receive"}));
    const auto sent = send_files(child.peer(), plan.files, stop_);
    if (!sent && sent.error().code() != Errc::peer_lost) {
      return sent.error();
    }
    child.end_input();
    const auto end = child.wait();
    if (!sent) {
      return ended_badly(end);
    }
    copy.files = sent->files;
    copy.bytes += sent->bytes;
    return copy;
  }

 private:
  Result<PipedChild> start(const std::vector<std::string>& words) const {
    return PipedChild::start(ssh_command(ssh_, spec_, words));
  }
  static Error ended_badly(const ChildEnd& end) {
    // ssh has this code for troubles of its own.
    const bool away = end.how == "exit code 255";
    return Error(
        away ? Errc::peer_lost : Errc::failed_precondition,
        fmt::format("{}{}", end.errors.empty() ? "ended with " + end.how : end.errors,
                    away ? "" : "; try: space and permission there, and packages.txt [run]"));
  }
  /// Runs a script with two arguments and `input`, if any. \returns what it prints
  Result<std::string> run(const char* script, const std::string& first, const std::string& second,
                          const fs::path& input) const {
    TROUPE_ASSIGN_OR_RETURN(auto child, start({"sh", "-c", script, "sh", first, second}));
    if (!input.empty()) {
      TROUPE_RETURN_IF_ERROR(feed(child.peer(), input));
    }
    child.end_input();
    std::string printed;
    for (;;) {
      std::array<char, 4096> block{};
      const auto got = recv(child.peer(), block.data(), block.size(), 0);
      if (got <= 0) {
        break;
      }
      printed.append(block.data(), static_cast<std::size_t>(got));
    }
    const auto end = child.wait();
    if (!end.success) {
      return ended_badly(end);
    }
    return printed;
  }
  /// What cannot be sent is told by the child's end.
  Status feed(int peer, const fs::path& file) const {
    bool taken = true;
    return for_each_block(file, [&](std::span<const std::byte> rest) -> Status {
      while (taken && !rest.empty()) {
        const auto sent = send(peer, rest.data(), rest.size(), MSG_NOSIGNAL);
        if (stop_()) {
          return Error(Errc::cancelled, "interrupted");
        }
        taken = sent > 0;
        rest = rest.subspan(taken ? static_cast<std::size_t>(sent) : 0);
      }
      return ok_status();
    });
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
  TROUPE_ASSIGN_OR_RETURN(auto job_file,
                          describe_file(sources.job_file, fs::absolute(sources.job_file).string()));
  plan.files.push_back(std::move(job_file));
  if (sources.own_program.find('/') != std::string::npos) {  // else it is looked for in PATH there
    TROUPE_ASSIGN_OR_RETURN(
        auto own,
        describe_file(sources.own_program, path_there(sources.own_program, plan.folder), true));
    plan.files.push_back(std::move(own));
  }
  const auto folder = fs::absolute(store.dir());
  auto files = store_files_of_host(layout, host, store.info(), store.partition(),
                                   job.partition.replicated_topology);
  TROUPE_ASSIGN_OR_RETURN(const auto added, added_files_of_host(layout, host, store));
  files.insert(files.end(), added.begin(), added.end());
  for (const auto& file : files) {
    const auto path = folder / file.path;
    plan.files.push_back({path, path.string(), file.bytes, file.checksum});
  }
  for (const auto name : {store_layout::partition_file, store_layout::graph_file}) {
    const auto path = folder / name;
    TROUPE_ASSIGN_OR_RETURN(auto description, describe_file(path, path.string()));
    plan.files.push_back(std::move(description));
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
  TROUPE_ASSIGN_OR_RETURN(const auto sha256, sha256_of(sources.program));
  const auto copy = [&](std::size_t host) -> Result<HostCopy> {
    TROUPE_ASSIGN_OR_RETURN(const auto plan,
                            plan_host_copy(job, store, layout, static_cast<HostId>(host), sources));
    return RemoteHost(job.cluster.ssh, named[host], stop).copy(plan, sources.program, sha256);
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
