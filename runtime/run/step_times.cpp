#include "runtime/run/step_times.hpp"

#include "runtime/base/median.hpp"

namespace troupe {

void StepTimes::add(double seconds) {
  constexpr std::size_t most = 1'000'000;
  if (++seen_ > left_out && seconds_.size() < most) {
    seconds_.push_back(static_cast<float>(seconds));
  }
}

std::optional<double> StepTimes::median() const {
  return troupe::median(seconds_);
}

}  // namespace troupe
