#pragma once
/// \file job_store.hpp
/// The store that a job names as the job reads it: without features that learned rows take the place of
/// (`embedding.TYPE.features`), and with the job's own seeds (job_seeds.hpp).
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"

namespace troupe {

/// \errors as with_own_seeds()
Result<PartitionedStore> store_of_job(const Job& job, PartitionedStore store);

/// What is known of that store, for plans. \errors as count_own_seeds()
Status make_graph_of_job(const Job& job, GraphInfo& graph);

}  // namespace troupe
