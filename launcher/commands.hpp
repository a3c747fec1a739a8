#pragma once
/// \file commands.hpp
/// The commands of the program `troupe`. Each prints to standard output, errors to standard error,
/// and returns an exit code.
#include "launcher/exit_code.hpp"
#include "launcher/progress.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe {

struct JobArguments {
  std::filesystem::path file;
  std::vector<std::string> overrides;  ///< --set a.b=c
};

struct RunArguments {
  JobArguments job;
  LogFormat log = LogFormat::text;
};
/// Runs a job to its end, or until SIGINT or SIGTERM.
/// \requires both signals are blocked in all threads
ExitCode run_command(const RunArguments& arguments);

/// Prints the job with defaults filled in and the plan.
ExitCode check_command(const JobArguments& arguments);

struct ImportArguments {
  std::string from = "npy";
  std::filesystem::path source;
  std::filesystem::path store;
};
ExitCode import_command(const ImportArguments& arguments);

struct PartitionArguments {
  std::filesystem::path store;
  std::filesystem::path out;
  std::string method = "random";
  std::uint32_t parts = 2;
  std::uint64_t seed = 0;
  std::string complete_for = "in";
};
ExitCode partition_command(const PartitionArguments& arguments);

/// Prints what a store holds.
/// \param verify  compares every checksum
ExitCode inspect_command(const std::filesystem::path& store, bool verify);

/// Blocks SIGINT and SIGTERM in the calling thread, so that all threads started later inherit it.
void block_stop_signals();

}  // namespace troupe
