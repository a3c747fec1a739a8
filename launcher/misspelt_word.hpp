#pragma once
/// \file misspelt_word.hpp
/// The command or option that a mistyped one on the command line most likely meant.
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace troupe {

/// Sentence about the first word that is no command, or no option of its command; nothing where
/// every one is known. Values of options are not looked at.
std::optional<std::string> misspelt_word(CLI::App& app, int argc, char** argv);

}  // namespace troupe
