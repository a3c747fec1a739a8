#include "launcher/misspelt_word.hpp"

#include "runtime/base/nearest.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <string_view>
#include <vector>

namespace troupe {
namespace {

std::string sentence(const std::string& command, std::string_view kind, const std::string& word,
                     const std::vector<std::string>& known) {
  const auto best = nearest(word, known);
  const auto hint =
      best.close ? fmt::format("did you mean {}?", best.word) : "see " + command + " --help";
  return fmt::format("{}: expected {}, found {}; {}", command, kind, word, hint);
}

/// Those that people use: others have no group.
std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) {
      names.push_back(command->get_name());
    }
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

}  // namespace

std::optional<std::string> misspelt_word(CLI::App& app, int argc, char** argv) {
  CLI::App* command = &app;
  std::string path = app.get_name();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto name = word.substr(0, word.find('='));
    if (name.starts_with("--") && name.size() > 2) {
      if (command->get_option_no_throw(name) == nullptr) {
        return sentence(path, "an option", name, option_names(*command));
      }
    } else if (!word.starts_with("-") && !command_names(*command).empty()) {
      const auto all = command->get_subcommands({});
      const auto next = std::ranges::find(all, word, [](const auto* c) { return c->get_name(); });
      if (next == all.end()) {
        return sentence(path, "a command", word, command_names(*command));
      }
      command = *next;
      path += " " + word;
    }
  }
  return std::nullopt;
}

}  // namespace troupe
