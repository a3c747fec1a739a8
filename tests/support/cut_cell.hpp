#pragma once
/// \file cut_cell.hpp
/// One fault in a run on hosts of their own (network namespaces, started by ssh) that takes
/// processes out of reach: a host or the connections of a process are cut, or a process and its agent
/// are stopped, at one moment; and the outcome.
#include "tests/support/fault_cell.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace troupe::testing {

/// With hosts: all that a run has there is cut off, and back after it was noticed. With connections:
/// no packet passes on those that a process has dialed, while new ones may be made. Orphans:
/// a process is stopped, and its agent, which could kill it; once others have their places the process
/// is continued, and must end by itself.
enum class Cut {
  host,         ///< of `collocated`
  server,       ///< of `server_client`
  trainer,      ///< of `server_client`, with both ranks
  sampler,      ///< of `explicit`: nothing but the samplers and collectors of both ranks
  evaluator,    ///< of `explicit`: nothing but both parts, their holders and the evaluator
  learner,      ///< of `explicit`: nothing but both ranks
  director,     ///< cut off from all hosts
  agent_links,  ///< connections of an agent
  host_links,   ///< connections of a process with parts and a rank
  orphan_host,
  orphan_server,
  orphan_trainer,
  orphan_sampler,
  orphan_evaluator,
};

struct CutCell {
  Cut cut{};
  Moment moment{};
};
std::string to_string(Cut cut);
std::string test_name(const CutCell& cell);
std::ostream& operator<<(std::ostream& out, const CutCell& cell);
std::vector<CutCell> all_cut_cells();

/// Runs it. `detected_s`: until a process was given up, or had made all cut connections again; -1: did
/// not happen within 10 s, or within the run.
/// \requires NetworkHosts::unavailable() is empty
FaultOutcome run_cell(const CutCell& cell);

/// A line of a table in Markdown, below table_head().
std::string table_line(const CutCell& cell, const FaultOutcome& outcome);

}  // namespace troupe::testing
