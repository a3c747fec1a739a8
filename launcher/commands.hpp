#pragma once
/// \file commands.hpp
/// The commands of the program `troupe`. Each prints to standard output, errors to standard error,
/// and returns an exit code.
#include "launcher/exit_code.hpp"
#include "launcher/progress.hpp"
#include "runtime/data/formats.hpp"
#include "runtime/generate/heterogeneous.hpp"
#include "runtime/generate/powerlaw.hpp"
#include "runtime/generate/rmat.hpp"
#include "runtime/generate/sbm.hpp"
#include "runtime/partition/hotness.hpp"
#include "runtime/partition/partitioner.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

struct JobArguments {
  std::filesystem::path file;
  std::string text;  ///< The job itself, where a program made it; then `file` is empty
  std::vector<std::string> overrides;  ///< --set a.b=c
};

struct RunArguments {
  JobArguments job;
  LogFormat log = LogFormat::text;
  bool resume = false;     ///< continue from the newest checkpoint in the output folder
  std::string command;     ///< the command line, for the report
  bool overwrite = false;  ///< replace a finished run in the output folder
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

struct JoinArguments {
  JobArguments job;
  std::string director;  ///< its address, as `run` printed it
  std::filesystem::path token_file;
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
  bool nodes_given = false;                   ///< `nodes` are not the default
  std::string node_type;                      ///< Name of their node type; empty: that of the seeds
  std::string links = {};  ///< role or file of pairs (pair_outputs.hpp), in the place of nodes
  /// Partners of each node that a model of links scores highest, or entities that complete each of the triples of
  /// `links`; 0: none.
  std::uint32_t top = 0;
  /// Roles whose links are not named as such; "none" alone: none are left out.
  std::vector<std::string> leave_out = {"train"};
  std::string complete = "tail";  ///< end of triples that `top` finds: tail or head
  bool names = false;             ///< Names of nodes, read in files and written
  std::string edge_type = {};     ///< Name of theirs; empty: the only one that is learned
  bool embeddings = false;        ///< the inputs of the last layer instead of the logits
  bool learned = false;           ///< the rows that `embedding` trains instead, without features
  std::filesystem::path out;      ///< empty: `predict` in the job's output folder
};
/// Writes what a model makes of some nodes, by exact inference on the job's cluster; of a model without layers the
/// rows that it compares.
ExitCode predict_command(const PredictArguments& arguments);

struct BatchesArguments {
  JobArguments job;
  std::uint32_t epoch = 1;             ///< from 1
  std::optional<std::uint64_t> count;  ///< the first so many; nothing: all of the epoch
  std::filesystem::path out;           ///< folder to make
};
/// Writes training batches as .npy files, without training (docs/outputs.md).
ExitCode batches_command(const BatchesArguments& arguments);

/// Becomes the user's program, which runs the job by run_ranks (launcher/session.hpp); returns only if
/// that fails.
ExitCode run_program(const RunArguments& arguments, const std::vector<std::string>& program);

struct CheckArguments {
  JobArguments job;
  bool full = false;   ///< also print the job with all defaults
  double measure = 2;  ///< seconds of a trial of training; 0: none
};
/// Prints a job's plan, and the job with defaults filled in. Leaves the output folder as it is.
ExitCode check_command(const CheckArguments& arguments);

struct ImportArguments {
  std::string from = "npy";                  ///< A row of import_formats()
  std::vector<std::filesystem::path> paths;  ///< sources, then the store
  std::string memory = "4GB";
  std::string feature_dtype;  ///< empty: as the source has them
  std::string normalize = "none";
  EdgeTransforms edges;
  std::vector<double> edge_split;              ///< Shares of train, val and test; empty: none
  std::vector<std::int64_t> edge_split_times;  ///< First ones of val and test; empty: none
  std::vector<std::string> edge_split_type;    ///< Empty: the only edge type
  std::uint64_t edge_split_seed = 0;
  FormatOptions more;         ///< Options of single formats
  std::uint32_t threads = 0;  ///< 0: one per core; the store is the same
};
/// Makes a store from other formats (docs/formats.md).
ExitCode import_command(const ImportArguments& arguments);

struct PartitionArguments {
  std::filesystem::path store;
  std::filesystem::path out;
  PartitionOptions options{.parts = 2};  ///< all but what follows
  std::string complete_for = "in";
  std::string order = "degree";
  std::string features = "now";  ///< or "later"
  std::vector<std::int32_t> fanout = {15, 10, 5};
  std::string memory = "4GB";
  std::uint32_t threads = 0;  ///< 0: one per core; the files are the same
};
ExitCode partition_command(const PartitionArguments& arguments);

struct AddFeaturesArguments {
  std::filesystem::path store;
  std::filesystem::path out;
  std::vector<std::uint32_t> parts;  ///< empty: all
  std::string memory = "4GB";
  std::uint32_t threads = 0;  ///< 0: one per core; the files are the same
};
/// Adds the features that `partition` has left for later (docs/partitioning.md).
ExitCode add_features_command(const AddFeaturesArguments& arguments);

struct HotnessArguments {
  std::filesystem::path store;
  std::filesystem::path out;  ///< .npy to write; empty: none
  std::string split;
  std::vector<std::int32_t> fanout = {15, 10, 5};
  HotnessOptions options;  ///< all but the fanout
  std::uint32_t threads = 0;
};
/// Prints how likely nodes are to be in batches, and what caches of them would hold.
ExitCode hotness_command(const HotnessArguments& arguments);

struct InspectArguments {
  std::filesystem::path store;
  bool verify = false;                ///< compares every checksum
  std::optional<std::uint64_t> node;  ///< original id
  std::optional<std::uint64_t> global;
  std::string type;             ///< of the node; empty: the only one
  std::filesystem::path plots;  ///< folder to make; empty: none
};
/// Prints what a store holds.
ExitCode inspect_command(const InspectArguments& arguments);

/// What all kinds of `generate` take besides the options of the graph.
struct GenerateArguments {
  std::filesystem::path out;
  std::string memory = "4GB";
  std::string train = "0";  ///< numbers or shares
  std::string val = "0";
  std::string test = "0";
  std::string feature_dtype = "f32";
  std::optional<std::string> labels;  ///< "learnable" or "random"; nothing: random with `npy`
  bool npy = false;                   ///< write NumPy files instead of a store
  std::uint32_t threads = 0;          ///< 0: one per core; the files are the same
};
/// Makes up a graph (docs/generate.md).
ExitCode generate_command(const GenerateArguments& arguments, RmatOptions options);
ExitCode generate_command(const GenerateArguments& arguments, PowerlawOptions options);
ExitCode generate_command(const GenerateArguments& arguments, SbmOptions options);

struct GenerateHeterogeneousArguments {
  GenerateArguments all;
  std::filesystem::path schema;  ///< JSON file; empty: authors, papers, venues
  std::uint64_t nodes = 10'000;  ///< without a schema
};
ExitCode generate_command(const GenerateHeterogeneousArguments& arguments,
                          HeterogeneousOptions options);

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
