#include "launcher/processes/instance_table.hpp"

#include <fmt/format.h>

namespace troupe {

void InstanceTable::expect(const net::ProcessInstance& instance) {
  const std::lock_guard guard(mutex_);
  instances_[instance.process] = instance.incarnation;
}

void InstanceTable::give(const net::ProcessInstance& instance) {
  const std::lock_guard guard(mutex_);
  given_.insert(instance);
}

void InstanceTable::forget(const net::ProcessInstance& instance) {
  const std::lock_guard guard(mutex_);
  const auto found = instances_.find(instance.process);
  if (found != instances_.end() && found->second == instance.incarnation) {
    instances_.erase(found);
  }
}

Status InstanceTable::admit(const net::ProcessInstance& instance) {
  const std::lock_guard guard(mutex_);
  auto found = instances_.find(instance.process);
  if (found == instances_.end() && given_.erase(instance) > 0) {
    found = instances_.emplace(instance.process, instance.incarnation).first;
  }
  if (found == instances_.end() || found->second != instance.incarnation) {
    return Error(Errc::fenced,
                 fmt::format("process {}: its incarnation {} is over; it was lost, and "
                             "another takes its place",
                             raw(instance.process), instance.incarnation));
  }
  return ok_status();
}

}  // namespace troupe
