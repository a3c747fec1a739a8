#pragma once
/// \file job_rules.hpp
/// Rules between keys of a job, after each key was found good by itself.
#include "runtime/job/job.hpp"
#include "runtime/job/problems.hpp"

namespace troupe {

/// Adds what is wrong between keys. Keys that have problems already are left alone.
void check_between_keys(const Job& job, ProblemList& problems);

}  // namespace troupe
