#pragma once
/// \file resume.hpp
/// Whether a job may go on from what another one left.
#include "runtime/base/result.hpp"
#include "runtime/job/job.hpp"

#include <cstdint>
#include <string>

namespace troupe {

/// Compares the job of a checkpoint with the one that is to go on from it. Where and how it runs may
/// differ (`cluster`, but not its number of ranks; `partition`, `checkpoint`, `output`, `log_every`,
/// `trace`, `dataset.memory`, `eval.predictions`, the caches of `sample` and `features`), and
/// `train.epochs` with a constant schedule; results do not depend on these. With `sample.seed_order`
/// "local" or `task.negatives.from` "own" they depend on `partition` and on the parts where each rank
/// samples, which must be the same then. Everything else must be equal; a key that the writer did not
/// know counts as its default.
/// \param written  Job::json of the run that wrote the checkpoint
/// \errors failed_precondition: with the first keys that differ, and both values; data_corruption:
///   `written` is no job
Status check_resumable(const std::string& written, const Job& job);

/// Place in a run's training at which a checkpoint was made.
struct TrainedUntil {
  std::uint32_t epoch = 0;  ///< Epoch under way, from 0
  std::uint64_t steps = 0;  ///< Steps of it that are over
};

/// Checks that `train.epochs` was not lowered below what is trained already. A user program may have
/// epochs beyond `train.epochs`, so only a lower number than that of the writer is refused.
/// \param written  as of check_resumable()
/// \errors failed_precondition: training is beyond the last epoch, with both numbers
Status check_epochs_left(const std::string& written, const Job& job, TrainedUntil until);

}  // namespace troupe
