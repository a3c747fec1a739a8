#include "launcher/bytes_option.hpp"
#include "launcher/commands.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/print_error.hpp"
#include "launcher/seconds.hpp"
#include "launcher/threads_or_all.hpp"
#include "runtime/partition/add_features.hpp"

#include <chrono>
#include <fmt/format.h>

namespace troupe {

ExitCode add_features_command(const AddFeaturesArguments& arguments) {
  const EndAtSignal end_at_signal;
  const auto began = std::chrono::steady_clock::now();
  const auto memory = bytes_option("--memory", arguments.memory);
  if (!memory) {
    return print_error(memory.error(), ExitCode::usage);
  }
  AddFeaturesOptions options{.memory_bytes = *memory};
  for (const auto part : arguments.parts) {
    options.parts.push_back(static_cast<PartId>(part));
  }
  ComputePool pool(threads_or_all(arguments.threads));
  const auto added = add_features(arguments.store, arguments.out, options, pool);
  if (!added) {
    return data_error(added.error());
  }
  fmt::print("features of {} part{}: {} file{}, {:.1f} MB, in {:.1f} s\n", added->parts,
             added->parts == 1 ? "" : "s", added->files, added->files == 1 ? "" : "s",
             static_cast<double>(added->bytes) / 1e6, seconds_since(began));
  return ExitCode::done;
}

}  // namespace troupe
