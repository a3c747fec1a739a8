// `troupe run` with cluster.launch=local: real processes that find each other, and how they end.
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/folded_cora.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <netinet/in.h>
#include <set>
#include <sstream>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using Seconds = std::chrono::duration<double>;

/// Processes of a run are known by a variable that all of them inherit.
class LocalRun : public ::testing::Test {
 protected:
  LocalRun() {
    static std::atomic<int> counter{0};
    mark_ = "TROUPE_TEST_RUN=" + std::to_string(getpid()) + "." + std::to_string(counter++);
    putenv(mark_.data());
  }
  ~LocalRun() override {
    unsetenv("TROUPE_TEST_RUN");
    for (const auto& [pid, words] : processes()) {
      ADD_FAILURE() << "left: " << words;
      kill(pid, SIGKILL);
    }
  }

  std::vector<std::string> command(const std::string& more, const std::string& output = "out",
                                   const std::string& launch = "local") const {
    std::vector<std::string> words{TROUPE_PROGRAM,
                                   "run",
                                   testing::quick_job().string(),
                                   "--set",
                                   "cluster.launch=" + launch,
                                   "--set",
                                   "output=" + (scratch_.path() / output).string()};
    std::istringstream in(more);
    for (std::string word; in >> word;) {
      if (!word.starts_with("-")) {
        words.emplace_back("--set");
      }
      words.push_back(word);
    }
    return words;
  }
  std::string folder() const { return scratch_.path().string(); }
  testing::ProcessResult run(const std::string& more, const std::string& output = "out",
                             const std::string& launch = "local") const {
    return testing::run_process(command(more, output, launch), folder());
  }
  json report(const std::string& output = "out") const {
    return json::parse(testing::file_text(scratch_.path() / output / "report.json"), nullptr,
                       false);
  }

  /// Processes of the run but the launcher, by number, with their command lines.
  std::map<pid_t, std::string> processes() const {
    std::map<pid_t, std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const auto pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 0 || pid == getpid()) {
        continue;
      }
      const auto variables = testing::file_text(entry.path() / "environ");
      if (variables.find(mark_) != std::string::npos) {
        auto words = testing::file_text(entry.path() / "cmdline");
        std::ranges::replace(words, '\0', ' ');
        found[pid] = words;
      }
    }
    return found;
  }
  /// The process whose command line has these words; 0: there is none.
  pid_t find(const std::string& words) const {
    for (const auto& [pid, line] : processes()) {
      if (line.find(words) != std::string::npos) {
        return pid;
      }
    }
    return 0;
  }
  bool kill_named(const std::string& name) const {
    const auto pid = find("--name " + name + " --");
    return pid > 0 && kill(pid, SIGKILL) == 0;
  }
  bool all_gone(std::chrono::milliseconds most = 5s) const {
    const auto end = std::chrono::steady_clock::now() + most;
    while (!processes().empty()) {
      if (std::chrono::steady_clock::now() > end) {
        return false;
      }
      std::this_thread::sleep_for(5ms);
    }
    return true;
  }

  testing::ScratchFolder scratch_;
  std::string mark_;
};

std::ptrdiff_t count_lines(const std::string& text, const std::string& part) {
  std::istringstream in(text);
  std::ptrdiff_t count = 0;
  for (std::string line; std::getline(in, line);) {
    count += line.find(part) != std::string::npos ? 1 : 0;
  }
  return count;
}

// ---- the same bits ----

class LocalPlacements : public LocalRun, public ::testing::WithParamInterface<int> {};

TEST_P(LocalPlacements, GiveTheDigestsOfSimulate) {
  const auto hosts = std::to_string(GetParam());
  const auto cluster = "train.epochs=2 cluster.hosts=" + hosts + " partition.parts=" + hosts;
  ASSERT_EQ(run(cluster, "simulated", "simulate").exit_code, 0);
  const auto expected = report("simulated");

  for (const std::string placement : {"collocated", "worker", "server_client"}) {
    SCOPED_TRACE(placement);
    // One server more than parts and ranks has nothing to do.
    const auto servers = placement == "server_client"
                             ? fmt::format(" cluster.servers={}", GetParam() + 1)
                             : std::string();
    const auto result = run(cluster + " cluster.placement=" + placement + servers, placement);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(report(placement)["digests"], expected["digests"]);
    EXPECT_EQ(report(placement)["scores"], expected["scores"]);
    EXPECT_TRUE(all_gone());
  }
}

TEST_F(LocalRun, ProcessesThatAreListedGiveTheSameDigestsToo) {
  const std::string cluster = "train.epochs=2 cluster.hosts=2 partition.parts=2";
  ASSERT_EQ(run(cluster, "simulated", "simulate").exit_code, 0);
  // One for a part alone, a rank that asks others for all, one with a part and a rank whose batches
  // are made by a process without either.
  const std::string listed =
      cluster +
      R"( cluster.placement=explicit cluster.processes=["host=0\u0020parts=0","host=0\u0020name=alone\u0020ranks=0","host=1\u0020parts=1\u0020ranks=1","host=1\u0020maps=1\u0020samples_for=1"])";

  const auto result = run(listed, "listed");

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(report("listed")["digests"], report("simulated")["digests"]);
  EXPECT_EQ(report("listed")["scores"], report("simulated")["scores"]);
  EXPECT_TRUE(all_gone());
}

/// Every process counts the training seeds of all parts.
TEST_F(LocalRun, BalancedWeightsOfClassesAreTheSameInEveryProcess) {
  std::ofstream own(scratch_.path() / "own.txt");
  for (int id = 0; id < 200; ++id) {
    own << id << "\n";
  }
  own.close();
  const std::string seeds =
      "train.epochs=2 cluster.hosts=2 partition.parts=3 "
      "checkpoint.every.epochs=1 dataset.seeds.train=" +
      (scratch_.path() / "own.txt").string();
  const std::string job = seeds + " train.class_weights=";
  ASSERT_EQ(run(job + "balanced", "simulated", "simulate").exit_code, 0);
  ASSERT_EQ(run(seeds, "none", "simulate").exit_code, 0);
  ASSERT_EQ(run(job + "[1,2,3,4,5,6,7]", "listed", "simulate").exit_code, 0);

  const auto result = run(job + "balanced", "balanced");

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(report("balanced")["digests"], report("simulated")["digests"]);
  for (const char* other : {"listed", "none"}) {
    EXPECT_NE(report(other)["digests"]["parameters"], report("simulated")["digests"]["parameters"]);
    EXPECT_EQ(report(other)["digests"]["batches"], report("simulated")["digests"]["batches"]);
  }

  const auto other = run(job + "[1,2,3,4,5,6,7] train.epochs=3 --resume", "balanced");
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_NE(other.err.find("/train/class_weights: was \"balanced\", is nothing"), std::string::npos)
      << other.err;
}

TEST_F(LocalRun, AHostKeepsToItsCores) {
  const auto result =
      run(R"(train.epochs=2 cluster.hosts=["a\u0020threads=1\u0020cores=0","b\u0020cores=1023"])");

  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_NE(result.err.find("agent of host 1: cores=1023: expected cores of this host"),
            std::string::npos)
      << result.err;
}

INSTANTIATE_TEST_SUITE_P(Hosts, LocalPlacements, ::testing::Values(1, 2, 3));

TEST_F(LocalRun, TheReportHasTheTrafficOfAllProcesses) {
  ASSERT_EQ(run("train.epochs=2").exit_code, 0);

  const auto traffic = report()["traffic"];
  EXPECT_GT(traffic["requests"], 20);
  EXPECT_GT(traffic["bytes"], 1'000'000);
  EXPECT_EQ(traffic["interruptions"], 0);
}

TEST_F(LocalRun, EightProcessesOnOneHostAreThereFast) {
  const auto began = std::chrono::steady_clock::now();
  testing::Process run(command("train.epochs=2 cluster.hosts=1 partition.parts=1 "
                               "cluster.placement=worker cluster.samplers_per_trainer=7"),
                       folder());

  ASSERT_TRUE(run.wait_for_output("epoch 1/2", 20s));

  const Seconds took = std::chrono::steady_clock::now() - began;
  std::printf("8 processes: first epoch done after %.2f s, import included\n", took.count());
  RecordProperty("seconds", std::to_string(took.count()));
  EXPECT_EQ(run.wait().exit_code, 0);
}

// ---- what processes know and say ----

TEST_F(LocalRun, NoSecretIsOnACommandLineOrInTheEnvironment) {
  testing::Process run(command("train.epochs=2000"), folder());
  ASSERT_TRUE(run.wait_for_output("epoch    1/2000", 20s));

  const auto all = processes();
  EXPECT_EQ(all.size(), 5U) << "the launcher, two agents, two members";
  const auto longest_hex = [](const std::string& text) {
    std::size_t longest = 0;
    std::size_t now = 0;
    for (const char c : text) {
      now = std::isxdigit(static_cast<unsigned char>(c)) != 0 ? now + 1 : 0;
      longest = std::max(longest, now);
    }
    return longest;
  };
  for (const auto& [pid, words] : all) {
    EXPECT_LT(longest_hex(words), 64U) << words;
    std::istringstream variables(testing::file_text("/proc/" + std::to_string(pid) + "/environ"));
    for (std::string variable; std::getline(variables, variable, '\0');) {
      if (std::getenv(variable.substr(0, variable.find('=')).c_str()) == nullptr) {
        EXPECT_LT(longest_hex(variable), 64U) << variable;
      }
    }
  }
  run.signal(SIGINT);
  EXPECT_EQ(run.wait().exit_code, 130);
}

/// Puts another text of the same size and time in the place of a JSON file in one step: whoever watches the store does
/// not notice, who reads the file does.
void replace_unseen(const std::filesystem::path& file) {
  auto text = testing::file_text(file);
  text.at(text.find('\n')) = ' ';
  const auto other = file.parent_path().parent_path() / "other.json";
  std::ofstream(other) << text;
  std::filesystem::last_write_time(other, std::filesystem::last_write_time(file));
  std::filesystem::rename(other, file);
}

TEST_F(LocalRun, AMemberWithAnotherStoreEndsTheRunWithASentence) {
  testing::Process run(command("train.epochs=2000"), folder());
  ASSERT_TRUE(run.wait_for_output("epoch    1/2000", 20s));
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(scratch_.path() / "out" / "store")) {
    if (entry.path().filename() == "partition.json") {
      replace_unseen(entry.path());
    }
  }
  const auto member = find("--name host 1");
  ASSERT_GT(member, 0);

  kill(member, SIGKILL);
  const auto result = run.wait();

  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_EQ(count_lines(result.err, "troupe: host 1 is lost: killed by signal 9 (Killed)"), 1)
      << result.err;
  // What the member printed comes once, whole and with its name before it; then the run's own word.
  EXPECT_EQ(count_lines(result.err, "[host 1] troupe: host 1: "), 1) << result.err;
  EXPECT_EQ(count_lines(result.err, "expected the director's store"), 2) << result.err;
  EXPECT_EQ(count_lines(result.err, "try: the same partitioned store on all hosts"), 2)
      << result.err;
  EXPECT_TRUE(all_gone());
}

/// Its devices are gone with it; the process in its place has others, and the ranks a communicator of these.
TEST_F(LocalRun, GradientsBetweenDevicesKeepTheirBitsWhenTheirProcessIsKilled) {
  const std::string job =
      "train.epochs=40 cluster.hosts=1 cluster.trainers_per_host=2 checkpoint.every.steps=3 ";
  ASSERT_EQ(run(job + "cluster.device=cpu", "cpu").exit_code, 0);
  testing::Process run(command(job + "cluster.device=emulated:2"), folder());
  ASSERT_TRUE(run.wait_for_output("epoch  5/40", 20s));
  const auto member = find("--name host 0");
  ASSERT_GT(member, 0);

  kill(member, SIGKILL);
  const auto result = run.wait();

  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(count_lines(result.err, "all ranks go back to step"), 1) << result.err;
  const auto devices = report()["hardware"]["devices"].get<std::string>();
  EXPECT_TRUE(devices.ends_with("; gradients between devices")) << devices;
  for (const char* const digest : {"batches", "parameters", "best_parameters"}) {
    EXPECT_EQ(report()["digests"][digest], report("cpu")["digests"][digest]) << digest;
  }
}

// ---- ports ----

/// A port that is taken as long as this lives.
class TakenPort {
 public:
  TakenPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    bind(fd_, reinterpret_cast<sockaddr*>(&at), size);
    listen(fd_, 1);
    getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
  }
  ~TakenPort() { release(); }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;
  void release() {
    if (fd_ >= 0) {
      close(std::exchange(fd_, -1));
    }
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int fd_;
  int port_ = 0;
};

TEST_F(LocalRun, APortThatIsTakenIsToldInASentence) {
  const TakenPort taken;

  const auto result = run("train.epochs=2 cluster.listen=" + taken.address());

  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.err.find("cluster.listen: cannot listen on " + taken.address() +
                            ": Address already in use; try: another port"),
            std::string::npos)
      << result.err;
  EXPECT_TRUE(all_gone(0ms));
}

TEST_F(LocalRun, APortOfOnesOwnIsTheDirectors) {
  TakenPort free;
  free.release();

  testing::Process run(command("train.epochs=2000 cluster.listen=" + free.address()), folder());

  ASSERT_TRUE(run.wait_for_output("epoch    1/2000", 20s));
  EXPECT_GT(find("--director " + free.address()), 0);
  run.signal(SIGINT);
  EXPECT_EQ(run.wait().exit_code, 130);
}

// ---- losses and ends ----

TEST_F(LocalRun, CtrlCWhileAHostHangsIsReportedAsOneThatDoesNot) {
  testing::Process run(command("train.epochs=100000 checkpoint.every.epochs=1"), folder());
  ASSERT_TRUE(run.wait_for_output("epoch      3/100000", 20s));
  const auto agent = find("--name agent of host 1 --");
  ASSERT_GT(agent, 0);
  ASSERT_EQ(kill(agent, SIGSTOP), 0);

  run.signal(SIGINT);
  const auto result = run.wait();

  kill(agent, SIGKILL);
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_NE(result.err.find("interrupted; go on from "), std::string::npos) << result.err;
  EXPECT_EQ(report()["status"], "interrupted");
  EXPECT_TRUE(all_gone(20s));
}

class LocalLosses : public LocalRun,
                    public ::testing::WithParamInterface<std::pair<const char*, int>> {};

TEST_P(LocalLosses, LeaveTheDigestsAsTheyAre) {
  const auto [name, signal] = GetParam();
  const std::string job = "train.epochs=40 checkpoint.every.epochs=1";
  ASSERT_EQ(run(job, "whole").exit_code, 0);
  testing::Process run(command(job), folder());
  ASSERT_TRUE(run.wait_for_output("epoch  3/40", 20s));
  const auto victim = find(std::string("--name ") + name + " --");
  ASSERT_GT(victim, 0);

  kill(victim, signal);
  const auto result = run.wait();

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(count_lines(result.out + result.err, "troupe: " + std::string(name) +
                                                     " is lost: killed by signal " +
                                                     std::to_string(signal)),
            1)
      << result.out << result.err;
  EXPECT_EQ(report()["digests"], report("whole")["digests"]);
  EXPECT_EQ(report()["scores"], report("whole")["scores"]);
}

INSTANTIATE_TEST_SUITE_P(Of, LocalLosses,
                         ::testing::Values(std::pair("host 0", SIGKILL),
                                           std::pair("host 1", SIGTERM),
                                           std::pair("agent of host 1", SIGTERM)));

TEST_F(LocalRun, AProgramWhoseFileIsReplacedStillStartsItsProcessesAgain) {
  const auto copy = folder() + "/troupe";
  std::filesystem::copy_file(TROUPE_PROGRAM, copy);
  auto words = command("train.epochs=60 checkpoint.every.epochs=1");
  words[0] = copy;
  testing::Process run(words, folder());
  ASSERT_TRUE(run.wait_for_output("epoch  3/60", 60s));
  std::filesystem::remove(copy);
  ASSERT_TRUE(kill_named("host 0"));
  ASSERT_TRUE(run.wait_for_output("epoch  6/60", 60s));
  std::filesystem::copy_file("/bin/false", copy);  // as a rebuild would
  ASSERT_TRUE(kill_named("agent of host 1"));

  const auto result = run.wait();

  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(count_lines(result.err, "cannot start"), 0) << result.err;
  EXPECT_EQ(count_lines(result.err, "troupe: host 0 is lost: killed"), 1) << result.err;
}

// ---- user programs ----

/// With tests/e2e/rows_trainer.cpp, whose processes work on after their ranks.
class LocalProgram : public LocalRun {
 protected:
  ~LocalProgram() override {
    unsetenv("TROUPE_TEST_AFTER");
    unsetenv("TROUPE_TEST_EXIT");
  }
  std::vector<std::string> program_command(const std::string& more,
                                           const std::vector<std::string>& program) const {
    auto words = command("train.epochs=2 " + more);
    words.emplace_back("--");
    words.insert(words.end(), program.begin(), program.end());
    return words;
  }
  std::string saved() const { return folder() + "/saved"; }
  void work_on(int seconds, int code) const {
    setenv("TROUPE_TEST_AFTER", fmt::format("{} {} {}", seconds, saved(), code).c_str(), 1);
  }
};

TEST_F(LocalProgram, HasItsTimeAfterItsRanksHaveEndedWell) {
  work_on(5, 0);  // longer than other processes have for their end

  const auto result = testing::run_process(program_command("", {TROUPE_ROWS_TRAINER}), folder());

  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(testing::file_text(saved()), "saved\nsaved\n") << "of both hosts";
  EXPECT_EQ(count_lines(result.err, "waiting for their programs, which Ctrl-C ends"), 1)
      << result.err;
  EXPECT_EQ(report()["status"], "done");
  EXPECT_TRUE(all_gone(0ms));
}

TEST_F(LocalProgram, ThatFailsAfterItsRanksGivesTheRunItsExitCode) {
  work_on(0, 7);

  const auto result = testing::run_process(program_command("", {TROUPE_ROWS_TRAINER}), folder());

  EXPECT_EQ(result.exit_code, 7) << result.err;
  for (const char* host : {"host 0", "host 1"}) {
    EXPECT_EQ(count_lines(result.err,
                          fmt::format("troupe: {}: the program failed after its ranks had ended: "
                                      "exit code 7",
                                      host)),
              1)
        << result.err;
  }
}

TEST_F(LocalProgram, ThatWorksOnIsEndedByCtrlC) {
  work_on(600, 0);
  testing::Process run(program_command("", {TROUPE_ROWS_TRAINER}), folder());
  ASSERT_TRUE(run.wait_for_output("report in ", 60s));
  ASSERT_TRUE(run.wait_for_output("working on", 20s));

  run.signal(SIGINT);

  EXPECT_EQ(run.wait().exit_code, 130);
  EXPECT_EQ(testing::file_text(saved()), "");
  EXPECT_TRUE(all_gone());
}

TEST_F(LocalProgram, WithSimulatedRanksTakesSignalsItselfAfterThem) {
  for (const int signal : {SIGINT, SIGTERM}) {
    work_on(600, 0);
    testing::Process run(
        program_command(fmt::format("cluster.launch=simulate output={}/out{}", folder(), signal),
                        {TROUPE_ROWS_TRAINER}),
        folder());
    ASSERT_TRUE(run.wait_for_output("working on", 60s));

    run.signal(signal);

    EXPECT_EQ(run.wait().exit_code, 128 + signal);
  }
}

TEST_F(LocalProgram, ThatExitsWhileItsRanksRunFailsWithASentence) {
  for (const int code : {0, 7}) {
    setenv("TROUPE_TEST_EXIT", std::to_string(code).c_str(), 1);
    const auto output = "out" + std::to_string(code);

    const auto result = testing::run_process(
        program_command(fmt::format("cluster.launch=simulate output={}/{}", folder(), output),
                        {TROUPE_ROWS_TRAINER}),
        folder());

    EXPECT_EQ(result.exit_code, code == 0 ? 1 : code) << result.err;
    EXPECT_EQ(count_lines(result.err,
                          fmt::format("troupe: expected the functions of all ranks to return, got "
                                      "exit({}) while they ran; try: an error",
                                      code)),
              1)
        << result.err;
    EXPECT_EQ(report(output)["status"], "failed");
  }
}

TEST_F(LocalProgram, WithoutRanksEndsTheRunWithASentence) {
  const auto result = testing::run_process(program_command("", {"/bin/true"}), folder());

  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_EQ(count_lines(result.err,
                        "expected a program that calls run_ranks (troupe.run in "
                        "Python), found one that ended without"),
            1)
      << result.err;
}

TEST_F(LocalProgram, GetsTheEnvironmentOfItsHostsLine) {
  const auto result = testing::run_process(
      program_command(R"(cluster.hosts=["h0\u0020env=WORD=one","h1\u0020env=WORD=two"])",
                      {"/bin/sh", "-c", "echo word $WORD; exec \"$0\"", TROUPE_ROWS_TRAINER}),
      folder());

  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(count_lines(result.out, "[host 0] word one"), 1) << result.out;
  EXPECT_EQ(count_lines(result.out, "[host 1] word two"), 1) << result.out;
}

// ---- UCX ----

bool lacks_ucx(const testing::ProcessResult& result) {
  return result.exit_code != 0 && (result.err.find("this build has no UCX") != std::string::npos ||
                                   result.err.find("UCX cannot be loaded") != std::string::npos);
}

/// Names of the memory that processes share over UCX, those of other tests too.
std::set<std::string> shared_memory_of_ucx() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    if (entry.path().filename().string().starts_with("ucx_")) {
      names.insert(entry.path().filename().string());
    }
  }
  return names;
}

/// What is new since `before` and stays; memory of tests beside this one goes away with their processes.
std::set<std::string> left_behind_by_ucx(const std::set<std::string>& before) {
  std::set<std::string> left;
  for (int tries = 0; tries < 200; ++tries) {
    left.clear();
    std::ranges::set_difference(shared_memory_of_ucx(), before, std::inserter(left, left.end()));
    if (left.empty()) {
      break;
    }
    std::this_thread::sleep_for(100ms);
  }
  return left;
}

TEST_F(LocalRun, OverUcxTheDigestsAreThoseOfTcpAndTheChoiceIsToldOnce) {
  const std::string job = "train.epochs=3 cluster.placement=worker cluster.transport=";
  const auto over_ucx = run(job + "ucx", "ucx");
  if (lacks_ucx(over_ucx)) {
    GTEST_SKIP() << over_ucx.err;
  }
  const auto over_tcp = run(job + "tcp", "tcp");

  ASSERT_EQ(over_ucx.exit_code, 0) << over_ucx.err;
  ASSERT_EQ(over_tcp.exit_code, 0) << over_tcp.err;
  EXPECT_EQ(report("ucx")["digests"], report("tcp")["digests"]);
  EXPECT_EQ(count_lines(over_ucx.out + over_ucx.err, "links: UCX"), 1)
      << over_ucx.out << over_ucx.err;
  EXPECT_EQ(count_lines(over_tcp.out + over_tcp.err, "links: "), 0);
}

TEST_F(LocalRun, AProcessKilledWhileUcxIsUsedLeavesTheDigestsAndNoSharedMemory) {
  const std::string job = "train.epochs=40 checkpoint.every.epochs=1 cluster.transport=ucx";
  const auto whole = run(job, "whole");
  if (lacks_ucx(whole)) {
    GTEST_SKIP() << whole.err;
  }
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const auto before = shared_memory_of_ucx();
  testing::Process run(command(job), folder());
  ASSERT_TRUE(run.wait_for_output("epoch  3/40", 20s));
  const auto victim = find("--name host 1 --");
  ASSERT_GT(victim, 0);

  kill(victim, SIGKILL);
  const auto result = run.wait();

  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(report()["digests"], report("whole")["digests"]);
  EXPECT_EQ(left_behind_by_ucx(before), std::set<std::string>());
}

TEST_F(LocalRun, WithTlsUcxIsRefusedAndAutoMeansTcpWithTheReason) {
  const auto refused = run("cluster.tls=true cluster.transport=ucx", "refused");
  EXPECT_NE(refused.err.find("UCX does not encrypt; where nobody reads along, set cluster.tls to "
                             "false"),
            std::string::npos)
      << refused.err;
  const auto result = run("train.epochs=1 cluster.tls=true");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(count_lines(result.out + result.err, "links: TCP, because"), 1)
      << result.out << result.err;
}

TEST_F(LocalRun, AnInterruptedRunEndsAllProcessesAndGoesOnToTheSameBits) {
  const std::string job = "train.epochs=40 checkpoint.every.epochs=1";
  ASSERT_EQ(run(job, "whole").exit_code, 0);
  {
    testing::Process interrupted(command(job), folder());
    ASSERT_TRUE(interrupted.wait_for_output("epoch  3/40", 20s));
    interrupted.signal(SIGINT);
    const auto result = interrupted.wait();
    ASSERT_EQ(result.exit_code, 130) << result.err;
    EXPECT_NE(result.err.find("--resume"), std::string::npos) << result.err;
    EXPECT_TRUE(all_gone());
  }

  const auto rest = run(job + " --resume");

  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_NE(rest.out.find("resuming from"), std::string::npos) << rest.out;
  EXPECT_EQ(report()["digests"], report("whole")["digests"]);
  EXPECT_EQ(report()["scores"], report("whole")["scores"]);
}

TEST_F(LocalRun, NoProcessOutlivesAnInterruptionBeforeAllAreThere) {
  for (const auto pause : {0ms, 20ms, 60ms, 120ms, 200ms}) {
    testing::Process run(command("train.epochs=2000"), folder());
    std::this_thread::sleep_for(pause);
    run.signal(SIGTERM);
    run.wait();
    EXPECT_TRUE(all_gone()) << pause.count();
  }
}

TEST_F(LocalRun, NoProcessOutlivesALauncherThatIsKilled) {
  testing::Process run(command("train.epochs=2000"), folder());
  ASSERT_TRUE(run.wait_for_output("epoch    1/2000", 20s));

  run.signal(SIGKILL);

  EXPECT_EQ(run.wait().exit_code, 128 + SIGKILL);
  EXPECT_TRUE(all_gone());
}

}  // namespace
}  // namespace troupe
