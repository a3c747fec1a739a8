#pragma once
/// \file step_times.hpp
/// How long training steps take, as one figure.
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

/// The median of the seconds of steps, without the first ones, which fill caches and pipelines.
/// Threads: one at a time
/// Guarantees: at most 4 MB; later steps are not counted
class StepTimes {
 public:
  static constexpr std::uint64_t left_out = 10;

  void add(double seconds);
  /// Nothing where no step was counted.
  std::optional<double> median() const;

 private:
  std::uint64_t seen_ = 0;
  std::vector<float> seconds_;
};

}  // namespace troupe
