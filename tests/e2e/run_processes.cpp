#include "tests/support/run_processes.hpp"

#include "tests/support/file_text.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <signal.h>
#include <sstream>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* variable = "TROUPE_TEST_RUN=";

/// Zero-terminated words.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, '\0');) {
    words.push_back(word);
  }
  return words;
}

char state_of(const fs::path& process) {
  const auto text = file_text(process / "stat");
  const auto end = text.rfind(')');
  return end == std::string::npos || end + 2 >= text.size() ? 'Z' : text[end + 2];
}

bool all_threads_stopped(pid_t pid) {
  std::error_code error;
  fs::directory_iterator thread(fs::path("/proc") / std::to_string(pid) / "task", error);
  for (; !error && thread != fs::directory_iterator(); thread.increment(error)) {
    if (state_of(thread->path()) != 'T') {
      return false;
    }
  }
  return !error;
}

/// A user program has its arguments in a variable.
std::string name_of(const fs::path& process) {
  constexpr std::string_view arguments = "TROUPE_MEMBER=";
  auto words = words_of(file_text(process / "cmdline"));
  for (const auto& entry : words_of(file_text(process / "environ"))) {
    std::istringstream in(entry.starts_with(arguments) ? entry.substr(arguments.size()) : "");
    for (std::string word; std::getline(in, word);) {
      words.push_back(word);
    }
  }
  const auto option = std::ranges::find(words, "--name");
  return option == words.end() || option + 1 == words.end() ? "" : *(option + 1);
}

/// Sockets of TCP in a state, by the kernel's number for it: inodes with their own ports.
/// \param tables  of a network namespace
std::map<std::string, std::uint16_t> tcp_sockets(const fs::path& tables, const std::string& state) {
  std::map<std::string, std::uint16_t> found;
  for (const char* table : {"tcp", "tcp6"}) {
    std::istringstream in(file_text(tables / table));
    for (std::string line; std::getline(in, line);) {
      std::istringstream fields(line);
      const std::vector<std::string> field{std::istream_iterator<std::string>(fields), {}};
      if (field.size() > 9 && field[3] == state) {
        const auto port = field[1].substr(field[1].rfind(':') + 1);
        found[field[9]] = static_cast<std::uint16_t>(std::stoul(port, nullptr, 16));
      }
    }
  }
  return found;
}

std::map<std::string, std::uint16_t> all_listening() {
  return tcp_sockets("/proc/net", "0A");
}

/// inodes of the sockets among the descriptors of the processes.
std::vector<std::string> all_sockets(const std::vector<RunProcess>& processes) {
  const std::string before = "socket:[";
  std::vector<std::string> found;
  for (const auto& process : processes) {
    std::error_code error;
    const auto folder = fs::path("/proc") / std::to_string(process.pid) / "fd";
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const auto target = fs::read_symlink(entry.path(), error).string();
      if (target.starts_with(before)) {
        found.push_back(target.substr(before.size(), target.size() - before.size() - 1));
      }
    }
  }
  return found;
}

}  // namespace

std::string new_run_mark() {
  static std::atomic<int> counter{0};
  return std::to_string(getpid()) + "-" + std::to_string(counter++);
}

std::string environment_entry(const std::string& mark) {
  return variable + mark;
}

std::vector<RunProcess> processes_of(const std::string& mark) {
  std::vector<RunProcess> found;
  const auto wanted = environment_entry(mark);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const auto number = entry.path().filename().string();
    if (!std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; })) {
      continue;
    }
    const auto environment = words_of(file_text(entry.path() / "environ"));
    const char state = state_of(entry.path());
    if (std::ranges::find(environment, wanted) != environment.end() && state != 'Z' &&
        state != 'X') {
      found.push_back({std::stoi(number), name_of(entry.path()), state == 'T'});
    }
  }
  std::ranges::sort(found, {}, &RunProcess::pid);
  return found;
}

pid_t find_process(const std::string& mark, const std::string& name) {
  const auto all = processes_of(mark);
  const auto found = std::ranges::find(all, name, &RunProcess::name);
  return found == all.end() ? -1 : found->pid;
}

bool signal_process(pid_t pid, int signal) {
  return pid > 0 && kill(pid, signal) == 0;
}

bool stop_process(pid_t pid) {
  if (!signal_process(pid, SIGSTOP)) {
    return false;
  }
  for (int i = 0; i < 1000; ++i) {
    if (all_threads_stopped(pid)) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::vector<std::string> listening_sockets(const std::vector<RunProcess>& processes) {
  const auto listening = all_listening();
  auto found = all_sockets(processes);
  std::erase_if(found, [&](const std::string& socket) { return !listening.contains(socket); });
  return found;
}

std::vector<std::uint16_t> listening_ports(const std::vector<RunProcess>& processes) {
  const auto listening = all_listening();
  std::vector<std::uint16_t> found;
  for (const auto& socket : listening_sockets(processes)) {
    if (const auto at = listening.find(socket); at != listening.end()) {
      found.push_back(at->second);
    }
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<std::uint16_t> connected_ports(pid_t process) {
  const auto connected = tcp_sockets(fs::path("/proc") / std::to_string(process) / "net", "01");
  std::vector<std::uint16_t> found;
  for (const auto& socket : all_sockets({{.pid = process, .name = {}}})) {
    if (const auto at = connected.find(socket); at != connected.end()) {
      found.push_back(at->second);
    }
  }
  return found;
}

std::vector<std::string> sockets_of(const std::vector<RunProcess>& processes) {
  const auto own = all_sockets({{.pid = getpid(), .name = {}}});
  auto found = all_sockets(processes);
  std::erase_if(found,
                [&](const auto& socket) { return std::ranges::find(own, socket) != own.end(); });
  return found;
}

std::vector<std::string> still_open(const std::vector<std::string>& sockets) {
  struct Table {
    const char* file;
    std::size_t column;  ///< of the inode
  };
  std::set<std::string> known;
  for (const auto& [file, column] :
       {Table{"tcp", 9}, Table{"tcp6", 9}, Table{"udp", 9}, Table{"udp6", 9}, Table{"unix", 6}}) {
    std::istringstream in(file_text(fs::path("/proc/net") / file));
    for (std::string line; std::getline(in, line);) {
      std::istringstream fields(line);
      const std::vector<std::string> field{std::istream_iterator<std::string>(fields), {}};
      if (field.size() > column) {
        known.insert(field[column]);
      }
    }
  }
  std::vector<std::string> found;
  std::ranges::copy_if(sockets, std::back_inserter(found),
                       [&](const std::string& socket) { return known.contains(socket); });
  return found;
}

}  // namespace troupe::testing
