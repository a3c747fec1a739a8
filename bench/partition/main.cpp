// troupe_partition_bench: what each partition method makes of a graph store, and how fast.
#include "runtime/partition/adjacency.hpp"
#include "runtime/partition/assign.hpp"
#include "runtime/partition/measures.hpp"
#include "runtime/partition/methods.hpp"

#include "bench/support/measure.hpp"

#include <nlohmann/json.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <utility>

namespace {

using namespace troupe;
using Parts = std::vector<std::uint32_t>;

struct Arguments {
  std::filesystem::path store;
  std::vector<std::string> methods{"random", "range", "ldg", "fennel", "metis"};
  std::vector<std::uint32_t> parts{2, 4, 8};
  std::vector<std::uint32_t> passes{3, 10};
  MethodOptions more;
  std::vector<std::int32_t> fanout{15, 10, 5};  // of batches, for hotness
  std::uint32_t seeds = 5;
  std::size_t threads = 1;
  bool json = false;
};

struct Bench {
  const GraphStore& store;
  const Adjacency& graph;
  const Constraints& constraints;
  Executor& executor;
  bool json;
};

/// The same as a line of JSON; cuts of all runs, ascending.
void print_json(const std::string& name, std::uint32_t parts, const std::vector<Measures>& runs,
                double edges, double seconds) {
  const auto percent = [&](const Measures& run) {
    return 100 * static_cast<double>(run.cut_edges) / edges;
  };
  nlohmann::ordered_json row{{"method", name},
                             {"parts", parts},
                             {"cut_percent", percent(runs[runs.size() / 2])},
                             {"seconds", seconds}};
  double largest = 0;
  for (const auto& run : runs) {
    row["cut_percent_of_seeds"].push_back(percent(run));
    const auto& nodes = run.balance.front();
    largest = std::max(
        largest, static_cast<double>(nodes.largest) * parts / static_cast<double>(nodes.total));
  }
  row["largest_part"] = largest;
  fmt::print("{}\n", row.dump());
}

/// One line of the table: the run with the median cut.
void print_row(const Bench& bench, const std::string& name, std::uint32_t parts,
               std::vector<std::pair<Parts, double>> runs, std::uint32_t passes) {
  std::vector<Measures> measures;
  std::vector<double> seconds;
  for (const auto& run : runs) {
    measures.push_back(measure(bench.graph, bench.constraints, run.first, parts, bench.executor));
    seconds.push_back(run.second);
  }
  std::ranges::sort(measures, {}, &Measures::cut_edges);
  std::ranges::sort(seconds);
  const auto& median = measures[measures.size() / 2];
  const auto edges = static_cast<double>(bench.graph.entries()) /
                     static_cast<double>(bench.graph.entries_per_edge());
  if (bench.json) {
    print_json(name, parts, measures, edges, seconds[seconds.size() / 2]);
    return;
  }
  const auto cut = static_cast<double>(median.cut_edges) / edges;
  fmt::print("| {} | {} | {:.2f} | {:.3f} | {} |", name, parts, 100 * cut, cut / (1 - 1.0 / parts),
             median.communication_volume);
  for (const auto& entry : median.balance) {
    fmt::print(" {} {:.3f}", entry.name,
               static_cast<double>(entry.largest) * parts / static_cast<double>(entry.total));
  }
  const auto time = seconds[seconds.size() / 2];
  fmt::print(" | {:.3f} | {} |\n", time,
             passes == 0 ? "" : fmt::format("{:.0f}", edges * passes / time / 1e6));
}

Result<Parts> parts_of(const Bench& bench, const PartitionMethod& method,
                       const AssignOptions& options) {
  if (method.assign_vertices) {
    return method.assign_vertices(bench.graph, bench.constraints, options, bench.executor);
  }
  TROUPE_ASSIGN_OR_RETURN(const auto assignment,
                          method.assign_nodes(bench.store, options, bench.executor));
  Parts part_of;
  for (const auto& of_type : assignment) {
    for (const auto part : of_type) {
      part_of.push_back(raw(part));
    }
  }
  return part_of;
}

/// A method that works on the view and reads "seed" runs with several seeds, one that reads "passes"
/// with several numbers of passes; others run once.
Status run_method(const Bench& bench, const Arguments& arguments, const PartitionMethod& method,
                  AssignOptions options) {
  const bool cuts = method.assign_vertices != nullptr;
  const bool seeds = cuts && reads_option(method, "seed");
  const bool passes = reads_option(method, "passes");
  std::vector<std::pair<Parts, double>> runs;
  for (std::uint32_t run = 0; run < (seeds ? arguments.seeds : 1); ++run) {
    options.seed = seeds ? run : 1;
    for (const auto of_run : passes ? arguments.passes : std::vector<std::uint32_t>{0}) {
      options.more.passes = of_run;
      const bench::Stopwatch watch;
      TROUPE_ASSIGN_OR_RETURN(auto part_of, parts_of(bench, method, options));
      runs.emplace_back(std::move(part_of), watch.seconds());
      if (passes) {
        print_row(bench, fmt::format("{}, {} passes", method.name, of_run), options.parts,
                  std::exchange(runs, {}), of_run);
      }
    }
  }
  if (!passes) {
    print_row(bench,
              seeds ? fmt::format("{}, median of {}", method.name, arguments.seeds)
                    : std::string(method.name),
              options.parts, std::move(runs), 0);
  }
  return ok_status();
}

Result<const PartitionMethod*> method_of(const std::string& name) {
  const auto* method = find_kind(partition_methods(), name);
  if (method == nullptr) {
    return Error(Errc::invalid_argument,
                 fmt::format("--methods: expected {}, got \"{}\"",
                             fmt::join(names_of(partition_methods()), ", "), name));
  }
  return method;
}

Status run(const Arguments& arguments) {
  TROUPE_ASSIGN_OR_RETURN(const auto store,
                          GraphStore::open(arguments.store, {.verify = Verify::sizes}));
  std::optional<ComputePool> pool;
  InlineExecutor alone;
  if (arguments.threads > 1) {
    pool.emplace(arguments.threads);
  }
  Executor& executor = pool ? static_cast<Executor&>(*pool) : alone;
  const bench::Stopwatch watch;
  TROUPE_ASSIGN_OR_RETURN(const auto graph, Adjacency::make(store, {}, executor));
  const auto seconds = watch.seconds();
  const auto& more = arguments.more;
  TROUPE_ASSIGN_OR_RETURN(
      const auto constraints,
      Constraints::make(store,
                        {.names = more.balance, .split = more.split, .imbalance = more.imbalance}));
  fmt::print(arguments.json ? stderr : stdout,
             "{} vertices, {} entries ({}, {:.2f} s), {} threads, imbalance {}\n", graph.vertices(),
             graph.entries(), graph.borrowed() ? "borrowed" : "put together", seconds,
             arguments.threads, more.imbalance);
  fmt::print(
      arguments.json ? stderr : stdout,
      "| method | parts | cut % | of random | volume | largest / average | s | M edges/s per "
      "pass |\n|---|--:|--:|--:|--:|---|--:|--:|\n");
  for (const auto& name : arguments.methods) {
    TROUPE_ASSIGN_OR_RETURN(const auto* method, method_of(name));
    for (const auto parts : arguments.parts) {
      AssignOptions options{.method = name, .parts = parts, .more = arguments.more};
      options.more.hotness.fanout = fanout_of_hops(arguments.fanout);
      TROUPE_RETURN_IF_ERROR(run_method({store, graph, constraints, executor, arguments.json},
                                        arguments, *method, options));
    }
  }
  return ok_status();
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  arguments.more.imbalance = 1.05;
  CLI::App app("Partition methods side by side on one store");
  app.add_option("STORE", arguments.store)->required();
  app.add_option("--methods", arguments.methods)->delimiter(',');
  app.add_option("--parts", arguments.parts)->delimiter(',');
  app.add_option("--passes", arguments.passes)->delimiter(',');
  app.add_option("--balance", arguments.more.balance)->delimiter(',');
  app.add_option("--split", arguments.more.split);
  app.add_option("--imbalance", arguments.more.imbalance);
  app.add_option("--file", arguments.more.file, "parts of method file");
  app.add_option("--fanout", arguments.fanout, "batches that hotness is computed for")
      ->delimiter(',');
  app.add_option("--seeds", arguments.seeds, "seeds of metis and multilevel");
  app.add_option("--tries", arguments.more.tries,
                 "tries of metis and multilevel per seed; 0: as by default");
  app.add_flag("--json", arguments.json, "a line of JSON per row, without the volume");
  app.add_option("--threads", arguments.threads);
  CLI11_PARSE(app, argc, argv);
  const auto status = run(arguments);
  if (!status) {
    fmt::print(stderr, "{}\n", status.error().what());
    return 1;
  }
  return 0;
}
