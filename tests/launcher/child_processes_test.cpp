#include "launcher/processes/child_processes.hpp"

#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <mutex>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

ChildCommand with_prefix(const std::string& prefix) {
  ChildCommand command;
  command.prefix = prefix;
  return command;
}
ChildCommand with_input(const std::string& input) {
  ChildCommand command;
  command.input = input;
  return command;
}
ChildCommand in_folder(const std::string& folder, std::vector<std::string> arguments = {}) {
  ChildCommand command;
  command.arguments = std::move(arguments);
  command.folder = folder;
  return command;
}
ChildCommand with_environment(std::vector<std::string> environment) {
  ChildCommand command;
  command.environment = std::move(environment);
  return command;
}

/// What children print and how they end.
class Children {
 public:
  ChildProcesses& processes() { return processes_; }
  Status start(std::uint64_t child, const std::string& script, ChildCommand command = {}) {
    {
      const std::lock_guard guard(mutex_);
      endings_.erase(child);
    }
    command.arguments = {"sh", "-c", script};
    return processes_.start(child, std::move(command));
  }
  /// How a child ended, "still running" after 20 s.
  std::string ending(std::uint64_t child) {
    std::unique_lock guard(mutex_);
    const bool there = changed_.wait_for(guard, 20s, [&] { return endings_.contains(child); });
    return there ? endings_[child] : "still running";
  }
  bool wait_for_line(const std::string& line) {
    std::unique_lock guard(mutex_);
    return changed_.wait_for(guard, 20s, [&] { return std::ranges::count(out_, line) > 0; });
  }
  std::string run(const std::string& script, ChildCommand command = {}) {
    EXPECT_OK(start(1, script, std::move(command)));
    return ending(1);
  }
  Lines out() const { return copy(out_); }
  Lines err() const { return copy(err_); }
  Lines late() const { return copy(late_); }
  int code(std::uint64_t child) const {
    const std::lock_guard guard(mutex_);
    return codes_.at(child);
  }

 private:
  Lines copy(const Lines& lines) const {
    const std::lock_guard guard(mutex_);
    return lines;
  }
  void line(const std::string& line, bool error) {
    const std::lock_guard guard(mutex_);
    (error ? err_ : out_).push_back(line);
    if (!endings_.empty()) {
      late_.push_back(line);
    }
    changed_.notify_all();
  }
  void exited(std::uint64_t child, const std::string& how, int code) {
    const std::lock_guard guard(mutex_);
    endings_[child] = how;
    codes_[child] = code;
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Lines out_, err_;
  Lines late_;  ///< after a child's end
  std::map<std::uint64_t, std::string> endings_;
  std::map<std::uint64_t, int> codes_;
  ChildProcesses processes_{
      {.line = [this](const std::string& text, bool error) { line(text, error); },
       .exited = [this](std::uint64_t child, const std::string& how,
                        int code) { exited(child, how, code); }}};
};

// ---- output ----

TEST(ChildProcesses, OutputComesWholePrefixedAndOnce) {
  Children children;
  EXPECT_EQ(children.run("echo one; echo; echo two >&2; printf 'no end'", with_prefix("[a] ")),
            "exit code 0");

  EXPECT_EQ(children.out(), (Lines{"[a] one", "[a] ", "[a] no end"}));
  EXPECT_EQ(children.err(), (Lines{"[a] two"}));
}

TEST(ChildProcesses, ALineThatIsWrittenInPiecesIsOneLine) {
  Children children;
  children.run("printf one; sleep 0.1; printf two; sleep 0.1; echo three");
  EXPECT_EQ(children.out(), (Lines{"onetwothree"}));
}

TEST(ChildProcesses, ThousandsOfLinesOfTwoChildrenArriveInOrder) {
  Children children;
  ASSERT_OK(children.start(1, "seq 1 20000", with_prefix("a")));
  ASSERT_OK(children.start(2, "seq 1 20000 >&2", with_prefix("b")));
  EXPECT_EQ(children.ending(1), "exit code 0");
  EXPECT_EQ(children.ending(2), "exit code 0");

  const auto out = children.out();
  const auto err = children.err();
  ASSERT_EQ(out.size(), 20000U);
  ASSERT_EQ(err.size(), 20000U);
  for (std::size_t i = 0; i < out.size(); ++i) {
    ASSERT_EQ(out[i], fmt::format("a{}", i + 1));
    ASSERT_EQ(err[i], fmt::format("b{}", i + 1));
  }
}

TEST(ChildProcesses, AVeryLongLineComesInPiecesOf64KiBAndNothingIsLost) {
  Children children;
  children.run("head -c 200000 /dev/zero | tr '\\0' x; echo; echo short", with_prefix("p"));

  const auto out = children.out();
  ASSERT_EQ(out.size(), 5U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(out[i] == "p" + std::string(65536, 'x')) << out[i].size();
  }
  EXPECT_TRUE(out[3] == "p" + std::string(200000 - 3 * 65536, 'x')) << out[3].size();
  EXPECT_EQ(out[4], "pshort");
}

TEST(ChildProcesses, ALineOf64KiBIsOneLine) {
  Children children;
  children.run("head -c 65536 /dev/zero | tr '\\0' x; echo; echo short");
  const auto out = children.out();
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[0].size(), 65536U);
  EXPECT_EQ(out[1], "short");
}

TEST(ChildProcesses, TheEndIsToldAfterTheLastLine) {
  for (int i = 0; i < 20; ++i) {
    Children children;
    children.run("seq 1 300; seq 1 300 >&2");
    EXPECT_EQ(children.out().size() + children.err().size(), 600U);
    EXPECT_EQ(children.late(), Lines{});
  }
}

TEST(ChildProcesses, WhoInheritsTheOutputDoesNotKeepTheEndFromBeingTold) {
  Children children;
  EXPECT_EQ(children.run("echo begun; sleep 30 & echo done"), "exit code 0");
  EXPECT_EQ(children.out(), (Lines{"begun", "done"}));
}

// ---- endings ----

TEST(ChildProcesses, ExitCodesAndSignalsAreTold) {
  Children children;
  ASSERT_OK(children.start(1, "exit 3"));
  ASSERT_OK(children.start(2, "kill -SEGV $$"));
  ASSERT_OK(children.start(3, "exit 0"));

  EXPECT_EQ(children.ending(1), "exit code 3");
  EXPECT_EQ(children.ending(2), "killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(children.ending(3), "exit code 0");
  EXPECT_EQ(children.code(1), 3);
  EXPECT_EQ(children.code(2), 128 + SIGSEGV);
  EXPECT_EQ(children.code(3), 0);
}

TEST(ChildProcesses, AStoppedChildIsKilled) {
  Children children;
  ASSERT_OK(children.start(1, "echo here; kill -STOP $$; echo never"));
  ASSERT_TRUE(children.wait_for_line("here"));

  children.processes().kill(1);

  EXPECT_EQ(children.ending(1), "killed by signal 9 (Killed)");
  EXPECT_EQ(children.out(), (Lines{"here"}));
}

/// Waits for the end of a process that may not be this one's child. A zombie has ended.
bool ends(pid_t process) {
  for (int i = 0; i < 2000; ++i) {
    std::ifstream stat(fmt::format("/proc/{}/stat", process));
    std::string pid, name, state;
    stat >> pid >> name >> state;
    if (state == "Z" || state.empty()) {
      return true;
    }
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

/// The number that a child prints first.
int printed_number(const Children& children) {
  while (children.out().empty()) {
    std::this_thread::sleep_for(1ms);
  }
  return std::stoi(children.out().front());
}

TEST(ChildProcesses, AKilledChildsOwnChildrenGoWithIt) {
  Children children;
  ASSERT_OK(children.start(1, "sleep 60 & echo $!; wait"));
  const auto grandchild = printed_number(children);

  children.processes().kill(1);
  children.ending(1);

  EXPECT_TRUE(ends(grandchild));
}

TEST(ChildProcesses, OwnChildrenOfOneThatFailsGoWithItAndThoseOfOthersStay) {
  Children children;
  ASSERT_OK(children.start(1, "sleep 60 & echo $!; kill -KILL $$"));
  EXPECT_TRUE(ends(printed_number(children)));

  Children good;
  EXPECT_EQ(good.run("sleep 60 & echo $!"), "exit code 0");
  const auto left = printed_number(good);
  EXPECT_EQ(kill(left, 0), 0);
  kill(left, SIGKILL);
}

TEST(ChildProcesses, ABrokenPipeEndsAChildAlsoWhereItIsIgnoredHere) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  Children children;
  children.run("grep SigIgn: /proc/self/status");
  std::signal(SIGPIPE, before);

  ASSERT_EQ(children.out().size(), 1U);
  const auto mask = std::stoull(children.out().front().substr(8), nullptr, 16);
  EXPECT_EQ(mask >> (SIGPIPE - 1) & 1U, 0U) << children.out().front();
}

TEST(ChildProcesses, TheOwnProgramIsStartedWhateverIsAtItsPath) {
  const testing::ScratchFolder folder;
  const auto other = (folder.path() / "other").string();
  std::filesystem::copy_file("/bin/false", other);
  for (const auto& path : {other, (folder.path() / "gone").string()}) {
    Children children;
    ChildCommand command;
    command.own_program = true;
    command.arguments = {path, "--gtest_list_tests", "--gtest_filter=ChildProcesses.TheOwn*"};
    ASSERT_OK(children.processes().start(1, std::move(command)));
    EXPECT_EQ(children.ending(1), "exit code 0") << path;
    EXPECT_NE(children.out().back().find("TheOwnProgramIsStarted"), std::string::npos);
  }
}

TEST(ChildProcesses, OneThatFloodsCanBeKilled) {
  Children children;
  ASSERT_OK(children.start(1, "exec yes"));
  ASSERT_TRUE(children.wait_for_line("y"));

  children.processes().kill(1);

  EXPECT_EQ(children.ending(1), "killed by signal 9 (Killed)");
}

TEST(ChildProcesses, KillingOneThatHasEndedOrNeverWasDoesNothing) {
  Children children;
  children.run("exit 0");
  children.processes().kill(1);
  children.processes().kill(99);
  EXPECT_TRUE(children.processes().wait(10'000));  // the exit event precedes the count
}

TEST(ChildProcesses, SignalsReachAllEvenIfTheyAreBlockedHere) {
  sigset_t stop, before;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, &before);  // as the program's main() does
  Children children;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_OK(children.start(1, "exec sleep 30"));
  ASSERT_OK(children.start(2, "exec sleep 30"));

  children.processes().signal_all(SIGTERM);

  EXPECT_EQ(children.ending(1), "killed by signal 15 (Terminated)");
  EXPECT_EQ(children.ending(2), "killed by signal 15 (Terminated)");
}

TEST(ChildProcesses, WaitingEndsWithTheLastChildOrTheTime) {
  Children children;
  EXPECT_TRUE(children.processes().wait(0));
  ASSERT_OK(children.start(1, "sleep 0.2"));
  EXPECT_FALSE(children.processes().wait(10));
  EXPECT_TRUE(children.processes().wait(20'000));
}

TEST(ChildProcesses, TheDestructorEndsWhatIsLeft) {
  std::string pid;
  {
    Children children;
    ASSERT_OK(children.start(1, "echo $$; exec sleep 30"));
    while (children.out().empty()) {
      std::this_thread::sleep_for(1ms);
    }
    pid = children.out().front();
  }
  EXPECT_NE(kill(std::stoi(pid), 0), 0);
}

// ---- what a child gets ----

TEST(ChildProcesses, AChildReadsItsInputToTheEnd) {
  Children children;
  children.run("cat; echo end", with_input("secret\nmore\n"));
  EXPECT_EQ(children.out(), (Lines{"secret", "more", "end"}));
}

TEST(ChildProcesses, WithoutInputItsStandardInputIsEmpty) {
  Children children;
  children.run("cat; echo end");
  EXPECT_EQ(children.out(), (Lines{"end"}));
}

TEST(ChildProcesses, ItsEnvironmentIsOursAndWhatIsGiven) {
  setenv("TROUPE_TEST_OURS", "ours", 1);
  setenv("TROUPE_TEST_BOTH", "ours", 1);
  Children children;
  children.run("echo $TROUPE_TEST_OURS $TROUPE_TEST_BOTH $TROUPE_TEST_OWN; env | grep -c _BOTH=",
               with_environment({"TROUPE_TEST_BOTH=its own", "TROUPE_TEST_OWN=a=b"}));
  unsetenv("TROUPE_TEST_OURS");
  unsetenv("TROUPE_TEST_BOTH");
  EXPECT_EQ(children.out(), (Lines{"ours its own a=b", "1"}));
}

TEST(ChildProcesses, ItRunsInTheFolderThatIsGiven) {
  const testing::ScratchFolder folder;
  Children children;
  children.run("pwd -P", in_folder(folder.path().string()));
  EXPECT_EQ(children.out(), (Lines{std::filesystem::canonical(folder.path()).string()}));
}

TEST(ChildProcesses, DescriptorsAreNotInherited) {
  const int opened = open("/dev/null", O_RDONLY);  // not close-on-exec, as Boost.Asio's sockets
  const int high = fcntl(opened, F_DUPFD, 500);
  Children children;
  children.run(
      fmt::format("for fd in {} {}; do test -e /proc/self/fd/$fd && echo open $fd; done;"
                  "test -e /proc/self/fd/1 && echo fine",
                  opened, high));
  close(opened);
  close(high);
  EXPECT_EQ(children.out(), (Lines{"fine"}));
}

// ---- what cannot be started ----

TEST(ChildProcesses, WhatCannotBeStartedIsToldWithTheReason) {
  Children children;
  auto& processes = children.processes();
  EXPECT_ERROR(processes.start(1, in_folder("", {"troupe-no-such-program"})),
               Errc::failed_precondition,
               "cannot start troupe-no-such-program: No such file or directory");
  EXPECT_ERROR(processes.start(1, in_folder("", {"/dev/null"})), Errc::failed_precondition,
               "Permission denied");
  EXPECT_ERROR(processes.start(1, in_folder("/no/such/folder", {"sh"})), Errc::failed_precondition,
               "No such file or directory");
  EXPECT_TRUE(processes.wait(0)) << "nothing is left of them";
  EXPECT_EQ(children.run("exit 0"), "exit code 0") << "and the number is free";
}

TEST(ChildProcesses, ANumberInUseIsRefused) {
  Children children;
  ASSERT_OK(children.start(1, "exec sleep 30"));

  EXPECT_ERROR(children.start(1, "echo two"), Errc::failed_precondition, "child 1 runs already");

  children.processes().kill(1);
  EXPECT_EQ(children.ending(1), "killed by signal 9 (Killed)");
  EXPECT_TRUE(children.processes().wait(10'000));
  EXPECT_EQ(children.run("exit 4"), "exit code 4");
}

TEST(ChildProcesses, ChildrenEndWhenTheirParentIsKilled) {
  std::array<int, 2> tell{};
  ASSERT_EQ(pipe(tell.data()), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    Children children;
    static_cast<void>(children.start(1, "echo $$; exec sleep 30"));
    while (children.out().empty()) {
      std::this_thread::sleep_for(1ms);
    }
    const auto line = children.out().front() + "\n";
    [[maybe_unused]] const auto written = write(tell[1], line.data(), line.size());
    pause();
  }
  std::string pid;
  for (char c = 0; read(tell[0], &c, 1) == 1 && c != '\n';) {
    pid += c;
  }
  close(tell[0]);
  close(tell[1]);
  ASSERT_EQ(kill(std::stoi(pid), 0), 0);

  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);

  bool ended = false;
  for (int i = 0; i < 2000 && !ended; ++i) {
    std::ifstream stat("/proc/" + pid + "/stat");  // who takes in orphans may leave it as a zombie
    std::string number, name, state;
    stat >> number >> name >> state;
    ended = state.empty() || state == "Z" || state == "X";
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(ended);
}

/// A process may open so many descriptors beyond those that it has.
class DescriptorsLeft {
 public:
  explicit DescriptorsLeft(rlim_t more) {
    getrlimit(RLIMIT_NOFILE, &before_);
    int highest = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      highest = std::max(highest, std::stoi(entry.path().filename().string()));
    }
    int next = dup(0);
    for (; next <= highest; next = dup(0)) {
      holes_.push_back(next);
    }
    close(next);
    const rlimit few{static_cast<rlim_t>(next) + more, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~DescriptorsLeft() {
    setrlimit(RLIMIT_NOFILE, &before_);
    for (const int fd : holes_) {
      close(fd);
    }
  }
  DescriptorsLeft(const DescriptorsLeft&) = delete;
  DescriptorsLeft& operator=(const DescriptorsLeft&) = delete;

 private:
  rlimit before_{};
  std::vector<int> holes_;
};

TEST(ChildProcesses, AChildWhoseEndCannotBeWatchedIsNotStarted) {
  Children children;
  constexpr rlim_t pipes = 8;
  {
    const DescriptorsLeft left(pipes);
    EXPECT_ERROR(children.start(1, "sleep 60"), Errc::failed_precondition,
                 "cannot watch for its end: Too many open files");
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // it has none
  ASSERT_OK(children.start(1, "exit 3"));
  EXPECT_EQ(children.ending(1), "exit code 3");
}

}  // namespace
}  // namespace troupe
