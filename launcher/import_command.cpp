#include "launcher/commands.hpp"
#include "launcher/import_progress.hpp"
#include "launcher/print_error.hpp"
#include "launcher/print_graph.hpp"
#include "launcher/seconds.hpp"
#include "launcher/threads_or_all.hpp"
#include "runtime/data/npy_import.hpp"
#include "runtime/job/value_rule.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <span>
#include <unistd.h>

namespace troupe {
namespace {

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
  options.source_column = arguments.columns.front();
  options.destination_column = arguments.columns.back();
  options.text_ids = arguments.ids == "text";
  if (arguments.from == "npy" && arguments.paths.size() != 2) {
    return Error(Errc::invalid_argument,
                 fmt::format("--from npy: expected a folder and the store to make, got {} paths",
                             arguments.paths.size()));
  }
  return options;
}

}  // namespace

ExitCode import_command(const ImportArguments& arguments) {
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
  const auto& store = arguments.paths.back();
  const auto sources = std::span(arguments.paths).first(arguments.paths.size() - 1);
  const auto graph = arguments.from == "npy"
                         ? import_npy(sources.front(), store, options->import, pool)
                         : import_edgelist(sources, store, *options, pool);
  if (!graph) {
    const bool usage = graph.error().code() == Errc::unimplemented;
    return print_error(graph.error(), usage ? ExitCode::usage : ExitCode::data);
  }
  print_graph(*graph);
  fmt::print("{:.1f} s, store in {}\n", seconds_since(began), store.string());
  return ExitCode::done;
}

}  // namespace troupe
