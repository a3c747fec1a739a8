#include "launcher/processes/piped_child.hpp"

#include "launcher/processes/child_end.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace troupe {
namespace {

constexpr off_t longest_errors = 2000;

std::string end_of_file(int fd) {
  const auto size = lseek(fd, 0, SEEK_END);
  const auto from = size > longest_errors ? size - longest_errors : 0;
  std::string text(size > 0 ? static_cast<std::size_t>(size - from) : 0, '\0');
  const auto got = pread(fd, text.data(), text.size(), from);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) {
    text.pop_back();
  }
  return text;
}

void close_one(int& fd) {
  if (fd >= 0) {
    close(std::exchange(fd, -1));
  }
}

/// \returns 0 or the system's number for what is wrong
int spawn(const std::vector<std::string>& words, int peer, int errors, pid_t& pid) {
  std::vector<char*> argv;
  for (const auto& word : words) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, peer, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, peer, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);  // what is blocked here would stay so there
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);  // likewise
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);  // Ctrl-C is for this program
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int problem = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return problem;
}

}  // namespace

Result<PipedChild> PipedChild::start(const std::vector<std::string>& words) {
  PipedChild child;
  std::array<int, 2> ends{-1, -1};
  child.errors_ = memfd_create("errors", MFD_CLOEXEC);
  int problem = child.errors_ < 0 ? errno : 0;
  if (problem == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    problem = errno;
  }
  child.peer_ = ends[0];
  if (problem == 0) {
    problem = spawn(words, ends[1], child.errors_, child.pid_);
  }
  close_one(ends[1]);
  if (problem != 0) {
    return Error(Errc::failed_precondition,
                 fmt::format("cannot start {}: {}", words[0], std::strerror(problem)));
  }
  return child;
}

PipedChild::PipedChild(PipedChild&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      peer_(std::exchange(other.peer_, -1)),
      errors_(std::exchange(other.errors_, -1)) {}

PipedChild::~PipedChild() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close_one(peer_);
  close_one(errors_);
}

void PipedChild::end_input() {
  shutdown(peer_, SHUT_WR);
}

ChildEnd PipedChild::wait() {
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(std::exchange(pid_, -1)), &info, WEXITED);
  ChildEnd end;
  end.success = info.si_code == CLD_EXITED && info.si_status == 0;
  end.how = end_of_child(info);
  end.errors = end_of_file(errors_);
  return end;
}

}  // namespace troupe
