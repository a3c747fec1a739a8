#include "launcher/bytes_option.hpp"
#include "launcher/commands.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/import_progress.hpp"
#include "launcher/print_error.hpp"
#include "launcher/print_graph.hpp"
#include "launcher/seconds.hpp"
#include "launcher/threads_or_all.hpp"
#include "runtime/base/assert.hpp"

#include <chrono>
#include <fmt/format.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace troupe {
namespace {

FeatureOptions features_of(const ImportArguments& arguments) {
  FeatureOptions features;
  features.dtype = parse_dtype(arguments.feature_dtype);  // nothing for ""
  features.normalize = arguments.normalize == "row"      ? Normalize::row
                       : arguments.normalize == "column" ? Normalize::column
                                                         : Normalize::none;
  return features;
}

Result<std::optional<EdgeSplit>> edge_split_of(const ImportArguments& arguments) {
  const auto& shares = arguments.edge_split;
  const auto& times = arguments.edge_split_times;
  const auto& types = arguments.edge_split_type;
  if (shares.empty() && times.empty()) {
    return types.empty()
               ? Result<std::optional<EdgeSplit>>(std::nullopt)
               : Error(Errc::invalid_argument,
                       "--edge-split-type: expected --edge-split or --edge-split-times with it");
  }
  EdgeSplit split{.seed = arguments.edge_split_seed};
  if (times.empty()) {
    split.train = shares[0];
    split.val = shares[1];
    split.test = shares[2];
  } else {
    split.times = {times[0], times[1]};
  }
  if (!types.empty()) {
    split.type = types.front();
    split.more_types.assign(types.begin() + 1, types.end());
  }
  TROUPE_RETURN_IF_ERROR(check_edge_split(split));
  return std::optional(split);
}

Result<ImportRequest> request_of(const ImportArguments& arguments, const ImportFormat& format) {
  ImportRequest request{.sources = arguments.paths, .store = {}, .more = arguments.more};
  request.store = std::move(request.sources.back());
  request.sources.pop_back();
  TROUPE_ASSIGN_OR_RETURN(request.import.writer.memory_bytes,
                          bytes_option("--memory", arguments.memory));
  request.import.edges = arguments.edges;
  request.import.features = features_of(arguments);
  TROUPE_ASSIGN_OR_RETURN(request.import.writer.edge_split, edge_split_of(arguments));
  TROUPE_RETURN_IF_ERROR(check_request(format, request));
  return request;
}

}  // namespace

ExitCode import_command(const ImportArguments& arguments) {
  const EndAtSignal end_at_signal;
  const auto began = std::chrono::steady_clock::now();
  const auto* format = find_kind(import_formats(), arguments.from);
  TROUPE_ASSERT(format != nullptr, arguments.from);  // the command line takes no others
  auto request = request_of(arguments, *format);
  if (!request) {
    return print_error(request.error(), ExitCode::usage);
  }
  ImportProgressLine line;
  if (::isatty(STDERR_FILENO) == 1) {
    request->import.writer.progress = [&line](const ImportProgress& progress) {
      line.show(progress);
    };
  }
  ComputePool pool(threads_or_all(arguments.threads));
  std::vector<std::string> left_out;
  request->import.left_out = [&left_out](const std::string& what) { left_out.push_back(what); };
  std::vector<std::string> notes;
  request->import.writer.note = [&notes](const std::string& what) { notes.push_back(what); };
  const auto graph = format->make(*request, pool);
  if (!graph) {
    return data_error(graph.error());
  }
  print_graph(*graph);
  if (!left_out.empty()) {
    fmt::print("not taken: {}\n", fmt::join(left_out, ", "));
  }
  for (const auto& note : notes) {
    fmt::print("note: {}\n", note);
  }
  fmt::print("{:.1f} s, store in {}\n", seconds_since(began), arguments.paths.back().string());
  return ExitCode::done;
}

}  // namespace troupe
