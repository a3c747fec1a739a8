#include "launcher/processes/child_processes.hpp"

#include "launcher/processes/child_end.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <future>
#include <linux/close_range.h>
#include <map>
#include <mutex>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace troupe {
namespace {

constexpr std::size_t longest_printed_line = std::size_t{64} << 10;
/// Read in one go: a child that floods must not keep others, or the order to end it, waiting.
constexpr int blocks_at_once = 8;
/// More than a pipe holds: what is left when its child has ended.
constexpr int blocks_of_a_pipe = 256;

/// Closes what it holds.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }
  void reset() {
    if (fd_ >= 0) {
      ::close(std::exchange(fd_, -1));
    }
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error(Errc::failed_precondition,
                 fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

struct OutputStream {
  Descriptor from;
  std::string rest;  ///< the beginning of a line
  bool error = false;
};

struct Child {
  pid_t pid = -1;
  Descriptor ended;  ///< a pidfd
  std::string prefix;
  std::array<OutputStream, 2> streams;

  static Child of(pid_t pid, Descriptor ended, const std::string& prefix, Descriptor out,
                  Descriptor err) {
    Child child;
    child.pid = pid;
    child.ended = std::move(ended);
    child.prefix = prefix;
    child.streams[0].from = std::move(out);
    child.streams[1].from = std::move(err);
    child.streams[1].error = true;
    for (auto& stream : child.streams) {
      fcntl(stream.from.get(), F_SETFL, O_NONBLOCK);
    }
    return child;
  }
};

bool ended_well(const siginfo_t& info) {
  return info.si_code == CLD_EXITED && info.si_status == 0;
}

/// Waits for a child's end and frees its pid. Where it did not end well, processes of its group are
/// killed: what takes its place would run beside them.
siginfo_t reaped(pid_t pid) {
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid);
  if (waitid(P_PID, id, &info, WEXITED | WNOWAIT) == 0 && !ended_well(info)) {
    ::kill(-pid, SIGKILL);  // before another process can get this pid
  }
  waitid(P_PID, id, &info, WEXITED);
  return info;
}

/// The file to execute for `path`, which own_program() gave: this process's own, should another file
/// be there by now.
std::string file_of_own_program(const std::string& path) {
  constexpr const char* own = "/proc/self/exe";  // of the child, which has the same before exec
  struct stat here {};
  struct stat there {};
  const bool same = stat(own, &here) == 0 && stat(path.c_str(), &there) == 0 &&
                    here.st_dev == there.st_dev && here.st_ino == there.st_ino;
  return same ? path : own;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (auto& text : texts) {
    all.push_back(text.data());
  }
  all.push_back(nullptr);
  return all;
}

/// This process's environment with the command's in place of variables of the same name.
std::vector<std::string> environment_of(const ChildCommand& command) {
  std::vector<std::string> environment = command.environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto name = text.substr(0, text.find('=') + 1);
    const bool replaced = std::ranges::any_of(
        command.environment, [&](const std::string& own) { return own.starts_with(name); });
    if (!replaced) {
      environment.emplace_back(text);
    }
  }
  return environment;
}

/// Descriptors of this process do not pass exec, whoever opened them and how.
void close_at_exec() {
  if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) == 0) {
    return;
  }
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  for (rlim_t fd = 3; fd < limit.rlim_cur; ++fd) {
    fcntl(static_cast<int>(fd), F_SETFD, FD_CLOEXEC);
  }
}

/// Between fork and exec only calls that are safe there.
[[noreturn]] void become(const char* file, char* const* arguments, char* const* environment,
                         const char* folder, const std::array<int, 3>& standard, int tell,
                         pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGPIPE, SIG_DFL);  // what is ignored here would stay so in the program
  setpgid(0, 0);                  // Ctrl-C is for the launcher
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);  // what is blocked here would stay so in the program
  bool good = getppid() == parent;
  for (int fd = 0; fd < 3; ++fd) {
    good = good && dup2(standard[static_cast<std::size_t>(fd)], fd) == fd;
  }
  good = good && (*folder == '\0' || chdir(folder) == 0);
  if (good) {
    close_at_exec();
    execvpe(file, arguments, environment);
  }
  const int why = errno;
  [[maybe_unused]] const auto written = ::write(tell, &why, sizeof why);
  _exit(127);
}

}  // namespace

struct ChildProcesses::State {
  ChildEvents events;
  Descriptor wake{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::function<void()>> tasks;  ///< for the thread
  std::size_t running = 0;
  bool stop = false;
  std::map<std::uint64_t, Child> children;  ///< of the thread
  std::thread thread;

  void post(std::function<void()> task) {
    {
      const std::lock_guard guard(mutex);
      tasks.push_back(std::move(task));
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake.get(), &one, sizeof one);
  }
  Status launch(std::uint64_t id, ChildCommand& command);
  void feed(OutputStream& stream, const std::string& prefix, std::string_view bytes);
  bool drain(OutputStream& stream, const std::string& prefix, int blocks);
  void reap(std::uint64_t id);
  void run();
};

Status ChildProcesses::State::launch(std::uint64_t id, ChildCommand& command) {
  if (children.contains(id)) {
    return Error(Errc::failed_precondition,
                 fmt::format("cannot start {}: child {} runs already", command.arguments[0], id));
  }
  TROUPE_ASSIGN_OR_RETURN(auto in, make_pipe());
  TROUPE_ASSIGN_OR_RETURN(auto out, make_pipe());
  TROUPE_ASSIGN_OR_RETURN(auto err, make_pipe());
  TROUPE_ASSIGN_OR_RETURN(auto tell, make_pipe());
  auto environment = environment_of(command);
  const auto arguments = pointers(command.arguments);
  const auto variables = pointers(environment);
  const auto file =
      command.own_program ? file_of_own_program(command.arguments[0]) : command.arguments[0];
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    become(file.c_str(), arguments.data(), variables.data(), command.folder.c_str(),
           {in.read.get(), out.write.get(), err.write.get()}, tell.write.get(), parent);
  }
  const int problem = errno;
  if (pid < 0) {
    return Error(Errc::failed_precondition,
                 fmt::format("cannot start {}: {}", command.arguments[0], std::strerror(problem)));
  }
  Descriptor ended(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  const int unwatched = ended.get() < 0 ? errno : 0;
  tell.write.reset();
  if (unwatched != 0) {  // nobody would see its end
    ::kill(pid, SIGKILL);
    reaped(pid);
    return Error(
        Errc::failed_precondition,
        fmt::format("cannot start {}: cannot watch for its end: {}; try: a kernel from 5.3, "
                    "a higher limit of open files (ulimit -n)",
                    command.arguments[0], std::strerror(unwatched)));
  }
  int why = 0;
  if (read(tell.read.get(), &why, sizeof why) == sizeof why) {
    reaped(pid);
    return Error(Errc::failed_precondition,
                 fmt::format("cannot start {}: {}", command.arguments[0], std::strerror(why)));
  }
  // What is passed this way fits the pipe, so that nobody waits.
  [[maybe_unused]] const auto written =
      ::write(in.write.get(), command.input.data(), command.input.size());
  std::fill(command.input.begin(), command.input.end(), '\0');
  children.emplace(id, Child::of(pid, std::move(ended), command.prefix, std::move(out.read),
                                 std::move(err.read)));
  const std::lock_guard guard(mutex);
  ++running;
  return ok_status();
}

/// Passes on the whole lines.
void ChildProcesses::State::feed(OutputStream& stream, const std::string& prefix,
                                 std::string_view bytes) {
  const auto pass_on = [&] {
    events.line(prefix + stream.rest, stream.error);
    stream.rest.clear();
  };
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto more = bytes.substr(0, std::min(end, longest_printed_line - stream.rest.size()));
    stream.rest.append(more);
    bytes.remove_prefix(more.size());
    if (!bytes.empty()) {  // the line is over, or too long
      pass_on();
      bytes.remove_prefix(bytes.front() == '\n' ? 1 : 0);
    }
  }
}

/// Reads what is there, at most so many blocks. \returns false at the end
bool ChildProcesses::State::drain(OutputStream& stream, const std::string& prefix, int blocks) {
  std::array<char, 16384> block{};
  while (blocks-- > 0) {
    const auto n = read(stream.from.get(), block.data(), block.size());
    if (n > 0) {
      feed(stream, prefix, {block.data(), static_cast<std::size_t>(n)});
    } else if (n == 0 || errno != EINTR) {
      return n < 0 && errno == EAGAIN;
    }
  }
  return true;
}

void ChildProcesses::State::reap(std::uint64_t id) {
  auto node = children.extract(id);
  auto& child = node.mapped();
  const auto info = reaped(child.pid);
  for (auto& stream : child.streams) {
    drain(stream, child.prefix, blocks_of_a_pipe);
    if (!stream.rest.empty()) {
      events.line(child.prefix + stream.rest, stream.error);
    }
  }
  events.exited(id, end_of_child(info), exit_code_of_child(info));
  {
    const std::lock_guard guard(mutex);
    --running;
  }
  changed.notify_all();
}

void ChildProcesses::State::run() {
  for (;;) {
    std::vector<pollfd> watched = {{wake.get(), POLLIN, 0}};
    std::vector<std::pair<std::uint64_t, OutputStream*>> owners = {{0, nullptr}};
    for (auto& [id, child] : children) {
      watched.push_back({child.ended.get(), POLLIN, 0});
      owners.emplace_back(id, nullptr);
      for (auto& stream : child.streams) {
        if (stream.from.get() >= 0) {
          watched.push_back({stream.from.get(), POLLIN, 0});
          owners.emplace_back(id, &stream);
        }
      }
    }
    poll(watched.data(), watched.size(), -1);
    for (std::size_t i = 1; i < watched.size(); ++i) {
      auto* stream = owners[i].second;
      if (watched[i].revents == 0 || !children.contains(owners[i].first)) {
        continue;
      }
      if (stream == nullptr) {
        reap(owners[i].first);
      } else if (!drain(*stream, children.at(owners[i].first).prefix, blocks_at_once)) {
        stream->from.reset();
      }
    }
    std::uint64_t count = 0;
    [[maybe_unused]] const auto taken = read(wake.get(), &count, sizeof count);
    std::vector<std::function<void()>> now;
    {
      const std::lock_guard guard(mutex);
      now.swap(tasks);
    }
    for (auto& task : now) {
      task();
    }
    const std::lock_guard guard(mutex);
    if (stop && children.empty() && tasks.empty()) {
      return;
    }
  }
}

ChildProcesses::ChildProcesses(ChildEvents events) : state_(std::make_unique<State>()) {
  state_->events = std::move(events);
  // One thread starts all: the death of the thread that forked counts as that of the parent.
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

ChildProcesses::~ChildProcesses() {
  signal_all(SIGKILL);
  {
    const std::lock_guard guard(state_->mutex);
    state_->stop = true;
  }
  state_->post([] {});
  state_->thread.join();
}

Status ChildProcesses::start(std::uint64_t child, ChildCommand command) {
  std::promise<Status> promise;
  auto started = promise.get_future();
  state_->post([&] { promise.set_value(state_->launch(child, command)); });
  return started.get();
}

void ChildProcesses::kill(std::uint64_t child) {
  state_->post([state = state_.get(), child] {
    const auto found = state->children.find(child);
    if (found != state->children.end()) {
      ::kill(-found->second.pid, SIGKILL);
      ::kill(found->second.pid, SIGKILL);
    }
  });
}

void ChildProcesses::signal_all(int signal) {
  state_->post([state = state_.get(), signal] {
    for (const auto& [id, child] : state->children) {
      ::kill(child.pid, signal);
    }
  });
}

bool ChildProcesses::wait(std::uint32_t milliseconds) {
  std::unique_lock guard(state_->mutex);
  return state_->changed.wait_for(guard, std::chrono::milliseconds(milliseconds),
                                  [this] { return state_->running == 0; });
}

void print_line(const std::string& line, bool error) {
  auto* const to = error ? stderr : stdout;
  std::fprintf(to, "%s\n", line.c_str());
  std::fflush(to);
}

std::string own_program() {
  constexpr std::string_view removed = " (deleted)";  // added by the kernel
  std::error_code error;
  auto path = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (path.ends_with(removed)) {
    path.resize(path.size() - removed.size());
  }
  return path;
}

}  // namespace troupe
