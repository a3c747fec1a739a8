#pragma once
/// \file offload.hpp
/// Long computations leave the mailbox: `offload` runs them on the compute pool and goes on inside
/// the actor afterwards.
#include "actors/message.hpp"
#include "runtime/base/executor.hpp"

#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace troupe {

/// The rest of a handler, to be run inside the actor that started it.
struct Continuation {
  std::function<void()> run;
};

/// The handler that every actor which offloads has in its behavior.
inline constexpr auto run_continuation = [](const Ref<Continuation>& rest) { rest->run(); };

/// Returns the task of offload(): `work`, then `then(result)` inside `self`.
template <class Self, class Work, class Then>
auto offloaded(Self* self, Work work, Then then) {
  return [handle = caf::actor_cast<caf::actor>(self), work = std::move(work),
          then = std::move(then)]() mutable {
    using Value = decltype(work());
    auto value = std::make_shared<Value>(work());
    caf::anon_send(handle, Ref<Continuation>(Continuation{
                               [then = std::move(then), value = std::move(value)]() mutable {
                                 then(std::move(*value));
                               }}));
  };
}

/// Runs `work` on the executor, then `then(result)` inside `self`. If the actor ended meanwhile,
/// `then` never runs.
template <class Self, class Work, class Then>
void offload(Self* self, Executor& executor, Work work, Then then) {
  executor.post(offloaded(self, std::move(work), std::move(then)));
}

/// Runs `work` before the executor's waiting tasks, as Executor::post_first(); else as offload().
template <class Self, class Work, class Then>
void offload_first(Self* self, Executor& executor, Work work, Then then) {
  executor.post_first(offloaded(self, std::move(work), std::move(then)));
}

}  // namespace troupe
