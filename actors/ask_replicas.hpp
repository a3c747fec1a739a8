#pragma once
/// \file ask_replicas.hpp
/// Requests to the replicas of a part from a thread that may block, such as one for the disk. Actors use ReplicaClient.
#include "actors/error.hpp"
#include "actors/message.hpp"
#include "actors/replica_client.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

namespace troupe {

/// Sends one request, again while the holder is busy, and now and then: a holder of this process that is lost with
/// the request answers nobody, and the next one in its place, or nobody, is found then.
template <class Reply, class Message>
Result<Ref<Reply>> ask_replica(caf::scoped_actor& self, const std::function<caf::actor()>& find,
                               const Ref<Message>& message, std::chrono::milliseconds deadline) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds busy_pause{20};
  constexpr std::chrono::milliseconds longest_attempt{3000};
  constexpr int most_tries = 500;
  const auto give_up = Clock::now() + deadline;
  const Error absent(Errc::peer_lost, "the holder is not there");
  Result<Ref<Reply>> answer = absent;
  for (int busy = 0; busy < most_tries;) {
    const auto holder = find();
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(give_up - Clock::now());
    if (!holder) {
      return absent;
    }
    if (left.count() <= 0) {
      return answer;
    }
    self->request(holder, std::min(left, longest_attempt), message)
        .receive([&](const Ref<Reply>& reply) { answer = reply; },
                 [&](const caf::error& error) { answer = from_caf(error); });
    if (!answer && answer.error().code() == Errc::overloaded) {
      ++busy;
      std::this_thread::sleep_for(busy_pause);
    } else if (answer || answer.error().code() != Errc::deadline_exceeded) {
      return answer;
    }
  }
  return answer;
}

inline std::chrono::milliseconds deadline_of(const Replicas& to) {
  return to.request_deadline.value_or(to.recovery_deadline);
}

/// Asks one replica after the other until one answers.
template <class Reply, class Message>
Result<Ref<Reply>> ask_any(caf::scoped_actor& self, const Replicas& replicas,
                           const Message& message) {
  Result<Ref<Reply>> reply = Error(Errc::peer_lost, "no holder");
  for (std::size_t i = 0; i < replicas.actors.size() && !reply; ++i) {
    reply =
        ask_replica<Reply>(self, replicas.actors[i], Ref<Message>(message), deadline_of(replicas));
  }
  return reply ? std::move(reply) : Error(reply.error()).with(replicas.what);
}

/// Sends a request to all replicas, one after the other. \errors the first one
template <class Message>
Status tell_every(caf::scoped_actor& self, const Replicas& replicas, const Ref<Message>& message) {
  for (const auto& holder : replicas.actors) {
    if (const auto done = ask_replica<net::Done>(self, holder, message, deadline_of(replicas));
        !done) {
      return Error(done.error()).with(replicas.what);
    }
  }
  return ok_status();
}

}  // namespace troupe
