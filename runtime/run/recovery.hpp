#pragma once
/// \file recovery.hpp
/// Recovery of a run after a loss: generations, roll-backs, and the wait for lost processes. Only
/// decides; actors/director does it.
#include "runtime/base/ids.hpp"
#include "runtime/base/result.hpp"
#include "runtime/run/restart_budget.hpp"
#include "runtime/wire/messages.hpp"

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

struct RecoveryOptions {
  bool supervised = true;  ///< Supervisors restart lost actors; without them a loss ends the run
  /// Longest absence of a lost process. 0: none comes back, and its loss ends the run.
  std::chrono::milliseconds return_deadline{0};
  std::uint32_t max_rollbacks = max_restarts_in_a_row;
};

/// Decides the steps of a recovery. A loss begins a generation: once all processes are there, they
/// regroup (restart lost actors), introduce their actors to each other, and all ranks restore one
/// state; then the run resumes. A loss during a recovery begins the next generation. The first
/// generation begins with the restore. An evaluation, too, waits until all processes are there.
/// Lifecycle:  begin(), then one input per event, until the action End
/// Threads:    one at a time
/// Guarantees: one step is under way at a time; an input that does not fit it changes nothing. Only
///   the last action of an input may cause the next input at once
class Recovery {
 public:
  // ---- actions ----
  /// Answers to requests of earlier generations are void; members are no longer watched.
  struct StartGeneration {
    std::uint32_t generation = 0;
    Error why;
  };
  /// Answered by processes(), at once.
  struct FindProcesses {};
  /// Answered by waited_enough(wait).
  struct SetDeadline {
    std::uint64_t wait = 0;
    std::chrono::milliseconds after{};
  };
  /// To all supervisors; answered by regrouped().
  struct Regroup {
    net::Regroup message;
  };
  /// To all supervisors; answered by introduced().
  struct Introduce {
    net::Introduce message;
  };
  struct Meet {};            ///< Watch trainers, evaluators and supervisors as they are now
  struct MeetEvaluators {};  ///< Watch evaluators as they are now
  /// To all trainers, with the state to go back to; answered by restored().
  struct Restore {
    std::uint32_t generation = 0;
  };
  struct Resume {};    ///< The next command is due
  struct Evaluate {};  ///< The command of evaluate() is due
  struct End {
    Error why;
  };
  using Action = std::variant<StartGeneration, FindProcesses, SetDeadline, Regroup, Introduce, Meet,
                              MeetEvaluators, Restore, Resume, Evaluate, End>;
  using Actions = std::vector<Action>;

  explicit Recovery(RecoveryOptions options) : options_(options) {}

  Actions begin();
  /// A step or a command has failed: recovers from errors that a restart may mend.
  Actions failed(const Error& why);
  Actions rank_lost(Rank rank, const Error& why);
  /// \param with_process  its process is lost with it: between evaluations its return is awaited
  Actions evaluator_lost(const Error& why, bool with_process);
  Actions process_lost(const Error& why) { return may_return() ? Actions{} : end(why); }

  /// A command to the evaluators is next.
  Actions evaluate();
  /// The command under way is answered by all.
  void answered();
  /// Of FindProcesses, or processes have changed.
  /// \param missing  name of a lost process; empty: all are there
  Actions processes(const std::string& missing);
  /// A deadline has passed. That of a wait which is over, or was replaced by another, is ignored.
  Actions waited_enough(std::uint64_t wait);
  Actions regrouped();
  Actions introduced();
  Actions restored();
  /// There is a state past the last one: roll-backs are counted from here.
  void new_state() { rollbacks_ = 0; }

  std::uint32_t generation() const { return generation_; }
  /// From a loss, or the beginning, until the run resumes.
  bool recovering() const;
  bool awaits_processes() const;
  bool evaluating() const { return phase_ == Phase::evaluate; }  ///< Evaluators owe an answer

 private:
  enum class Phase : std::uint8_t {
    restore,
    lead,
    await_evaluation,
    evaluate,
    await_regroup,
    regroup,
    introduce,
    over
  };
  bool may_return() const { return options_.return_deadline.count() > 0; }
  Actions recover(const Error& why);
  Actions end(const Error& why);
  void await(Phase until, Actions& actions);
  Actions go_on();

  RecoveryOptions options_;
  Phase phase_ = Phase::restore;
  std::uint32_t generation_ = 0;
  std::uint32_t rollbacks_ = 0;
  std::set<Rank> lost_;        ///< Ranks to be restarted by the next regrouping
  std::uint64_t wait_ = 0;     ///< Number of the wait for processes
  bool has_deadline_ = false;  ///< The wait's deadline is set
  bool overdue_ = false;       ///< The wait's deadline has passed
};

}  // namespace troupe
