#pragma once
/// \file run_checkpoints.hpp
/// Checkpoints as the commands use them: in the job's output folder, found again by `--resume`.
#include "launcher/prepare_store.hpp"
#include "runtime/job/job.hpp"
#include "runtime/nn/network.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/checkpoint_origin.hpp"

#include <functional>
#include <memory>
#include <string>

namespace troupe {

/// A job, and where its checkpoints come from.
struct CheckpointedJob {
  const Job& job;
  CheckpointOrigin origin;
};

/// \param store  Digest of the store (dataset_digest()); empty: it is neither kept nor compared
CheckpointOrigin origin_of_run(std::string store);

/// The newest checkpoint that is whole and fits the job; others are named on standard error.
/// \param layout  of the model's parameters; empty for a session
/// \errors not_found; failed_precondition: another job, store or sampling_version
Result<std::shared_ptr<const Checkpoint>> find_checkpoint(const CheckpointedJob& run,
                                                          const nn::ParameterLayout& layout,
                                                          const Say& say);

/// Of the job's output. \param step  global, of the checkpoint
std::string folder_of_checkpoint(const Job& job, std::uint64_t step);

/// Keeps checkpoints in the job's output folder, and brings them to the hosts that keep copies. A copy that fails is
/// a note.
struct CheckpointKeeper {
  std::function<Status(const Checkpoint&)> write;
  /// Ends the copying that the next checkpoint would wait for. On any thread.
  std::function<void()> cut_copying;
};

/// \param written  gets the folder of each before it is copied
/// \param note     gets lines about copies; of failures in a row as FailureStreak has it
/// \errors those of CheckpointCopies::open()
Result<CheckpointKeeper> checkpoint_keeper(const CheckpointedJob& run,
                                           const nn::ParameterLayout& layout, Say written,
                                           Say note);

/// The sentence for an interrupted run, with the command that continues it.
/// \param checkpoint  folder of the last one; empty: there is none
/// \param overwrites  the run was started with --overwrite
std::string interrupted_text(const std::string& checkpoint, bool overwrites);
/// Prints that to standard error.
void tell_interrupted(const std::string& checkpoint, bool overwrites);

}  // namespace troupe
