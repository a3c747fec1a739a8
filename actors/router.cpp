#include "actors/router.hpp"

#include "actors/error.hpp"
#include "actors/local_messages.hpp"
#include "runtime/feature/row_request.hpp"
#include "runtime/feature/tensor_rows.hpp"
#include "runtime/feature/writable_tensors.hpp"
#include "runtime/net/messages.hpp"
#include "runtime/sample/one_hop.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace troupe {
namespace {

using ClockTime = caf::actor_clock::time_point;
constexpr std::chrono::milliseconds longest_retry_pause{1000};

/// One request on its way to some replica.
struct Asked {
  std::function<void(std::uint64_t id, const caf::actor& holder)> send;
  caf::response_promise promise;
  caf::actor_addr target;            ///< empty while it pauses
  std::size_t tried = 0;             ///< replicas, over all rounds
  std::size_t first = 0;             ///< the nearest replica that may answer
  std::size_t replicas = 0;          ///< so many from it on may
  bool waits = true;                 ///< for lost ones to come back
  std::optional<ClockTime> give_up;  ///< a batch: counted from its first loss
  std::chrono::milliseconds pause;
};

struct RouterState {
  const char* name = "troupe.router";
  RouterOptions options;
  std::map<std::uint64_t, Asked> asked;
  std::uint64_t next_id = 0;
  std::set<caf::actor_addr> watched;
};
using Router = caf::stateful_actor<RouterState>;

struct TryAgain {
  std::uint64_t id;
};

void attempt(Router* self, std::uint64_t id);

void watch(Router* self, const caf::actor& holder) {
  if (self->state.watched.insert(holder.address()).second) {
    self->monitor(holder);
  }
}

/// The attempt failed in a way that another replica, or time, may mend.
void next_attempt(Router* self, std::uint64_t id, const Error& why) {
  auto& state = self->state;
  const auto found = state.asked.find(id);
  if (found == state.asked.end()) {
    return;
  }
  auto& asked = found->second;
  asked.target = {};
  if (!asked.give_up) {
    asked.give_up = self->clock().now() + state.options.recovery_deadline;
  }
  if (++asked.tried % asked.replicas != 0) {
    return attempt(self, id);
  }
  const auto now = self->clock().now();
  if (why.code() == Errc::not_found) {  // a tensor that no replica has
    asked.promise.deliver(to_caf(why));
    state.asked.erase(found);
    return;
  }
  if (now >= *asked.give_up || !asked.waits) {
    asked.promise.deliver(to_caf(Error(
        Errc::deadline_exceeded,
        fmt::format("{}: none of {} {} answered within {} ms; the last one: {}; try: a larger "
                    "cluster.recovery_deadline, or cluster.replicas",
                    state.options.what, asked.replicas, state.options.who,
                    state.options.recovery_deadline.count(), why.what()))));
    state.asked.erase(found);
    return;
  }
  const auto pause = asked.pause;
  asked.pause = std::min(asked.pause * 2, longest_retry_pause);
  self->delayed_send(self, pause, Ref<TryAgain>(TryAgain{id}));
}

/// A tensor is not found where the holder was started anew.
bool may_mend(Errc code) {
  return code == Errc::peer_lost || code == Errc::deadline_exceeded || code == Errc::overloaded ||
         code == Errc::not_found;
}

void attempt(Router* self, std::uint64_t id) {
  auto& state = self->state;
  auto& asked = state.asked.at(id);
  const auto holder = state.options.replicas[asked.first + asked.tried % asked.replicas]();
  if (!holder) {
    return next_attempt(self, id, Error(Errc::peer_lost, "it is lost, and not back"));
  }
  asked.target = holder.address();
  watch(self, holder);
  asked.send(id, holder);
}

template <class Reply, class Request>
void route(Router* self, const Ref<Request>& request, std::size_t replicas, bool waits = true,
           std::size_t first = 0) {
  // A batch takes as long as those asked for before it; the loss of its sampler ends the wait.
  constexpr bool endless = std::is_same_v<Request, SampleBatch>;
  const caf::duration deadline =
      endless ? caf::duration(caf::infinite) : caf::duration(self->state.options.request_deadline);
  auto& state = self->state;
  const auto id = state.next_id++;
  auto& asked = state.asked[id];
  asked.promise = self->make_response_promise();
  asked.first = first;
  asked.replicas = replicas;
  asked.waits = waits;
  if (!endless) {
    asked.give_up = self->clock().now() + state.options.recovery_deadline;
  }
  asked.pause = state.options.first_pause;
  asked.send = [self, request, deadline](std::uint64_t number, const caf::actor& holder) {
    const auto is_current = [self, number, target = holder.address()] {
      const auto found = self->state.asked.find(number);
      return found != self->state.asked.end() && found->second.target == target;
    };
    self->request(holder, deadline, request)
        .then(
            [self, number, is_current](const Ref<Reply>& reply) {
              if (is_current()) {
                auto node = self->state.asked.extract(number);
                node.mapped().promise.deliver(reply);
              }
            },
            [self, number, is_current](const caf::error& error) {
              if (!is_current()) {
                return;
              }
              const auto why = from_caf(error);
              if (may_mend(why.code())) {
                return next_attempt(self, number, why);
              }
              auto node = self->state.asked.extract(number);
              node.mapped().promise.deliver(to_caf(why));
            });
  };
  attempt(self, id);
}

/// A write to one of the replicas.
struct WriteOne {
  Ref<WriteRows> write;
  std::size_t replica = 0;
};

/// Answers when every replica has the write, or with the first error.
void write_all(Router* self, const Ref<WriteRows>& write) {
  struct Progress {
    caf::response_promise promise;
    std::size_t missing = 0;
    bool failed = false;
  };
  const auto progress = std::make_shared<Progress>();
  progress->promise = self->make_response_promise();
  progress->missing = self->state.options.replicas.size();
  for (std::size_t i = 0; i < self->state.options.replicas.size(); ++i) {
    self->request(caf::actor_cast<caf::actor>(self), caf::infinite,
                  Ref<WriteOne>(WriteOne{write, i}))
        .then(
            [progress](const Ref<net::Done>& done) {
              if (--progress->missing == 0 && !progress->failed) {
                progress->promise.deliver(done);
              }
            },
            [progress](const caf::error& error) {
              --progress->missing;
              if (!std::exchange(progress->failed, true)) {
                progress->promise.deliver(error);
              }
            });
  }
}

/// What was asked of a holder when it died is never answered.
void on_down(Router* self, const caf::down_msg& down) {
  auto& state = self->state;
  state.watched.erase(down.source);
  std::vector<std::uint64_t> lost;
  for (const auto& [id, asked] : state.asked) {
    if (asked.target == down.source) {
      lost.push_back(id);
    }
  }
  for (const auto id : lost) {
    next_attempt(self, id,
                 Error(Errc::peer_lost, fmt::format("it ended: {}", from_caf(down.reason).what())));
  }
}

caf::behavior router(Router* self, RouterOptions options) {
  self->state.options = std::move(options);
  const auto all = self->state.options.replicas.size();
  self->set_down_handler([self](const caf::down_msg& down) { on_down(self, down); });
  return {
      [self, all](const Ref<HopRequest>& request) { route<HopReply>(self, request, all); },
      [self, all](const Ref<RowRequest>& request) { route<RowReply>(self, request, all); },
      [self, all](const Ref<SampleBatch>& request) { route<ReadyBatch>(self, request, all); },
      // Where there is another replica its host stores the same.
      [self, all](const Ref<StoreTensor>& message) {
        route<net::Done>(self, message, 1, all == 1);
      },
      [self](const Ref<WriteRows>& write) { write_all(self, write); },
      [self](const Ref<WriteOne>& one) {
        route<net::Done>(self, one->write, 1, true, one->replica);
      },
      [self](const Ref<TryAgain>& again) {
        const auto found = self->state.asked.find(again->id);
        if (found != self->state.asked.end() && !found->second.target) {
          attempt(self, again->id);
        }
      },
  };
}

}  // namespace

caf::actor spawn_router(caf::actor_system& system, RouterOptions options) {
  return system.spawn(router, std::move(options));
}

}  // namespace troupe
