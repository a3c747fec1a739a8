#include "launcher/run_environment.hpp"

#include "launcher/shell_quoted.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <vector>

namespace troupe {
namespace {

constexpr const char* job_variable = "TROUPE_JOB";
constexpr const char* text_variable = "TROUPE_JOB_TEXT";
constexpr const char* set_variable = "TROUPE_SET";
constexpr const char* resume_variable = "TROUPE_RESUME";
constexpr const char* overwrite_variable = "TROUPE_OVERWRITE";
constexpr const char* command_variable = "TROUPE_COMMAND";

std::string value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

/// Command line of this process, whose interpreter, if it has one, is part of it.
std::string own_command() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) {
    words.push_back(word);
  }
  return shell_line(words);
}

}  // namespace

Status set_run_environment(const RunArguments& arguments) {
  std::string lines;
  for (const auto& entry : arguments.job.overrides) {
    if (entry.find('\n') != std::string::npos) {
      return Error(Errc::invalid_argument,
                   fmt::format("--set: expected one line, got \"{}\"", entry));
    }
    lines += entry + "\n";
  }
  setenv(job_variable, std::filesystem::absolute(arguments.job.file).c_str(), 1);
  setenv(set_variable, lines.c_str(), 1);
  setenv(resume_variable, arguments.resume ? "1" : "", 1);
  setenv(overwrite_variable, arguments.overwrite ? "1" : "", 1);
  setenv(command_variable, arguments.command.c_str(), 1);
  return ok_status();
}

std::optional<RunArguments> run_environment() {
  RunArguments arguments;
  arguments.job.file = value_of(job_variable);
  if (arguments.job.file.empty()) {
    arguments.job.text = value_of(text_variable);
  }
  if (arguments.job.file.empty() && arguments.job.text.empty()) {
    return std::nullopt;
  }
  std::istringstream lines(value_of(set_variable));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) {
      arguments.job.overrides.push_back(line);
    }
  }
  arguments.resume = !value_of(resume_variable).empty();
  arguments.overwrite = !value_of(overwrite_variable).empty();
  arguments.command = value_of(command_variable);
  if (arguments.command.empty()) {
    arguments.command = own_command();
  }
  return arguments;
}

}  // namespace troupe
