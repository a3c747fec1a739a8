#pragma once
/// \file roster.hpp
/// Who is there: the processes of a run as the director's process knows them, and what is to be done
/// when one joins, is ready or is lost. Only decides; actors/registrar does it.
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"
#include "runtime/job/layout.hpp"
#include "runtime/wire/membership.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

struct RosterOptions {
  Layout layout;
  std::string version;  ///< of the program; all processes must have the same
  /// Agents are started by somebody else: one that is lost is waited for.
  bool manual = false;
  /// With `manual` incarnations are given out above this one: drawn for each run, so that an agent that an
  /// earlier run with the same token left is not taken for one of this.
  std::uint32_t first_given = 0;
  std::chrono::milliseconds first_pause{50};  ///< before a lost process is started again; doubles
  std::chrono::milliseconds longest_pause{5000};
  std::uint32_t max_failures = 5;  ///< of one process in a row, without being ready in between
  /// Ranks run a user program, which cannot go back to a state by itself: when one is lost, all
  /// processes start again.
  /// One that ends well without having joined is not such a program, and ends the run.
  bool restart_together = false;
};

/// Threads: one at a time.
class Roster {
 public:
  // ---- what is to be done ----
  struct StartAgent {
    HostId host{};
    net::ProcessInstance instance;
    std::chrono::milliseconds after{};
  };
  struct Spawn {
    ProcessId agent{};
    net::ProcessInstance instance;
    std::chrono::milliseconds after{};
  };
  struct Kill {
    ProcessId agent{};
    net::ProcessInstance instance;
  };
  /// The link to a process is of no use any more.
  struct Drop {
    net::ProcessInstance instance;
    std::string why;
  };
  struct TellMembers {};  ///< send the table to all that are ready
  struct Say {
    std::string line;
  };
  struct Changed {};   ///< settled() gives something else
  struct Complete {};  ///< for the first time all processes are settled
  /// With `restart_together`: all processes start again, from one state.
  struct RestartRanks {
    std::string why;
  };
  /// The end of a process' ranks counts.
  struct TakeEnd {
    net::RanksEnded ended;
  };
  struct GiveUp {
    Error why;
  };
  using Action = std::variant<StartAgent, Spawn, Kill, Drop, TellMembers, Say, Changed, Complete,
                              RestartRanks, TakeEnd, GiveUp>;
  using Actions = std::vector<Action>;

  explicit Roster(RosterOptions options);

  Actions begin();
  /// Whether a process may talk to this one at all. \errors fenced; invalid_argument: no such process
  Status admit(const net::ProcessInstance& instance) const;
  /// The next incarnation for an agent that is started by hand, while there is none; nothing changes until it
  /// joins. \errors invalid_argument: no such agent, or it has another name here;
  ///   overloaded: one is there; failed_precondition: another version of the program
  Result<std::uint32_t> apply(const net::Join& join);
  /// \errors those of admit(); failed_precondition: another version of the program
  Result<Actions> join(const net::Join& join);
  Actions ready(const net::Ready& ready);
  /// Records that a member has the table of that number.
  Actions acknowledged(ProcessId member, std::uint64_t number);
  /// \param gone  the process has ended; else it does not answer any more, and must be ended
  Actions lost(const net::ProcessInstance& instance, const std::string& how, bool gone);

  /// The functions of a process' ranks have returned. An error of the kind that a lost peer causes
  /// counts as a loss of the process: the loss that it follows from may not be known yet.
  Actions ranks_ended(const net::RanksEnded& ended);

  /// A process has no link to another. What is lost has its link to the director's process cut, too,
  /// and earlier: else the network between the two is broken, and starting them again does not help.
  Actions unreachable(const net::PeerUnreachable& report) const;

  /// Those that are ready.
  net::Members table(std::uint32_t generation) const;
  /// The process is ready, and all that are ready know it.
  bool settled(ProcessId process) const;
  bool is_complete() const { return completed_; }
  /// It was started, and has not joined: the losses in a row before it; else nothing.
  std::optional<std::uint32_t> awaited(const net::ProcessInstance& instance) const;
  /// Names of the processes that are not ready.
  std::vector<std::string> missing() const;
  /// Members and agents that are there, for the end.
  std::vector<ProcessId> present() const;

 private:
  enum class State : std::uint8_t { absent, starting, joined, ready };
  struct Entry {
    State state = State::absent;
    std::uint32_t incarnation = 0;  ///< of the last one started
    std::uint32_t given = 0;        ///< with `manual`, last one given out
    std::string address;
    std::uint32_t failures = 0;
    std::optional<Error> refused;    ///< reason why the incarnation started last may not join
    std::uint64_t acknowledged = 0;  ///< number of the newest table with an answer
    std::uint64_t since = 0;         ///< number of the first table with the process
    bool settled = false;
  };
  const ProcessPlan& plan(ProcessId id) const { return options_.layout.at(id); }
  Entry& at(ProcessId id) { return entries_.at(id); }
  Status check_version(const net::Join& join) const;
  bool may_come(const net::ProcessInstance& instance, const Entry& entry) const;
  std::chrono::milliseconds pause(const Entry& entry) const;
  void start(ProcessId id, Actions& actions);
  void drop(ProcessId id, const std::string& how, Actions& actions);
  void drop_host(HostId host, Actions& actions);
  void count_failure(ProcessId id, const std::string& how, Actions& actions);
  bool has_ranks(ProcessId id) const { return !plan(id).ranks.empty(); }
  bool lost_ranks(const Actions& actions) const;
  void restart_others(ProcessId lost, const std::string& why, Actions& actions);
  void settle(Actions& actions);

  RosterOptions options_;
  std::map<ProcessId, Entry> entries_;  ///< agents, and all others that work but the director
  std::uint64_t number_ = 0;            ///< of the table
  bool completed_ = false;
  bool begun_ = false;  ///< all processes with ranks were ready at one time: ranks may be under way
};

}  // namespace troupe
