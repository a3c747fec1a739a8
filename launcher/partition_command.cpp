#include "launcher/bytes_option.hpp"
#include "launcher/commands.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/print_error.hpp"
#include "launcher/print_graph.hpp"
#include "launcher/print_partition.hpp"
#include "launcher/seconds.hpp"
#include "launcher/threads_or_all.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/partition/partitioner.hpp"

#include <chrono>
#include <fmt/format.h>

namespace troupe {

ExitCode partition_command(const PartitionArguments& arguments) {
  const EndAtSignal end_at_signal;
  const auto began = std::chrono::steady_clock::now();
  auto options = arguments.options;
  options.complete_for = parse_complete_for(arguments.complete_for).value();
  options.order = parse_node_order(arguments.order).value();
  options.features_later = arguments.features == "later";
  options.more.hotness.fanout = fanout_of_hops(arguments.fanout);
  options.more.hotness.dir = options.complete_for == CompleteFor::out ? EdgeDir::out : EdgeDir::in;
  const auto memory = bytes_option("--memory", arguments.memory);
  if (!memory) {
    return print_error(memory.error(), ExitCode::usage);
  }
  options.memory_bytes = *memory;
  const auto graph = GraphStore::open(arguments.store, {});
  if (!graph) {
    return data_error(graph.error());
  }
  ComputePool pool(threads_or_all(arguments.threads));
  const auto partition = partition_store(*graph, options, arguments.out, pool);
  if (!partition) {
    return data_error(partition.error());
  }
  print_partition(*partition, graph->info());
  fmt::print("{:.1f} s, store in {}\n", seconds_since(began), arguments.out.string());
  return ExitCode::done;
}

}  // namespace troupe
