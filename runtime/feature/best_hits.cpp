#include "runtime/feature/best_hits.hpp"

namespace troupe {

BestHits::BestHits(const std::vector<std::uint64_t>& room) : types_(room.size()) {
  for (std::size_t t = 0; t < room.size(); ++t) {
    types_[t].room = room[t];
  }
}

std::uint64_t BestHits::count(NodeTypeId type, std::span<const NodeId> read) {
  auto& of = types_[raw(type)];
  std::uint64_t more = 0;
  for (const auto id : read) {
    const auto next = static_cast<std::uint32_t>(of.times.size());
    const auto at = of.index.find_or_insert(raw(id), next);
    if (at == next) {
      of.times.push_back(0);
    }
    const auto before = of.times[at]++;
    if (before == of.at_least.size()) {
      of.at_least.push_back(0);
    }
    if (of.at_least[before]++ < of.room) {
      ++more;
    }
  }
  return more;
}

std::uint64_t BestHitsOfEpochs::count(std::uint32_t epoch,
                                      std::span<const PooledVector<NodeId>> read) {
  const std::lock_guard guard(mutex_);
  std::erase_if(epochs_,
                [epoch](const auto& of) { return of.first + 1 < epoch || epoch + 1 < of.first; });
  auto& now = epochs_.try_emplace(epoch, room_).first->second;
  std::uint64_t more = 0;
  for (std::size_t t = 0; t < read.size(); ++t) {
    more += now.count(static_cast<NodeTypeId>(t), read[t]);
  }
  return more;
}

}  // namespace troupe
