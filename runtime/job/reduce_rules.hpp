#pragma once
/// \file reduce_rules.hpp
/// Which devices add gradients as `train.reduce` says.
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"

#include <optional>

namespace troupe {

/// Nothing where ranks' gradients can be added so, and where `auto` is not decided.
std::optional<JobProblem> reduce_problem(const Job& job);

}  // namespace troupe
