#pragma once
/// \file precision_rules.hpp
/// Which devices compute products as `train.precision` says.
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"

#include <optional>

namespace troupe {

/// Products of CPUs and emulated devices are float32. "auto" is no problem before it is decided.
std::optional<JobProblem> precision_problem(const Job& job);

}  // namespace troupe
