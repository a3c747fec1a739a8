#pragma once
/// \file restart_budget.hpp
/// Bound of restarts that bring a run no further.
#include <cstdint>
#include <optional>

namespace troupe {

/// Restarts in a row from the same step, beyond which the same loss would come for ever.
/// Threads: one at a time
class RestartBudget {
 public:
  static constexpr std::uint32_t max_in_a_row = 8;

  /// \param step  of the state that the run goes back to
  /// \returns false: the run is to end instead
  bool take(std::uint64_t step) {
    in_a_row_ = step_ == step ? in_a_row_ + 1 : 1;
    step_ = step;
    return in_a_row_ <= max_in_a_row;
  }

 private:
  std::optional<std::uint64_t> step_;
  std::uint32_t in_a_row_ = 0;
};

}  // namespace troupe
