#pragma once
/// \file model_rules.hpp
/// Rules between the keys of `model`.
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"

namespace troupe {

/// Adds keys that the kind of model or another key does not read, and that have another value than
/// their default.
void check_model_keys(const Job& job, ProblemList& problems);

}  // namespace troupe
