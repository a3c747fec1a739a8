#include "actors/director.hpp"

#include "actors/error.hpp"
#include "actors/message.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>

namespace troupe {
namespace {

struct DirectorState {
  const char* name = "troupe.director";
  DirectorOptions options;
  std::unique_ptr<Conductor> conductor;
  bool over = false;
};
using Director = caf::stateful_actor<DirectorState>;

void lead(Director* self);

void end(Director* self, Result<RunRecord> result) {
  if (!std::exchange(self->state.over, true)) {
    self->state.options.on_end(std::move(result));
    self->quit();
  }
}

/// Answers of one group to one command, in the order of the group.
template <class Reply>
struct Gathering {
  std::vector<Reply> replies;
  std::size_t missing;
};

/// Sends `command` to all of `group`; when all have answered, `take(replies)` and on to the next
/// command.
template <class Reply, class Command, class Take>
void broadcast(Director* self, const std::vector<caf::actor>& group, std::string_view member,
               Command command, Take take) {
  const Ref<Command> message(std::move(command));
  auto all = std::make_shared<Gathering<Reply>>(
      Gathering<Reply>{std::vector<Reply>(group.size()), group.size()});
  for (std::size_t i = 0; i < group.size(); ++i) {
    self->request(group[i], caf::infinite, message)
        .then(
            [self, all, take, i](const Ref<Reply>& reply) {
              if (self->state.over) {
                return;
              }
              all->replies[i] = *reply;
              if (--all->missing > 0) {
                return;
              }
              if (const Status taken = take(std::move(all->replies)); !taken) {
                return end(self, taken.error());
              }
              lead(self);
            },
            [self, i, name = std::string(member)](const caf::error& error) {
              if (!self->state.over) {
                end(self, from_caf(error).with(fmt::format("{} {}", name, i)));
              }
            });
  }
}

void lead_trainers(Director* self, const TrainerCommand& command) {
  auto* conductor = self->state.conductor.get();
  const auto& trainers = self->state.options.trainers;
  std::visit(
      [&]<class C>(const C& c) {
        if constexpr (std::is_same_v<C, net::EpochRequest>) {
          broadcast<net::EpochResult>(self, trainers, "trainer", c, [conductor](auto r) {
            return conductor->take_epochs(std::move(r));
          });
        } else if constexpr (std::is_same_v<C, net::ScoreRequest>) {
          broadcast<net::ScoreResult>(self, trainers, "trainer", c, [conductor](const auto& r) {
            return conductor->take_scores(r);
          });
        } else if constexpr (std::is_same_v<C, net::KeepBest>) {
          broadcast<net::Done>(self, trainers, "trainer", c,
                               [conductor](const auto&) { return conductor->take_kept(); });
        } else {
          broadcast<net::FinishResult>(self, trainers, "trainer", c, [conductor](const auto& r) {
            return conductor->take_finished(r);
          });
        }
      },
      command);
}

void lead_evaluators(Director* self, const EvaluatorCommand& command) {
  auto* conductor = self->state.conductor.get();
  const auto& evaluators = self->state.options.evaluators;
  std::visit(
      [&]<class C>(const C& c) {
        if constexpr (std::is_same_v<C, net::InferRequest>) {
          broadcast<net::InferResult>(
              self, evaluators, "evaluator of host", c,
              [conductor](const auto& r) { return conductor->take_inferred(r); });
        } else {
          broadcast<net::ScoreResult>(
              self, evaluators, "evaluator of host", c,
              [conductor](const auto& r) { return conductor->take_scores(r); });
        }
      },
      command);
}

/// Sends the next command.
void lead(Director* self) {
  const auto command = self->state.conductor->next();
  if (const auto* to_trainers = std::get_if<ToTrainers>(&command)) {
    lead_trainers(self, to_trainers->command);
  } else if (const auto* to_evaluators = std::get_if<ToEvaluators>(&command)) {
    lead_evaluators(self, to_evaluators->command);
  } else {
    end(self, self->state.conductor->record());
  }
}

/// A request that an actor leaves open when it dies is never answered: watch them.
void watch(Director* self) {
  const auto& options = self->state.options;
  for (const auto* group : {&options.trainers, &options.evaluators}) {
    for (const auto& actor : *group) {
      self->monitor(actor);
    }
  }
  self->set_down_handler([self](const caf::down_msg& down) {
    const auto name_in = [&](const std::vector<caf::actor>& group, std::string_view name) {
      for (std::size_t i = 0; i < group.size(); ++i) {
        if (group[i].address() == down.source) {
          end(self, Error(Errc::peer_lost, fmt::format("{} {}: the actor ended: {}", name, i,
                                                       from_caf(down.reason).what())));
        }
      }
    };
    name_in(self->state.options.trainers, "trainer");
    name_in(self->state.options.evaluators, "evaluator of host");
  });
}

struct Begin {};

caf::behavior director(Director* self, DirectorOptions options) {
  self->state.options = std::move(options);
  self->state.conductor =
      std::make_unique<Conductor>(self->state.options.conductor, self->state.options.progress);
  watch(self);
  self->send(self, Ref<Begin>(Begin{}));
  return {[self](const Ref<Begin>&) { lead(self); }};
}

}  // namespace

caf::actor spawn_director(caf::actor_system& system, DirectorOptions options) {
  return system.spawn(director, std::move(options));
}

}  // namespace troupe
