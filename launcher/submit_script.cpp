#include "launcher/submit_script.hpp"

#include "launcher/shell_quoted.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

/// Seconds before the end of the job's time when it is told.
constexpr int warning_s = 60;

/// As sbatch reads a word of a script's head.
std::string head_word(const std::string& word) {
  if (is_plain_word(word)) {
    return word;
  }
  std::string text = "\"";
  for (const char c : word) {
    text += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return text + "\"";
}

/// Slurm puts other things in the place of %j and the like.
std::string without_patterns(const std::string& path) {
  std::string text;
  for (const char c : path) {
    text += c == '%' ? "%%" : std::string(1, c);
  }
  return text;
}

std::vector<std::string> head(const SubmitScript& script, const Job& job) {
  const auto& slurm = job.cluster.slurm;
  const auto name = script.job_file.stem().string();
  std::vector<std::string> words = {"--job-name=" + (name.empty() ? "troupe" : name)};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) {
      words.push_back(fmt::format("--{}={}", option, value));
    }
  };
  add("account", slurm.account);
  add("partition", slurm.partition);
  add("time", slurm.time);
  add("nodes", std::to_string(slurm.nodes));
  add("ntasks-per-node", std::to_string(slurm.tasks_per_node));
  if (slurm.cpus_per_task > 0) {
    add("cpus-per-task", std::to_string(slurm.cpus_per_task));
  }
  add("chdir", script.folder.string());
  add("output", submit_output(script.folder, job));
  add("open-mode", "append");
  add("signal", fmt::format("B:TERM@{}", warning_s));
  words.insert(words.end(), slurm.extra_arguments.begin(), slurm.extra_arguments.end());
  return words;
}

}  // namespace

std::string submit_output(const std::filesystem::path& folder, const Job& job) {
  const auto output = (folder / job.output).lexically_normal();
  return without_patterns(output.string()) + "/slurm-%j.out";
}

std::string submit_script(const SubmitScript& script, const Job& job) {
  std::string text = "#!/bin/bash\n";
  for (const auto& word : head(script, job)) {
    text += "#SBATCH " + head_word(word) + "\n";
  }
  const auto checkpoints = shell_word((job.output / "checkpoints").string());
  const auto submitted = shell_word((job.output / "submit.sbatch").string());
  if (!script.resume) {
    text += fmt::format(
        "resume=({})\n"
        "if [ \"${{SLURM_RESTART_COUNT:-0}}\" -gt 0 ] && [ -n \"$(find {} -path "
        "'*/step-*/manifest.json' -newer {} 2> /dev/null)\" ]; then\n"
        "  resume=(--resume)  # Slurm restarts the job, which has made checkpoints\n"
        "fi\n",
        script.overwrite ? "--overwrite" : "", checkpoints, submitted);
  }
  text += fmt::format("exec {} run {}", shell_word(script.program),
                      shell_word(script.job_file.string()));
  for (const auto& setting : script.overrides) {
    text += " --set " + shell_word(setting);
  }
  if (!job.output_given) {
    text += " --set " + shell_word("output=" + job.output.string());
  }
  text += script.resume ? " --resume" : " \"${resume[@]}\"";
  if (!script.own_program.empty()) {
    text += " --";
    for (const auto& word : script.own_program) {
      text += " " + shell_word(word);
    }
  }
  return text + "\n";
}

}  // namespace troupe
