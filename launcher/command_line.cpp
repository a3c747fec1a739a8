#include "launcher/command_line.hpp"

#include "launcher/commands.hpp"
#include "launcher/generate_options.hpp"
#include "launcher/manual_pages.hpp"
#include "launcher/misspelt_word.hpp"
#include "launcher/print_error.hpp"
#include "launcher/processes/process_arguments.hpp"
#include "launcher/shell_quoted.hpp"
#include "launcher/store_options.hpp"
#include "launcher/table_options.hpp"
#include "launcher/version.hpp"
#include "runtime/data/formats.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe {
namespace {

constexpr const char* exit_codes =
    "Exit codes: 0 done, 1 internal error, 2 usage or job file, 3 data, 4 a peer or process "
    "failed,\n"
    "130 interrupted.";

void add_job(CLI::App& command, JobArguments& arguments) {
  command.add_option("JOB", arguments.file, "the job file (docs/job-file.md)")->required();
  command.add_option("--set", arguments.overrides, "override a value, e.g. train.epochs=3")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
}

void add_output_flags(CLI::App& command, RunArguments& arguments) {
  auto* resume =
      command.add_flag("--resume", arguments.resume,
                       "continue from the newest checkpoint in the job's output folder; by default "
                       "in the newest with an unfinished run");
  command
      .add_flag("--overwrite", arguments.overwrite,
                "replace the finished run in the job's output folder (docs/outputs.md)")
      ->excludes(resume);
}

struct CommandLine {
  SimulateArguments simulate;
  RunArguments run;
  PredictArguments predict;
  BatchesArguments batches;
  SubmitArguments submit;
  CopyArguments copy;
  JoinArguments join;
  CheckArguments check;
  ImportArguments importing;
  StoreArguments stores;
  GenerateCommandLine generate;
  ProcessArguments process;
  std::uint32_t process_number = 0;
  std::string log = "text";
  std::optional<std::vector<std::string>> program;  ///< what follows "--"
};

/// \param nodes  the option in whose place --links stands
void add_links_to_predict(CLI::App& predict, CLI::Option& nodes, PredictArguments& arguments) {
  predict
      .add_option("--links", arguments.links,
                  "scores, or logits of classes, of pairs in the place of nodes: train, val, "
                  "test, all for all edges, or a "
                  "file of original ids, [n, 2], of triples [n, 3]: head, relation, tail")
      ->type_name("ROLE|all|FILE")
      ->excludes(&nodes);
  auto* top =
      predict
          .add_option(
              "--top", arguments.top,
              "the K nodes that score highest as destinations of each of the --nodes; of a "
              "knowledge graph the K entities that complete each triple of --links best, whose "
              "files are then [n, 2]: head, relation")
          ->check(CLI::Range(1U, 1'000'000U))
          ->type_name("K");
  predict.add_flag(
      "--names", arguments.names,
      "names in place of numbers, in .txt files of --nodes and files of --links, and in nodes.tsv, "
      "links.tsv, partners.tsv or triples.tsv, which is written besides");
  predict
      .add_option("--complete", arguments.complete,
                  "end of triples that --top finds; with head files are relation, tail")
      ->check(CLI::IsMember({"tail", "head"}))
      ->needs(top)
      ->type_name("END")
      ->capture_default_str();
  predict
      .add_option("--leave-out", arguments.leave_out,
                  "links that --top does not name: train, val, test, or none")
      ->check(CLI::IsMember({"train", "val", "test", "none"}))
      ->needs(top)
      ->type_name("ROLE")
      ->capture_default_str();
  predict
      .add_option("--edge-type", arguments.edge_type,
                  "edge type of --links and --top, where several are learned, or where the data "
                  "have no split and several types")
      ->type_name("NAME");
}

void add_predict(CLI::App& app, PredictArguments& arguments, std::optional<ExitCode>& result) {
  auto* predict =
      app.add_subcommand("predict", "write a trained model's predictions or embeddings of nodes");
  add_job(*predict, arguments.job);
  predict->add_option("--model", arguments.model, "model.safetensors of a run of this job")
      ->required()
      ->type_name("FILE");
  auto* nodes =
      predict
          ->add_option(
              "--nodes", arguments.nodes,
              "train, val, test, all, or files of original ids: .npy, or .txt with one a line")
          ->type_name("ROLE|FILE")
          ->capture_default_str();
  predict
      ->add_option("--node-type", arguments.node_type,
                   "node type of the nodes; the seeds' type if not given, any that the last layer "
                   "reads with --embeddings, any that has learned rows with --learned")
      ->type_name("NAME");
  predict->add_flag("--embeddings", arguments.embeddings,
                    "the inputs of the model's last layer instead of the logits");
  predict->add_flag("--learned", arguments.learned,
                    "the rows of the nodes that the job's embedding trains instead");
  add_links_to_predict(*predict, *nodes, arguments);
  predict->add_option("--out", arguments.out, "folder to write to; OUTPUT/predict if not given")
      ->type_name("DIR");
  predict->footer(
      "Writes predictions.npy and node_ids.npy or links.npy; with --top also partners.npy, and\n"
      "queries.npy in the place of links.npy; with --names nodes.tsv, links.tsv, partners.tsv\n"
      "or triples.tsv (docs/outputs.md).\n"
      "Example: troupe predict examples/quickstart.json --model "
      "runs/quickstart/model.safetensors --nodes test");
  predict->callback([&arguments, &result, nodes] {
    arguments.nodes_given = nodes->count() > 0;
    result = predict_command(arguments);
  });
}

void add_batches(CLI::App& app, BatchesArguments& arguments, std::optional<ExitCode>& result) {
  auto* batches =
      app.add_subcommand("batches", "write the batches that a job trains on as .npy files");
  add_job(*batches, arguments.job);
  batches
      ->add_option("--epoch", arguments.epoch,
                   "training epoch, from 1; may be past the job's last one")
      ->check(CLI::Range(1U, 0x7FFFFFFFU))
      ->capture_default_str();
  batches->add_option("--count", arguments.count, "the first so many batches; all if not given")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000'000}));
  batches->add_option("-o,--out", arguments.out, "folder to make")->required()->type_name("DIR");
  batches->footer(
      "Writes a folder per batch and batches.json (docs/outputs.md). Trains nothing.\n"
      "Example: troupe batches examples/quickstart.json --epoch 1 --count 2 --out /tmp/batches");
  batches->callback([&] { result = batches_command(arguments); });
}

/// Commands that processes of a run are started with; not for people.
void add_process(CLI::App& app, const char* name, ProcessArguments& arguments,
                 std::uint32_t& process, std::optional<ExitCode>& result,
                 ExitCode (*run)(const ProcessArguments&)) {
  auto* command = app.add_subcommand(name, "a process of a run")->group("");
  command->add_option("--process", process)->required();
  command->add_option("--incarnation", arguments.instance.incarnation)->required();
  command->add_option("--name", arguments.name)->required();
  command->add_option("--director", arguments.director)->required();
  command->add_option("--job", arguments.job)->required();
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
    arguments.instance.process = static_cast<ProcessId>(process);
    result = run(arguments);
  });
}

void add_submit(CLI::App& app, CommandLine& line, std::optional<ExitCode>& result) {
  auto* submit = app.add_subcommand("submit", "hand a run with launch \"slurm\" to Slurm");
  add_job(*submit, line.submit.run.job);
  submit->add_flag("--dry-run", line.submit.dry_run, "print the batch script, submit nothing");
  add_output_flags(*submit, line.submit.run);
  submit->footer(
      "Writes OUTPUT/submit.sbatch and submits it by sbatch (docs/deployment.md).\n"
      "Example: troupe submit examples/slurm.json --set cluster.slurm.time=30\n"
      "With -- PROGRAM ARGUMENTS... at the end, a program of yours trains (docs/embedding.md).");
  submit->callback([&] {
    line.submit.program = line.program.value_or(std::vector<std::string>());
    result = submit_command(line.submit);
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
    result = copy_command(line.copy);
  });
}

void add_join(CLI::App& app, CommandLine& line, std::optional<ExitCode>& result) {
  auto& arguments = line.join;
  auto* join = app.add_subcommand("join", "take part in a run with launch \"manual\" as a host");
  add_job(*join, arguments.job);
  join->add_option("--director", arguments.director, "address that the run printed")
      ->required()
      ->type_name("HOST:PORT");
  join->add_option("--token-file", arguments.token_file,
                   "copy of the run's file of token and certificates, mode 0600")
      ->required()
      ->type_name("FILE");
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
    result = join_command(line.join);
  });
}

/// What SOURCE is, format by format.
std::string paths_text() {
  std::string text;
  for (const auto& format : import_formats()) {
    text += fmt::format("{}: {}; ", format.name, format.source);
  }
  return text + "then the folder to make";
}

void add_edge_split(CLI::App& importing, ImportArguments& arguments) {
  auto* split =
      importing
          .add_option("--edge-split", arguments.edge_split,
                      "make links of the edges at random: shares of train, val and test; those of "
                      "val and test are left out of the graph")
          ->expected(3)
          ->delimiter(',')
          ->type_name("TRAIN,VAL,TEST");
  importing
      .add_option("--edge-split-times", arguments.edge_split_times,
                  "the same by the times of edges: those of val begin at the first time, those of "
                  "test at the second")
      ->expected(2)
      ->delimiter(',')
      ->type_name("VAL,TEST")
      ->excludes(split);
  importing
      .add_option("--edge-split-type", arguments.edge_split_type,
                  "edge types whose edges are split, where there are several")
      ->delimiter(',')
      ->type_name("TYPE,...");
  importing
      .add_option("--edge-split-seed", arguments.edge_split_seed, "random seed of the edge split")
      ->needs(split)
      ->capture_default_str();
}

void add_import(CLI::App& app, ImportArguments& arguments, std::optional<ExitCode>& result) {
  auto* importing = app.add_subcommand("import", "make a store from other formats");
  auto& edges = arguments.edges;
  importing->add_option("--from", arguments.from, "format of SOURCE (docs/formats.md)")
      ->check(CLI::IsMember(names_of(import_formats())))
      ->capture_default_str();
  importing->add_option("PATHS", arguments.paths, paths_text())
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
      ->add_option("--feature-dtype", arguments.feature_dtype,
                   "how features are stored; none: as SOURCE has them, f32 if normalised")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "u8"}));
  importing
      ->add_option("--normalize", arguments.normalize,
                   "features of nodes: row divides by its sum, column takes off the mean and "
                   "divides by the deviation")
      ->check(CLI::IsMember({"none", "row", "column"}))
      ->capture_default_str();
  add_edge_split(*importing, arguments);
  for (const auto& option : format_options()) {
    add_table_option(*importing, option, arguments.more, readers_of(import_formats(), option.name));
  }
  importing->footer("Example: troupe import --from npy examples/data/cora /tmp/cora-store");
  importing->callback([&] { result = import_command(arguments); });
}

void add_commands(CLI::App& app, CommandLine& line, std::optional<ExitCode>& result) {
  auto* run = app.add_subcommand("run", "run a job");
  add_job(*run, line.run.job);
  run->add_option("--log", line.log, "progress as text or as JSON lines")
      ->check(CLI::IsMember({"text", "json"}));
  add_output_flags(*run, line.run);
  run->footer(
      "Example: troupe run examples/quickstart.json --set train.epochs=3\n"
      "With -- PROGRAM ARGUMENTS... at the end, a program of yours trains (docs/embedding.md):\n"
      "troupe run examples/quickstart.json -- ./my_trainer");
  run->callback([&] {
    line.run.log = line.log == "json" ? LogFormat::json : LogFormat::text;
    result = line.program ? run_program(line.run, *line.program) : run_command(line.run);
  });

  add_submit(app, line, result);
  add_copy(app, line, result);
  add_join(app, line, result);
  add_predict(app, line.predict, result);
  add_batches(app, line.batches, result);

  auto* check = app.add_subcommand("check", "print what a job will do and need; run nothing");
  add_job(*check, line.check.job);
  check->add_flag("--full", line.check.full, "also print the job with all defaults");
  check
      ->add_option("--measure", line.check.measure,
                   "seconds of training in memory to find the time per epoch; 0: none")
      ->check(CLI::Range(0.0, 3600.0));
  check->footer("Example: troupe check examples/quickstart.json");
  check->callback([&] { result = check_command(line.check); });

  add_import(app, line.importing, result);

  add_store_commands(app, line.stores, result);
  add_generate(app, line.generate, result);

  auto* simulate = app.add_subcommand(
      "simulate", "replay a simulated run with faults, in virtual time, with a line per event");
  simulate->add_option("--seed", line.simulate.seed, "of the fault plan")->required();
  simulate->add_option("--count", line.simulate.count, "run so many seeds and count the outcomes")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{100'000'000}))
      ->capture_default_str();
  simulate->footer("Example: troupe simulate --seed 7");
  simulate->callback([&] { result = simulate_command(line.simulate); });
}

/// Refuses negative numbers where an option takes none: its reader would take them as huge ones.
void refuse_negative(CLI::App& app) {
  for (auto* option : app.get_options()) {
    if (option->get_type_name().starts_with("UINT")) {
      option->check([](const std::string& text) {
        return text.starts_with('-') ? fmt::format("expected a number from 0 on, found {}", text)
                                     : std::string();
      });
    }
  }
  for (auto* command : app.get_subcommands([](CLI::App*) { return true; })) {
    refuse_negative(*command);
  }
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

}  // namespace

int run_command_line(int argc, char** argv) {
  const auto build = build_info();
  CLI::App app("Troupe trains graph neural networks as a troupe of actors.", "troupe");
  app.set_version_flag("--version", "troupe " + build_text());
  app.require_subcommand(1);
  app.footer(fmt::format("Example: troupe run examples/quickstart.json\n{}", exit_codes));
  CommandLine line;
  line.run.command = shell_line(std::vector<std::string>(argv, argv + argc));
  std::optional<ExitCode> result;
  add_commands(app, line, result);
  std::string pages;
  auto* manual = app.add_subcommand("write-pages", "manual pages and bash completion")->group("");
  manual->add_option("FOLDER", pages)->required();
  manual->callback([&] {
    const auto written = write_pages(app, build.version, pages);
    result = written.ok() ? ExitCode::done : print_error(written.error());
  });
  add_process(app, "member", line.process, line.process_number, result,
              [](const ProcessArguments& arguments) { return run_member(arguments); });
  add_process(app, "agent", line.process, line.process_number, result, run_agent);
  refuse_negative(app);
  const int own_words = split_program(argc, argv, line);
  try {
    app.parse(own_words, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    const auto misspelt = asked ? std::nullopt : misspelt_word(app, own_words, argv);
    if (misspelt) {
      fmt::print(stderr, "troupe: {}\n", *misspelt);
    } else {
      app.exit(error);
    }
    return static_cast<int>(asked ? ExitCode::done : ExitCode::usage);
  }
  return static_cast<int>(result.value_or(ExitCode::usage));
}

}  // namespace troupe
