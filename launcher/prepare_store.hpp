#pragma once
/// \file prepare_store.hpp
/// From what a job names to a partitioned store: imports and partitions what is missing into
/// `store/` of the folder that the job's runs share (runtime/run/output_folder.hpp), named by a hash of data and options, and reuses it (design, section 10).
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"

#include <filesystem>
#include <functional>
#include <string>

namespace troupe {

/// Told what is being done, in a sentence, before it is done.
using Say = std::function<void(const std::string&)>;

/// \errors not_found, invalid_argument (data), data_corruption; failed_precondition: a partitioned
/// store that differs from the job's partition section
Result<PartitionedStore> prepare_store(const Job& job, const Say& say);

/// Digest of the data that `job` names, the same for every placement: of its graph store's
/// `graph.json`, which has the checksums of all arrays; of a partitioned store also of its
/// `partition.json`.
/// \errors not_found, failed_precondition: the store, or the input it was imported from, is gone
Result<std::string> dataset_digest(const Job& job);

/// Text that identifies which node has which original id: by the names that an import has numbered, or where it has none
/// by the graph store as a whole. Empty: not known, as of a partitioned `dataset.path` without names.
/// \param store  of prepare_store()
/// \errors as dataset_digest()
Result<std::string> numbered_nodes(const Job& job, const PartitionedStore& store);

/// The same job for a command that leaves OUTPUT as it is: what is there already is used, what is missing
/// goes to `scratch`.
struct BorrowedJob {
  Job job;
  bool partitioned = true;  ///< The partitioned store is there already
};
Result<BorrowedJob> borrow_data(const Job& job, const std::filesystem::path& scratch);

/// The graph alone, imported if need be.
Result<GraphInfo> prepare_graph_info(const Job& job, const Say& say);

}  // namespace troupe
