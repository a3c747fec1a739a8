#pragma once
/// \file watched_group.hpp
/// Handles of a group of actors, monitored by the actor that needs them.
#include <caf/actor.hpp>
#include <caf/actor_addr.hpp>
#include <caf/fwd.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Actors of one kind, one in each of some processes.
struct ActorGroup {
  std::vector<std::string> names;  ///< Names in messages, e.g. "evaluator of host 1"
  /// Handle of one as it is now, a local actor or a proxy. Null: its process is lost and not back.
  std::function<caf::actor(std::size_t)> handle;
};

/// Handles of a group and their monitors. A request that an actor leaves open when it dies is never
/// answered, so that the requester must hear of the death.
/// Threads: inside the watching actor only
class WatchedGroup {
 public:
  WatchedGroup() = default;
  explicit WatchedGroup(ActorGroup group) : group_(std::move(group)) {}

  /// Takes the handles as they are now. A dead actor behind one is reported as down at once.
  void meet(caf::event_based_actor* self);
  /// Without handles until the next meet().
  void forget(caf::event_based_actor* self);
  /// Position of the actor at an address.
  std::optional<std::size_t> find(const caf::actor_addr& who) const;
  void lose(std::size_t i) { actors_[i] = {}; }

  const std::vector<std::string>& names() const { return group_.names; }
  /// As they were met; empty after forget(). Null: lost.
  const std::vector<caf::actor>& actors() const { return actors_; }
  /// Position of one that is lost.
  std::optional<std::size_t> missing() const;
  /// The process of one is lost at this moment, and not back.
  bool is_gone(std::size_t i) const { return !group_.handle(i); }
  /// The first of the group alone.
  WatchedGroup front() const;

 private:
  ActorGroup group_;
  std::vector<caf::actor> actors_;
};

}  // namespace troupe
