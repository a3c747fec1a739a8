#pragma once
/// \file store_options.hpp
/// The command line of the commands that cut stores and look into them.
#include "launcher/commands.hpp"

#include <optional>

namespace CLI {
class App;
}

namespace troupe {

struct StoreArguments {
  PartitionArguments partition;
  AddFeaturesArguments add_features;
  HotnessArguments hotness;
  InspectArguments inspect;
};

/// Adds `partition`, `add-features`, `hotness` and `inspect`, which leave their exit code in `result`.
/// \requires both arguments outlive the parsing
void add_store_commands(CLI::App& app, StoreArguments& arguments, std::optional<ExitCode>& result);

}  // namespace troupe
