#include "launcher/commands.hpp"
#include "launcher/prepare_store.hpp"
#include "launcher/print_error.hpp"
#include "launcher/print_graph.hpp"
#include "launcher/read_job.hpp"
#include "launcher/seconds.hpp"
#include "launcher/threads_or_all.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/job/job_file.hpp"
#include "runtime/job/plan.hpp"
#include "runtime/partition/partitioner.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>

namespace troupe {
namespace {

ExitCode data_error(const Error& error) {
  const bool usage = error.code() == Errc::unimplemented;
  return print_error(error, usage ? ExitCode::usage : ExitCode::data);
}

void print_partition(const PartitionInfo& partition, const GraphInfo& graph) {
  std::uint64_t edges = 0;
  for (const auto& type : graph.edge_types) {
    edges += type.count;
  }
  fmt::print("{} parts by {}, complete for {}; {} of {} edges cut ({:.2f} %)\n", partition.parts,
             partition.method, to_string(partition.complete_for), partition.cut_edges, edges,
             edges == 0
                 ? 0.0
                 : 100.0 * static_cast<double>(partition.cut_edges) / static_cast<double>(edges));
  if (partition.communication_volume) {
    fmt::print("communication volume {}", *partition.communication_volume);
    for (const auto& entry : partition.balance) {
      fmt::print("; {} {:.3f}", entry.name,
                 static_cast<double>(entry.largest) * partition.parts /
                     static_cast<double>(std::max<std::uint64_t>(entry.total, 1)));
    }
    fmt::print(" (largest part over average)\n");
  }
  for (const auto& option : partition.options) {
    fmt::print("{} {}\n", option.first, option.second.empty() ? "-" : option.second);
  }
  for (std::uint32_t p = 0; p < partition.parts; ++p) {
    fmt::print("part {}:", p);
    for (std::size_t t = 0; t < graph.node_types.size(); ++t) {
      const auto& first = partition.ranges.first_node[t];
      fmt::print(" {} [{}, {})", graph.node_types[t].name, first[p], first[p + 1]);
    }
    for (std::size_t e = 0; e < graph.edge_types.size(); ++e) {
      fmt::print(" {} {} edges", graph.edge_types[e].name, partition.edges[e][p]);
    }
    fmt::print("\n");
  }
}

CompleteFor parse_complete_for(const std::string& text) {
  return text == "both" ? CompleteFor::both : text == "out" ? CompleteFor::out : CompleteFor::in;
}

}  // namespace

ExitCode check_command(const JobArguments& arguments) {
  auto job = read_job_or_print(arguments);
  if (!job) {
    return ExitCode::usage;
  }
  const Say say = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  const auto graph = prepare_graph_info(*job, say);
  if (!graph) {
    return data_error(graph.error());
  }
  if (!fit_to_graph_or_print(*job, *graph)) {
    return ExitCode::usage;
  }
  fmt::print("{}\n\n{}", job->json, to_string(make_plan(*job, *graph), *job));
  return ExitCode::done;
}

ExitCode partition_command(const PartitionArguments& arguments) {
  const auto began = std::chrono::steady_clock::now();
  const auto graph = GraphStore::open(arguments.store, {});
  if (!graph) {
    return data_error(graph.error());
  }
  const PartitionOptions options{.method = arguments.method,
                                 .parts = arguments.parts,
                                 .seed = arguments.seed,
                                 .complete_for = parse_complete_for(arguments.complete_for),
                                 .more = arguments.more};
  ComputePool pool(threads_or_all(arguments.threads));
  const auto partition = partition_store(*graph, options, arguments.out, pool);
  if (!partition) {
    return data_error(partition.error());
  }
  print_partition(*partition, graph->info());
  fmt::print("{:.1f} s, store in {}\n", seconds_since(began), arguments.out.string());
  return ExitCode::done;
}

ExitCode inspect_command(const std::filesystem::path& store, bool verify) {
  const StoreOptions options{.verify = verify ? Verify::full : Verify::sizes};
  if (store_kind(store) == StoreKind::partitioned) {
    const auto opened = PartitionedStore::open(store, options);
    if (!opened) {
      return data_error(opened.error());
    }
    print_graph(opened->info());
    print_partition(opened->partition(), opened->info());
    for (std::uint32_t p = 0; verify && p < opened->partition().parts; ++p) {
      if (const auto part = opened->load_part(static_cast<PartId>(p)); !part) {
        return data_error(part.error());
      }
    }
  } else {
    const auto opened = GraphStore::open(store, options);
    if (!opened) {
      return data_error(opened.error());
    }
    print_graph(opened->info());
  }
  if (verify) {
    fmt::print("all files are as written\n");
  }
  return ExitCode::done;
}

}  // namespace troupe
