#include "actors/watched_group.hpp"

#include <caf/all.hpp>

#include <algorithm>

namespace troupe {

void WatchedGroup::meet(caf::event_based_actor* self) {
  actors_.resize(group_.names.size());
  for (std::size_t i = 0; i < actors_.size(); ++i) {
    const auto now = group_.handle(i);
    if (actors_[i] == now) {
      continue;
    }
    if (actors_[i]) {
      self->demonitor(actors_[i]);
    }
    actors_[i] = now;
    if (now) {
      self->monitor(now);
    }
  }
}

void WatchedGroup::forget(caf::event_based_actor* self) {
  for (const auto& actor : actors_) {
    if (actor) {
      self->demonitor(actor);
    }
  }
  actors_.clear();
}

std::optional<std::size_t> WatchedGroup::find(const caf::actor_addr& who) const {
  for (std::size_t i = 0; i < actors_.size(); ++i) {
    if (actors_[i] && actors_[i].address() == who) {
      return i;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> WatchedGroup::missing() const {
  const auto found = std::ranges::find(actors_, caf::actor());
  return found == actors_.end() ? std::nullopt
                                : std::optional(static_cast<std::size_t>(found - actors_.begin()));
}

WatchedGroup WatchedGroup::front() const {
  WatchedGroup first({{group_.names.front()}, group_.handle});
  first.actors_ = {actors_.front()};
  return first;
}

}  // namespace troupe
