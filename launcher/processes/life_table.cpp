#include "launcher/processes/life_table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {

void LifeTable::expect(const net::ProcessLife& life) {
  const std::lock_guard guard(mutex_);
  lives_[life.process] = life.incarnation;
}

void LifeTable::raise(const net::ProcessLife& life) {
  const std::lock_guard guard(mutex_);
  auto& latest = lives_[life.process];
  latest = std::max(latest, life.incarnation);
}

void LifeTable::forget(const net::ProcessLife& life) {
  const std::lock_guard guard(mutex_);
  const auto found = lives_.find(life.process);
  if (found != lives_.end() && found->second == life.incarnation) {
    lives_.erase(found);
  }
}

Status LifeTable::admit(const net::ProcessLife& life) const {
  const std::lock_guard guard(mutex_);
  const auto found = lives_.find(life.process);
  if (found == lives_.end() || found->second != life.incarnation) {
    return Error(Errc::fenced, fmt::format("process {}: its life {} is over; it was lost, and "
                                           "another takes its place",
                                           raw(life.process), life.incarnation));
  }
  return ok_status();
}

}  // namespace troupe
