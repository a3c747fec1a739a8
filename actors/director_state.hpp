#pragma once
/// \file director_state.hpp
/// What the director keeps, and how its parts call each other; only for actors/director*.cpp.
#include "actors/ask_all.hpp"
#include "actors/director.hpp"
#include "actors/error.hpp"
#include "actors/message.hpp"
#include "runtime/run/progress_watch.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe::director {

struct Heartbeat {};

struct State {
  const char* name = "troupe.director";
  DirectorOptions options;
  std::unique_ptr<Conductor> conductor;
  bool over = false;
  std::vector<caf::actor> trainers;
  std::vector<caf::actor> evaluators;   ///< null: its process is lost
  std::vector<caf::actor> supervisors;  ///< null: its process is lost
  bool evaluating = false;              ///< evaluators owe an answer
  std::function<void()> when_there;     ///< to be called when all processes are back
  std::uint64_t waits = 0;              ///< counts such waits

  std::uint64_t round = 0;  ///< counts recoveries; answers to what was asked before one are dropped
  bool recovering = false;
  TraceTrack::TimePoint recovery_began{};
  std::set<Rank> lost;
  std::uint32_t rollbacks = 0;  ///< since the last new state

  std::shared_ptr<const Checkpoint> last;      ///< where a roll-back goes
  std::shared_ptr<const TrainingState> early;  ///< a state whose epoch's record is not in yet
  std::shared_ptr<const Checkpoint> to_write;
  bool writing = false;
  std::uint64_t stage = 0;  ///< between which epochs the last state was asked for
  std::uint64_t after_step = 0;
  bool stopping = false;
  bool stop_kept = false;  ///< the state that the run stops with is kept, or there is none

  std::optional<ProgressWatch> progress;
};
using Self = caf::stateful_actor<State>;

// director.cpp
/// Sends the next command.
void lead(Self* self);
void say(const Self* self, const std::string& what);
void end(Self* self, Result<RunEnd> result);
void end_if_stopped(Self* self);
/// Of an answer: recovers if that may help, else ends.
void failed(Self* self, const Error& why);

// director_checkpoints.cpp
/// Whether the last epoch of the record needs no evaluation any more.
bool is_over(const RunRecord& record);
/// Keeps a state to go back to, with the record that belongs to it, and writes it if it is due.
/// \param asked  it was taken in order to be written
/// \param over   epochs that were over when the state was requested: of later ones it may not have the
///   best parameters yet, whatever the record says now
void keep(Self* self, const std::shared_ptr<const TrainingState>& taken, bool asked,
          std::size_t over);
/// For a run that is to stop and has no newer state to give.
void write_last(Self* self);
/// Asks rank 0 for its state. All ranks have the same.
void take_state(Self* self, net::TakeState request, bool asked);
/// Before and after the evaluation between two epochs: a state to go back to.
void take_state_between_epochs(Self* self);

// director_members.cpp
/// To itself: a wait for lost processes has lasted as long as it may.
struct WaitedEnough {
  std::uint64_t wait = 0;
};
/// Watches all trainers and evaluators as they are now.
void meet(Self* self);
/// Until they are met again: whoever ends meanwhile does so because a generation ends, or is found to
/// be lost when they meet.
void forget_members(Self* self);
void on_down(Self* self, const caf::down_msg& down);
/// Watches those that are back; goes on with what waited for them.
void processes_changed(Self* self);
/// Calls `then` when no process is lost, or ends the run after the return deadline.
void when_all_there(Self* self, std::function<void()> then);
void waited_enough(Self* self, const WaitedEnough& wait);
std::vector<std::string> trainer_names(const State& state);

// director_recovery.cpp
/// All ranks go back to the last state, then the run goes on.
void roll_back(Self* self);
/// Begins a generation: hosts start again what is lost, then all go back to the last state.
void recover(Self* self, const Error& why);
/// Looks for signs of life, now and from now on.
void beat(Self* self);

struct Group {
  const std::vector<caf::actor>& actors;
  const std::vector<std::string>& names;
};

/// Sends `command` to all of `group`; calls `then(replies)` when all have answered.
/// \param task  as in ProgressWatch::begin()
template <class Reply, class Command, class Then>
void broadcast(Self* self, const char* task, const Group& to, const Command& command, Then then) {
  const auto& group = to.actors;
  const auto& names = to.names;
  if (const auto missing = std::ranges::find(group, caf::actor()); missing != group.end()) {
    return failed(self,
                  Error(Errc::peer_lost,
                        names[static_cast<std::size_t>(missing - group.begin())] + ": it is lost"));
  }
  const Ref<Command> message(command);
  const auto replies = std::make_shared<std::vector<Reply>>(group.size());
  const auto is_current = [self, round = self->state.round] {
    return !self->state.over && self->state.round == round;
  };
  self->state.progress->begin(task, names, self->clock().now());
  ask_each<Reply>(
      self, group, caf::infinite, message,
      [self, replies, is_current, names = to.names](std::size_t i,
                                                    const Result<Ref<Reply>>& reply) {
        if (!is_current()) {
          return;
        }
        if (!reply) {
          return failed(self, Error(reply.error()).with(names[i]));
        }
        self->state.progress->answered(i, self->clock().now());
        (*replies)[i] = **reply;
      },
      [replies, is_current, then] {
        if (is_current()) {
          then(std::move(*replies));
        }
      });
}

}  // namespace troupe::director
