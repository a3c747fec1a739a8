#pragma once
/// \file commands.hpp
/// The commands of the program `troupe`. Each prints to standard output, errors to standard error,
/// and returns an exit code.
#include "launcher/exit_code.hpp"
#include "launcher/progress.hpp"
#include "runtime/data/edgelist_import.hpp"
#include "runtime/data/rmat.hpp"
#include "runtime/partition/method_options.hpp"

#include <filesystem>
#include <optional>
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
  bool resume = false;  ///< go on from the newest checkpoint in the output folder
};
/// Runs a job to its end, or until SIGINT or SIGTERM.
/// \requires both signals are blocked in all threads
ExitCode run_command(const RunArguments& arguments);

struct SubmitArguments {
  RunArguments run;
  std::vector<std::string> program;  ///< of the user's, with arguments; empty: none
  bool dry_run = false;              ///< print the script, and that is all
};
/// Hands a run with `launch` "slurm" to Slurm as a batch job.
ExitCode submit_command(const SubmitArguments& arguments);

struct CopyArguments {
  JobArguments job;
  std::vector<std::string> program;  ///< of the user's, with arguments; empty: none
};
/// Brings what a run with `launch` "ssh" needs to its hosts.
ExitCode copy_command(const CopyArguments& arguments);
/// Its other end, on a host: files from standard input (processes/file_transfer.hpp).
ExitCode receive_command();

struct JoinArguments {
  JobArguments job;
  std::string director;  ///< its address, as `run` printed it
  std::filesystem::path token_file;
  std::filesystem::path tls;          ///< folder with the run's certificates; empty: none
  std::optional<std::uint32_t> host;  ///< 0..; else by the environment (docs/deployment.md)
  std::string listen;                 ///< address of this host's processes; empty: found out
  std::vector<std::string> program;   ///< of the user's, with arguments; empty: none
};
/// Takes part in a run with `launch` "manual" as one of its hosts, until it ends.
ExitCode join_command(const JoinArguments& arguments);

struct PredictArguments {
  JobArguments job;
  std::filesystem::path model;                ///< as a run leaves it: model.safetensors
  std::vector<std::string> nodes = {"test"};  ///< roles, "all", or files (node_request.hpp)
  bool embeddings = false;    ///< the inputs of the last layer instead of the logits
  std::filesystem::path out;  ///< empty: `predict` in the job's output folder
};
/// Writes what a model makes of some nodes, by exact inference on the job's cluster.
ExitCode predict_command(const PredictArguments& arguments);
/// Becomes the user's program, which runs the job by run_ranks (launcher/session.hpp); returns only if
/// that fails.
ExitCode run_program(const RunArguments& arguments, const std::vector<std::string>& program);

/// Prints the job with defaults filled in and the plan.
ExitCode check_command(const JobArguments& arguments);

struct ImportArguments {
  std::string from = "npy";
  std::vector<std::filesystem::path> paths;  ///< sources, then the store
  std::string memory = "4GB";
  std::vector<std::uint32_t> columns = {0, 1};
  std::string ids = "number";  ///< or "text"
  EdgelistOptions options;     ///< all but the above
  std::uint32_t threads = 0;   ///< 0: one per core; the store is the same
};
/// Makes a store from other formats (docs/formats.md).
ExitCode import_command(const ImportArguments& arguments);

struct PartitionArguments {
  std::filesystem::path store;
  std::filesystem::path out;
  std::string method = "random";
  std::uint32_t parts = 2;
  std::uint64_t seed = 0;
  std::string complete_for = "in";
  MethodOptions more;
  std::uint32_t threads = 0;  ///< 0: one per core; the files are the same
};
ExitCode partition_command(const PartitionArguments& arguments);

struct GenerateRmatArguments {
  RmatOptions options;
  std::filesystem::path out;
  std::uint32_t threads = 0;  ///< 0: one per core; the files are the same
};
ExitCode generate_rmat_command(const GenerateRmatArguments& arguments);

/// Prints what a store holds.
/// \param verify  compares every checksum
ExitCode inspect_command(const std::filesystem::path& store, bool verify);

struct SimulateArguments {
  std::uint64_t seed = 0;
  std::uint64_t count = 1;  ///< seeds from `seed` on; only those not as expected are shown in full
};
/// Replays the simulated run of a seed, with its fault plan and a line per event (docs/failure.md).
ExitCode simulate_command(const SimulateArguments& arguments);

/// Blocks SIGINT and SIGTERM in the calling thread, so that all threads started later inherit it.
void block_stop_signals();
/// Undoes that in the calling thread.
void unblock_stop_signals();

}  // namespace troupe
