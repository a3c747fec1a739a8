#pragma once
/// \file submit_script.hpp
/// The batch script that `troupe submit` hands to Slurm.
#include "runtime/job/job.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe {

struct SubmitScript {
  std::string program;                   ///< `troupe` on the first node
  std::filesystem::path folder;          ///< working folder; absolute
  std::filesystem::path job_file;        ///< as given
  std::vector<std::string> overrides;    ///< --set a.b=c
  bool resume = false;                   ///< continue from the newest checkpoint
  bool overwrite = false;                ///< replace a finished run
  std::vector<std::string> own_program;  ///< with arguments, after `--`; empty: none
};

/// A script of bash for sbatch. What Slurm starts is `troupe run` itself (exec), so that the signal which warns it before
/// the time is up reaches it. A job that Slurm starts again goes on from its newest checkpoint.
/// \requires job.cluster.launch is "slurm"
std::string submit_script(const SubmitScript& script, const Job& job);

/// Where the script's job prints to, with Slurm's %j for its number.
std::string submit_output(const std::filesystem::path& folder, const Job& job);

}  // namespace troupe
