#pragma once
/// \file restart_budget.hpp
/// Bound of restarts that bring a run no further.
#include <cstdint>
#include <optional>

namespace troupe {

/// Roll-backs or restarts in a row without a new state in between.
inline constexpr std::uint32_t max_restarts_in_a_row = 8;

/// Restarts in a row from the same step, beyond which the same loss would come for ever.
/// Threads: one at a time
class RestartBudget {
 public:
  /// \param step  of the state that the run goes back to
  /// \returns false: the run is to end instead
  bool take(std::uint64_t step) {
    in_a_row_ = step_ == step ? in_a_row_ + 1 : 1;
    step_ = step;
    return in_a_row_ <= max_restarts_in_a_row;
  }

 private:
  std::optional<std::uint64_t> step_;
  std::uint32_t in_a_row_ = 0;
};

}  // namespace troupe
