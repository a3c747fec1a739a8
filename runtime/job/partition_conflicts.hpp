#pragma once
/// \file partition_conflicts.hpp
/// Keys of a job's `partition` section that a store, partitioned beforehand, does not have.
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"

#include <string>
#include <vector>

namespace troupe {

struct PartitionConflict {
  std::string key;  ///< Of the section, for example "parts"
  std::string job;
  std::string store;
};

/// Compares the keys that the job file has with what the store says. A key that is not written, one
/// that the store's method does not use, and `file` and `topology` do not conflict.
std::vector<PartitionConflict> partition_conflicts(const PartitionJob& job,
                                                   const PartitionInfo& store);

}  // namespace troupe
