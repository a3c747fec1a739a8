#pragma once
/// \file ask_all.hpp
/// One request to each of several actors, and one answer when all have answered.
#include "actors/error.hpp"
#include "actors/message.hpp"

#include <caf/actor.hpp>
#include <caf/all.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace troupe {

/// Calls `each(i, Result<Ref<Reply>>)` for every answer, then `done()` after the last one; at once
/// if there are no actors.
template <class Reply, class Message, class Each, class Done>
void ask_each(caf::event_based_actor* self, const std::vector<caf::actor>& actors,
              const caf::duration& deadline, const Message& message, Each each, Done done) {
  struct Progress {
    Each each;
    Done done;
    std::size_t missing;
    void answered(std::size_t i, Result<Ref<Reply>> reply) {
      each(i, std::move(reply));
      if (--missing == 0) {
        done();
      }
    }
  };
  const auto all =
      std::make_shared<Progress>(Progress{std::move(each), std::move(done), actors.size()});
  if (actors.empty()) {
    return all->done();
  }
  for (std::size_t i = 0; i < actors.size(); ++i) {
    self->request(actors[i], deadline, message)
        .then([all, i](const Ref<Reply>& reply) { all->answered(i, reply); },
              [all, i](const caf::error& error) { all->answered(i, from_caf(error)); });
  }
}

/// Calls `then(Result<std::vector<Ref<Reply>>>)` once: with all replies in the order of `actors`, or
/// with the first error.
/// \param name  maps an actor's position to a phrase that its error gets: "taking the state of rank
///   3"
template <class Reply, class Message, class Name, class Then>
void ask_all(caf::event_based_actor* self, const std::vector<caf::actor>& actors,
             const caf::duration& deadline, const Message& message, Name name, Then then) {
  struct Gathered {
    Name name;
    Then then;
    std::vector<Ref<Reply>> replies;
    bool failed = false;
  };
  const auto all = std::make_shared<Gathered>(
      Gathered{std::move(name), std::move(then), std::vector<Ref<Reply>>(actors.size())});
  ask_each<Reply>(
      self, actors, deadline, message,
      [all](std::size_t i, Result<Ref<Reply>> reply) {
        if (reply) {
          all->replies[i] = *std::move(reply);
        } else if (!std::exchange(all->failed, true)) {
          all->then(Result<std::vector<Ref<Reply>>>(Error(reply.error()).with(all->name(i))));
        }
      },
      [all] {
        if (!all->failed) {
          all->then(Result<std::vector<Ref<Reply>>>(std::move(all->replies)));
        }
      });
}

}  // namespace troupe
