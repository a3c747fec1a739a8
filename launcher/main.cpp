// The program `troupe`: reads the command line and calls a command.
#include "launcher/commands.hpp"
#include "launcher/version.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <optional>

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
  troupe::RunArguments run;
  troupe::JobArguments check;
  troupe::ImportArguments importing;
  troupe::PartitionArguments partition;
  std::string inspect_store;
  bool verify = false;
  std::string log = "text";
};

void add_commands(CLI::App& app, CommandLine& line, std::optional<ExitCode>& result) {
  auto* run = app.add_subcommand("run", "run a job");
  add_job(*run, line.run.job);
  run->add_option("--log", line.log, "progress as text or as JSON lines")
      ->check(CLI::IsMember({"text", "json"}));
  run->footer("Example: troupe run examples/quickstart.json --set train.epochs=3");
  run->callback([&] {
    line.run.log = line.log == "json" ? troupe::LogFormat::json : troupe::LogFormat::text;
    result = troupe::run_command(line.run);
  });

  auto* check = app.add_subcommand("check", "print a job with all defaults and its plan");
  add_job(*check, line.check);
  check->footer("Example: troupe check examples/quickstart.json");
  check->callback([&] { result = troupe::check_command(line.check); });

  auto* importing = app.add_subcommand("import", "make a store from other formats");
  importing->add_option("--from", line.importing.from, "format of SOURCE")
      ->check(CLI::IsMember({"npy"}))
      ->capture_default_str();
  importing->add_option("SOURCE", line.importing.source, "a folder of .npy files (docs/store.md)")
      ->required();
  importing->add_option("STORE", line.importing.store, "the folder to make")->required();
  importing->footer("Example: troupe import --from npy examples/data/cora /tmp/cora-store");
  importing->callback([&] { result = troupe::import_command(line.importing); });

  auto* partition = app.add_subcommand("partition", "cut a store into parts");
  partition->add_option("STORE", line.partition.store, "the store to cut")->required();
  partition->add_option("OUT", line.partition.out, "the folder to make")->required();
  partition->add_option("--parts", line.partition.parts, "number of parts")
      ->check(CLI::Range(1U, 65536U))
      ->capture_default_str();
  partition->add_option("--method", line.partition.method, "how nodes are assigned")
      ->capture_default_str();
  partition->add_option("--seed", line.partition.seed, "of a random method")->capture_default_str();
  partition
      ->add_option("--complete-for", line.partition.complete_for,
                   "direction for which each part keeps whole neighbour lists")
      ->check(CLI::IsMember({"in", "out", "both"}))
      ->capture_default_str();
  partition->footer("Example: troupe partition /tmp/cora-store /tmp/cora-parts --parts 2");
  partition->callback([&] { result = troupe::partition_command(line.partition); });

  auto* inspect = app.add_subcommand("inspect", "print what a store holds");
  inspect->add_option("STORE", line.inspect_store, "a store, partitioned or not")->required();
  inspect->add_flag("--verify", line.verify, "compare every file with its checksum");
  inspect->footer("Example: troupe inspect /tmp/cora-parts --verify");
  inspect->callback([&] { result = troupe::inspect_command(line.inspect_store, line.verify); });
}  // namespace

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
  try {
    app.parse(argc, argv);
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
