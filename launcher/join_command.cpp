// `troupe join`: this host takes part in a run that was started elsewhere.
#include "launcher/commands.hpp"
#include "launcher/print_error.hpp"
#include "launcher/processes/application.hpp"
#include "launcher/processes/local_address.hpp"
#include "launcher/processes/process_arguments.hpp"
#include "launcher/read_job.hpp"
#include "runtime/job/layout.hpp"
#include "runtime/net/tcp_address.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {
namespace {

/// Set by the launchers of Slurm, MPI (PMI and Open MPI) and PyTorch, one process per host.
struct LauncherVariables {
  const char* rank;
  const char* size;
};
constexpr LauncherVariables launchers[] = {{"SLURM_NODEID", "SLURM_STEP_NUM_NODES"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"RANK", "WORLD_SIZE"}};

/// Nothing if the variable is not set.
Result<std::optional<std::uint32_t>> number_of(const char* name) {
  const auto* text = std::getenv(name);
  if (text == nullptr) {
    return std::optional<std::uint32_t>();
  }
  std::uint32_t number = 0;
  const std::string_view value(text);
  const auto [rest, problem] = std::from_chars(value.begin(), value.end(), number);
  if (problem != std::errc{} || rest != value.end()) {
    return Error(Errc::invalid_argument,
                 fmt::format("{}: expected a number from 0, found \"{}\"", name, value));
  }
  return std::optional(number);
}

/// \param hosts  of the job: a launcher that has started another number of processes means something else
Result<std::uint32_t> host_rank(const JoinArguments& arguments, std::uint32_t hosts) {
  if (arguments.host) {
    return *arguments.host;
  }
  for (const auto& [rank_variable, size_variable] : launchers) {
    TROUPE_ASSIGN_OR_RETURN(const auto rank, number_of(rank_variable));
    if (!rank) {
      continue;
    }
    TROUPE_ASSIGN_OR_RETURN(const auto size, number_of(size_variable));
    if (size && *size != hosts) {
      return Error(Errc::invalid_argument,
                   fmt::format("{}: expected {}, the job's hosts, found {}; try: start troupe join "
                               "once per host, or give --host-rank",
                               size_variable, hosts, *size));
    }
    return *rank;
  }
  return Error(
      Errc::invalid_argument,
      "expected --host-rank, or one of SLURM_NODEID, PMI_RANK, OMPI_COMM_WORLD_RANK, RANK, "
      "found none");
}

Result<ProcessArguments> process_arguments(const JoinArguments& arguments, const Job& job) {
  const auto layout = make_layout(job);
  if (job.cluster.launch != "manual") {
    return Error(
        Errc::invalid_argument,
        fmt::format("expected a job with launch \"manual\", whose hosts join its run, found "
                    "\"{}\"; try: cluster.launch \"manual\" in the job of the run and of "
                    "every join, or `troupe run` alone",
                    job.cluster.launch));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto rank, host_rank(arguments, layout.hosts));
  if (rank >= layout.hosts) {
    return Error(Errc::invalid_argument,
                 fmt::format("expected a host rank of 0..{}, one of cluster.hosts, found {}",
                             layout.hosts - 1, rank));
  }
  auto process = arguments_for(job.cluster);
  process.instance.process = *layout.agent_of(static_cast<HostId>(rank));
  process.name = layout.at(process.instance.process).name;
  process.director = arguments.director;
  process.job = job.file_digest;
  process.listen = arguments.listen;
  if (!process.listen.empty()) {
    if (const auto address = net::parse_listen_address(process.listen); !address) {
      return Error(address.error()).with("--listen");
    }
  } else {
    TROUPE_ASSIGN_OR_RETURN(const auto own,
                            local_address_towards(host_of_address(arguments.director)));
    process.listen = own + ":0";
  }
  if (rank < job.cluster.named.size()) {
    process.cores = fmt::format("{}", fmt::join(job.cluster.named[rank].cores, ","));
  }
  process.program = arguments.program;
  process.token_file = arguments.token_file.string();
  return process;
}

/// What the host's line says, for the processes started here.
void set_environment_of_host(const Job& job, const ProcessArguments& process) {
  const auto& named = job.cluster.named;
  const auto host = raw(make_layout(job).at(process.instance.process).host);
  for (const auto& entry : host < named.size() ? named[host].env : std::vector<std::string>()) {
    const auto at = entry.find('=');
    setenv(entry.substr(0, at).c_str(), entry.substr(at + 1).c_str(), 1);
  }
}

/// Prints the settings that have no effect here, as a host takes them from the run.
void print_unused_settings(const std::vector<std::string>& overrides) {
  std::vector<std::string> keys;
  for (const auto& text : overrides) {
    if (!text.starts_with("cluster.")) {
      keys.push_back(text.substr(0, text.find('=')));
    }
  }
  if (!keys.empty()) {
    std::fprintf(stderr,
                 "troupe: a host takes the settings of the run; not used here: %s; try: give them "
                 "to troupe run\n",
                 fmt::format("{}", fmt::join(keys, ", ")).c_str());
  }
}

}  // namespace

ExitCode join_command(const JoinArguments& arguments) {
  const auto job = read_job_or_print(arguments.job);
  if (!job) {
    return ExitCode::usage;
  }
  auto process = process_arguments(arguments, *job);
  if (!process) {
    return print_error(process.error(), ExitCode::usage);
  }
  print_unused_settings(arguments.job.overrides);
  unblock_stop_signals();
  auto given = apply_for_place(*process);
  if (!given) {
    return print_error(std::move(given).error().with(process->name));
  }
  process->instance.incarnation = *given;
  set_environment_of_host(*job, *process);
  return run_agent(*process);
}

}  // namespace troupe
