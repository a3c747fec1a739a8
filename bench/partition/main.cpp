// troupe_partition_bench: what each partition method makes of a graph store, and how fast.
#include "runtime/partition/adjacency.hpp"
#include "runtime/partition/assign.hpp"
#include "runtime/partition/measures.hpp"
#include "runtime/partition/metis.hpp"
#include "runtime/partition/multilevel.hpp"
#include "runtime/partition/rebalance.hpp"
#include "runtime/partition/streaming.hpp"

#include "bench/support/measure.hpp"

#include <nlohmann/json.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace {

using namespace troupe;
using Parts = std::vector<std::uint32_t>;

struct Arguments {
  std::filesystem::path store;
  std::vector<std::string> methods{"random", "ranges", "ldg", "fennel", "metis"};
  std::vector<std::uint32_t> parts{2, 4, 8};
  std::vector<std::uint32_t> passes{3, 10};
  BalanceOptions balance{.imbalance = 1.05};
  std::uint32_t seeds = 5;
  std::uint32_t tries = 0;
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

Result<Parts> nodes_alone(const Bench& bench, const std::string& method, std::uint32_t parts) {
  Parts part_of;
  if (method == "ranges") {
    for (std::uint64_t v = 0; v < bench.graph.vertices(); ++v) {
      part_of.push_back(static_cast<std::uint32_t>(v * parts / bench.graph.vertices()));
    }
    return part_of;
  }
  TROUPE_ASSIGN_OR_RETURN(const auto assignment, method == "hash"
                                                     ? assign_hash(bench.store.info(), parts, 1)
                                                     : assign_random(bench.store.info(), parts, 1));
  for (const auto& of_type : assignment) {
    for (const auto part : of_type) {
      part_of.push_back(raw(part));
    }
  }
  return part_of;
}

/// The methods whose cut depends on a seed.
Status run_seeds(const Bench& bench, const Arguments& arguments, const std::string& method,
                 std::uint32_t parts) {
  std::vector<std::pair<Parts, double>> runs;
  for (std::uint32_t seed = 0; seed < arguments.seeds; ++seed) {
    const bench::Stopwatch watch;
    AssignOptions options{.method = method, .parts = parts, .seed = seed};
    options.more.imbalance = arguments.balance.imbalance;
    options.more.tries = arguments.tries;
    TROUPE_ASSIGN_OR_RETURN(
        auto part_of, method == "metis" ? assign_metis(bench.graph, bench.constraints, options)
                                        : assign_multilevel(bench.graph, bench.constraints, options,
                                                            bench.executor));
    if (method == "metis") {
      rebalance(bench.graph, bench.constraints, part_of, parts);
    }
    runs.emplace_back(std::move(part_of), watch.seconds());
  }
  print_row(bench, fmt::format("{}, median of {}", method, arguments.seeds), parts, std::move(runs),
            0);
  return ok_status();
}

Status run_method(const Bench& bench, const Arguments& arguments, const std::string& method,
                  std::uint32_t parts) {
  if (method == "metis" || method == "multilevel") {
    return run_seeds(bench, arguments, method, parts);
  }
  if (method != "ldg" && method != "fennel") {
    const bench::Stopwatch watch;
    TROUPE_ASSIGN_OR_RETURN(auto part_of, nodes_alone(bench, method, parts));
    print_row(bench, method, parts, {{std::move(part_of), watch.seconds()}}, 0);
    return ok_status();
  }
  using Score = StreamingOptions::Score;
  for (const auto passes : arguments.passes) {
    const bench::Stopwatch watch;
    auto part_of = assign_streaming(
        bench.graph, bench.constraints,
        {.score = method == "ldg" ? Score::ldg : Score::fennel, .parts = parts, .passes = passes},
        bench.executor);
    const auto seconds = watch.seconds();
    print_row(bench, fmt::format("{}, {} passes", method, passes), parts,
              {{std::move(part_of), seconds}}, passes);
  }
  return ok_status();
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
  TROUPE_ASSIGN_OR_RETURN(const auto constraints, Constraints::make(store, arguments.balance));
  fmt::print(arguments.json ? stderr : stdout,
             "{} vertices, {} entries ({}, {:.2f} s), {} threads, imbalance {}\n", graph.vertices(),
             graph.entries(), graph.borrowed() ? "borrowed" : "put together", seconds,
             arguments.threads, arguments.balance.imbalance);
  fmt::print(
      arguments.json ? stderr : stdout,
      "| method | parts | cut % | of random | volume | largest / average | s | M edges/s per "
      "pass |\n|---|--:|--:|--:|--:|---|--:|--:|\n");
  for (const auto& method : arguments.methods) {
    for (const auto parts : arguments.parts) {
      TROUPE_RETURN_IF_ERROR(run_method({store, graph, constraints, executor, arguments.json},
                                        arguments, method, parts));
    }
  }
  return ok_status();
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Partition methods side by side on one store");
  app.add_option("STORE", arguments.store)->required();
  app.add_option("--methods", arguments.methods)->delimiter(',');
  app.add_option("--parts", arguments.parts)->delimiter(',');
  app.add_option("--passes", arguments.passes)->delimiter(',');
  app.add_option("--balance", arguments.balance.names)->delimiter(',');
  app.add_option("--split", arguments.balance.split);
  app.add_option("--imbalance", arguments.balance.imbalance);
  app.add_option("--seeds", arguments.seeds, "of metis");
  app.add_option("--tries", arguments.tries, "of metis and multilevel per seed; 0: as by default");
  app.add_option("--threads", arguments.threads);
  app.add_flag("--json", arguments.json, "a line of JSON per row, without the volume");
  CLI11_PARSE(app, argc, argv);
  const auto status = run(arguments);
  if (!status) {
    fmt::print(stderr, "{}\n", status.error().what());
    return 1;
  }
  return 0;
}
