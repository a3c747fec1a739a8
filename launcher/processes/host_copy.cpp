#include "launcher/processes/host_copy.hpp"

#include "launcher/make_cluster.hpp"
#include "launcher/processes/child_processes.hpp"
#include "launcher/processes/remote_host.hpp"
#include "runtime/graph/store_layout.hpp"
#include "runtime/job/host_files.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// Where a path of the command line of a host's processes lies there.
std::string path_there(const std::string& path, const std::string& folder) {
  return path.starts_with('/') || folder.empty() ? path : (fs::path(folder) / path).string();
}

Result<HostCopy> copy_to(const RemoteHost& host, const HostCopyPlan& plan) {
  std::vector<std::string> in_folders;
  for (const auto& file : plan.placed) {
    in_folders.push_back(file.to);
  }
  in_folders.push_back(plan.files.front());
  in_folders.insert(in_folders.end(), plan.descriptions.begin(), plan.descriptions.end());
  TROUPE_RETURN_IF_ERROR(host.make_folders(plan.folder, in_folders));
  HostCopy copy;
  for (std::size_t i = 0; i < plan.placed.size(); ++i) {
    const auto& file = plan.placed[i];
    TROUPE_ASSIGN_OR_RETURN(const auto sent, host.send(file.from, file.to));
    copy.program = copy.program || (i == 0 && sent.files > 0);
    copy.files += i == 0 ? 0 : sent.files;
    copy.bytes += sent.bytes;
  }
  for (const auto* files : {&plan.files, &plan.descriptions}) {
    TROUPE_ASSIGN_OR_RETURN(const auto sent, host.send(*files));
    copy.files += sent.files;
    copy.bytes += sent.bytes;
  }
  return copy;
}

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
  const bool counts_classes = job.train.class_weights.balanced && !job.task.links();
  auto files =
      store_files_of_host(layout, host, store.info(), store.partition(),
                          {.lists = job.partition.replicated_topology, .labels = counts_classes});
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
    return copy_to(RemoteHost(job.cluster.ssh, named[host], stop), plan);
  };
  Status first = ok_status();
  on_hosts(named.size(), copy, [&](std::size_t host, const Result<HostCopy>& copied) {
    const auto& address = named[host].address;
    if (copied) {
      say(fmt::format("{}: {}", address, to_string(*copied)));
    } else if (first) {
      first = Error(copied.error()).with(address);
    }
    return first.ok();
  });
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
