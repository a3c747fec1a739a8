// The program `troupe`: reads the command line and calls a command.
#include "launcher/commands.hpp"
#include "launcher/processes/process_arguments.hpp"
#include "launcher/version.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <optional>
#include <string_view>

namespace {

using troupe::ExitCode;

constexpr const char* exit_codes =
    "Exit codes: 0 done, 1 internal error, 2 usage or job file, 3 data, 4 a peer or process "
    "failed,\n"
    "130 interrupted.";

void add_job(CLI::App& command, troupe::JobArguments& arguments) {
  command.add_option("JOB", arguments.file, "the job file (docs/job-file.md)")->required();
  command.add_option("--set", arguments.overrides, "override a value, e.g. train.epochs=3")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
}

struct CommandLine {
  troupe::SimulateArguments simulate;
  troupe::RunArguments run;
  troupe::PredictArguments predict;
  troupe::SubmitArguments submit;
  troupe::CopyArguments copy;
  troupe::JoinArguments join;
  troupe::JobArguments check;
  troupe::ImportArguments importing;
  troupe::PartitionArguments partition;
  troupe::GenerateRmatArguments rmat;
  troupe::ProcessArguments process;
  std::uint32_t process_number = 0;
  std::string inspect_store;
  bool verify = false;
  std::string log = "text";
  std::optional<std::vector<std::string>> program;  ///< what follows "--"
};

void add_method_options(CLI::App& partition, troupe::PartitionArguments& arguments) {
  auto& more = arguments.more;
  partition
      .add_option("--balance", more.balance,
                  "what ldg, fennel and metis share evenly besides nodes: edges, train, val, test")
      ->delimiter(',');
  partition.add_option("--split", more.split, "whose seeds are balanced; none: the default split");
  partition.add_option("--imbalance", more.imbalance, "largest part over average part")
      ->check(CLI::Range(1.0, 10.0))
      ->capture_default_str();
  partition.add_option("--passes", more.passes, "of ldg and fennel over all nodes")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  partition.add_option("--objective", more.objective, "what metis makes small")
      ->check(CLI::IsMember({"cut", "volume"}))
      ->capture_default_str();
  partition.add_flag("--recursive", more.recursive, "metis by recursive bisection, not k-way");
  partition.add_option("--file", more.file, "of method file: .npy with the part of each node");
  partition
      .add_option("--threads", arguments.threads,
                  "threads; 0: one per core. The result is the same")
      ->check(CLI::Range(0U, 1024U))
      ->capture_default_str();
}

void add_generate(CLI::App& app, troupe::GenerateRmatArguments& rmat,
                  std::optional<ExitCode>& result) {
  auto* generate = app.add_subcommand("generate", "make up a graph, for benchmarks");
  generate->require_subcommand(1);
  auto* command = generate->add_subcommand("rmat", "a random graph with skewed degrees (R-MAT)");
  auto& options = rmat.options;
  command->add_option("OUT", rmat.out, "the folder of .npy files to make")->required();
  command->add_option("--nodes", options.nodes, "number of nodes")->required();
  command->add_option("--edges", options.edges, "edges to draw, before symmetrising")->required();
  command->add_option("--a", options.a, "probability of quadrant (0,0)")->capture_default_str();
  command->add_option("--b", options.b, "probability of quadrant (0,1)")->capture_default_str();
  command->add_option("--c", options.c, "probability of quadrant (1,0)")->capture_default_str();
  command->add_flag("--symmetrize", options.symmetrize, "add every edge in the other direction");
  command->add_option("--features", options.features, "float32 feature columns; 0: none")
      ->capture_default_str();
  command->add_option("--classes", options.classes, "classes of random labels; 0: none")
      ->capture_default_str();
  command->add_option("--train", options.train, "random training seeds; 0: none")
      ->capture_default_str();
  command->add_option("--seed", options.seed, "of everything random")->capture_default_str();
  command->add_option("--threads", rmat.threads, "0: one per core; the files are the same")
      ->capture_default_str();
  command->footer(
      "The folder is read by troupe import and by NumPy (docs/benchmarks.md).\n"
      "Example: troupe generate rmat /tmp/rmat --nodes 2449029 --edges 61859140 --symmetrize "
      "--features 100 --classes 47 --train 196615");
  command->callback([&] { result = troupe::generate_rmat_command(rmat); });
}

void add_predict(CLI::App& app, troupe::PredictArguments& arguments,
                 std::optional<ExitCode>& result) {
  auto* predict =
      app.add_subcommand("predict", "write a trained model's predictions or embeddings of nodes");
  add_job(*predict, arguments.job);
  predict->add_option("--model", arguments.model, "model.safetensors of a run of this job")
      ->required()
      ->type_name("FILE");
  predict
      ->add_option("--nodes", arguments.nodes,
                   "train, val, test, all, or files of original ids: .npy, or .txt with one a line")
      ->type_name("ROLE|FILE")
      ->capture_default_str();
  predict->add_flag("--embeddings", arguments.embeddings,
                    "the inputs of the model's last layer instead of the logits");
  predict->add_option("--out", arguments.out, "folder to write to; OUTPUT/predict if not given")
      ->type_name("DIR");
  predict->footer(
      "Writes predictions.npy and node_ids.npy (docs/outputs.md).\n"
      "Example: troupe predict examples/quickstart.json --model "
      "runs/quickstart/model.safetensors --nodes test");
  predict->callback([&] { result = troupe::predict_command(arguments); });
}

/// Commands that processes of a run are started with; not for people.
void add_process(CLI::App& app, const char* name, troupe::ProcessArguments& arguments,
                 std::uint32_t& process, std::optional<ExitCode>& result,
                 ExitCode (*run)(const troupe::ProcessArguments&)) {
  auto* command = app.add_subcommand(name, "a process of a run")->group("");
  command->add_option("--process", process)->required();
  command->add_option("--life", arguments.life.incarnation)->required();
  command->add_option("--name", arguments.name)->required();
  command->add_option("--director", arguments.director)->required();
  command->add_option("--listen", arguments.listen);
  command->add_option("--heartbeat", arguments.heartbeat_s);
  command->add_option("--lost-after", arguments.lost_after_s);
  command->add_option("--join-deadline", arguments.join_deadline_s);
  command->add_option("--cores", arguments.cores);
  command->add_option("--ucx", arguments.ucx);
  command->prefix_command();  // what follows --program is not for us
  command->callback([&arguments, &process, &result, run, command] {
    const auto rest = command->remaining();
    if (rest.size() > 1 && rest.front() == "--program") {
      arguments.program.assign(rest.begin() + 1, rest.end());
    }
    arguments.life.process = static_cast<troupe::ProcessId>(process);
    result = run(arguments);
  });
}

void add_submit(CLI::App& app, CommandLine& line, std::optional<ExitCode>& result) {
  auto* submit = app.add_subcommand("submit", "hand a run with launch \"slurm\" to Slurm");
  add_job(*submit, line.submit.run.job);
  submit->add_flag("--dry-run", line.submit.dry_run, "print the batch script, submit nothing");
  submit->add_flag("--resume", line.submit.run.resume,
                   "go on from the newest checkpoint in the job's output folder");
  submit->footer(
      "Writes OUTPUT/submit.sbatch and submits it by sbatch (docs/deployment.md).\n"
      "Example: troupe submit examples/slurm.json --set cluster.slurm.time=30\n"
      "With -- PROGRAM ARGUMENTS... at the end, a program of yours trains (docs/embedding.md).");
  submit->callback([&] {
    line.submit.program = line.program.value_or(std::vector<std::string>());
    result = troupe::submit_command(line.submit);
  });
}

void add_copy(CLI::App& app, CommandLine& line, std::optional<ExitCode>& result) {
  auto* copy =
      app.add_subcommand("copy", "bring what a run with launch \"ssh\" needs to its hosts");
  add_job(*copy, line.copy.job);
  copy->footer(
      "The program, the job file and the store's files that a host reads, where they are missing "
      "or different.\n"
      "Example: troupe copy examples/ssh.json\n"
      "With -- PROGRAM at the end, that one too.");
  copy->callback([&] {
    line.copy.program = line.program.value_or(std::vector<std::string>());
    result = troupe::copy_command(line.copy);
  });
  app.add_subcommand("receive", "takes files from a copy")->group("")->callback([&] {
    result = troupe::receive_command();
  });
}

void add_join(CLI::App& app, CommandLine& line, std::optional<ExitCode>& result) {
  auto& arguments = line.join;
  auto* join = app.add_subcommand("join", "take part in a run with launch \"manual\" as a host");
  add_job(*join, arguments.job);
  join->add_option("--director", arguments.director, "address that the run printed")
      ->required()
      ->type_name("HOST:PORT");
  join->add_option("--token-file", arguments.token_file, "copy of the run's token, mode 0600")
      ->required()
      ->type_name("FILE");
  join->add_option("--tls", arguments.tls,
                   "copy of the run's folder of certificates, if it has one")
      ->type_name("FOLDER");
  join->add_option("--host-rank", arguments.host,
                   "from 0; else SLURM_NODEID, PMI_RANK, OMPI_COMM_WORLD_RANK or RANK");
  join->add_option("--listen", arguments.listen,
                   "where this host's processes listen; else on the way to the director")
      ->type_name("HOST:0");
  join->footer(
      "Example: troupe join job.json --host-rank 1 --director 10.0.0.1:7000 --token-file token\n"
      "With -- PROGRAM ARGUMENTS... at the end where `troupe run` has it, too.");
  join->callback([&] {
    line.join.program = line.program.value_or(std::vector<std::string>());
    result = troupe::join_command(line.join);
  });
}

void add_import(CLI::App& app, troupe::ImportArguments& arguments,
                std::optional<ExitCode>& result) {
  auto* importing = app.add_subcommand("import", "make a store from other formats");
  auto& options = arguments.options;
  auto& edges = options.import.edges;
  importing->add_option("--from", arguments.from, "format of SOURCE (docs/formats.md)")
      ->check(CLI::IsMember({"npy", "edgelist"}))
      ->capture_default_str();
  importing
      ->add_option("PATHS", arguments.paths,
                   "a folder of .npy files, or files of edges; then the folder to make")
      ->required()
      ->expected(2, 1'000'000)
      ->type_name("SOURCE... STORE");
  importing->add_option("--memory", arguments.memory, "for sorting; the rest goes through the disk")
      ->capture_default_str();
  importing->add_flag("--symmetrize,--undirected", edges.symmetrize,
                      "add the reverse of every edge");
  importing->add_flag("--dedup", edges.dedup, "keep one of parallel edges");
  importing->add_flag("--drop-self-loops", edges.drop_self_loops, "leave out edges v -> v");
  importing->add_flag("--reverse-edges", edges.reverse_edges,
                      "add a second edge type rev_NAME of the reverses");
  importing->add_option("--threads", arguments.threads, "0: one per core; the store is the same")
      ->capture_default_str();
  importing
      ->add_option("--columns", arguments.columns,
                   "edgelist: source's and destination's column, counted from 0")
      ->delimiter(',')
      ->expected(2)
      ->type_name("A,B");
  importing->add_option("--ids", arguments.ids, "edgelist: numbers, or any text")
      ->check(CLI::IsMember({"number", "text"}))
      ->capture_default_str();
  importing->add_option("--first-id", options.first_id, "edgelist: the id that becomes node 0")
      ->capture_default_str();
  importing->add_option("--nodes", options.nodes,
                        "edgelist: number of nodes; else the largest id + 1");
  importing->add_flag("--header", options.header, "edgelist: skip the first line of every file");
  importing->footer("Example: troupe import --from npy examples/data/cora /tmp/cora-store");
  importing->callback([&] { result = troupe::import_command(arguments); });
}

void add_commands(CLI::App& app, CommandLine& line, std::optional<ExitCode>& result) {
  auto* run = app.add_subcommand("run", "run a job");
  add_job(*run, line.run.job);
  run->add_option("--log", line.log, "progress as text or as JSON lines")
      ->check(CLI::IsMember({"text", "json"}));
  run->add_flag("--resume", line.run.resume,
                "go on from the newest checkpoint in the job's output folder");
  run->footer(
      "Example: troupe run examples/quickstart.json --set train.epochs=3\n"
      "With -- PROGRAM ARGUMENTS... at the end, a program of yours trains (docs/embedding.md):\n"
      "troupe run examples/quickstart.json -- ./my_trainer");
  run->callback([&] {
    line.run.log = line.log == "json" ? troupe::LogFormat::json : troupe::LogFormat::text;
    result =
        line.program ? troupe::run_program(line.run, *line.program) : troupe::run_command(line.run);
  });

  add_submit(app, line, result);
  add_copy(app, line, result);
  add_join(app, line, result);
  add_predict(app, line.predict, result);

  auto* check = app.add_subcommand("check", "print a job with all defaults and its plan");
  add_job(*check, line.check);
  check->footer("Example: troupe check examples/quickstart.json");
  check->callback([&] { result = troupe::check_command(line.check); });

  add_import(app, line.importing, result);

  auto* partition = app.add_subcommand("partition", "cut a store into parts");
  partition->add_option("STORE", line.partition.store, "the store to cut")->required();
  partition->add_option("OUT", line.partition.out, "the folder to make")->required();
  partition->add_option("--parts", line.partition.parts, "number of parts")
      ->check(CLI::Range(1U, 65536U))
      ->capture_default_str();
  partition
      ->add_option("--method", line.partition.method,
                   "how nodes are assigned: random, hash, ldg, fennel, metis, file")
      ->capture_default_str();
  partition->add_option("--seed", line.partition.seed, "of random, hash and metis")
      ->capture_default_str();
  add_method_options(*partition, line.partition);
  partition
      ->add_option("--complete-for", line.partition.complete_for,
                   "direction for which each part keeps whole neighbour lists")
      ->check(CLI::IsMember({"in", "out", "both"}))
      ->capture_default_str();
  partition->footer("Example: troupe partition /tmp/cora-store /tmp/cora-parts --parts 2");
  partition->callback([&] { result = troupe::partition_command(line.partition); });

  add_generate(app, line.rmat, result);

  auto* simulate = app.add_subcommand(
      "simulate", "replay a simulated run with faults, in virtual time, with a line per event");
  simulate->add_option("--seed", line.simulate.seed, "of the fault plan")->required();
  simulate->add_option("--count", line.simulate.count, "run so many seeds and count the outcomes")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{100'000'000}))
      ->capture_default_str();
  simulate->footer("Example: troupe simulate --seed 7");
  simulate->callback([&] { result = troupe::simulate_command(line.simulate); });

  auto* inspect = app.add_subcommand("inspect", "print what a store holds");
  inspect->add_option("STORE", line.inspect_store, "a store, partitioned or not")->required();
  inspect->add_flag("--verify", line.verify, "compare every file with its checksum");
  inspect->footer("Example: troupe inspect /tmp/cora-parts --verify");
  inspect->callback([&] { result = troupe::inspect_command(line.inspect_store, line.verify); });
}

/// Takes what follows "--" after `run`, `submit`, `copy` or `join` as the user's program.
/// \returns the number of arguments before it
int split_program(int argc, char** argv, CommandLine& line) {
  const std::string_view command(argc > 1 ? argv[1] : "");
  const bool runs =
      command == "run" || command == "submit" || command == "copy" || command == "join";
  for (int i = 2; runs && i < argc; ++i) {
    if (std::string_view(argv[i]) == "--") {
      line.program.emplace(argv + i + 1, argv + argc);
      return i;
    }
  }
  return argc;
}

int run(int argc, char** argv) {
  const auto build = troupe::build_info();
  CLI::App app("Troupe trains graph neural networks as a troupe of actors.", "troupe");
  app.set_version_flag("--version",
                       fmt::format("troupe {} (sampling version {}, {}, {})", build.version,
                                   troupe::sampling_version, build.compiler, build.build_type));
  app.require_subcommand(1);
  app.footer(fmt::format("Example: troupe run examples/quickstart.json\n{}", exit_codes));
  CommandLine line;
  std::optional<ExitCode> result;
  add_commands(app, line, result);
  add_process(
      app, "member", line.process, line.process_number, result,
      [](const troupe::ProcessArguments& arguments) { return troupe::run_member(arguments); });
  add_process(app, "agent", line.process, line.process_number, result, troupe::run_agent);
  try {
    app.parse(split_program(argc, argv, line), argv);
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    app.exit(error);
    return static_cast<int>(asked ? ExitCode::done : ExitCode::usage);
  }
  return static_cast<int>(result.value_or(ExitCode::usage));
}

}  // namespace

int main(int argc, char** argv) {
  troupe::block_stop_signals();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "troupe: internal error: %s\n", error.what());
    return static_cast<int>(ExitCode::failed);
  }
}
