#pragma once
/// \file layout.hpp
/// Which processes a job has, on which host each runs, and what each holds.
#include "runtime/base/ids.hpp"
#include "runtime/job/job.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// What one process holds. The lists are ascending.
struct ProcessPlan {
  ProcessId id{};
  HostId host{};
  std::string name;               ///< in messages and before its output, e.g. "host 1", "server 0"
  std::vector<PartId> serves;     ///< has their holders and evaluates them
  std::vector<PartId> maps;       ///< reads in place; all of `serves` and maybe more of its host's
  std::vector<Rank> ranks;        ///< trainers
  std::vector<Rank> samples_for;  ///< ranks elsewhere whose batches are sampled and collected here
  bool directs = false;           ///< has the director
  bool agent = false;  ///< starts and watches the processes of its host, has no actors of the run
  /// Has actors of the run besides the director.
  bool works() const { return !serves.empty() || !ranks.empty() || !samples_for.empty(); }
};

/// The processes of a job.
///
/// | placement     | processes of the run                                                             |
/// |---------------|----------------------------------------------------------------------------------|
/// | collocated    | one per host: its parts, its ranks, their samplers                               |
/// | worker        | as above without samplers, and `samplers_per_trainer` sampler processes per rank |
/// | server_client | one per server: its parts, samplers of ranks bound to it; one per rank           |
/// | explicit      | as listed                                                                        |
///
/// With `simulate` the first of them directs; else process 0 directs and nothing else, and processes
/// 1 to `hosts` are the hosts' agents.
struct Layout {
  std::vector<ProcessPlan> processes;  ///< by ProcessId
  std::uint32_t hosts = 1;             ///< all of them, servers included
  std::uint32_t parts = 1;

  const ProcessPlan& at(ProcessId id) const { return processes.at(raw(id)); }
  /// In messages, e.g. "server 1"; "process 7" if there is none of that number.
  std::string name_of(ProcessId id) const;
  ProcessId director() const;
  std::optional<ProcessId> agent_of(HostId host) const;
  /// That have actors of the run, ascending.
  std::vector<ProcessId> workers() const;
  /// That have an evaluator: those that serve parts, ascending.
  std::vector<ProcessId> evaluators() const;
  /// That hold a part; the first one gives its scores.
  std::vector<ProcessId> servers_of(PartId part) const;
  ProcessId process_of(Rank rank) const;
  /// Other processes that sample for a rank; none: its own does.
  std::vector<ProcessId> samplers_of(Rank rank) const;
  /// Whether actors of one ask those of the other.
  bool talk(ProcessId a, ProcessId b) const;
};

Layout make_layout(const Job& job);

/// [rank] -> the parts that lie where its batches are sampled, ascending; none where it samples from a
/// process without parts.
std::vector<std::vector<PartId>> parts_of_ranks(const Layout& layout);

/// With `server_client`: `server_ranks`; else with `nearest_server` by turns one of those at the address
/// of the rank's host; else, or if there is none, rank mod servers.
std::uint32_t server_of_rank(const ClusterJob& cluster, std::uint32_t rank);

}  // namespace troupe
