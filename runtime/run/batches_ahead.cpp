#include "runtime/run/batches_ahead.hpp"

#include <algorithm>

namespace troupe {
namespace {

/// Waits above this share of the time are worth a further batch in flight.
constexpr int worthwhile_share = 20;  // 1 / 20

/// Part of the free memory that batches beyond the first ones may take.
constexpr std::uint64_t memory_share = 10;  // 1 / 10

}  // namespace

BatchesAheadOptions batches_ahead(const ClusterJob& cluster, std::uint64_t free_bytes) {
  if (const auto fixed = cluster.batches_ahead(); fixed > 0) {
    return {.first = fixed, .most = fixed};
  }
  auto extra = AutoBatches::extra_bytes;
  if (free_bytes > 0) {
    extra = std::min(extra, free_bytes / memory_share);
  }
  return {.first = AutoBatches::first, .most = AutoBatches::most, .extra_bytes = extra};
}

void BatchesAhead::begin(TimePoint now) {
  began_ = now;
  waited_ = {};
  steps_ = 0;
}

void BatchesAhead::take(TimePoint now, std::chrono::nanoseconds waited, std::uint64_t largest) {
  largest_ = std::max(largest_, largest);
  waited_ += waited;
  if (++steps_ < batches_) {
    return;
  }
  if (waited_ * worthwhile_share > now - began_ && one_more_fits()) {
    ++batches_;
  }
  begin(now);
}

bool BatchesAhead::one_more_fits() const {
  const std::uint64_t extra = batches_ + std::uint64_t{1} - options_.first;
  return batches_ < options_.most && (largest_ == 0 || extra <= options_.extra_bytes / largest_);
}

}  // namespace troupe
