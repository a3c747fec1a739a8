#include "launcher/commands.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/print_error.hpp"
#include "launcher/seconds.hpp"
#include "launcher/threads_or_all.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/base/files.hpp"
#include "runtime/graph/npy.hpp"
#include "runtime/partition/assign_file.hpp"
#include "runtime/partition/hotness.hpp"

#include <algorithm>
#include <array>
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

/// Refuses names that cannot be new files.
Status check_names(const std::vector<std::filesystem::path>& files) {
  for (const auto& file : files) {
    std::error_code ignored;
    if (has_name(file)) {
      return Error(Errc::failed_precondition,
                   fmt::format("{}: expected a new file, found that it exists\n"
                               "try: another name for --out, or remove the file",
                               file.string()));
    }
    if (!std::filesystem::is_directory(parent_directory(file), ignored)) {
      return Error(Errc::not_found, fmt::format("{}: expected a folder for {}, found none",
                                                parent_directory(file).string(), file.string()));
    }
  }
  return ok_status();
}

/// Names the files to write, and checks them before the work.
Result<std::vector<std::filesystem::path>> files_to_write(const HotnessArguments& arguments) {
  std::vector<std::filesystem::path> files;
  if (!arguments.out.empty()) {
    TROUPE_ASSIGN_OR_RETURN(const auto info, read_graph_info(arguments.store));
    files = node_files(info, arguments.out);
    TROUPE_RETURN_IF_ERROR(check_names(files));
  }
  return files;
}

Status write_all(const std::vector<std::filesystem::path>& files, const Hotness& heat) {
  for (std::size_t t = 0; t < files.size(); ++t) {
    const std::uint64_t shape[] = {heat[t].size()};
    const auto header = npy_header(npy_type(DType::f32), shape);
    const std::array pieces{std::as_bytes(std::span(header)), std::as_bytes(std::span(heat[t]))};
    TROUPE_RETURN_IF_ERROR(write_file_atomically(files[t], pieces));
  }
  return ok_status();
}

bool has_links_to_train(const GraphInfo& graph, const std::string& name) {
  const auto* split = graph.find_split(name);
  return split != nullptr && split->links.contains("train");
}

}  // namespace

ExitCode hotness_command(const HotnessArguments& arguments) {
  const EndAtSignal end_at_signal;
  const auto began = std::chrono::steady_clock::now();
  const auto files = files_to_write(arguments);
  if (!files) {
    return data_error(files.error());
  }
  const auto graph = GraphStore::open(arguments.store, {});
  if (!graph) {
    return data_error(graph.error());
  }
  if (arguments.options.links && !has_links_to_train(graph->info(), arguments.split)) {
    return print_error(
        Error(Errc::invalid_argument,
              fmt::format(
                  "--links: expected links to train in the split \"{}\", found none\ntry: without "
                  "it, or troupe import --edge-split",
                  arguments.split)));
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
  if (const auto written = write_all(*files, *heat); !written) {
    return data_error(written.error());
  }
  fmt::print("{:.1f} s\n", seconds_since(began));
  return ExitCode::done;
}

}  // namespace troupe
