#pragma once
/// \file sample_options.hpp
/// How a job's batches are sampled.
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/sample/seed_split.hpp"

namespace troupe {

/// The `sample` section of a job. Replies are not limited.
/// \requires the job was checked against the graph
SampleOptions sample_options(const Job& job, const GraphInfo& graph);

/// How seeds to train on are cut into batches.
BatchSizes batch_sizes(const SampleJob& sample);

}  // namespace troupe
