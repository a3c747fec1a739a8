#pragma once
/// \file fault_cell.hpp
/// One fault in a run of real processes: who, how, when; and what came of it.
#include "tests/support/watched_run.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace troupe::testing {

enum class Victim { sampler, server, replicated_server, trainer, host, agent, director };
enum class Act { kill, stop };
enum class Moment { start, mid_epoch, evaluation, checkpoint, last_step };

struct FaultCell {
  Victim victim{};
  Act act{};
  Moment moment{};
  bool defaults = false;  ///< heartbeats and silence as when a job says nothing about them
};
std::string to_string(Victim victim);
std::string to_string(Act act);
std::string to_string(Moment moment);
/// For the name of a test.
std::string test_name(const FaultCell& cell);
std::ostream& operator<<(std::ostream& out, const FaultCell& cell);
std::vector<FaultCell> all_fault_cells();
/// Those that take longest to notice, at the defaults.
std::vector<FaultCell> slow_fault_cells();

struct FaultOutcome {
  std::vector<std::string> problems;  ///< what is not as it must be; empty: good
  std::string end;                    ///< e.g. "same digests"
  double detected_s = -1;   ///< from the fault to the line that names it; -1: no such line
  double recovered_s = -1;  ///< from the fault to the first progress after that; -1: none
  std::string line;         ///< that names it
};

/// Settings of `troupe run` for a job that is the same whatever the placement.
std::vector<std::string> fault_job(const std::string& output, int epochs);
/// The same for `troupe predict` with the model that a run of it left; outputs go to a folder.
std::vector<std::string> fault_job_predicts(const std::string& output, int epochs,
                                            const std::string& folder);
/// Digests of that job, undisturbed, simulated in one process; computed once per test program.
const std::string& undisturbed_digests(int epochs);
/// Those in the report; empty: there is none.
std::string digests_in(const std::string& output);

/// Requests for neighbors that the holder of a part answered in a process, by the trace of the run.
/// \param process  as in the file's name: "server-2"; it has ended by itself
std::size_t hops_in_trace(const std::string& output, const std::string& process, int part);

/// Runs it, if the moment is missed up to three times with more epochs. Heartbeats are every 0.2 s, and 1.5 s of silence is a loss,
/// unless it takes the defaults.
FaultOutcome run_cell(const FaultCell& cell);

/// "Two words" gives "TwoWords", for the name of a test.
std::string name_of_words(const std::string& words);

/// The lines of a table in Markdown.
std::string table_head();
/// "0.12 s", or a dash below 0.
std::string seconds_text(double seconds);
std::string table_line(const FaultCell& cell, const FaultOutcome& outcome);

}  // namespace troupe::testing
