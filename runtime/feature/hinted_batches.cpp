#include "runtime/feature/hinted_batches.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace troupe {

HintedBatches::Batches::iterator HintedBatches::find(const SampleBatch& hint) {
  const auto found = hint.turn ? batches_.find(*hint.turn) : batches_.end();
  const bool same = found != batches_.end() && found->second.hint->key == hint.key &&
                    found->second.hint->sample == hint.sample;
  return same ? found : batches_.end();
}

HintedBatches::Batches::iterator HintedBatches::erase(Batches::iterator at) {
  kept_bytes_ -= at->second.bytes;
  return batches_.erase(at);
}

void HintedBatches::add(Hint hint) {
  if (!hint->turn) {
    return;
  }
  // After a roll-back hints begin again at an earlier turn; what lies far behind it is in their way.
  for (auto far = batches_.lower_bound(*hint->turn + options_.most); far != batches_.end();) {
    far = erase(far);
  }
  if (batches_.size() < options_.most) {
    batches_.try_emplace(*hint->turn, Ahead{.hint = hint});
  }
}

bool HintedBatches::has_room() const {
  return options_.most_bytes == 0 || (kept_bytes_ == 0 && under_way_ == 0) ||
         (largest_ > 0 && kept_bytes_ + (under_way_ + 1) * largest_ <= options_.most_bytes);
}

HintedBatches::Hint HintedBatches::begin() {
  if (!has_room()) {
    return nullptr;
  }
  const auto next = std::ranges::find_if(
      batches_, [](const auto& of) { return !of.second.under_way && !of.second.whole; });
  if (next == batches_.end()) {
    return nullptr;
  }
  ++under_way_;
  next->second.under_way = true;
  return next->second.hint;
}

bool HintedBatches::keep(const SampleBatch& hint, HintedBatch batch) {
  --under_way_;
  const auto bytes = size_bytes(*batch.sampled);
  largest_ = std::max(largest_, bytes);
  const auto found = find(hint);
  if (found == batches_.end() || !found->second.under_way) {
    return false;
  }
  auto& of = found->second;
  of.under_way = false;
  of.whole = std::move(batch);
  of.bytes = bytes;
  kept_bytes_ += bytes;
  return true;
}

void HintedBatches::drop(const SampleBatch& hint) {
  --under_way_;
  const auto found = find(hint);
  if (found != batches_.end() && found->second.under_way) {
    erase(found);
  }
}

HintedBatches::Taken HintedBatches::take(const SampleBatch& request) {
  if (!request.turn) {
    return {};
  }
  Taken taken;
  if (const auto found = find(request); found != batches_.end()) {
    auto& of = found->second;
    if (of.whole) {
      taken.found = Found::whole;
      taken.batch = *std::move(of.whole);
    } else if (of.under_way) {
      taken.found = Found::under_way;
      taken.hint = of.hint;
    }
  }
  // Those before it will not be requested, nor this one again.
  for (auto at = batches_.begin(); at != batches_.end() && at->first <= *request.turn;) {
    at = erase(at);
  }
  return taken;
}

}  // namespace troupe
