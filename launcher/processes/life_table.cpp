#include "launcher/processes/life_table.hpp"

#include <fmt/format.h>

namespace troupe {

void LifeTable::expect(const net::ProcessLife& life) {
  const std::lock_guard guard(mutex_);
  lives_[life.process] = life.incarnation;
}

void LifeTable::give(const net::ProcessLife& life) {
  const std::lock_guard guard(mutex_);
  given_.insert(life);
}

void LifeTable::forget(const net::ProcessLife& life) {
  const std::lock_guard guard(mutex_);
  const auto found = lives_.find(life.process);
  if (found != lives_.end() && found->second == life.incarnation) {
    lives_.erase(found);
  }
}

Status LifeTable::admit(const net::ProcessLife& life) {
  const std::lock_guard guard(mutex_);
  auto found = lives_.find(life.process);
  if (found == lives_.end() && given_.erase(life) > 0) {
    found = lives_.emplace(life.process, life.incarnation).first;
  }
  if (found == lives_.end() || found->second != life.incarnation) {
    return Error(Errc::fenced, fmt::format("process {}: its life {} is over; it was lost, and "
                                           "another takes its place",
                                           raw(life.process), life.incarnation));
  }
  return ok_status();
}

}  // namespace troupe
