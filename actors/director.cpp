#include "actors/director.hpp"

#include "actors/error.hpp"
#include "actors/message.hpp"
#include "actors/offload.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>
#include <set>

namespace troupe {
namespace {

using ClockTime = caf::actor_clock::time_point;
using Written = std::shared_ptr<const Checkpoint>;

struct Heartbeat {};
struct TakeNow {};

struct DirectorState {
  const char* name = "troupe.director";
  DirectorOptions options;
  std::unique_ptr<Conductor> conductor;
  bool over = false;
  std::vector<caf::actor> trainers;
  std::vector<caf::actor> evaluators;

  std::uint64_t round = 0;  ///< counts recoveries; answers to what was asked before one are dropped
  bool recovering = false;
  TraceTrack::TimePoint recovery_began{};
  std::set<Rank> lost;
  std::uint32_t rollbacks = 0;  ///< since the last new state

  Written last;                                ///< where a roll-back goes
  std::shared_ptr<const TrainingState> early;  ///< a state whose epoch's record is not in yet
  Written to_write;
  bool writing = false;
  std::uint64_t stage = 0;  ///< between which epochs the last state was asked for
  std::uint64_t after_step = 0;
  bool stopping = false;

  std::vector<net::Pong> heard;  ///< by rank, the last sign of life
  ClockTime last_step{};
};
using Director = caf::stateful_actor<DirectorState>;

void lead(Director* self);
void recover(Director* self, const Error& why);

void say(const Director* self, const std::string& what) {
  self->state.options.trace.mark(what);
  if (self->state.options.say) {
    self->state.options.say(what);
  }
}

void end(Director* self, Result<RunEnd> result) {
  if (!std::exchange(self->state.over, true)) {
    self->state.options.on_end(std::move(result));
    self->quit();
  }
}

void end_if_stopped(Director* self) {
  const auto& state = self->state;
  if (state.stopping && !state.writing && !state.to_write) {
    end(self, Error(Errc::cancelled, "interrupted"));
  }
}

/// Losses that a regrouping may mend. A tensor is not found when its holder was started anew.
bool may_recover(Errc code) {
  return code == Errc::peer_lost || code == Errc::fenced || code == Errc::not_found;
}

void failed(Director* self, const Error& why) {
  if (self->state.over) {
    return;
  }
  if (may_recover(why.code())) {
    recover(self, why);
  } else {
    end(self, why);
  }
}

// ---- asking a whole group ----

/// Answers of one group to one command, in the order of the group.
template <class Reply>
struct Gathering {
  std::vector<Reply> replies;
  std::size_t missing;
};

/// Sends `command` to all of `group`; calls `then(replies)` when all have answered.
template <class Reply, class Command, class Then>
void broadcast(Director* self, const std::vector<caf::actor>& group, std::string_view member,
               const Command& command, Then then) {
  const Ref<Command> message(command);
  auto all = std::make_shared<Gathering<Reply>>(
      Gathering<Reply>{std::vector<Reply>(group.size()), group.size()});
  const auto is_current = [self, round = self->state.round] {
    return !self->state.over && self->state.round == round;
  };
  for (std::size_t i = 0; i < group.size(); ++i) {
    self->request(group[i], caf::infinite, message)
        .then(
            [all, then, i, is_current](const Ref<Reply>& reply) {
              if (!is_current()) {
                return;
              }
              all->replies[i] = *reply;
              if (--all->missing == 0) {
                then(std::move(all->replies));
              }
            },
            [self, i, name = std::string(member), is_current](const caf::error& error) {
              if (is_current()) {
                failed(self, from_caf(error).with(fmt::format("{} {}", name, i)));
              }
            });
  }
}

// What a command's time is called in the trace.
const char* name_of(const net::EpochRequest& /*command*/) {
  return "train an epoch";
}
const char* name_of(const net::InferRequest& /*command*/) {
  return "infer a layer";
}
const char* name_of(const net::ScoreRequest& /*command*/) {
  return "score";
}
const char* name_of(const net::KeepBest& /*command*/) {
  return "keep the best parameters";
}
const char* name_of(const net::Finish& /*command*/) {
  return "finish";
}

/// As broadcast(); `take(replies)` goes to the conductor, then the next command follows.
template <class Reply, class Command, class Take>
void command(Director* self, const std::vector<caf::actor>& group, std::string_view member,
             const Command& what, Take take) {
  const auto began = self->state.options.trace.now();
  broadcast<Reply>(self, group, member, what, [self, take, began, what](auto replies) {
    self->state.options.trace.slice(name_of(what), began);
    if (const Status taken = take(std::move(replies)); !taken) {
      return end(self, taken.error());
    }
    lead(self);
  });
}

void lead_trainers(Director* self, const TrainerCommand& what) {
  auto* conductor = self->state.conductor.get();
  const auto& trainers = self->state.trainers;
  std::visit(
      [&]<class C>(const C& c) {
        if constexpr (std::is_same_v<C, net::EpochRequest>) {
          command<net::EpochResult>(self, trainers, "trainer", c, [conductor](auto r) {
            return conductor->take_epochs(std::move(r));
          });
        } else if constexpr (std::is_same_v<C, net::ScoreRequest>) {
          command<net::ScoreResult>(self, trainers, "trainer", c, [conductor](const auto& r) {
            return conductor->take_scores(r);
          });
        } else if constexpr (std::is_same_v<C, net::KeepBest>) {
          command<net::Done>(self, trainers, "trainer", c,
                             [conductor](const auto&) { return conductor->take_kept(); });
        } else {
          command<net::FinishResult>(self, trainers, "trainer", c, [conductor](const auto& r) {
            return conductor->take_finished(r);
          });
        }
      },
      what);
}

void lead_evaluators(Director* self, const EvaluatorCommand& what) {
  auto* conductor = self->state.conductor.get();
  const auto& evaluators = self->state.evaluators;
  std::visit(
      [&]<class C>(const C& c) {
        if constexpr (std::is_same_v<C, net::InferRequest>) {
          command<net::InferResult>(
              self, evaluators, "evaluator of host", c,
              [conductor](const auto& r) { return conductor->take_inferred(r); });
        } else {
          command<net::ScoreResult>(
              self, evaluators, "evaluator of host", c,
              [conductor](const auto& r) { return conductor->take_scores(r); });
        }
      },
      what);
}

// ---- states and checkpoints ----

void write_next(Director* self) {
  auto& state = self->state;
  if (state.writing || !state.to_write) {
    return;
  }
  state.writing = true;
  auto what = std::exchange(state.to_write, nullptr);
  const auto step = what->training.global_step;
  offload(
      self, *state.options.io,
      [what, write = state.options.write_checkpoint] { return write(*what); },
      [self, step](const Status& written) {
        self->state.writing = false;
        if (written) {
          self->state.options.trace.mark(fmt::format("checkpoint of step {}", step));
        } else {
          say(self,
              fmt::format("checkpoint of step {} not written: {}", step, written.error().what()));
        }
        write_next(self);
        end_if_stopped(self);
      });
}

/// Whether the last epoch of the record needs no evaluation any more.
bool is_over(const RunRecord& record) {
  return record.epochs.empty() || record.epochs.back().over;
}

bool is_scheduled(const CheckpointSchedule& schedule, const TrainingState& at, bool asked) {
  const bool by_epoch = schedule.epochs > 0 && at.step == 0 && at.epoch % schedule.epochs == 0;
  const bool by_step = schedule.steps > 0 && at.global_step % schedule.steps == 0;
  return asked || by_epoch || by_step;
}

/// Keeps a state to go back to, with the record that belongs to it, and writes it if it is due.
/// \param asked  it was taken in order to be written
void keep(Director* self, const std::shared_ptr<const TrainingState>& taken, bool asked) {
  auto& state = self->state;
  const auto& record = state.conductor->record();
  if (record.epochs.size() < taken->epoch) {
    state.early = taken;  // the epoch's results are still on their way
    return;
  }
  auto checkpoint = std::make_shared<Checkpoint>();
  checkpoint->training = *taken;
  checkpoint->record = record;
  checkpoint->record.epochs.resize(taken->epoch);
  checkpoint->job = state.options.start->job;
  const bool is_new = !state.last || taken->global_step > state.last->training.global_step;
  if (is_new) {
    state.rollbacks = 0;
  }
  state.last = std::move(checkpoint);
  const bool due = taken->global_step > 0 &&
                   is_scheduled(state.options.checkpoints, *taken, asked) &&
                   (asked || taken->step > 0 || is_over(state.last->record));
  if (state.options.write_checkpoint && due) {
    state.to_write = state.last;
    write_next(self);
  }
}

/// For a run that is to stop and has no newer state to give.
void write_last(Director* self) {
  auto& state = self->state;
  if (state.options.write_checkpoint && state.last->training.global_step > 0) {
    state.to_write = state.last;
    write_next(self);
  }
  end_if_stopped(self);
}

/// Asks rank 0 for its state. All ranks have the same.
void take_state(Director* self, net::TakeState request, bool asked) {
  auto& state = self->state;
  request.generation = state.conductor->generation();
  self->request(state.trainers.front(), caf::infinite, Ref<net::TakeState>(request))
      .then(
          [self, asked, request, round = state.round](const Ref<net::StateReply>& reply) {
            auto& now = self->state;
            if (now.over || now.round != round) {
              return;
            }
            keep(self, reply->state, asked);
            if (request.multiple_of > 0) {
              take_state(
                  self,
                  {.multiple_of = request.multiple_of, .after_step = reply->state->global_step},
                  false);
            }
            if (!now.early) {
              end_if_stopped(self);
            }
          },
          [self](const caf::error&) {  // its loss is noticed elsewhere
            if (!self->state.over && self->state.stopping) {
              write_last(self);
            }
          });
}

/// Before and after the evaluation between two epochs: a state to go back to.
void take_state_between_epochs(Director* self) {
  auto& state = self->state;
  const auto& epochs = state.conductor->record().epochs;
  const std::uint64_t stage = 2 * epochs.size() + (is_over(state.conductor->record()) ? 1 : 0);
  if (state.stage != stage) {
    state.stage = stage;
    take_state(self, {}, false);
  }
}

// ---- the loop ----

/// The run is over; the last state goes with its record.
void finish(Director* self) {
  broadcast<net::StateReply>(
      self, {self->state.trainers.front()}, "trainer",
      net::TakeState{.generation = self->state.conductor->generation()},
      [self](const std::vector<net::StateReply>& replies) {
        auto& conductor = *self->state.conductor;
        end(self, RunEnd{conductor.record(), replies.front().state, conductor.outputs()});
      });
}

/// Sends the next command.
void lead(Director* self) {
  auto& state = self->state;
  state.last_step = self->clock().now();
  if (state.early) {
    keep(self, std::exchange(state.early, nullptr), state.stopping);
    end_if_stopped(self);
  }
  const auto next = state.conductor->next();
  take_state_between_epochs(self);
  if (const auto* to_trainers = std::get_if<ToTrainers>(&next)) {
    lead_trainers(self, to_trainers->command);
  } else if (const auto* to_evaluators = std::get_if<ToEvaluators>(&next)) {
    lead_evaluators(self, to_evaluators->command);
  } else {
    finish(self);
  }
}

// ---- members ----

/// Until they are met again: whoever ends meanwhile does so because a generation ends, or is found to
/// be lost when they meet.
void forget_members(Director* self) {
  auto& state = self->state;
  for (auto* group : {&state.trainers, &state.evaluators}) {
    for (const auto& actor : *group) {
      self->demonitor(actor);
    }
    group->clear();
  }
}

/// A request that an actor leaves open when it dies is never answered: watch them.
void meet(Director* self) {
  auto& state = self->state;
  const auto& options = state.options;
  for (std::uint32_t r = 0; r < options.world; ++r) {
    state.trainers.push_back(options.trainer(static_cast<Rank>(r)));
    self->monitor(state.trainers.back());
  }
  for (std::uint32_t h = 0; h < options.hosts && options.evaluator; ++h) {
    state.evaluators.push_back(options.evaluator(h));
    self->monitor(state.evaluators.back());
  }
  state.heard.assign(options.world, {});
}

std::optional<std::size_t> index_of(const std::vector<caf::actor>& group,
                                    const caf::actor_addr& who) {
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (group[i].address() == who) {
      return i;
    }
  }
  return std::nullopt;
}

void on_down(Director* self, const caf::down_msg& down) {
  auto& state = self->state;
  const auto why = from_caf(down.reason).what();
  const auto lost = [&](std::string_view name, std::size_t i) {
    return Error(Errc::peer_lost, fmt::format("{} {}: the actor ended: {}", name, i, why));
  };
  if (const auto agent = index_of(state.options.agents, down.source)) {
    end(self, lost("host", *agent));
  } else if (const auto rank = index_of(state.trainers, down.source)) {
    state.lost.insert(static_cast<Rank>(*rank));
    recover(self, lost("trainer", *rank));
  } else if (const auto host = index_of(state.evaluators, down.source)) {
    recover(self, lost("evaluator of host", *host));
  }
}

// ---- recovery ----

void resume(Director* self) {
  auto& state = self->state;
  state.recovering = false;
  state.options.trace.slice(state.round > 0 ? "recover" : "begin", state.recovery_began);
  state.last_step = self->clock().now();
  if (const auto steps = state.options.checkpoints.steps; steps > 0) {
    take_state(self, {.multiple_of = steps, .after_step = state.after_step}, false);
  }
  lead(self);
}

/// All ranks go back to the last state.
void roll_back(Director* self) {
  auto& state = self->state;
  net::Restore restore;
  restore.generation = state.conductor->generation();
  restore.state = std::shared_ptr<const TrainingState>(state.last, &state.last->training);
  broadcast<net::Done>(self, state.trainers, "trainer", restore, [self](const auto&) {
    auto& now = self->state;
    const auto& to = *now.last;
    if (const auto restored = now.conductor->restore(to.training, to.record); !restored) {
      return end(self, restored.error());
    }
    now.after_step = to.training.global_step;
    now.stage = 2 * to.record.epochs.size() + (is_over(to.record) ? 1 : 0);
    resume(self);
  });
}

void introduce(Director* self) {
  const net::Introduce message{self->state.conductor->generation()};
  broadcast<net::Done>(self, self->state.options.agents, "host", message, [self](const auto&) {
    meet(self);
    roll_back(self);
  });
}

/// Begins a generation: hosts start again what is lost, then all go back to the last state.
void recover(Director* self, const Error& why) {
  auto& state = self->state;
  if (state.over) {
    return;
  }
  if (state.options.agents.empty() || ++state.rollbacks > state.options.max_rollbacks) {
    return end(self, why);
  }
  ++state.round;
  if (!std::exchange(state.recovering, true)) {
    state.recovery_began = state.options.trace.now();
  }
  state.early.reset();
  forget_members(self);
  state.conductor->set_generation(state.conductor->generation() + 1);
  say(self, fmt::format("{}; all ranks go back to step {}", why.what(),
                        state.last->training.global_step));
  const net::Regroup message{state.conductor->generation(), {state.lost.begin(), state.lost.end()}};
  broadcast<net::Done>(self, state.options.agents, "host", message, [self](const auto&) {
    self->state.lost.clear();
    introduce(self);
  });
}

// ---- signs of life ----

void expect_progress(Director* self) {
  auto& state = self->state;
  const auto since = self->clock().now() - state.last_step;
  if (state.recovering || !state.conductor->training() || since < state.options.step_deadline) {
    return;
  }
  // Whoever does not wait for the others keeps them waiting.
  const auto slowest = std::ranges::min_element(state.heard, {}, [](const net::Pong& pong) {
    return std::pair(pong.waits, pong.global_step);
  });
  end(self, Error(Errc::deadline_exceeded,
                  fmt::format("trainer {}: no step for {} ms, it has made {}; try: a larger "
                              "cluster.step_deadline",
                              slowest - state.heard.begin(), state.options.step_deadline.count(),
                              slowest->global_step)));
}

void ping(Director* self, std::size_t rank) {
  auto& state = self->state;
  const auto is_current = [self, round = state.round] {
    return !self->state.over && !self->state.recovering && self->state.round == round;
  };
  self->request(state.trainers[rank], state.options.lost_after, Ref<net::Ping>(net::Ping{}))
      .then(
          [self, rank, is_current](const Ref<net::Pong>& pong) {
            if (!is_current()) {
              return;
            }
            auto& last = self->state.heard[rank];
            if (last.global_step != pong->global_step) {
              self->state.last_step = self->clock().now();
            }
            last = *pong;
          },
          [self, rank, is_current](const caf::error& error) {
            if (is_current()) {
              self->state.lost.insert(static_cast<Rank>(rank));
              recover(self, Error(Errc::peer_lost, fmt::format("trainer {}: no sign of life: {}",
                                                               rank, from_caf(error).what())));
            }
          });
}

void beat(Director* self) {
  auto& state = self->state;
  expect_progress(self);
  if (state.over) {
    return;
  }
  if (!state.recovering && !state.options.agents.empty()) {
    for (std::size_t rank = 0; rank < state.trainers.size(); ++rank) {
      ping(self, rank);
    }
  }
  self->delayed_send(self, state.options.heartbeat, Ref<Heartbeat>(Heartbeat{}));
}

// ---- the behavior ----

void stop(Director* self) {
  auto& state = self->state;
  state.stopping = true;
  if (state.recovering) {
    return write_last(self);
  }
  take_state(self, {}, true);
}

void after_seconds(Director* self) {
  const std::chrono::duration<double> pause(self->state.options.checkpoints.seconds);
  self->delayed_send(self, std::chrono::duration_cast<std::chrono::milliseconds>(pause),
                     Ref<TakeNow>(TakeNow{}));
}

struct Begin {};

void begin(Director* self) {
  auto& state = self->state;
  meet(self);
  for (const auto& agent : state.options.agents) {
    self->monitor(agent);
  }
  if (state.options.checkpoints.seconds > 0) {
    after_seconds(self);
  }
  beat(self);
  roll_back(self);
}

caf::behavior director(Director* self, DirectorOptions options) {
  auto& state = self->state;
  state.options = std::move(options);
  state.conductor = std::make_unique<Conductor>(state.options.conductor, state.options.progress);
  state.last = state.options.start;
  state.recovering = true;
  state.recovery_began = state.options.trace.now();
  self->set_down_handler([self](const caf::down_msg& down) { on_down(self, down); });
  self->send(self, Ref<Begin>(Begin{}));
  return {
      [self](const Ref<Begin>&) { begin(self); },
      [self](const Ref<StopRun>&) { stop(self); },
      [self](const Ref<Heartbeat>&) { beat(self); },
      [self](const Ref<TakeNow>&) {
        if (!self->state.recovering) {
          take_state(self, {}, true);
        }
        after_seconds(self);
      },
      run_continuation,
  };
}

}  // namespace

caf::actor spawn_director(caf::actor_system& system, DirectorOptions options) {
  return system.spawn(director, std::move(options));
}

}  // namespace troupe
