#include "launcher/bytes_option.hpp"
#include "launcher/commands.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/peak_memory.hpp"
#include "launcher/print_error.hpp"
#include "launcher/print_graph.hpp"
#include "launcher/print_partition.hpp"
#include "launcher/seconds.hpp"
#include "launcher/threads_or_all.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/partition/partitioner.hpp"

#include <chrono>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <unistd.h>

namespace troupe {
namespace {

/// How long each stage takes; on a terminal the one under way is shown.
class StageTimes {
 public:
  ~StageTimes() { show(""); }
  void begin(std::string_view stage) {
    end();
    stage_ = stage;
    began_ = Clock::now();
    show(fmt::format("{} ...", stage));
  }
  /// "view 12.3 s, fennel 24.0 s, …"
  std::string text() {
    end();
    return text_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void end() {
    if (!stage_.empty()) {
      text_ +=
          fmt::format("{}{} {:.1f} s", text_.empty() ? "" : ", ", stage_, seconds_since(began_));
      stage_.clear();
    }
  }
  void show(const std::string& line) const {
    if (terminal_) {
      fmt::print(stderr, "\r\x1b[K{}", line);
    }
  }

  const bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::string stage_;
  Clock::time_point began_;
  std::string text_;
};

}  // namespace

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
  std::string stages;
  const auto partition = [&] {
    StageTimes times;
    options.on_stage = [&](std::string_view stage) { times.begin(stage); };
    auto made = partition_store(*graph, options, arguments.out, pool);
    stages = times.text();
    return made;
  }();
  if (!partition) {
    return data_error(partition.error());
  }
  print_partition(*partition, graph->info());
  fmt::print("{:.1f} s ({}), peak memory {:.2f} GB with mapped files, store in {}\n",
             seconds_since(began), stages, static_cast<double>(peak_memory_bytes()) * 1e-9,
             arguments.out.string());
  return ExitCode::done;
}

}  // namespace troupe
