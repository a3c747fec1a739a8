#pragma once
/// \file director_state.hpp
/// What the director keeps, and how its parts call each other; only for actors/director*.cpp.
#include "actors/ask_all.hpp"
#include "actors/director.hpp"
#include "actors/error.hpp"
#include "actors/message.hpp"
#include "actors/watched_group.hpp"
#include "runtime/run/failure_streak.hpp"
#include "runtime/run/progress_watch.hpp"
#include "runtime/run/recovery.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::director {

struct State {
  const char* name = "troupe.director";
  DirectorOptions options;
  std::optional<Conductor> conductor;
  std::optional<Recovery> recovery;
  std::optional<CheckpointManager> checkpoints;
  std::optional<ProgressWatch> progress;
  bool over = false;
  bool load_tables = false;  ///< Holders have no learned rows of the state to go back to
  bool falls_back = false;   ///< That state is looked for on the disk

  WatchedGroup trainers;
  WatchedGroup evaluators;   ///< One without a handle: its process is lost
  WatchedGroup supervisors;  ///< One without a handle: its process is lost
  std::optional<EvaluatorCommand>
      evaluation;                 ///< The last one; may wait until all processes are there
  std::optional<RunEnd> ended;    ///< Result, once all commands are done
  FailureStreak unwritten;        ///< Checkpoints
  std::uint32_t not_written = 0;  ///< Times that learned rows were not written at the end
  std::optional<TraceTrack::TimePoint> recovery_began;
};
using Self = caf::stateful_actor<State>;

// director.cpp
/// Sends the next command.
void lead(Self* self);
/// Sends the command that waited until all processes are there.
void evaluate(Self* self);
void say(const Self* self, const std::string& what);
/// Writes the learned rows of the last state, which holders keep, and ends the run with it.
void finish(Self* self);
void end(Self* self, Result<RunEnd> result);

// director_recovery.cpp
/// To itself: a wait for lost processes has lasted as long as it may.
struct WaitedEnough {
  std::uint64_t wait = 0;
};
void carry_out(Self* self, const Recovery::Actions& actions);
/// A command or a step of a recovery has failed.
void failed(Self* self, const Error& why);

// director_checkpoints.cpp
void carry_out(Self* self, const CheckpointManager::Actions& actions);
/// To itself: a wait for a checkpoint has lasted so long that it is said.
struct StillWriting {};
/// The run is done, or is to stop: a checkpoint that it waits for is said after a while.
void watch_last_write(Self* self);
void on_still_writing(Self* self);

// director_members.cpp
/// To itself, at intervals.
struct Heartbeat {};
void on_down(Self* self, const caf::down_msg& down);
/// Takes the supervisors' handles as they are now.
/// \return name of a process that is lost and not back; empty: all are there
std::string missing_process(Self* self);
/// Looks for signs of life, now and from now on.
void beat(Self* self);

/// Sends `command` to all of `group`; calls `then(replies)` when all have answered.
/// \param task  as in ProgressWatch::begin()
template <class Reply, class Command, class Then>
void broadcast(Self* self, const char* task, const WatchedGroup& group, const Command& command,
               Then then) {
  if (const auto missing = group.missing()) {
    return failed(self, Error(Errc::peer_lost, group.names()[*missing] + ": it is lost"));
  }
  const Ref<Command> message(command);
  const auto replies = std::make_shared<std::vector<Reply>>(group.actors().size());
  const auto is_current = [self, generation = self->state.recovery->generation()] {
    const auto& now = self->state;
    return !now.over && !now.falls_back && now.recovery->generation() == generation;
  };
  self->state.progress->begin(task, group.names(), self->clock().now());
  ask_each<Reply>(
      self, group.actors(), caf::infinite, message,
      [self, replies, is_current, names = group.names()](std::size_t i,
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
