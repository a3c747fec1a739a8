#pragma once
/// \file precision_rules.hpp
/// Which devices compute products as `train.precision` says.
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"

#include <optional>

namespace troupe {

/// CPUs and emulated devices have no products in tf32. "auto" is no problem before it is decided.
/// Whether a host's processor has products in bf16 is not known here (launcher/decide_device.hpp).
std::optional<JobProblem> precision_problem(const Job& job);

}  // namespace troupe
