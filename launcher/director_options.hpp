#pragma once
/// \file director_options.hpp
/// A run as the launcher starts it and gets it back, and the director's options for it.
#include "actors/director.hpp"
#include "launcher/cluster_hooks.hpp"
#include "launcher/cluster_plan.hpp"
#include "launcher/cluster_process.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/conductor.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace troupe {

/// How a run is started.
struct RunSetup {
  Conductor::Progress progress = {};
  std::shared_ptr<const Checkpoint> resume = nullptr;  ///< null: from the beginning
  /// Keeps a checkpoint; may block. Empty: none are kept.
  std::function<Status(const Checkpoint&)> write_checkpoint = {};
  /// The newest that was kept; null: none. May block; an error ends the run. Empty: none are kept.
  std::function<Result<std::shared_ptr<const Checkpoint>>()> newest_checkpoint = {};
  /// Keeps the learned rows that the run ends with, those of the best epoch; may block. Empty: they are not.
  std::function<Status(const TableSource&)> write_tables = {};
  /// Learned rows to begin with, for an InferenceTask; null: as tables start.
  std::shared_ptr<const TableSource> tables = nullptr;
  /// Takes the place of the initial parameters; for an InferenceTask. Empty: those of the job's seed.
  std::vector<float> parameters = {};
};

/// What a run leaves: its record, the last state with the best epoch's parameters, and outputs.
struct RunResult {
  RunRecord record;
  std::shared_ptr<const TrainingState> state;
  /// Of the test seeds (`eval.predictions`), of `embedded_role`, or of each list of an InferenceTask.
  OutputsOfRoles outputs;
  /// Where one role has some; null: none has. \requires not several
  std::shared_ptr<const Matrix> only_outputs() const {
    return outputs.empty() ? nullptr : outputs.begin()->second;
  }
};

/// Options of the director in process `home`, but for `io` and what depends on how processes are
/// started.
/// \param on_end  called with the error if there are none
std::optional<DirectorOptions> director_options(const ClusterPlan& plan,
                                                const std::shared_ptr<ClusterProcess>& home,
                                                const ClusterHooks& hooks, RunSetup setup,
                                                std::function<void(Result<RunResult>)> on_end);

}  // namespace troupe
