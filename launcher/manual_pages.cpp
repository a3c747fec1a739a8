#include "launcher/manual_pages.hpp"

#include "runtime/base/files.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <span>
#include <string_view>
#include <vector>

namespace troupe {
namespace {

using Commands = std::vector<const CLI::App*>;
using Options = std::vector<const CLI::Option*>;

/// Commands that --help shows; those of an empty group start processes of a run.
Commands shown_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

Options shown_options(const CLI::App& app, bool positional) {
  return app.get_options([positional](const CLI::Option* option) {
    return !option->get_group().empty() && option->get_positional() == positional;
  });
}

/// "--name" and "-n" of an option.
std::vector<std::string> flags_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_snames()) {
    names.push_back("-" + name);
  }
  for (const auto& name : option.get_lnames()) {
    names.push_back("--" + name);
  }
  return names;
}

/// Values of an option that takes one of a list, which CLI11 keeps as "TYPE:{a,b}" only.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const auto type = option.get_type_name();
  const auto begin = type.find('{');
  const auto end = type.rfind('}');
  std::vector<std::string> choices;
  if (begin != std::string::npos && end != std::string::npos) {
    for (auto& choice : CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',')) {
      choices.push_back(CLI::detail::trim_copy(choice));
    }
  }
  return choices;
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() != 0;
}

/// What stands for the value in a synopsis; "" for a flag.
std::string value_of(const CLI::Option& option) {
  if (!takes_value(option)) {
    return "";
  }
  if (const auto choices = choices_of(option); !choices.empty()) {
    return CLI::detail::join(choices, "|");
  }
  return option.get_type_name().empty() ? "VALUE" : option.get_type_name();
}

/// Text as roff shows it unchanged: no escapes, no requests, minus signs that can be copied.
std::string roff(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) {
      out += "\\&";
    }
    if (c == '-') {
      out += "\\-";
    } else if (c == '\\') {
      out += "\\e";
    } else {
      out += c;
    }
    line_start = c == '\n';
  }
  return out;
}

/// "troupe generate rmat".
std::string words_of(const CLI::App& app) {
  const auto* parent = app.get_parent();
  return (parent == nullptr ? "" : words_of(*parent) + " ") + app.get_name();
}

std::string page_name(const CLI::App& app) {
  auto name = words_of(app);
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string option_entry(const CLI::Option& option) {
  std::string head = option.get_positional()
                         ? "\\fI" + roff(option.get_name(true)) + "\\fR"
                         : "\\fB" + roff(CLI::detail::join(flags_of(option), ", ")) + "\\fR";
  const auto value = option.get_positional() ? "" : value_of(option);
  if (!value.empty()) {
    head += " \\fI" + roff(value) + "\\fR";
  }
  auto text = roff(option.get_description());
  if (!option.get_default_str().empty()) {
    text += roff(fmt::format(" (default: {})", option.get_default_str()));
  }
  if (option.get_required() && !option.get_positional()) {
    text += " (required)";
  }
  return ".TP\n" + head + "\n" + text + "\n";
}

std::string synopsis(const CLI::App& app) {
  std::string line = "\\fB" + roff(words_of(app)) + "\\fR";
  if (!shown_commands(app).empty()) {
    return line + " \\fICOMMAND\\fR [\\fIOPTIONS\\fR]";
  }
  for (const auto* option : shown_options(app, false)) {
    const bool help = option->get_name() == "--help";
    if (option->get_required() && !help) {
      line +=
          " \\fB" + roff(flags_of(*option).back()) + "\\fR \\fI" + roff(value_of(*option)) + "\\fR";
    }
  }
  line += " [\\fIOPTIONS\\fR]";
  for (const auto* option : shown_options(app, true)) {
    line +=
        " \\fI" +
        roff(value_of(*option) == "SOURCE... STORE" ? value_of(*option) : option->get_name(true)) +
        "\\fR";
  }
  return line;
}

/// A footer's lines, each on its own line of the page.
std::string footer_text(const std::string& footer) {
  std::string out;
  for (const auto& line : CLI::detail::split(footer, '\n')) {
    out += roff(line) + "\n.br\n";
  }
  return out;
}

std::string manual_page(const CLI::App& app, const std::string& version) {
  auto title = page_name(app);
  std::ranges::transform(title, title.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string page =
      fmt::format(".TH \"{}\" 1 \"\" \"troupe {}\" \"Troupe\"\n", roff(title), version);
  page += ".SH NAME\n" + roff(page_name(app)) + " \\- " + roff(app.get_description()) + "\n";
  page += ".SH SYNOPSIS\n" + synopsis(app) + "\n";
  if (const auto commands = shown_commands(app); !commands.empty()) {
    page += ".SH COMMANDS\n";
    for (const auto* command : commands) {
      page += ".TP\n\\fB" + roff(words_of(*command)) + "\\fR\n" + roff(command->get_description()) +
              "\n";
    }
  }
  if (const auto arguments = shown_options(app, true); !arguments.empty()) {
    page += ".SH ARGUMENTS\n";
    for (const auto* argument : arguments) {
      page += option_entry(*argument);
    }
  }
  page += ".SH OPTIONS\n";
  for (const auto* option : shown_options(app, false)) {
    page += option_entry(*option);
  }
  if (!app.get_footer().empty()) {
    page += ".SH NOTES\n" + footer_text(app.get_footer());
  }
  page += ".SH SEE ALSO\n";
  if (const auto* parent = app.get_parent(); parent != nullptr) {
    page += "\\fB" + roff(page_name(*parent)) + "\\fR(1)\n";
  } else {
    for (const auto* command : shown_commands(app)) {
      page += "\\fB" + roff(page_name(*command)) + "\\fR(1)" +
              (command == shown_commands(app).back() ? "\n" : ",\n");
    }
  }
  return page;
}

/// Single-quoted for bash.
std::string quoted_words(const std::vector<std::string>& words) {
  return "'" + CLI::detail::join(words, " ") + "'";
}

/// The cases of a command and of those below it, each found by its words.
std::string completion_cases(const CLI::App& app) {
  std::vector<std::string> words;
  for (const auto* command : shown_commands(app)) {
    words.push_back(command->get_name());
  }
  std::string values;
  for (const auto* option : shown_options(app, false)) {
    const auto flags = flags_of(*option);
    words.insert(words.end(), flags.begin(), flags.end());
    if (takes_value(*option)) {
      const auto choices = choices_of(*option);
      values += fmt::format(
          "        {}) {} ;;\n", CLI::detail::join(flags, "|"),
          choices.empty() ? "files=yes words=''" : "files='' words=" + quoted_words(choices));
    }
  }
  auto out = fmt::format("    '{}')\n      words={}\n", words_of(app), quoted_words(words));
  if (shown_commands(app).empty()) {
    out += "      files=yes\n";
  }
  if (!values.empty()) {
    out += "      case $before in\n" + values + "      esac\n";
  }
  out += "      ;;\n";
  for (const auto* command : shown_commands(app)) {
    out += completion_cases(*command);
  }
  return out;
}

/// "'troupe run'|'troupe generate rmat'|…": the commands below `app`.
std::vector<std::string> quoted_commands(const CLI::App& app) {
  std::vector<std::string> all;
  for (const auto* command : shown_commands(app)) {
    all.push_back("'" + words_of(*command) + "'");
    const auto below = quoted_commands(*command);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

std::string bash_completion(const CLI::App& app) {
  const auto& name = app.get_name();
  return fmt::format(R"(# bash completion for {0}
_{0}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command={0} words='' files='' i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$command ${{COMP_WORDS[i]}}" in
      {1}) command+=" ${{COMP_WORDS[i]}}" ;;
      *) break ;;
    esac
  done
  case $command in
{2}  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  if [ -n "$files" ] && [ "${{word:0:1}}" != - ]; then
    mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -f -- "$word")
    compopt -o filenames
  fi
}}
complete -F _{0} {0}
)",
                     name, CLI::detail::join(quoted_commands(app), "|"), completion_cases(app));
}

Status write_text(const std::filesystem::path& path, std::string_view text) {
  return write_file_atomically(path, std::as_bytes(std::span(text)));
}

Status write_page(const CLI::App& app, const std::string& version,
                  const std::filesystem::path& folder) {
  TROUPE_RETURN_IF_ERROR(write_text(folder / (page_name(app) + ".1"), manual_page(app, version)));
  for (const auto* command : shown_commands(app)) {
    TROUPE_RETURN_IF_ERROR(write_page(*command, version, folder));
  }
  return ok_status();
}

}  // namespace

Status write_pages(const CLI::App& app, const std::string& version,
                   const std::filesystem::path& folder) {
  TROUPE_RETURN_IF_ERROR(make_folders(folder));
  TROUPE_RETURN_IF_ERROR(write_page(app, version, folder));
  return write_text(folder / (app.get_name() + ".bash"), bash_completion(app));
}

}  // namespace troupe
