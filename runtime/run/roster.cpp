#include "runtime/run/roster.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

namespace troupe {
namespace {

constexpr std::string_view ended_well_text = "exit code 0";  // of ProcessExited

}  // namespace

Roster::Roster(RosterOptions options) : options_(std::move(options)) {
  for (const auto& process : options_.layout.processes) {
    if (!process.directs && (process.agent || process.works())) {
      entries_[process.id];
    }
  }
}

std::chrono::milliseconds Roster::pause(const Entry& entry) const {
  if (entry.incarnation == 0) {
    return std::chrono::milliseconds(0);
  }
  const auto doubled =
      options_.first_pause * (1U << std::min(std::max(entry.failures, 1U) - 1, 16U));
  return std::min(doubled, options_.longest_pause);
}

/// The next incarnation of a process.
void Roster::start(ProcessId id, Actions& actions) {
  auto& entry = at(id);
  const auto& process = plan(id);
  if (process.agent && options_.manual) {
    return;
  }
  const auto agent = process.agent ? id : *options_.layout.agent_of(process.host);
  if (!process.agent && at(agent).state != State::ready) {
    return;  // it is started when the agent is there
  }
  const auto after = pause(entry);
  ++entry.incarnation;
  entry.refused.reset();
  entry.state = State::starting;
  const net::ProcessInstance instance{id, entry.incarnation};
  if (process.agent) {
    actions.emplace_back(StartAgent{process.host, instance, after});
  } else {
    actions.emplace_back(Spawn{agent, instance, after});
  }
}

Roster::Actions Roster::begin() {
  Actions actions;
  for (const auto& [id, entry] : entries_) {
    if (plan(id).agent) {
      start(id, actions);
    }
  }
  return actions;
}

/// Whether it is an incarnation of an agent that was given out and has not joined.
bool Roster::may_come(const net::ProcessInstance& instance, const Entry& entry) const {
  return options_.manual && plan(instance.process).agent && entry.state == State::absent &&
         instance.incarnation > entry.incarnation;
}

Status Roster::admit(const net::ProcessInstance& instance) const {
  const auto found = entries_.find(instance.process);
  if (found == entries_.end()) {
    return Error(
        Errc::invalid_argument,
        fmt::format("process {}: the job has processes 1..{}; try: the same job file on all "
                    "hosts",
                    raw(instance.process), options_.layout.processes.size() - 1));
  }
  const auto& entry = found->second;
  const bool current = instance.incarnation == entry.incarnation && entry.state != State::absent;
  if (!may_come(instance, entry) && !current) {
    return Error(
        Errc::fenced,
        fmt::format(
            "{}: its incarnation {} is over, now {}; it was lost, and another has taken its "
            "place",
            plan(instance.process).name, instance.incarnation, entry.incarnation));
  }
  return ok_status();
}

Status Roster::check_version(const net::Join& join) const {
  if (join.version == options_.version) {
    return ok_status();
  }
  return Error(
      Errc::failed_precondition,
      fmt::format(
          "{}: expected the program {}, found {}; try: the same program "
          "on all hosts{}",
          plan(join.instance.process).name, options_.version, join.version,
          options_.restart_together ? ", linked with the library of the troupe that runs it" : ""));
}

Result<std::uint32_t> Roster::apply(const net::Join& join) {
  const auto found = entries_.find(join.instance.process);
  const auto name = found == entries_.end() ? "nobody" : plan(join.instance.process).name;
  if (!options_.manual || found == entries_.end() || !plan(join.instance.process).agent ||
      name != join.name) {
    return Error(
        Errc::invalid_argument,
        fmt::format("process {}: expected {}, found a host that joins as {}; try: the same "
                    "job file on all hosts",
                    raw(join.instance.process), name, join.name));
  }
  TROUPE_RETURN_IF_ERROR(check_version(join));
  auto& entry = found->second;
  if (entry.state != State::absent) {
    return Error(
        Errc::overloaded,
        fmt::format("{} is there already, at {}, and is kept; try: another --host-rank, or "
                    "end that one first",
                    name, entry.address));
  }
  entry.given = std::max({entry.given, entry.incarnation, options_.first_given}) + 1;
  return entry.given;
}

Result<Roster::Actions> Roster::join(const net::Join& join) {
  TROUPE_RETURN_IF_ERROR(admit(join.instance));
  const auto id = join.instance.process;
  Actions actions;
  auto& entry = at(id);
  if (auto fits = check_version(join); !fits) {
    if (entry.state == State::starting && join.instance.incarnation == entry.incarnation) {
      entry.refused = fits.error();
    }
    return std::move(fits).error();
  }
  if (join.instance.incarnation == entry.incarnation && entry.state != State::starting) {
    return actions;  // a repeat
  }
  entry.refused.reset();
  entry.incarnation = join.instance.incarnation;
  entry.address = join.address;
  entry.state = State::joined;
  if (plan(id).agent) {
    entry.state = State::ready;
    entry.failures = 0;
    for (const auto& process : options_.layout.processes) {
      if (process.works() && process.host == plan(id).host && !process.directs) {
        start(process.id, actions);
      }
    }
    settle(actions);
  }
  return actions;
}

Roster::Actions Roster::ready(const net::Ready& ready) {
  Actions actions;
  const auto id = ready.instance.process;
  if (!admit(ready.instance) || at(id).state != State::joined) {
    return actions;
  }
  if (ready.code != Errc::ok) {
    actions.emplace_back(GiveUp{Error(ready.code, plan(id).name + ": " + ready.why)});
    return actions;
  }
  auto& entry = at(id);
  entry.state = State::ready;
  entry.failures = 0;
  entry.acknowledged = 0;
  entry.settled = false;
  entry.since = ++number_;
  begun_ = begun_ || std::ranges::all_of(entries_, [this](const auto& each) {
             return !has_ranks(each.first) || each.second.state == State::ready;
           });
  actions.emplace_back(TellMembers{});
  return actions;
}

Roster::Actions Roster::acknowledged(ProcessId member, std::uint64_t number) {
  Actions actions;
  auto& entry = at(member);
  if (entry.state == State::ready) {
    entry.acknowledged = std::max(entry.acknowledged, number);
    settle(actions);
  }
  return actions;
}

/// Those whom all know by now are settled.
void Roster::settle(Actions& actions) {
  std::uint64_t known = number_;
  for (const auto& [id, entry] : entries_) {
    if (entry.state == State::ready && plan(id).works()) {
      known = std::min(known, entry.acknowledged);
    }
  }
  bool changed = false;
  bool all = true;
  for (auto& [id, entry] : entries_) {
    const bool now = entry.state == State::ready && (plan(id).agent || entry.since <= known);
    changed = changed || now != entry.settled;
    entry.settled = now;
    all = all && now;
  }
  if (changed) {
    actions.emplace_back(Changed{});
  }
  if (all && !completed_) {
    completed_ = true;
    actions.emplace_back(Complete{});
  }
}

void Roster::drop(ProcessId id, const std::string& how, Actions& actions) {
  auto& entry = at(id);
  actions.emplace_back(Say{fmt::format("{} is lost: {}", plan(id).name, how)});
  actions.emplace_back(Drop{{id, entry.incarnation}, plan(id).name + " is lost: " + how});
  entry.state = State::absent;
  entry.settled = false;
}

void Roster::count_failure(ProcessId id, const std::string& how, Actions& actions) {
  auto& entry = at(id);
  ++entry.failures;
  if (entry.refused) {
    actions.emplace_back(GiveUp{*entry.refused});
  } else if (entry.failures > options_.max_failures) {
    actions.emplace_back(
        GiveUp{Error(Errc::peer_lost, fmt::format("{}: lost {} times in a row before it was ready; "
                                                  "the last time: {}",
                                                  plan(id).name, entry.failures, how))});
  }
}

Roster::Actions Roster::lost(const net::ProcessInstance& instance, const std::string& how,
                             bool gone) {
  Actions actions;
  const auto id = instance.process;
  const auto found = entries_.find(id);
  if (found != entries_.end() && may_come(instance, found->second)) {
    found->second.incarnation = instance.incarnation;  // it connected, and will not join
    actions.emplace_back(Drop{instance, plan(id).name + " is lost: " + how});
    return actions;
  }
  if (found == entries_.end() || found->second.incarnation != instance.incarnation ||
      found->second.state == State::absent) {
    return actions;
  }
  const auto& process = plan(id);
  if (!gone && !process.agent) {
    actions.emplace_back(Kill{*options_.layout.agent_of(process.host), instance});
  }
  const bool never_joined = found->second.state == State::starting;
  drop(id, how, actions);
  if (never_joined && options_.restart_together && !completed_ && how == ended_well_text &&
      !process.agent) {
    actions.emplace_back(GiveUp{
        Error(Errc::invalid_argument,
              fmt::format("{}: expected a program that calls run_ranks (troupe.run in Python), "
                          "found one that ended without, with exit code 0; try: what it printed, "
                          "and that a script which wraps it starts it",
                          process.name))});
    return actions;
  }
  count_failure(id, how, actions);
  if (process.agent) {
    drop_host(process.host, actions);
  }
  if (options_.restart_together && begun_ && lost_ranks(actions)) {
    restart_others(id, fmt::format("{} is lost: {}", process.name, how), actions);
  }
  ++number_;
  actions.emplace_back(TellMembers{});
  actions.emplace_back(Changed{});
  if (!at(id).refused) {
    start(id, actions);
  }
  settle(actions);
  return actions;
}

/// Without the agent nobody can end its processes or start them again: they go with it.
void Roster::drop_host(HostId host, Actions& actions) {
  for (const auto& process : options_.layout.processes) {
    if (process.works() && !process.directs && process.host == host &&
        at(process.id).state != State::absent) {
      drop(process.id, "its agent is lost", actions);
      at(process.id).failures = 0;
    }
  }
}

/// Whether one of the processes that are dropped has ranks.
bool Roster::lost_ranks(const Actions& actions) const {
  return std::ranges::any_of(actions, [this](const Action& action) {
    const auto* dropped = std::get_if<Drop>(&action);
    return dropped != nullptr && has_ranks(dropped->instance.process);
  });
}

/// Restarts all other processes: those that know a state to begin with, and holders of rows that ranks
/// wrote.
void Roster::restart_others(ProcessId lost, const std::string& why, Actions& actions) {
  begun_ = false;
  actions.emplace_back(RestartRanks{why});
  for (auto& [id, entry] : entries_) {
    if (id == lost || !plan(id).works() ||
        (entry.state != State::joined && entry.state != State::ready)) {
      continue;
    }
    const net::ProcessInstance instance{id, entry.incarnation};
    actions.emplace_back(Kill{*options_.layout.agent_of(plan(id).host), instance});
    actions.emplace_back(Drop{instance, plan(id).name + " starts again, as all do: " + why});
    entry.state = State::absent;
    entry.settled = false;
    entry.failures = 0;
    start(id, actions);
  }
}

Roster::Actions Roster::ranks_ended(const net::RanksEnded& ended) {
  if (!admit(ended.instance)) {
    return {};  // of an incarnation that is over
  }
  const bool by_a_loss = ended.code == Errc::peer_lost || ended.code == Errc::fenced;
  if (by_a_loss && options_.restart_together && begun_) {
    return lost(ended.instance, "its ranks failed: " + ended.why, false);
  }
  return {TakeEnd{ended}};
}

Roster::Actions Roster::unreachable(const net::PeerUnreachable& report) const {
  const auto is_there = [this](const net::ProcessInstance& instance) {
    const auto found = entries_.find(instance.process);
    return found != entries_.end() && found->second.incarnation == instance.incarnation &&
           found->second.state == State::ready;
  };
  if (!is_there(report.instance) || !is_there(report.peer)) {
    return {};
  }
  return {GiveUp{
      Error(Errc::peer_lost,
            fmt::format("{} and {} both reach the director, but not each other: {}; try: the "
                        "network between their hosts, or --resume when it is back",
                        plan(report.instance.process).name, plan(report.peer.process).name,
                        report.why))}};
}

net::Members Roster::table(std::uint32_t generation) const {
  net::Members members{number_, generation, {}};
  for (const auto& [id, entry] : entries_) {
    if (entry.state == State::ready && plan(id).works()) {
      members.entries.push_back({{id, entry.incarnation}, entry.address});
    }
  }
  return members;
}

bool Roster::settled(ProcessId process) const {
  const auto found = entries_.find(process);
  return found != entries_.end() && found->second.settled;
}

std::optional<std::uint32_t> Roster::awaited(const net::ProcessInstance& instance) const {
  const auto found = entries_.find(instance.process);
  if (found == entries_.end() || found->second.incarnation != instance.incarnation ||
      found->second.state != State::starting) {
    return std::nullopt;
  }
  return found->second.failures;
}

std::vector<std::string> Roster::missing() const {
  std::vector<std::string> names;
  for (const auto& [id, entry] : entries_) {
    if (entry.state != State::ready) {
      names.push_back(plan(id).name);
    }
  }
  return names;
}

std::vector<ProcessId> Roster::present() const {
  std::vector<ProcessId> found;
  for (const auto& [id, entry] : entries_) {
    if (entry.state == State::ready || entry.state == State::joined) {
      found.push_back(id);
    }
  }
  return found;
}

}  // namespace troupe
