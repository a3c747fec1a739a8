#pragma once
/// \file seed_rules.hpp
/// Jobs with files of seeds of their own, before these are read.
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"

namespace troupe {

/// Adds times without their seeds, and hosts that would not have the files.
void check_seed_files(const Job& job, ProblemList& problems);

}  // namespace troupe
