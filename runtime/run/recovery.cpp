#include "runtime/run/recovery.hpp"

#include <fmt/format.h>
#include <utility>

namespace troupe {
namespace {

/// A tensor is not found when its holder was restarted.
bool may_recover(Errc code) {
  return code == Errc::peer_lost || code == Errc::fenced || code == Errc::not_found;
}

}  // namespace

Recovery::Actions Recovery::begin() {
  return {Meet{}, Restore{generation_}};
}

Recovery::Actions Recovery::end(const Error& why) {
  if (std::exchange(phase_, Phase::over) == Phase::over) {
    return {};
  }
  return {End{why}};
}

Recovery::Actions Recovery::recover(const Error& why) {
  if (phase_ == Phase::over) {
    return {};
  }
  if (!options_.supervised || ++rollbacks_ > options_.max_rollbacks) {
    return end(why);
  }
  ++generation_;
  Actions actions{StartGeneration{generation_, why}};
  await(Phase::await_regroup, actions);
  return actions;
}

Recovery::Actions Recovery::failed(const Error& why) {
  return may_recover(why.code()) ? recover(why) : end(why);
}

Recovery::Actions Recovery::rank_lost(Rank rank, const Error& why) {
  lost_.insert(rank);
  return recover(why);
}

Recovery::Actions Recovery::evaluator_lost(const Error& why, bool with_process) {
  return with_process && may_return() && !evaluating() ? Actions{} : recover(why);
}

/// A number of its own, so that the deadline of an earlier wait does not end it.
void Recovery::await(Phase until, Actions& actions) {
  phase_ = until;
  ++wait_;
  has_deadline_ = false;
  overdue_ = false;
  actions.emplace_back(FindProcesses{});
}

Recovery::Actions Recovery::evaluate() {
  Actions actions;
  if (phase_ == Phase::lead) {
    await(Phase::await_evaluation, actions);
  }
  return actions;
}

void Recovery::answered() {
  if (phase_ == Phase::evaluate) {
    phase_ = Phase::lead;
  }
}

Recovery::Actions Recovery::processes(const std::string& missing) {
  if (!awaits_processes()) {
    return recovering() || phase_ == Phase::over ? Actions{} : Actions{MeetEvaluators{}};
  }
  if (missing.empty()) {
    return go_on();
  }
  if (overdue_) {
    return end(Error(
        Errc::peer_lost,
        fmt::format("{}: lost, and not back within {} ms; try: what the process printed last, or a "
                    "larger cluster.recovery_deadline",
                    missing, options_.return_deadline.count())));
  }
  if (!std::exchange(has_deadline_, true)) {
    return {SetDeadline{wait_, options_.return_deadline}};
  }
  return {};
}

/// All processes are there.
Recovery::Actions Recovery::go_on() {
  if (phase_ == Phase::await_evaluation) {
    phase_ = Phase::evaluate;
    return {MeetEvaluators{}, Evaluate{}};
  }
  phase_ = Phase::regroup;
  return {Regroup{{generation_, {lost_.begin(), lost_.end()}}}};
}

Recovery::Actions Recovery::waited_enough(std::uint64_t wait) {
  if (!awaits_processes() || wait != wait_) {
    return {};
  }
  overdue_ = true;
  return {FindProcesses{}};
}

Recovery::Actions Recovery::regrouped() {
  if (phase_ != Phase::regroup) {
    return {};
  }
  lost_.clear();
  phase_ = Phase::introduce;
  return {Introduce{{generation_}}};
}

Recovery::Actions Recovery::introduced() {
  if (phase_ != Phase::introduce) {
    return {};
  }
  phase_ = Phase::restore;
  return {Meet{}, Restore{generation_}};
}

Recovery::Actions Recovery::restored() {
  if (phase_ != Phase::restore) {
    return {};
  }
  phase_ = Phase::lead;
  return {Resume{}};
}

bool Recovery::recovering() const {
  return phase_ == Phase::restore || phase_ == Phase::await_regroup || phase_ == Phase::regroup ||
         phase_ == Phase::introduce;
}

bool Recovery::awaits_processes() const {
  return phase_ == Phase::await_evaluation || phase_ == Phase::await_regroup;
}

}  // namespace troupe
