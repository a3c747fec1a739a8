#include "runtime/run/step_times.hpp"

#include <algorithm>

namespace troupe {

void StepTimes::add(double seconds) {
  constexpr std::size_t most = 1'000'000;
  if (++seen_ > left_out && seconds_.size() < most) {
    seconds_.push_back(static_cast<float>(seconds));
  }
}

std::optional<double> StepTimes::median() const {
  if (seconds_.empty()) {
    return std::nullopt;
  }
  auto sorted = seconds_;
  std::ranges::sort(sorted);
  const auto half = sorted.size() / 2;
  const double upper = sorted[half];
  return sorted.size() % 2 == 1 ? upper : (static_cast<double>(sorted[half - 1]) + upper) / 2;
}

}  // namespace troupe
