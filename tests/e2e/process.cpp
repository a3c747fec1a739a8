#include "tests/support/process.hpp"

#include "tests/support/file_text.hpp"

#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <signal.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace troupe::testing {
namespace {

void redirect(const std::string& file, int descriptor) {
  const int opened = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(opened, descriptor);
  close(opened);
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments, const std::string& folder) {
  static std::atomic<int> counter{0};
  const auto base = folder + "/process-" + std::to_string(counter++);
  out_file_ = base + ".out";
  err_file_ = base + ".err";
  std::vector<char*> argv;
  for (const auto& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    redirect(out_file_, STDOUT_FILENO);
    redirect(err_file_, STDERR_FILENO);
    execvp(argv[0], argv.data());
    _exit(127);
  }
}

Process::~Process() {
  if (pid_ > 0) {
    signal(SIGKILL);
    wait();
  }
}

bool Process::wait_for_output(const std::string& text, std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (testing::file_text(out_file_).find(text) == std::string::npos) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

void Process::signal(int number) {
  kill(pid_, number);
}

bool Process::has_ended() const {
  siginfo_t info{};
  return pid_ < 0 ||
         (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid == pid_);
}

ProcessResult Process::wait() {
  int status = 0;
  rusage usage{};
  wait4(pid_, &status, 0, &usage);
  pid_ = -1;
  ProcessResult result;
  result.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = testing::file_text(out_file_);
  result.err = testing::file_text(err_file_);
  return result;
}

ProcessResult run_process(const std::vector<std::string>& arguments, const std::string& folder) {
  return Process(arguments, folder).wait();
}

bool is_installed(const std::string& program) {
  const char* set = getenv("PATH");
  std::istringstream path("/usr/sbin:" + std::string(set == nullptr ? "" : set));
  for (std::string folder; std::getline(path, folder, ':');) {
    if (access((folder + "/" + program).c_str(), X_OK) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace troupe::testing
