#include "launcher/processes/slurm_allocation.hpp"

#include "launcher/print_error.hpp"
#include "launcher/processes/local_address.hpp"
#include "launcher/processes/tool_output.hpp"
#include "launcher/read_job.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <sstream>

namespace troupe {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The value of the word KEY=VALUE.
std::string value_in(const std::string& line, std::string_view key) {
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word.starts_with(key) && word.size() > key.size() && word[key.size()] == '=') {
      return word.substr(key.size() + 1);
    }
  }
  return "";
}

/// What the allocation was asked for per task is not meant for agents: they share a node's whole part of it.
constexpr const char* not_for_agents[] = {"SLURM_CPUS_PER_TASK",   "SRUN_CPUS_PER_TASK",
                                          "SLURM_NTASKS_PER_NODE", "SLURM_GPUS_PER_TASK",
                                          "SLURM_TRES_PER_TASK",   "SLURM_NTASKS"};

}  // namespace

std::vector<SlurmNode> parse_slurm_nodes(const std::string& names,
                                         const std::string& descriptions) {
  std::map<std::string, std::string> addresses;
  std::istringstream lines(descriptions);
  for (std::string line; std::getline(lines, line);) {
    addresses[value_in(line, "NodeName")] = value_in(line, "NodeAddr");
  }
  std::vector<SlurmNode> nodes;
  std::istringstream words(names);
  for (std::string name; words >> name;) {
    const auto& address = addresses[name];
    nodes.push_back({name, address.empty() ? name : address});
  }
  return nodes;
}

Result<SlurmAllocation> find_slurm_allocation() {
  SlurmAllocation allocation;
  allocation.job = variable("SLURM_JOB_ID");
  allocation.own = variable("SLURMD_NODENAME");
  const auto list = variable("SLURM_JOB_NODELIST");
  if (allocation.job.empty() || list.empty()) {
    return Error(Errc::failed_precondition,
                 "launch \"slurm\": expected to be inside an allocation (SLURM_JOB_ID and "
                 "SLURM_JOB_NODELIST), found none; try: troupe submit JOB, or salloc before "
                 "troupe run JOB");
  }
  TROUPE_ASSIGN_OR_RETURN(const auto names, tool_output({"scontrol", "show", "hostnames", list}));
  const auto descriptions = tool_output({"scontrol", "--oneliner", "show", "node", list});
  allocation.nodes = parse_slurm_nodes(names, descriptions ? *descriptions : "");
  return allocation;
}

Status use_slurm_allocation(const SlurmAllocation& allocation, Job& job) {
  auto& cluster = job.cluster;
  const auto& nodes = allocation.nodes;
  const std::size_t hosts = cluster.all_hosts();
  if (nodes.size() < hosts) {
    return Error(Errc::failed_precondition,
                 fmt::format("/cluster/hosts: expected at most {}, the nodes of Slurm's job {}, "
                             "found {} hosts; try: salloc --nodes={}, or leave cluster.hosts out",
                             nodes.size(), allocation.job, hosts, hosts));
  }
  cluster.named.clear();
  for (std::size_t i = 0; i < hosts; ++i) {
    cluster.named.emplace_back().address = nodes[i].name;
  }
  if (cluster.listen.empty()) {
    // Its own name may stand for an address that only itself can reach.
    const auto other = std::ranges::find_if(
        nodes, [&](const SlurmNode& node) { return node.name != allocation.own; });
    TROUPE_ASSIGN_OR_RETURN(
        const auto address,
        local_address_towards((other == nodes.end() ? nodes.front() : *other).address));
    cluster.listen = address + ":0";
  }
  return ok_status();
}

std::optional<Job> read_job_for_run(const JobArguments& arguments) {
  auto job = read_job_or_print(arguments);
  if (!job || job->cluster.launch != "slurm") {
    return job;
  }
  const auto allocation = find_slurm_allocation();
  if (!allocation) {
    print_error(allocation.error());
    return std::nullopt;
  }
  if (!job->cluster.hosts_given) {
    auto with_nodes = arguments;
    with_nodes.overrides.push_back(fmt::format("cluster.slurm.nodes={}", allocation->nodes.size()));
    job = read_job_or_print(with_nodes);
    if (!job) {
      return std::nullopt;
    }
  }
  if (const auto used = use_slurm_allocation(*allocation, *job); !used) {
    print_error(used.error());
    return std::nullopt;
  }
  return job;
}

std::vector<std::string> srun_command(const SlurmJob& slurm, const std::string& node,
                                      const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"env"};
  for (const auto* name : not_for_agents) {
    words.insert(words.end(), {"-u", name});
  }
  // --overlap: the step before it, of an agent that was lost, may not be over yet.
  words.insert(words.end(), {"srun", "--nodes=1", "--ntasks=1", "--nodelist=" + node, "--overlap",
                             "--cpu-bind=none", "--mpi=none", "--job-name=troupe-agent"});
  if (!slurm.container_image.empty()) {
    words.push_back("--container-image=" + slurm.container_image);
  }
  if (!slurm.container_mounts.empty()) {
    words.push_back("--container-mounts=" + slurm.container_mounts);
  }
  words.insert(words.end(), slurm.srun_arguments.begin(), slurm.srun_arguments.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

}  // namespace troupe
