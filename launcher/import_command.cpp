#include "launcher/commands.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/import_progress.hpp"
#include "launcher/print_error.hpp"
#include "launcher/print_graph.hpp"
#include "launcher/seconds.hpp"
#include "launcher/threads_or_all.hpp"
#include "runtime/data/dgl_import.hpp"
#include "runtime/data/graphbolt_import.hpp"
#include "runtime/data/npy_import.hpp"
#include "runtime/data/ogb_import.hpp"
#include "runtime/data/triples_import.hpp"
#include "runtime/base/value_rule.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <span>
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

Result<EdgelistOptions> options_of(const ImportArguments& arguments) {
  auto options = arguments.options;
  const bool number =
      !arguments.memory.empty() &&
      std::ranges::all_of(arguments.memory, [](char c) { return c >= '0' && c <= '9'; });
  const auto memory =
      parse_bytes(nlohmann::json(number ? arguments.memory + "B" : arguments.memory));
  if (!memory) {
    return Error(Errc::invalid_argument,
                 fmt::format("--memory: expected bytes such as 4GB or 512MiB, got \"{}\"",
                             arguments.memory));
  }
  options.import.writer.memory_bytes = *memory;
  options.import.features = features_of(arguments);
  options.source_column = arguments.columns.front();
  options.destination_column = arguments.columns.back();
  options.text_ids = arguments.ids == "text";
  const bool several = arguments.from == "edgelist" || arguments.from == "triples";
  if (!several && arguments.paths.size() != 2) {
    return Error(Errc::invalid_argument,
                 fmt::format("--from {}: expected one source and the store to make, got {} paths",
                             arguments.from, arguments.paths.size()));
  }
  const bool features = !arguments.feature_dtype.empty() || arguments.normalize != "none";
  if (several && features) {
    return Error(Errc::invalid_argument,
                 fmt::format("--feature-dtype, --normalize: expected a format with features of "
                             "nodes, got {}",
                             arguments.from));
  }
  return options;
}

Result<GraphInfo> import_from(const ImportArguments& arguments, const EdgelistOptions& options,
                              Executor& executor) {
  const auto& store = arguments.paths.back();
  const auto sources = std::span(arguments.paths).first(arguments.paths.size() - 1);
  if (arguments.from == "npy") {
    return import_npy(sources.front(), store, options.import, executor);
  }
  if (arguments.from == "triples") {
    return import_triples(sources, store, {options.import, arguments.relations == "one"}, executor);
  }
  if (arguments.from == "ogb") {
    return import_ogb(sources.front(), store, options.import, executor);
  }
  if (arguments.from == "dgl") {
    return import_dgl(sources.front(), store,
                      {options.import, arguments.features, arguments.labels}, executor);
  }
  if (arguments.from == "graphbolt") {
    return import_graphbolt(sources.front(), store, {options.import, arguments.features}, executor);
  }
  return import_edgelist(sources, store, options, executor);
}

}  // namespace

ExitCode import_command(const ImportArguments& arguments) {
  const EndAtSignal end_at_signal;
  const auto began = std::chrono::steady_clock::now();
  auto options = options_of(arguments);
  if (!options) {
    return print_error(options.error(), ExitCode::usage);
  }
  ImportProgressLine line;
  if (::isatty(STDERR_FILENO) == 1) {
    options->import.writer.progress = [&line](const ImportProgress& progress) {
      line.show(progress);
    };
  }
  ComputePool pool(threads_or_all(arguments.threads));
  std::vector<std::string> left_out;
  options->import.left_out = [&left_out](const std::string& what) { left_out.push_back(what); };
  const auto graph = import_from(arguments, *options, pool);
  if (!graph) {
    return data_error(graph.error());
  }
  print_graph(*graph);
  if (!left_out.empty()) {
    fmt::print("not taken: {}\n", fmt::join(left_out, ", "));
  }
  fmt::print("{:.1f} s, store in {}\n", seconds_since(began), arguments.paths.back().string());
  return ExitCode::done;
}

}  // namespace troupe
