#pragma once
/// \file replica_client.hpp
/// Requests to one of several actors that can answer the same: the holders of a part, the batch
/// servers of a rank.
#include "actors/error.hpp"
#include "actors/message.hpp"

#include <caf/actor.hpp>
#include <caf/actor_addr.hpp>
#include <caf/event_based_actor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Actors that can answer the same requests, and for how long a client keeps trying.
struct Replicas {
  std::string what;             ///< Name of the thing that they give access to: "part 3"
  std::string who = "holders";  ///< Plural noun for the actors, for messages
  /// Return the actor of a replica as known now (it may be dead, or null), nearest first.
  std::vector<std::function<caf::actor()>> actors;
  /// Time for one attempt; none: as long as the replica lives. Then the recovery deadline counts
  /// from the first loss, not from the request.
  std::optional<std::chrono::milliseconds> request_deadline = std::chrono::milliseconds(60'000);
  /// Time until a request that no replica answers is given up.
  std::chrono::milliseconds recovery_deadline{60'000};
  /// Pause between rounds over all replicas; doubles up to 1 s.
  std::chrono::milliseconds first_pause{10};
};

/// Lifecycle:  a member of its actor's state, whose behavior has `run_continuation` and whose down
///   handler calls on_down()
/// Threads:    inside its actor's handlers
/// Guarantees: each request is answered once, never inside request() itself. A request whose replica
///   is lost, silent or overloaded goes to the next one, then round again after growing pauses:
///   requests are idempotent
/// Bound:      keeps what its actor has requested
class ReplicaClient {
 public:
  explicit ReplicaClient(caf::event_based_actor* self) : self_(self) {}
  ReplicaClient(const ReplicaClient&) = delete;
  ReplicaClient& operator=(const ReplicaClient&) = delete;

  /// Sends `message` to the nearest replica, or to the next ones in its place.
  /// \param then  takes a Result<Ref<Reply>>; errors are those of the replica; deadline_exceeded:
  ///   none answered within the recovery deadline
  template <class Reply, class Request, class Then>
  void request(const std::shared_ptr<const Replicas>& to, const Ref<Request>& message, Then then) {
    start<Reply>({.to = to, .replicas = to->actors.size()}, message, std::move(then));
  }

  /// Sends `message` to the nearest replica alone.
  /// \param waits  for the replica to come back when it is lost
  template <class Reply, class Request, class Then>
  void request_nearest(const std::shared_ptr<const Replicas>& to, bool waits,
                       const Ref<Request>& message, Then then) {
    start<Reply>({.to = to, .waits = waits}, message, std::move(then));
  }

  /// One message to each replica of a thing.
  template <class Request>
  using Share = std::pair<std::shared_ptr<const Replicas>, Ref<Request>>;
  /// Sends every share to all of its replicas; answers when all have answered, or with the first
  /// error.
  /// \requires at least one share
  template <class Reply, class Request, class Then>
  void request_all(const std::vector<Share<Request>>& shares, Then then) {
    struct Progress {
      Then then;
      std::size_t missing = 0;
      bool failed = false;
    };
    const auto progress = std::make_shared<Progress>(Progress{std::move(then)});
    for (const auto& [to, message] : shares) {
      progress->missing += to->actors.size();
    }
    for (const auto& share : shares) {
      for (std::size_t i = 0; i < share.first->actors.size(); ++i) {
        start<Reply>({.to = share.first, .first = i}, share.second,
                     [progress](Result<Ref<Reply>> reply) {
                       --progress->missing;
                       if (!progress->failed && (!reply || progress->missing == 0)) {
                         progress->failed = !reply;
                         progress->then(std::move(reply));
                       }
                     });
      }
    }
  }

  /// No open request is answered any longer.
  void forget_all() { open_.clear(); }
  /// Tries the next replica for what `down.source` will not answer.
  void on_down(const caf::down_msg& down);

 private:
  struct Open {
    std::shared_ptr<const Replicas> to;
    std::size_t first = 0;     ///< Nearest replica that may answer
    std::size_t replicas = 1;  ///< So many from it on may
    bool waits = true;         ///< For lost ones to come back
    std::function<void(std::uint64_t id, const caf::actor& replica)> send = {};
    std::function<void(const Error&)> fail = {};
    caf::actor_addr target = {};  ///< Empty during a pause
    std::size_t tried = 0;        ///< Replicas, over all rounds
    std::optional<std::chrono::steady_clock::time_point> give_up = std::nullopt;
    std::chrono::milliseconds pause{0};
  };

  template <class Reply, class Request, class Then>
  void start(Open open, const Ref<Request>& message, Then then) {
    const auto answer = std::make_shared<Then>(std::move(then));
    const auto& limit = open.to->request_deadline;
    const auto deadline = limit ? caf::duration(*limit) : caf::duration(caf::infinite);
    open.fail = [answer](const Error& why) { (*answer)(Result<Ref<Reply>>(why)); };
    open.send = [this, message, answer, deadline](std::uint64_t id, const caf::actor& replica) {
      self_->request(replica, deadline, message)
          .then(
              [this, id, answer, target = replica.address()](const Ref<Reply>& reply) {
                if (take(id, target)) {
                  (*answer)(Result<Ref<Reply>>(reply));
                }
              },
              [this, id, target = replica.address()](const caf::error& error) {
                refused(id, target, from_caf(error));
              });
    };
    begin(std::move(open));
  }

  void begin(Open open);
  void attempt(std::uint64_t id);
  void next_attempt(std::uint64_t id, const Error& why);
  void give_up(std::uint64_t id, const Error& why);
  /// Whether an answer of `target` is the one that is waited for; then it is no longer open.
  bool take(std::uint64_t id, const caf::actor_addr& target);
  void refused(std::uint64_t id, const caf::actor_addr& target, const Error& why);
  /// Runs `rest(id)` in a later handler, if the request is open by then.
  void later(std::uint64_t id, std::chrono::milliseconds after,
             std::function<void(std::uint64_t)> rest);

  caf::event_based_actor* self_;
  std::map<std::uint64_t, Open> open_;
  std::uint64_t next_id_ = 0;
  std::set<caf::actor_addr> watched_;
};

}  // namespace troupe
