#pragma once
/// \file read_job.hpp
/// Job files as the commands need them: read and checked, problems printed.
#include "launcher/commands.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/job_file.hpp"

#include <optional>

namespace troupe {

/// The job, `cluster.device` "auto" decided by what this host has; or nothing after its problems were
/// printed to standard error.
std::optional<Job> read_job_or_print(const JobArguments& arguments);

/// Checks the job against the graph, printing problems, and fills in the model's types and its input
/// and output widths.
bool fit_to_graph_or_print(Job& job, const GraphInfo& graph,
                           JobTrainer trainer = JobTrainer::built_in);

}  // namespace troupe
