#include "launcher/commands.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/print_error.hpp"
#include "launcher/seconds.hpp"
#include "launcher/threads_or_all.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/data/npy_stream.hpp"
#include "runtime/partition/assign_file.hpp"
#include "runtime/partition/hotness.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <numeric>

namespace troupe {
namespace {

void print_type(const NodeTypeInfo& type, std::vector<float> heat) {
  std::ranges::sort(heat, std::greater());
  const auto total = std::accumulate(heat.begin(), heat.end(), 0.0);
  const auto hot = std::ranges::count_if(heat, [](float p) { return p > 0; });
  fmt::print("nodes {}: {:.1f} in a batch on average, {} of {} can be in one\n", type.name, total,
             hot, heat.size());
  if (total == 0) {
    return;
  }
  fmt::print("  the hottest rows hold of all rows read:");
  for (const unsigned percent : {1U, 5U, 10U, 20U, 50U}) {
    const auto rows = static_cast<std::ptrdiff_t>(heat.size() * percent / 100);
    const auto held = std::accumulate(heat.begin(), heat.begin() + rows, 0.0);
    fmt::print("{} {} % of them {:.1f} %", percent == 1 ? "" : ",", percent, 100 * held / total);
  }
  fmt::print("\n");
}

Status write(const std::filesystem::path& file, const std::vector<float>& heat) {
  TROUPE_ASSIGN_OR_RETURN(auto stream,
                          NpyStream::create(file, npy_type(DType::f32), {heat.size()}));
  TROUPE_RETURN_IF_ERROR(stream.write_elements<float>(heat));
  return stream.close();
}

Status write_all(const std::filesystem::path& out, const GraphInfo& info, const Hotness& heat) {
  const auto files = node_files(info, out);
  for (std::size_t t = 0; t < heat.size(); ++t) {
    TROUPE_RETURN_IF_ERROR(write(files[t], heat[t]));
  }
  return ok_status();
}

}  // namespace

ExitCode hotness_command(const HotnessArguments& arguments) {
  const EndAtSignal end_at_signal;
  const auto began = std::chrono::steady_clock::now();
  const auto graph = GraphStore::open(arguments.store, {});
  if (!graph) {
    return data_error(graph.error());
  }
  auto options = arguments.options;
  options.fanout = fanout_of_hops(arguments.fanout);
  ComputePool pool(threads_or_all(arguments.threads));
  const auto heat = node_hotness(*graph, arguments.split, options, pool);
  if (!heat) {
    return data_error(heat.error());
  }
  for (std::size_t t = 0; t < heat->size(); ++t) {
    print_type(graph->info().node_types[t], (*heat)[t]);
  }
  if (!arguments.out.empty()) {
    if (const auto written = write_all(arguments.out, graph->info(), *heat); !written) {
      return data_error(written.error());
    }
  }
  fmt::print("{:.1f} s\n", seconds_since(began));
  return ExitCode::done;
}

}  // namespace troupe
