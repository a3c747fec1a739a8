#pragma once
/// \file memory_plan.hpp
/// Upper bounds of the memory of a job's largest process. The factors are those of the code that
/// allocates; tests hold the sum against measured peaks (tests/nightly/check_memory_test.cpp).
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/plan.hpp"

namespace troupe {

/// \param plan  all but its memory
MemoryPlan memory_plan(const Job& job, const GraphInfo& graph, const GraphFacts& facts,
                       const Plan& plan);

}  // namespace troupe
