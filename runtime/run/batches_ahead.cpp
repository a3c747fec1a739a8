#include "runtime/run/batches_ahead.hpp"

#include <algorithm>

namespace troupe {
namespace {

/// Waits above this share of the time are worth a further batch in flight.
constexpr int worthwhile_share = 20;  // 1 / 20

/// Fewest steps whose time is compared.
constexpr std::uint32_t fewest_steps = 8;

/// Looks without a gain after which the number falls back, or is looked for again.
constexpr std::uint32_t looks_in_vain = 4;

/// Part of the time of a step that another batch in flight must save.
constexpr double gain = 0.02;

/// Steps that are longer by this part are those of another situation.
constexpr double slower = 0.2;

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

void BatchesAhead::take(TimePoint now, std::chrono::nanoseconds waited, std::uint64_t largest) {
  largest_ = std::max(largest_, largest);
  waited_ += waited;
  time_ += now - last_;
  last_ = now;
  if (++steps_ < std::max(batches_, fewest_steps)) {
    return;
  }
  if (waited_ * worthwhile_share > time_) {
    look();
  }
  time_ = {};
  waited_ = {};
  steps_ = 0;
}

void BatchesAhead::look() {
  const std::chrono::duration<double> step = std::chrono::duration<double>(time_) / steps_;
  if (settled_) {
    in_vain_ = step > fastest_ * (1 + slower) ? in_vain_ + 1 : 0;
    if (in_vain_ < looks_in_vain) {
      return;
    }
    settled_ = false;
    fastest_ = {};
  }
  if (fastest_.count() == 0 || step < fastest_ * (1 - gain)) {
    fastest_ = step;
    fastest_batches_ = batches_;
    in_vain_ = 0;
  } else if (++in_vain_ == looks_in_vain) {
    batches_ = fastest_batches_;
    in_vain_ = 0;
    settled_ = true;
    return;
  }
  if (one_more_fits()) {
    ++batches_;
  }
}

bool BatchesAhead::one_more_fits() const {
  const std::uint64_t extra = batches_ + std::uint64_t{1} - options_.first;
  return batches_ < options_.most && (largest_ == 0 || extra <= options_.extra_bytes / largest_);
}

}  // namespace troupe
