#include "launcher/processes/child_processes.hpp"
#include "launcher/processes/process_cluster.hpp"

#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>

namespace troupe {
namespace {

class LocalAgents final : public AgentStarter {
 public:
  LocalAgents()
      : children_({.line =
                       [](const std::string& line, bool error) {
                         auto* const to = error ? stderr : stdout;
                         std::fprintf(to, "%s\n", line.c_str());
                         std::fflush(to);
                       },
                   .exited = [this](std::uint64_t child, const std::string& how,
                                    bool) { exited(child, how); }}) {}
  Status start(HostId host, const ProcessArguments& arguments, const net::Token& token,
               std::function<void(const std::string&)> ended) override {
    ChildCommand command;
    command.arguments = to_command_line("agent", arguments);
    std::error_code error;
    command.arguments.insert(command.arguments.begin(),
                             std::filesystem::read_symlink("/proc/self/exe", error).string());
    command.input = token.hex() + "\n";
    std::uint64_t child = 0;
    {
      const std::lock_guard guard(mutex_);
      child = next_++;
      ended_[child] = std::move(ended);
      std::swap(by_host_[host], child);
    }
    children_.kill(child);  // the one before: it may only be stopped
    {
      const std::lock_guard guard(mutex_);
      child = by_host_[host];
    }
    return children_.start(child, std::move(command));
  }
  void end() override { children_.wait(3000); }

 private:
  void exited(std::uint64_t child, const std::string& how) {
    std::function<void(const std::string&)> ended;
    {
      const std::lock_guard guard(mutex_);
      ended.swap(ended_[child]);
      ended_.erase(child);
    }
    if (ended) {
      ended(how);
    }
  }

  std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::map<HostId, std::uint64_t> by_host_;  ///< the last one started
  std::map<std::uint64_t, std::function<void(const std::string&)>> ended_;
  ChildProcesses children_;
};

}  // namespace

std::unique_ptr<AgentStarter> make_local_agents() {
  return std::make_unique<LocalAgents>();
}

}  // namespace troupe
