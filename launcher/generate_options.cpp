#include "launcher/generate_options.hpp"

#include <CLI/CLI.hpp>

namespace troupe {
namespace {

/// What the files are like, whatever the graph.
void add_shared(CLI::App& command, GenerateArguments& arguments, GenerateOptions& options) {
  command.add_option("OUT", arguments.out, "the folder to make")->required();
  command.add_option("--features", options.features, "columns of features; 0: none")
      ->capture_default_str();
  command.add_option("--feature-dtype", arguments.feature_dtype, "how features are stored")
      ->check(CLI::IsMember({"f32", "f16", "bf16", "u8"}))
      ->capture_default_str();
  command
      .add_option("--noise", options.noise,
                  "deviation of features from those of their class, which are 1.4 apart")
      ->capture_default_str();
  command
      .add_option("--homophily", options.homophily, "share of edges whose ends are of one class")
      ->capture_default_str();
  const auto add_role = [&command](const char* name, std::string& text, const char* what) {
    command.add_option(name, text, what)->type_name("N|SHARE")->capture_default_str();
  };
  add_role("--train", arguments.train, "training seeds: a number, or a share such as 0.1");
  add_role("--val", arguments.val, "validation seeds");
  add_role("--test", arguments.test, "test seeds");
  command.add_flag("--symmetrize", options.symmetrize, "add every edge in the other direction");
  command.add_flag("--dedup", options.dedup, "keep one of parallel edges");
  command.add_flag("--drop-self-loops", options.drop_self_loops, "leave out edges v -> v");
  command.add_option("--seed", options.seed, "of everything random")->capture_default_str();
  command.add_option("--memory", arguments.memory, "for sorting; the rest goes through the disk")
      ->capture_default_str();
  command.add_option("--threads", arguments.threads, "0: one per core; the files are the same")
      ->check(CLI::Range(0U, 1024U))
      ->capture_default_str();
}

/// Of graphs with one node type and one edge type.
template <class Options>
void add_one_type(CLI::App& command, GenerateKind<Options>& kind) {
  auto& options = kind.options;
  command.add_option("--nodes", options.nodes, "number of nodes")->required();
  command
      .add_option("--edges", options.edges,
                  "edges to draw, before symmetrising; they may be parallel, or loops")
      ->required();
  command.add_flag("--npy", kind.arguments.npy,
                   "write NumPy files for other programs, not a store; all edges in memory");
}

void add_labels(CLI::App& command, GenerateArguments& arguments, GenerateOptions& options) {
  command.add_option("--classes", options.classes, "classes of labels; 0: none")
      ->capture_default_str();
  command
      .add_option("--labels", arguments.labels,
                  "learnable from edges and features, or random; random if not given with --npy")
      ->check(CLI::IsMember({"learnable", "random"}));
}

template <class Options, class Arguments>
void run_as(CLI::App& command, GenerateKind<Options, Arguments>& kind,
            std::optional<ExitCode>& result) {
  command.callback([&kind, &result] { result = generate_command(kind.arguments, kind.options); });
}

void add_rmat(CLI::App& generate, GenerateKind<RmatOptions>& kind,
              std::optional<ExitCode>& result) {
  auto* command = generate.add_subcommand("rmat", "a random graph with skewed degrees (R-MAT)");
  auto& options = kind.options;
  add_one_type(*command, kind);
  command->add_option("--a", options.a, "probability of quadrant (0,0)")->capture_default_str();
  command->add_option("--b", options.b, "probability of quadrant (0,1)")->capture_default_str();
  command->add_option("--c", options.c, "probability of quadrant (1,0)")->capture_default_str();
  add_labels(*command, kind.arguments, options);
  add_shared(*command, kind.arguments, options);
  command->footer(
      "Example: troupe generate rmat /tmp/rmat --nodes 2449029 --edges 61859140 --symmetrize "
      "--features 100 --classes 47 --train 196615");
  run_as(*command, kind, result);
}

void add_powerlaw(CLI::App& generate, GenerateKind<PowerlawOptions>& kind,
                  std::optional<ExitCode>& result) {
  auto* command =
      generate.add_subcommand("powerlaw", "a random graph whose degrees follow a power law");
  add_one_type(*command, kind);
  command->add_option("--exponent", kind.options.exponent, "of the degrees' distribution, 2 to 10")
      ->capture_default_str();
  add_labels(*command, kind.arguments, kind.options);
  add_shared(*command, kind.arguments, kind.options);
  command->footer(
      "Example: troupe generate powerlaw /tmp/powerlaw --nodes 100000 --edges 1000000 "
      "--features 32 --classes 10 --train 0.1");
  run_as(*command, kind, result);
}

void add_sbm(CLI::App& generate, GenerateKind<SbmOptions>& kind, std::optional<ExitCode>& result) {
  auto* command =
      generate.add_subcommand("sbm", "a graph of planted classes (stochastic block model)");
  auto& [arguments, options] = kind;
  options.features = 16;
  arguments.train = arguments.val = arguments.test = "0.1";
  add_one_type(*command, kind);
  command->add_option("--classes", options.classes, "classes, of equal size")->required();
  add_shared(*command, arguments, options);
  command->footer(
      "Example: troupe generate sbm /tmp/sbm --nodes 10000 --edges 100000 --classes 8 "
      "--homophily 0.7 --symmetrize");
  run_as(*command, kind, result);
}

void add_heterogeneous(CLI::App& generate,
                       GenerateKind<HeterogeneousOptions, GenerateHeterogeneousArguments>& kind,
                       std::optional<ExitCode>& result) {
  auto* command =
      generate.add_subcommand("heterogeneous", "a graph with several node and edge types");
  auto& [arguments, options] = kind;
  auto& all = arguments.all;
  options.features = 32;
  options.classes = 4;
  all.train = all.val = all.test = "0.1";
  auto* schema = command->add_option("--schema", arguments.schema,
                                     "a JSON file with the types (docs/generate.md); none: "
                                     "authors, papers with labels, venues");
  command->add_option("--nodes", arguments.nodes, "nodes of all types, without --schema")
      ->capture_default_str()
      ->excludes(schema);
  command->add_option("--classes", options.classes, "classes, of equal size, without --schema")
      ->capture_default_str()
      ->excludes(schema);
  add_shared(*command, all, options);
  command->footer(
      "Example: troupe generate heterogeneous /tmp/heterogeneous --nodes 100000 --homophily 0.7");
  run_as(*command, kind, result);
}

}  // namespace

void add_generate(CLI::App& app, GenerateCommandLine& line, std::optional<ExitCode>& result) {
  auto* generate = app.add_subcommand("generate", "make up a graph (docs/generate.md)");
  generate->require_subcommand(1);
  add_rmat(*generate, line.rmat, result);
  add_powerlaw(*generate, line.powerlaw, result);
  add_sbm(*generate, line.sbm, result);
  add_heterogeneous(*generate, line.heterogeneous, result);
}

}  // namespace troupe
