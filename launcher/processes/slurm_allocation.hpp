#pragma once
/// \file slurm_allocation.hpp
/// The nodes that Slurm has given to the job that this process is in, and agents on them.
#include "launcher/commands.hpp"
#include "runtime/base/result.hpp"
#include "runtime/job/job.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct SlurmNode {
  std::string name;     ///< Slurm's
  std::string address;  ///< under which other hosts reach it
  friend bool operator==(const SlurmNode&, const SlurmNode&) = default;
};

struct SlurmAllocation {
  std::string job;               ///< its number
  std::vector<SlurmNode> nodes;  ///< in Slurm's order
  std::string own;  ///< name of the node that this process is on; empty: on none of them
};

/// From what `scontrol show hostnames` and `scontrol --oneliner show node` print; a node that the second does not
/// have is reached under its name.
std::vector<SlurmNode> parse_slurm_nodes(const std::string& names, const std::string& descriptions);

/// By SLURM_JOB_ID, SLURM_JOB_NODELIST and scontrol.
/// \errors failed_precondition: this process is in no allocation; scontrol fails
Result<SlurmAllocation> find_slurm_allocation();

/// The nodes become the job's hosts, and the director listens where they reach it.
/// \errors failed_precondition: fewer nodes than hosts
Status use_slurm_allocation(const SlurmAllocation& allocation, Job& job);

/// Reads a job for a run of it: with launch "slurm" on the nodes of the allocation; their number is that of the
/// hosts where the job does not say it.
/// \returns nothing if something is wrong, which was printed
std::optional<Job> read_job_for_run(const JobArguments& arguments);

/// The command line that runs `program arguments...` on a node, once, beside whatever else runs there.
std::vector<std::string> srun_command(const SlurmJob& slurm, const std::string& node,
                                      const std::vector<std::string>& arguments);

}  // namespace troupe
