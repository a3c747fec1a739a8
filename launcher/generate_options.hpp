#pragma once
/// \file generate_options.hpp
/// The command line of `troupe generate`.
#include "launcher/commands.hpp"

#include <optional>

namespace CLI {
class App;
}

namespace troupe {

template <class Options, class Arguments = GenerateArguments>
struct GenerateKind {
  Arguments arguments;
  Options options;
};
struct GenerateCommandLine {
  GenerateKind<RmatOptions> rmat;
  GenerateKind<PowerlawOptions> powerlaw;
  GenerateKind<SbmOptions> sbm;
  GenerateKind<HeterogeneousOptions, GenerateHeterogeneousArguments> heterogeneous;
};

/// Adds `generate` with its kinds, which leave their exit code in `result`.
/// \requires both arguments outlive the parsing
void add_generate(CLI::App& app, GenerateCommandLine& line, std::optional<ExitCode>& result);

}  // namespace troupe
