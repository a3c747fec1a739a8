#include "runtime/run/progress_watch.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

namespace troupe {

void ProgressWatch::begin(std::string task, const std::vector<std::string>& members,
                          TimePoint now) {
  task_ = std::move(task);
  members_.clear();
  for (const auto& name : members) {
    members_.push_back({.name = name, .owes = true, .last = std::nullopt});
  }
  changed_ = now;
}

void ProgressWatch::answered(std::size_t member, TimePoint now) {
  members_.at(member).owes = false;
  changed_ = now;
}

void ProgressWatch::heard(std::size_t member, const net::Pong& sign, TimePoint now) {
  if (member >= members_.size()) {
    return;  // of a larger group than the one that is asked now
  }
  auto& last = members_[member].last;
  if (last && (last->global_step != sign.global_step || last->work != sign.work)) {
    changed_ = now;
  }
  last = sign;
}

void ProgressWatch::look(TimePoint now) {
  const auto gap = looked_ ? now - *looked_ : TimePoint::duration(0);
  if (gap > longest_gap_) {
    changed_ = std::min(now, changed_ + gap);
  }
  looked_ = now;
}

std::optional<Error> ProgressWatch::overdue(TimePoint now) const {
  const auto rank = [](const Member& member) {
    const auto sign = member.last.value_or(net::Pong{});
    return std::tuple(!member.owes, sign.waits, sign.global_step, sign.work);
  };
  const auto slowest = std::ranges::min_element(members_, {}, rank);
  if (slowest == members_.end() || !slowest->owes || now - changed_ < deadline_) {
    return std::nullopt;
  }
  const auto sign = slowest->last.value_or(net::Pong{});
  return Error(Errc::deadline_exceeded,
               fmt::format("{}: asked to {}, nothing done for {} ms; it has made {} steps and "
                           "counts {} batches and blocks; try: a larger cluster.step_deadline",
                           slowest->name, task_, deadline_.count(), sign.global_step, sign.work));
}

}  // namespace troupe
