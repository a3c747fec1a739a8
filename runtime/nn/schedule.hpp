#pragma once
/// \file schedule.hpp
/// Learning rates as a pure function of the epoch, so that a run continued in any epoch learns as
/// one that was never stopped.
#include "runtime/base/result.hpp"

#include <cstdint>
#include <string>

namespace troupe::nn {

struct ScheduleOptions {
  std::string kind = "constant";  ///< "constant", "step", "linear", "cosine"
  std::uint32_t step_epochs = 0;  ///< step: the rate is multiplied by `factor` every so many epochs
  double factor = 0.1;            ///< step
  double end_lr = 0;              ///< linear, cosine: the rate after the last epoch
};

/// \errors invalid_argument: a kind that there is not, or numbers that make no rate
Status check_schedule(const ScheduleOptions& options);

/// The rate in `epoch` (from 0) of `epochs`, with `lr` in the first one. With t = epoch / epochs:
/// step lr * factor^(epoch div step_epochs); linear lr + (end_lr - lr) t; cosine end_lr +
/// (lr - end_lr) (1 + cos(pi t)) / 2 (PyTorch's StepLR, LinearLR and CosineAnnealingLR).
/// \requires check_schedule(options)
double learning_rate(const ScheduleOptions& options, double lr, std::uint32_t epoch,
                     std::uint32_t epochs);

}  // namespace troupe::nn
