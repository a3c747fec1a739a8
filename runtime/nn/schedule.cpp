#include "runtime/nn/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numbers>

namespace troupe::nn {

Status check_schedule(const ScheduleOptions& options) {
  const std::string& kind = options.kind;
  if (kind != "constant" && kind != "step" && kind != "linear" && kind != "cosine") {
    return Error(
        Errc::invalid_argument,
        fmt::format("schedule kind: expected constant, step, linear or cosine, got \"{}\"", kind));
  }
  if (kind == "step" && options.step_epochs == 0) {
    return Error(Errc::invalid_argument, "schedule step_epochs: expected 1 or more, got 0");
  }
  for (const auto& [name, value] :
       {std::pair("factor", options.factor), std::pair("end_lr", options.end_lr)}) {
    if (!(value >= 0 && value < HUGE_VAL)) {
      return Error(Errc::invalid_argument,
                   fmt::format("schedule {}: expected a number from 0, got {}", name, value));
    }
  }
  return ok_status();
}

double learning_rate(const ScheduleOptions& options, double lr, std::uint32_t epoch,
                     std::uint32_t epochs) {
  const double t = static_cast<double>(epoch) / std::max(1U, epochs);
  if (options.kind == "step") {
    const std::uint32_t steps = epoch / options.step_epochs;
    return lr * std::pow(options.factor, static_cast<double>(steps));
  }
  if (options.kind == "linear") {
    return lr + (options.end_lr - lr) * t;
  }
  if (options.kind == "cosine") {
    return options.end_lr + (lr - options.end_lr) * (1 + std::cos(std::numbers::pi * t)) / 2;
  }
  return lr;
}

}  // namespace troupe::nn
