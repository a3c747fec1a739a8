#include "runtime/run/session_record.hpp"

#include "runtime/run/epoch_counters.hpp"

#include <algorithm>
#include <limits>

namespace troupe {

SessionRecord::SessionRecord(std::uint32_t world, std::vector<EpochRecord> before) : world_(world) {
  for (auto& epoch : before) {
    over_.emplace_back(0, std::move(epoch));
  }
}

std::optional<EpochRecord> SessionRecord::add(const net::RankEpoch& epoch) {
  const bool known = std::ranges::any_of(over_, [&](const auto& over) {
    return over.first == epoch.global_step && over.second.epoch == epoch.result.epoch;
  });
  if (known) {
    return std::nullopt;  // from before the ranks went back
  }
  auto& ranks = under_way_[epoch.global_step];
  ranks[epoch.result.rank] = epoch.result;
  if (ranks.size() < world_) {
    return std::nullopt;
  }
  EpochRecord record;
  record.epoch = epoch.result.epoch;
  record.world = world_;
  record.loss = std::numeric_limits<double>::quiet_NaN();
  record.over = true;
  for (const auto& [rank, result] : ranks) {
    record.seconds = std::max(record.seconds, static_cast<double>(result.wall_ns) * 1e-9);
    add_counters(record.counters, result.counters);
  }
  under_way_.erase(epoch.global_step);
  over_.emplace_back(epoch.global_step, record);
  return record;
}

void SessionRecord::go_back(std::uint64_t global_step) {
  const auto later = [global_step](const auto& epoch) { return epoch.first > global_step; };
  std::erase_if(over_, later);
  std::erase_if(under_way_, later);
}

std::vector<EpochRecord> SessionRecord::epochs() const {
  return epochs_at(std::numeric_limits<std::uint64_t>::max());
}

std::vector<EpochRecord> SessionRecord::epochs_at(std::uint64_t global_step) const {
  std::vector<EpochRecord> epochs;
  for (const auto& [step, record] : over_) {
    if (step <= global_step) {
      epochs.push_back(record);
    }
  }
  return epochs;
}

double wait_share(const std::vector<EpochRecord>& epochs) {
  double waited = 0;
  double all = 0;
  for (const auto& epoch : epochs) {
    waited += static_cast<double>(epoch.counters.wait_ns) * 1e-9;
    all += epoch.seconds * epoch.world;
  }
  return all > 0 ? waited / all : 0;
}

}  // namespace troupe
