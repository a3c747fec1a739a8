#pragma once
/// \file manual_pages.hpp
/// Manual pages and bash completion of the program, from the same tree of options as its --help.
#include "runtime/base/result.hpp"

#include <filesystem>
#include <string>

namespace CLI {
class App;
}

namespace troupe {

/// Writes NAME.1 (roff, man(7)) for the program, NAME-COMMAND.1 for each command that --help shows,
/// and NAME.bash, a completion for bash. The folder is made; files of these names are replaced.
/// \param app      name, description, commands and footers as --help prints them
/// \param version  of the program, for the pages' footers
/// \errors failed_precondition: a file cannot be written
Status write_pages(const CLI::App& app, const std::string& version,
                   const std::filesystem::path& folder);

}  // namespace troupe
