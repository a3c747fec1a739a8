#pragma once
/// \file job_seeds.hpp
/// Seeds in place of those of the job's split: those that files give (`dataset.seeds`), and those of another split
/// to score (`eval.split`). Counted for plans, and put into the job's store.
#include "runtime/base/result.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"

#include <string>

namespace troupe {

/// Checks keys that name types and splits of the data.
/// \errors invalid_argument: `eval.split`, `task.edges` or `dataset.seeds.type` name what is not there, or has no
///   seeds to score
Status check_seed_keys(const Job& job, const GraphInfo& graph);

/// Counts the job's own seeds in `graph` in place of the split's, which is added where there is none. Roles
/// that neither files nor `eval.split` have, or that are in no such split, stay those of the job's split.
/// \errors not_found: a file; invalid_argument: an id, a type or a number of times that does not fit,
///   or a file without seeds; each begins with the job's key
Status count_own_seeds(const Job& job, GraphInfo& graph);

/// The same store with the job's own seeds, whose global ids come from the parts' directories, or
/// from their original ids in older stores.
/// \errors as count_own_seeds; those of loading parts
/// \cost  the files, and one entry of a directory per seed; without directories a pass over the
///   original ids of all parts
Result<PartitionedStore> with_own_seeds(const Job& job, PartitionedStore store);

/// Digest of the files' bytes by role, 32 hexadecimal digits; empty: the job has none.
/// \errors not_found; failed_precondition: unreadable
Result<std::string> own_seeds_digest(const Job& job);

}  // namespace troupe
