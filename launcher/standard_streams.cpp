#include "launcher/standard_streams.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe {

void open_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
      // The lowest number is free: those below it are open by now.
      [[maybe_unused]] const int opened = ::open("/dev/null", O_RDWR);
    }
  }
}

ExitCode with_output_written(ExitCode code) {
  std::signal(SIGPIPE, SIG_IGN);  // the code counts, also where nobody reads
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written || code != ExitCode::done) {
    return code;
  }
  print_if_taken(
      "troupe: standard output: expected to write all lines, found that some could not be written; "
      "try: "
      "space on its disk, or a program that reads the pipe to its end");
  return ExitCode::data;
}

void print_if_taken(const std::string& line) {
  pollfd error{STDERR_FILENO, POLLOUT, 0};
  if (poll(&error, 1, 0) == 1 && (error.revents & POLLOUT) != 0) {
    const auto whole = line + "\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, whole.data(), whole.size());
  }
}

WithoutPipeSignal::WithoutPipeSignal() {
  ignored_before_ = std::signal(SIGPIPE, SIG_IGN) == SIG_IGN;
  struct stat info {};
  if (!ignored_before_ && fstat(STDOUT_FILENO, &info) == 0 && S_ISFIFO(info.st_mode)) {
    output_ = STDOUT_FILENO;
  }
}

WithoutPipeSignal::~WithoutPipeSignal() {
  std::fflush(stdout);  // what is left would raise the signal later
  if (!ignored_before_) {
    std::signal(SIGPIPE, SIG_DFL);
  }
}

}  // namespace troupe
