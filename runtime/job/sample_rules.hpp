#pragma once
/// \file sample_rules.hpp
/// What keys of the section `sample` do not go with, known without the graph.
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"

namespace troupe {

/// Adds them, but for keys that have problems already.
void check_sampling(const Job& job, ProblemList& problems);

}  // namespace troupe
