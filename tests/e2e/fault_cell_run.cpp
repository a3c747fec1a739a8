#include "tests/e2e/fault_roles.hpp"
#include "tests/support/run_outputs.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/shared_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <signal.h>
#include <thread>

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

constexpr int steps = 9;                 // per epoch and rank
constexpr int epoch_hit = 4;             // early: the run has epochs after it
constexpr std::uint64_t step_kept = 40;  // a checkpoint
constexpr auto patience = 60s;           // with whatever must come by itself

std::vector<std::string> job_of(const FaultCell& cell, const std::string& output, int epochs,
                                const SharedMemory& memory) {
  auto words = memory.problem().empty() ? memory.words() : std::vector<std::string>();
  const auto job = fault_job(output, epochs);
  words.insert(words.end(), job.begin(), job.end());
  words.insert(words.end(), {"--set", "cluster.launch=local"});
  if (cell.defaults) {
    words.insert(words.end(), {"--set", "cluster.heartbeat=1", "--set", "cluster.lost_after=3"});
  }
  for (const auto& setting : role_of(cell.victim).settings) {
    words.insert(words.end(), {"--set", setting});
  }
  return words;
}

double seconds_from(TestClock::time_point from, TestClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// One of a step or a later one, which a busy disk comes to; also one that is being written.
bool has_checkpoint(const std::string& output, std::uint64_t least) {
  const auto found = checkpoints_of(output, Checkpoints::begun);
  return !found.empty() && found.rbegin()->first >= least;
}

bool is_progress(const PrintedLine& line) {
  return line.text.starts_with("epoch") || line.text.starts_with("batches");
}

/// One try of a cell.
class CellRun {
 public:
  CellRun(const FaultCell& cell, int epochs)
      : cell_(cell),
        epochs_(epochs),
        role_(role_of(cell.victim)),
        run_(job_of(cell, output(), epochs, memory_), scratch_.path().string()) {}

  /// False: the run was over before the moment was seen, the moment was over when the fault came, or
  /// the run before the loss could be noticed.
  bool play();
  FaultOutcome take_outcome() { return std::move(outcome_); }

 private:
  std::string output() const { return (scratch_.path() / "out").string(); }
  std::string epoch_text(int epoch) const {
    return fmt::format("epoch {:>{}}/{}", epoch, fmt::formatted_size("{}", epochs_), epochs_);
  }
  std::string step_text(int epoch, int step) const {
    return fmt::format("{}  step {}/{}", epoch_text(epoch), step, steps);
  }
  void problem(const std::string& what) {
    outcome_.problems.push_back(what + "; the run printed:\n" + run_.text());
  }
  bool wait_for_moment();
  void look_at_memory();
  bool is_over() const;
  void after_director();
  void after_member();
  void expect_others_end();
  void resume();
  void measure();
  void expect_digests(int exit_code);
  void expect_replica_served();
  void expect_nothing_left();

  const FaultCell cell_;
  const int epochs_;
  const Role& role_;
  const ScratchFolder scratch_;
  const SharedMemory memory_{scratch_.path().string()};
  WatchedRun run_;
  FaultOutcome outcome_;
  pid_t victim_ = -1;
  TestClock::time_point acted_;
  std::vector<std::string> sockets_;
  bool missed_ = false;
};

bool CellRun::wait_for_moment() {
  const bool directs = cell_.victim == Victim::director;
  const auto look = [&] {
    victim_ = directs ? run_.pid() : find_process(run_.mark(), role_.process);
    return directs ? find_process(run_.mark(), "agent of host 1") > 0 : victim_ > 0;
  };
  if (cell_.moment == Moment::start) {
    return run_.wait_until(look, patience);
  }
  if (!run_.wait_for_line(step_text(2, 1), patience) || !look()) {
    return false;
  }
  look_at_memory();
  sockets_ = sockets_of(processes_of(run_.mark()));
  switch (cell_.moment) {
    case Moment::mid_epoch:
      return run_.wait_for_line(step_text(epoch_hit, steps / 2), patience);
    case Moment::evaluation:
      return run_.wait_for_line(step_text(epoch_hit, steps), patience);
    case Moment::checkpoint:
      return run_.wait_until([&] { return has_checkpoint(output(), step_kept); }, patience);
    default:
      return run_.wait_for_line(step_text(epochs_, steps - 1), patience);
  }
}

/// While all processes are connected: shared memory is used where the run says so, and only that of
/// the run's /dev/shm, where expect_nothing_left() looks for it.
void CellRun::look_at_memory() {
  if (!memory_.problem().empty() || !run_.find("links: UCX")) {
    return;
  }
  if (memory_.bytes() == 0) {
    problem("links over UCX, and no byte is used in /dev/shm");
  }
  for (const auto& process : processes_of(run_.mark())) {
    if (maps_system_v(process.pid)) {
      problem(fmt::format("{} has a segment of System V", process.name));
    }
  }
}

/// Of the moment, as far as it was printed.
bool CellRun::is_over() const {
  switch (cell_.moment) {
    case Moment::start:
      return run_.find("epoch ").has_value();
    case Moment::mid_epoch:
      return run_.find(step_text(epoch_hit, steps)).has_value();
    case Moment::evaluation:
      return run_.find(epoch_text(epoch_hit) + "  loss").has_value();
    case Moment::checkpoint:  // one was just seen, of whichever step
    case Moment::last_step:
      break;
  }
  return run_.find("batches").has_value();
}

void CellRun::measure() {
  std::size_t last = 0;
  for (std::size_t i = 0; i < run_.lines().size(); ++i) {
    const auto& line = run_.lines()[i];
    if (line.error && line.at >= acted_) {
      last = i;
      if (outcome_.detected_s < 0) {
        outcome_.detected_s = seconds_from(acted_, line.at);
        outcome_.line = line.text;
      }
    }
  }
  for (std::size_t i = last; last > 0 && i < run_.lines().size(); ++i) {
    if (is_progress(run_.lines()[i])) {
      outcome_.recovered_s = seconds_from(acted_, run_.lines()[i].at);
      return;
    }
  }
}

void CellRun::expect_digests(int exit_code) {
  const auto digests = digests_in(output());
  if (exit_code == 0 && digests == undisturbed_digests(epochs_)) {
    outcome_.end = "same digests";
  } else {
    outcome_.end = fmt::format("exit code {}", exit_code);
    problem(fmt::format("expected exit code 0 and {}, found {} and {}",
                        undisturbed_digests(epochs_), exit_code, digests));
  }
}

/// Samplers ask server 2 for neighbors in part 1 only while server 1 is away.
void CellRun::expect_replica_served() {
  const auto hops = hops_in_trace(output(), "server-2", 1);
  const bool others_wait = cell_.moment == Moment::mid_epoch || cell_.moment == Moment::checkpoint;
  if (hops == 0 && others_wait) {
    problem("the replica of part 1 answered no request");
  }
  outcome_.end += fmt::format(", {} hops by the replica", hops);
}

void CellRun::expect_nothing_left() {
  for (const auto& process : run_.wait_for_all(10s)) {
    problem(fmt::format("process {} ({}) is left", process.pid, process.name));
  }
  const bool sees_memory = memory_.problem().empty();
  const auto is_left = [&] {
    return (sees_memory && memory_.files() > 0) || !still_open(sockets_).empty();
  };
  for (int i = 0; is_left() && i < 500; ++i) {  // of threads that still end
    std::this_thread::sleep_for(10ms);
  }
  for (const auto& socket : still_open(sockets_)) {
    problem(fmt::format("socket {} is left", socket));
  }
  if (sees_memory && memory_.files() + memory_.bytes() > 0) {
    problem(fmt::format("{} files with {} bytes are left in /dev/shm", memory_.files(),
                        memory_.bytes()));
  }
}

void CellRun::after_member() {
  if (cell_.act == Act::stop) {
    // Whether it was ended meanwhile, or wakes up in a run that goes on without it.
    run_.wait_until([&] { return run_.find(role_.process + std::string(" is lost")).has_value(); },
                    patience);
    run_.wait_until([] { return false; }, 300ms);
    const auto still = processes_of(run_.mark());
    if (std::ranges::any_of(still, [&](const RunProcess& p) { return p.pid == victim_; })) {
      kill(victim_, SIGCONT);
    }
  }
  const auto exit_code = run_.wait_for_end(patience);
  if (!exit_code) {
    return problem(fmt::format("no end within {} s", patience.count()));
  }
  measure();
  expect_digests(*exit_code);
  if (cell_.victim == Victim::replicated_server) {
    expect_replica_served();
  }
  const bool seen = run_.find(role_.process + std::string(" is lost"), acted_).has_value();
  const bool may_be_unseen = cell_.moment == Moment::last_step;
  const double longest_detection_s = cell_.defaults ? 5.0 : 2.5;
  // The launcher ends later, as it waits for a stopped agent.
  const auto last_epoch = run_.find(epoch_text(epochs_) + "  loss");
  const auto trained = last_epoch ? last_epoch->at : run_.ended();
  missed_ = !seen && seconds_from(acted_, trained) < longest_detection_s;
  if (!seen && !may_be_unseen && !missed_) {
    problem(fmt::format("no line says that {} is lost", role_.process));
  }
}

void CellRun::expect_others_end() {
  const auto others = [&] {
    auto found = processes_of(run_.mark());
    std::erase_if(found, [&](const RunProcess& p) { return p.pid == victim_; });
    return found;
  };
  while (!others().empty() && TestClock::now() < acted_ + 10s) {
    std::this_thread::sleep_for(10ms);
  }
  outcome_.detected_s = seconds_from(acted_, TestClock::now());
  for (const auto& process : others()) {
    problem(fmt::format("{} still runs 10 s after the director was lost", process.name));
  }
}

void CellRun::resume() {
  auto words = job_of(cell_, output(), epochs_, memory_);
  if (has_checkpoint(output(), 1)) {
    words.emplace_back("--resume");
  }
  const auto again = run_process(words, scratch_.path().string());
  expect_digests(again.exit_code);
  if (again.exit_code != 0) {
    problem("the run that was to go on printed:\n" + again.out + again.err);
  }
  outcome_.end = words.back() == "--resume" ? "`--resume`: same digests" : "again: same digests";
}

void CellRun::after_director() {
  if (cell_.act == Act::stop && cell_.moment == Moment::start) {
    // They wait for their director up to cluster.join_deadline, as they do for one that comes late.
    run_.wait_until([] { return false; }, 3s);
  } else {
    expect_others_end();
  }
  if (cell_.act == Act::stop) {
    kill(victim_, SIGCONT);
    const auto woken = TestClock::now();
    const auto exit_code = run_.wait_for_end(patience);
    if (!exit_code) {
      return problem(fmt::format("no end within {} s", patience.count()));
    }
    acted_ = woken;
    const auto others_ended = outcome_.detected_s;
    outcome_.detected_s = -1;
    measure();
    outcome_.detected_s = others_ended;
    return expect_digests(*exit_code);
  }
  run_.wait_for_end(patience);
  resume();
}

bool CellRun::play() {
  if (!wait_for_moment()) {
    if (run_.wait_for_end(0ms) == 0) {
      return false;
    }
    problem("the moment did not come");
    return true;
  }
  acted_ = TestClock::now();
  kill(victim_, cell_.act == Act::kill ? SIGKILL : SIGSTOP);
  run_.wait_until([] { return true; }, 0ms);
  if (is_over()) {
    return false;
  }
  if (cell_.victim == Victim::director) {
    after_director();
  } else {
    after_member();
  }
  expect_nothing_left();
  return !missed_ || cell_.moment == Moment::last_step;
}

}  // namespace

FaultOutcome run_cell(const FaultCell& cell) {
  // Nothing waits for an agent: the run must last longer than it takes to notice.
  int epochs = cell.victim == Victim::agent && cell.act == Act::stop ? 48 : 12;
  epochs *= cell.defaults ? 2 : 1;
  for (int attempt = 0; attempt < 3; ++attempt, epochs *= 3) {
    if (undisturbed_digests(epochs).empty()) {
      return {{"the undisturbed run left no digests"}, "", -1, -1, ""};
    }
    CellRun run(cell, epochs);
    if (run.play()) {
      return run.take_outcome();
    }
  }
  return {{"the moment was missed in each of 3 runs"}, "", -1, -1, ""};
}

}  // namespace troupe::testing
