#include "tests/support/fault_cell.hpp"

#include "tests/e2e/fault_roles.hpp"
#include "tests/support/folded_cora.hpp"
#include "tests/support/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <cctype>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <set>

namespace troupe::testing {

const Role& role_of(Victim victim) {
  static const std::map<Victim, Role> roles = {
      {Victim::sampler, {"sampler", "sampler 0 of rank 1", {"cluster.placement=worker"}}},
      {Victim::server, {"server", "server 1", {"cluster.placement=server_client"}}},
      {Victim::replicated_server,
       {"server with a replica",
        "server 1",
        {"cluster.placement=server_client", "cluster.servers=3", "cluster.replicas=2",
         "cluster.server_of_rank=[0,2]", "cluster.prefetch=1", "partition.parts=3", "trace=true"}}},
      {Victim::trainer, {"trainer", "rank 1", {"cluster.placement=server_client"}}},
      {Victim::host, {"host process", "host 1", {"cluster.placement=collocated"}}},
      {Victim::agent, {"agent", "agent of host 1", {"cluster.placement=collocated"}}},
      {Victim::director, {"director", "", {"cluster.placement=collocated"}}}};
  return roles.at(victim);
}

// ---- words ----

std::string to_string(Victim victim) {
  return role_of(victim).text;
}

std::string to_string(Act act) {
  return act == Act::kill ? "KILL" : "STOP";
}

std::string to_string(Moment moment) {
  static const std::map<Moment, std::string> names = {{Moment::start, "start"},
                                                      {Moment::mid_epoch, "mid-epoch"},
                                                      {Moment::evaluation, "evaluation"},
                                                      {Moment::checkpoint, "checkpoint"},
                                                      {Moment::last_step, "last step"}};
  return names.at(moment);
}

std::string name_of_words(const std::string& words) {
  std::string name;
  bool upper = true;
  for (const char c : words) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) {
      upper = true;
    } else {
      name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      upper = false;
    }
  }
  return name;
}

std::string test_name(const FaultCell& cell) {
  return name_of_words(to_string(cell.victim) + " " + to_string(cell.act) + " " +
                       to_string(cell.moment));
}

std::ostream& operator<<(std::ostream& out, const FaultCell& cell) {
  return out << to_string(cell.victim) << ", " << to_string(cell.act) << ", "
             << to_string(cell.moment);
}

std::vector<FaultCell> all_fault_cells() {
  std::vector<FaultCell> cells;
  for (const auto victim : {Victim::sampler, Victim::server, Victim::replicated_server,
                            Victim::trainer, Victim::host, Victim::agent, Victim::director}) {
    for (const auto act : {Act::kill, Act::stop}) {
      for (const auto moment : {Moment::start, Moment::mid_epoch, Moment::evaluation,
                                Moment::checkpoint, Moment::last_step}) {
        cells.push_back({victim, act, moment});
      }
    }
  }
  return cells;
}

std::vector<FaultCell> slow_fault_cells() {
  std::vector<FaultCell> cells;
  for (auto cell : all_fault_cells()) {
    const bool unseen = cell.victim == Victim::director || cell.moment == Moment::last_step;
    if (cell.act == Act::stop && !unseen) {
      cell.defaults = true;
      cells.push_back(cell);
    }
  }
  return cells;
}

// ---- running ----

std::vector<std::string> fault_job(const std::string& output, int epochs) {
  std::vector<std::string> words = {TROUPE_PROGRAM, "run", quick_job().string()};
  for (const auto& setting :
       {"output=" + output, fmt::format("train.epochs={}", epochs),
        std::string("sample.batch_size=8"), std::string("log_every=1"),
        std::string("checkpoint.every.steps=10"), std::string("checkpoint.keep=3"),
        std::string("cluster.threads=1"), std::string("cluster.heartbeat=0.2"),
        std::string("cluster.lost_after=1.5"), std::string("cluster.join_deadline=40"),
        std::string("cluster.recovery_deadline=40")}) {
    words.insert(words.end(), {"--set", setting});
  }
  return words;
}

std::vector<std::string> fault_job_predicts(const std::string& output, int epochs,
                                            const std::string& folder) {
  auto words = fault_job(output, epochs);
  words[1] = "predict";
  words.insert(words.end(), {"--model", output + "/model.safetensors", "--out", folder});
  return words;
}

std::string digests_in(const std::string& output) {
  std::ifstream in(output + "/report.json");
  const auto report = nlohmann::json::parse(in, nullptr, false);
  return report.is_object() && report.contains("digests") ? report["digests"].dump() : "";
}

std::size_t hops_in_trace(const std::string& output, const std::string& process, int part) {
  std::ifstream in(fmt::format("{}/trace-{}.json", output, process));
  const auto trace = nlohmann::json::parse(in, nullptr, false);
  if (!trace.is_object()) {
    return 0;
  }
  const auto holder = fmt::format("holder of part {}", part);
  std::set<int> lines;
  std::size_t served = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name" &&
        event["args"]["name"].get<std::string>().starts_with(holder)) {
      lines.insert(event["tid"].get<int>());
    }
  }
  for (const auto& event : trace["traceEvents"]) {
    const bool is_hop = event["ph"] == "X" && event["name"] == "sample neighbours";
    served += is_hop && lines.contains(event["tid"].get<int>()) ? 1U : 0U;
  }
  return served;
}

const std::string& undisturbed_digests(int epochs) {
  static std::map<int, std::string> known;
  auto& digests = known[epochs];
  if (digests.empty()) {
    const ScratchFolder scratch;
    const auto output = (scratch.path() / "out").string();
    run_process(fault_job(output, epochs), scratch.path().string());
    digests = digests_in(output);
  }
  return digests;
}

std::string table_head() {
  return "| what | signal | when | outcome | detected after | goes on after |\n"
         "|---|---|---|---|--:|--:|\n";
}

std::string seconds_text(double seconds) {
  return seconds < 0 ? std::string("–") : fmt::format("{:.2f} s", seconds);
}

std::string table_line(const FaultCell& cell, const FaultOutcome& outcome) {
  return fmt::format("| {} | {} | {} | {} | {} | {} |\n", to_string(cell.victim),
                     to_string(cell.act), to_string(cell.moment), outcome.end,
                     seconds_text(outcome.detected_s), seconds_text(outcome.recovered_s));
}

}  // namespace troupe::testing
