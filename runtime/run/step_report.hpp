#pragma once
/// \file step_report.hpp
/// What a rank says after each training step.
#include "runtime/base/ids.hpp"

#include <cstdint>

namespace troupe {

struct StepReport {
  Rank rank{};
  std::uint32_t epoch = 0;
  std::uint64_t step = 0;         ///< steps of the epoch that are done
  std::uint64_t steps = 0;        ///< of the epoch
  std::uint64_t global_step = 0;  ///< steps of the run that are done
  double loss = 0;                ///< mean over the step's labelled seeds, all ranks
  double lr = 0;
  double seconds = 0;       ///< since the last step
  bool by_devices = false;  ///< its gradients were exchanged between devices, not over the links
};

}  // namespace troupe
