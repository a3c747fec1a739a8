#pragma once
/// \file collect_options.hpp
/// What is collected for a job's batches.
#include "runtime/base/result.hpp"
#include "runtime/feature/row_collection.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/job/job.hpp"

#include <cstdint>

namespace troupe {

/// Who reads a job's batches: the built-in trainers, or a user program or a file, which show all of
/// a batch.
enum class BatchReader : std::uint8_t { trainer, user };

/// Whether `reader` reads original ids of a batch's nodes. Trainers read them for dropout masks and
/// digests; scores and predictions get theirs from the seed order.
/// \param job  fitted to its graph
bool reads_original_ids(const Job& job, BatchReader reader);

/// Rows, labels and original ids of a job's batches, for every process alike.
/// \param job  fitted to its graph
/// \errors those of RowDecoder::create
Result<CollectOptions> collect_options(const Job& job, const GraphInfo& graph, BatchReader reader);

}  // namespace troupe
