#include "launcher/processes/agent_starters.hpp"

#include "launcher/processes/child_processes.hpp"
#include "launcher/processes/process_logs.hpp"
#include "launcher/processes/slurm_allocation.hpp"
#include "launcher/shell_quoted.hpp"

#include <fmt/format.h>
#include <map>
#include <mutex>

namespace troupe {
namespace {

/// Agents that are children of this process, or behind a child.
class ChildAgents final : public AgentStarter {
 public:
  struct Start {
    std::vector<std::string> words;
    std::string input = {};  ///< for who stands before the program
  };
  using Command = std::function<Start(HostId, const ProcessArguments&)>;
  ChildAgents(Command command, const std::filesystem::path& output)
      : command_(std::move(command)),
        logs_(output / "logs"),
        children_({.line =
                       [this](const std::string& line, bool error) {
                         print_line(line, error);
                         logs_.add(line);
                       },
                   .exited = [this](std::uint64_t child, const std::string& how,
                                    bool) { exited(child, how); }}) {}

  Status start(HostId host, const ProcessArguments& arguments, const Secrets& secrets,
               std::function<void(const std::string&)> ended) override {
    std::uint64_t child = 0;
    std::uint64_t before = 0;
    {
      const std::lock_guard guard(mutex_);
      child = next_++;
      before = std::exchange(by_host_[host], child);
      ended_[child] = std::move(ended);
    }
    children_.kill(before);  // it may only be stopped
    ChildCommand command;
    auto how = command_(host, arguments);
    command.arguments = std::move(how.words);
    command.input = std::move(how.input) + to_input(secrets);
    return children_.start(child, std::move(command));
  }
  void end() override { children_.wait(3000); }

 private:
  void exited(std::uint64_t child, const std::string& how) {
    std::function<void(const std::string&)> ended;
    {
      const std::lock_guard guard(mutex_);
      if (auto node = ended_.extract(child)) {
        ended = std::move(node.mapped());
      }
    }
    if (ended) {
      ended(how);
    }
  }

  const Command command_;
  ProcessLogs logs_;
  std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::map<HostId, std::uint64_t> by_host_;  ///< the last one started
  std::map<std::uint64_t, std::function<void(const std::string&)>> ended_;
  ChildProcesses children_;
};

std::vector<std::string> agent_command(const std::string& program, const ProcessArguments& a) {
  auto words = to_command_line("agent", a);
  words.insert(words.begin(), program);
  return words;
}

/// Takes lines up to an empty one from the standard input, as variables; then becomes the program.
constexpr const char* read_environment =
    R"sh(while IFS= read -r v && [ -n "$v" ]; do export "$v" || exit; done; exec "$@")sh";

}  // namespace

std::string environment_input(const SshJob& ssh, const HostSpec& host) {
  std::string text;
  for (const auto* list : {&ssh.env, &host.env}) {
    for (const auto& entry : *list) {
      text += entry + "\n";
    }
  }
  return text.empty() ? text : text + "\n";
}

std::vector<std::string> ssh_options(const SshJob& ssh, const HostSpec& host) {
  std::vector<std::string> words = {"ssh", "-T", "-o", "BatchMode=yes"};
  words.insert(words.end(), {"-p", std::to_string(host.port > 0 ? host.port : ssh.port)});
  if (const auto& key = own_or(host.key, ssh.key); !key.empty()) {
    words.insert(words.end(), {"-i", key});
  }
  if (const auto& user = own_or(host.user, ssh.user); !user.empty()) {
    words.insert(words.end(), {"-l", user});
  }
  words.insert(words.end(), ssh.options.begin(), ssh.options.end());
  return words;
}

std::vector<std::string> ssh_command(const SshJob& ssh, const HostSpec& host,
                                     const std::vector<std::string>& arguments) {
  auto words = ssh_options(ssh, host);
  words.insert(words.end(), {"--", host.address});
  std::string line;
  if (const auto& dir = own_or(host.dir, ssh.dir); !dir.empty()) {
    line += fmt::format("cd {} && ", shell_quoted(dir));
  }
  line += "exec";
  if (!environment_input(ssh, host).empty()) {
    line += " sh -c " + shell_quoted(read_environment) + " sh";
  }
  for (const auto& argument : arguments) {
    line += " " + shell_quoted(argument);
  }
  words.push_back(line);
  return words;
}

std::unique_ptr<AgentStarter> make_agent_starter(const Job& job) {
  const auto& cluster = job.cluster;
  if (cluster.launch == "local") {
    return std::make_unique<ChildAgents>(
        [program = own_program()](HostId, const ProcessArguments& a) {
          return ChildAgents::Start{agent_command(program, a)};
        },
        job.output);
  }
  if (cluster.launch == "ssh") {
    return std::make_unique<ChildAgents>(
        [cluster, program = own_program()](HostId host, const ProcessArguments& arguments) {
          const auto& spec = cluster.named.at(raw(host));
          auto there = arguments;
          const auto& at = own_or(spec.listen, spec.address);
          there.listen = at.find(':') == std::string::npos ? at + ":0" : "[" + at + "]:0";
          const auto& path = own_or(own_or(spec.program, cluster.ssh.program), program);
          return ChildAgents::Start{ssh_command(cluster.ssh, spec, agent_command(path, there)),
                                    environment_input(cluster.ssh, spec)};
        },
        job.output);
  }
  if (cluster.launch == "slurm") {
    return std::make_unique<ChildAgents>(
        [cluster, program = own_program()](HostId host, const ProcessArguments& arguments) {
          auto there = arguments;
          there.listen.clear();  // it finds out itself
          return ChildAgents::Start{
              srun_command(cluster.slurm, cluster.named.at(raw(host)).address,
                           agent_command(own_or(cluster.slurm.program, program), there))};
        },
        job.output);
  }
  return nullptr;
}

}  // namespace troupe
