#include "runtime/run/session_record.hpp"

#include "runtime/run/epoch_counters.hpp"

#include <algorithm>
#include <limits>

namespace troupe {

SessionRecord::SessionRecord(std::uint32_t world, std::vector<EpochRecord> before) : world_(world) {
  for (auto& epoch : before) {
    over_.push_back({0, std::move(epoch), {}});
  }
}

std::optional<EpochRecord> SessionRecord::add(const net::RankEpoch& epoch) {
  const bool known = std::ranges::any_of(over_, [&](const auto& over) {
    return over.global_step == epoch.global_step && over.record.epoch == epoch.result.epoch;
  });
  if (known) {
    return std::nullopt;  // from before the ranks went back
  }
  auto& ranks = under_way_[{epoch.global_step, epoch.result.epoch}];
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
  over_.push_back({epoch.global_step, record, std::move(ranks)});
  under_way_.erase({epoch.global_step, epoch.result.epoch});
  return record;
}

void SessionRecord::go_back(std::uint64_t global_step) {
  std::erase_if(over_, [=](const Over& over) { return over.global_step > global_step; });
  std::erase_if(under_way_, [=](const auto& epoch) { return epoch.first.first > global_step; });
}

void SessionRecord::go_back(std::uint64_t global_step, Rank rank) {
  for (auto& over : over_) {
    if (over.global_step > global_step) {
      under_way_[{over.global_step, over.record.epoch}] = std::move(over.ranks);
    }
  }
  std::erase_if(over_, [=](const Over& over) { return over.global_step > global_step; });
  for (auto& [epoch, ranks] : under_way_) {
    if (epoch.first > global_step) {
      ranks.erase(rank);
    }
  }
}

std::vector<EpochRecord> SessionRecord::epochs() const {
  return epochs_at(std::numeric_limits<std::uint64_t>::max());
}

std::vector<EpochRecord> SessionRecord::epochs_at(std::uint64_t global_step) const {
  std::vector<EpochRecord> epochs;
  for (const auto& over : over_) {
    if (over.global_step <= global_step) {
      epochs.push_back(over.record);
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
