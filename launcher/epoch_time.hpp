#pragma once
/// \file epoch_time.hpp
/// How long an epoch of a job's training will take, for `troupe check`: as an earlier run of the job
/// reported it, or as a trial measures it.
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/job/job.hpp"

#include <optional>

namespace troupe {

/// Median seconds of the epochs in OUTPUT/report.json, if a run of the same job left it; the number of
/// epochs, checkpoints and logs may differ.
std::optional<double> reported_epoch_seconds(const Job& job);

/// Trains for about `seconds`, all processes of the job in this one, and writes nothing.
/// \returns seconds per epoch, without evaluation
/// \errors those of the cluster; deadline_exceeded: fewer than two steps in ten times `seconds`
Result<double> measure_epoch_seconds(const Job& job, const PartitionedStore& store, double seconds);

}  // namespace troupe
