#pragma once
/// \file weights_of_outputs.hpp
/// Whether a task's weights of classes fit its outputs; for the sources of this folder only.
#include "runtime/base/result.hpp"
#include "runtime/nn/number_losses.hpp"
#include "runtime/run/task/task.hpp"

#include <cstdint>
#include <fmt/format.h>

namespace troupe {

/// \errors invalid_argument: weights with a loss of numbers, or another number of them than of outputs
inline Status check_weights_of_outputs(const TaskOptions& options, std::uint64_t outputs) {
  const auto weights = options.class_weights.of_class.size();
  const bool numbers = nn::predicts_numbers(options.loss);
  if (weights == 0 || (!numbers && weights == outputs)) {
    return ok_status();
  }
  return Error(Errc::invalid_argument,
               fmt::format("train.class_weights: expected {} for {} outputs with the loss {}, "
                           "found {}",
                           numbers ? "none" : "as many", outputs, options.loss, weights));
}

}  // namespace troupe
