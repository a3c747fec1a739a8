#include "tests/support/cut_cell.hpp"

#include "tests/support/network_hosts.hpp"
#include "tests/support/scratch_folder.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <signal.h>
#include <thread>

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

struct CutRole {
  const char* text;
  std::vector<std::size_t> hosts;  ///< that are cut off, or the one of the process
  const char* process;     ///< that loses its connections, or its agent; null: hosts are cut
  std::vector<int> slots;  ///< ranks of each host
  Words settings;
};

const CutRole& role_of(Cut cut) {
  const Words collocated = {"cluster.placement=collocated"};
  const Words served = {"cluster.placement=server_client", "cluster.servers=1"};
  const Words listed = {"cluster.placement=explicit",
                        "cluster.processes=[\"host=0 name=learner ranks=0,1\","
                        "\"host=1 name=feeder samples_for=0,1\",\"host=2 name=keeper parts=0,1\"]"};
  static const std::map<Cut, CutRole> roles = {
      {Cut::host, {"host", {1}, nullptr, {1, 1}, collocated}},
      {Cut::server, {"server", {1}, nullptr, {2, 1}, served}},
      {Cut::trainer, {"trainer", {0}, nullptr, {2, 1}, served}},
      {Cut::sampler, {"sampler", {1}, nullptr, {1, 1, 1}, listed}},
      {Cut::evaluator, {"holder and evaluator", {2}, nullptr, {1, 1, 1}, listed}},
      {Cut::learner, {"trainer alone", {0}, nullptr, {1, 1, 1}, listed}},
      {Cut::director, {"director", {0, 1}, nullptr, {1, 1}, collocated}},
      {Cut::agent_links, {"links of an agent", {1}, "agent of host 1", {1, 1}, collocated}},
      {Cut::host_links, {"links of a host process", {1}, "host 1", {1, 1}, collocated}},
      {Cut::orphan_host, {"orphan: host process", {1}, "host 1", {1, 1}, collocated}},
      {Cut::orphan_server, {"orphan: server", {1}, "server 0", {2, 1}, served}},
      {Cut::orphan_trainer, {"orphan: trainer", {0}, "rank 1", {2, 1}, served}},
      {Cut::orphan_sampler, {"orphan: sampler", {1}, "feeder", {1, 1, 1}, listed}},
      {Cut::orphan_evaluator, {"orphan: holder and evaluator", {2}, "keeper", {1, 1, 1}, listed}}};
  return roles.at(cut);
}

bool leaves_orphan(Cut cut) {
  return cut >= Cut::orphan_host;
}

bool cuts_connections(Cut cut) {
  return cut == Cut::agent_links || cut == Cut::host_links;
}

/// Nothing waits for an agent: the run must last longer than it takes to notice.
int epochs_of(Cut cut) {
  return cut == Cut::agent_links ? 32 : 12;
}

/// A line that is printed right before the moment; empty: as soon as the processes are there.
std::string line_before(Moment moment, int epochs) {
  switch (moment) {
    case Moment::start:
      return "";
    case Moment::mid_epoch:
      return fmt::format("epoch  4/{}  step 4/9", epochs);
    case Moment::evaluation:
      return fmt::format("epoch  4/{}  step 9/9", epochs);
    case Moment::checkpoint:
      return fmt::format("epoch  5/{}  step 4/9", epochs);
    case Moment::last_step:
      break;
  }
  return fmt::format("epoch {0}/{0}  step 8/9", epochs);
}

Words words_of(const NetworkHosts& hosts, const CutCell& cell, const std::string& output,
               const std::string& mark) {
  const auto& role = role_of(cell.cut);
  auto words = hosts.at_launcher();
  const auto job = fault_job(output, epochs_of(cell.cut));
  words.insert(words.end(), job.begin(), job.end());
  auto settings = hosts.ssh_settings();
  Words lines;
  for (std::size_t host = 0; host < role.slots.size(); ++host) {
    lines.push_back(fmt::format("\"{} {}\"", NetworkHosts::address(host), role.slots[host]));
  }
  settings.push_back(fmt::format("cluster.hosts=[{}]", fmt::join(lines, ",")));
  settings.push_back(fmt::format("cluster.ssh.env=[\"{}\"]", environment_entry(mark)));
  settings.emplace_back("partition.parts=2");
  settings.insert(settings.end(), role.settings.begin(), role.settings.end());
  for (const auto& setting : settings) {
    words.insert(words.end(), {"--set", setting});
  }
  return words;
}

class CutRun {
 public:
  explicit CutRun(const CutCell& cell)
      : cell_(cell),
        role_(role_of(cell.cut)),
        hosts_(role_.slots.size(), scratch_.path().string()),
        run_(words_of(hosts_, cell, output(), mark_), scratch_.path().string(), mark_) {}
  FaultOutcome play();

 private:
  std::string output() const { return (scratch_.path() / "out").string(); }
  void problem(const std::string& what) {
    outcome_.problems.push_back(what + "; the run printed:\n" + run_.text());
  }
  bool wait_for_moment();
  void cut_hosts();
  void cut_connections();
  void leave_orphan();
  void look_for_loss();

  const CutCell cell_;
  const CutRole& role_;
  const ScratchFolder scratch_;
  const std::string mark_ = new_run_mark();
  NetworkHosts hosts_;
  WatchedRun run_;
  FaultOutcome outcome_;
  TestClock::time_point cut_at_;
};

bool CutRun::wait_for_moment() {
  if (cell_.moment != Moment::start) {
    return run_.wait_for_line(line_before(cell_.moment, epochs_of(cell_.cut)), 60s);
  }
  const auto first = role_.process != nullptr
                         ? std::string(role_.process)
                         : fmt::format("agent of host {}", role_.hosts.front());
  return run_.wait_until(
      [&] {
        const auto found = find_process(mark_, first);
        return found > 0 && !connected_ports(found).empty();
      },
      60s);
}

void CutRun::look_for_loss() {
  if (const auto line = run_.find("is lost", cut_at_)) {
    outcome_.line = line->text;
    outcome_.detected_s = std::chrono::duration<double>(line->at - cut_at_).count();
  }
}

void CutRun::cut_hosts() {
  for (const auto host : role_.hosts) {
    hosts_.cut(host);
  }
  run_.wait_until([&] { return run_.find("is lost", cut_at_).has_value(); }, 10s);
  run_.wait_until([] { return false; }, 500ms);
  for (const auto host : role_.hosts) {
    hosts_.heal(host);
  }
}

/// Waits until the process has others in their places; at the start those to peers come later.
void CutRun::cut_connections() {
  const auto process = find_process(mark_, role_.process);
  const auto cut = connected_ports(process);
  for (const auto port : cut) {
    if (!hosts_.drop_connection(role_.hosts.front(), port)) {
      problem(fmt::format("port {} of host {} cannot be cut", port, role_.hosts.front()));
    }
  }
  const auto renewed = [&] {
    const auto now = connected_ports(process);
    return now.size() >= cut.size() && std::ranges::none_of(now, [&](std::uint16_t port) {
             return std::ranges::count(cut, port) > 0;
           });
  };
  if (!cut.empty() && run_.wait_until(renewed, 15s)) {
    outcome_.detected_s = std::chrono::duration<double>(TestClock::now() - cut_at_).count();
  } else if (cell_.moment != Moment::last_step) {
    problem(fmt::format("{} had {} connections, and not all of them were made again", role_.process,
                        cut.size()));
  }
}

/// The agent stays stopped until the process has ended, which is then by itself.
void CutRun::leave_orphan() {
  const auto agent = find_process(mark_, fmt::format("agent of host {}", role_.hosts.front()));
  const auto orphan = find_process(mark_, role_.process);
  const auto is_there = [&](pid_t pid) {
    return std::ranges::count(processes_of(mark_), pid, &RunProcess::pid) > 0;
  };
  if (!stop_process(agent) || !stop_process(orphan)) {
    return problem(fmt::format("no {}, or no agent of it", role_.process));
  }
  const auto is_replaced = [&] {
    return std::ranges::count(processes_of(mark_), role_.process, &RunProcess::name) > 1;
  };
  // At the last step the run may be over before.
  if (!run_.wait_until(is_replaced, 15s) && cell_.moment != Moment::last_step) {
    problem(fmt::format("no other {} was started", role_.process));
  }
  kill(orphan, SIGCONT);
  for (int i = 0; is_there(orphan) && i < 1000; ++i) {
    run_.wait_until([] { return true; }, 0ms);
    std::this_thread::sleep_for(10ms);
  }
  if (is_there(orphan)) {
    problem(fmt::format("the first {} still runs 10 s after it was continued", role_.process));
  }
  if (!is_there(agent)) {
    problem(
        "the first agent, stopped, is no longer there: the process may have been killed with it");
  }
  kill(agent, SIGCONT);
}

FaultOutcome CutRun::play() {
  if (!hosts_.problem().empty()) {
    problem(hosts_.problem());
    return outcome_;
  }
  if (!wait_for_moment()) {
    problem("the moment did not come");
    return outcome_;
  }
  cut_at_ = TestClock::now();
  if (leaves_orphan(cell_.cut)) {
    leave_orphan();
  } else {
    role_.process == nullptr ? cut_hosts() : cut_connections();
  }
  const auto code = run_.wait_for_end(100s);
  if (!cuts_connections(cell_.cut)) {
    look_for_loss();
  } else if (run_.find("is lost", cut_at_)) {
    problem("a process was given up, though its host could be reached");
  }
  const auto& expected = undisturbed_digests(epochs_of(cell_.cut));
  if (code == 0 && digests_in(output()) == expected) {
    outcome_.end = "same digests";
  } else {
    outcome_.end = code ? fmt::format("exit code {}", *code) : "no end";
    problem(fmt::format("expected exit code 0 and {}, found {} and {}", expected, outcome_.end,
                        digests_in(output())));
  }
  for (const auto& process : run_.wait_for_all(10s)) {
    problem(fmt::format("process {} ({}) is left", process.pid, process.name));
  }
  return outcome_;
}

}  // namespace

std::string to_string(Cut cut) {
  return role_of(cut).text;
}

std::string test_name(const CutCell& cell) {
  return name_of_words(to_string(cell.cut) + " " + to_string(cell.moment));
}

std::ostream& operator<<(std::ostream& out, const CutCell& cell) {
  return out << to_string(cell.cut) << ", cut, " << to_string(cell.moment);
}

std::vector<CutCell> all_cut_cells() {
  std::vector<CutCell> cells;
  for (const auto cut :
       {Cut::host, Cut::server, Cut::trainer, Cut::sampler, Cut::evaluator, Cut::learner,
        Cut::director, Cut::agent_links, Cut::host_links, Cut::orphan_host, Cut::orphan_server,
        Cut::orphan_trainer, Cut::orphan_sampler, Cut::orphan_evaluator}) {
    for (const auto moment : {Moment::start, Moment::mid_epoch, Moment::evaluation,
                              Moment::checkpoint, Moment::last_step}) {
      cells.push_back({cut, moment});
    }
  }
  return cells;
}

FaultOutcome run_cell(const CutCell& cell) {
  if (undisturbed_digests(epochs_of(cell.cut)).empty()) {
    return {{"the undisturbed run left no digests"}, "", -1, -1, ""};
  }
  return CutRun(cell).play();
}

std::string table_line(const CutCell& cell, const FaultOutcome& outcome) {
  return fmt::format("| {} | out of reach | {} | {} | {} | |\n", to_string(cell.cut),
                     to_string(cell.moment), outcome.end, seconds_text(outcome.detected_s));
}

}  // namespace troupe::testing
