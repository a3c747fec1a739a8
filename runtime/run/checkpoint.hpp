#pragma once
/// \file checkpoint.hpp
/// What a run continues from, and the folder that keeps it (design, section 7).
#include "runtime/base/digest.hpp"
#include "runtime/base/result.hpp"
#include "runtime/nn/model.hpp"
#include "runtime/nn/optimizer.hpp"
#include "runtime/run/run_record.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Where training stands between two steps; the same on every rank.
struct TrainingState {
  std::uint32_t epoch = 0;        ///< from 0, of the next step
  std::uint64_t step = 0;         ///< steps of `epoch` that are done
  std::uint64_t global_step = 0;  ///< steps of the run that are done
  double loss_sum = 0;            ///< of `epoch` so far, all ranks
  std::uint64_t loss_weight = 0;  ///< labelled seeds of `epoch` so far, all ranks
  Digest batches;                 ///< running digest of the run's batches so far
  std::vector<float> parameters;
  nn::OptimizerState optimizer;
  std::vector<float> best;  ///< parameters of the best epoch; empty: none was kept
  /// By name, what a user's own trainer gave its save hook; empty with a built-in model.
  std::map<std::string, std::vector<std::byte>> blobs;
};

struct Checkpoint {
  TrainingState training;
  RunRecord record;  ///< epochs that are over, and what is known of the best one
  std::string job;   ///< Job::json of the run that wrote it
};

/// What went wrong with checkpoints that were skipped: their names and why.
struct SkippedCheckpoint {
  std::string name;
  Error why;
};

struct LoadedCheckpoint {
  Checkpoint checkpoint;
  std::filesystem::path dir;
};

struct CheckpointFolderOptions {
  std::filesystem::path dir;   ///< holds `step-N/`; made when first written to
  std::uint32_t keep = 2;      ///< newest checkpoints that stay
  nn::ParameterLayout layout;  ///< names of the parameters in the shards
  /// For tests of faults: called before each file is written; an error fails the write as a full
  /// disk would.
  std::function<Status(const std::filesystem::path&)> before_write = {};
};

/// The checkpoints of one run. `step-N/` (N = global step) holds `parameters.safetensors`,
/// `optimizer.safetensors`, `best.safetensors` and `blobs.bin` where there are any, and
/// `manifest.json`: position, record, job, and every other file with its size and checksum, and a
/// checksum of itself.
/// Guarantees: a directory appears whole (staged, flushed, renamed); what a crash leaves behind is
///   never read, and removed by the next write
/// Threads:    one at a time; blocks on the disk
class CheckpointFolder {
 public:
  explicit CheckpointFolder(CheckpointFolderOptions options) : options_(std::move(options)) {}

  /// Writes `step-N`, replacing one of that name, then removes all but the newest `keep`.
  /// \errors failed_precondition: the disk; older checkpoints are untouched
  Status write(const Checkpoint& checkpoint);

  /// The newest checkpoint that is whole. Others are skipped and named.
  /// \errors not_found: no checkpoint that can be read, with the names of those skipped
  ///   (data_corruption of each in its sentence)
  Result<LoadedCheckpoint> latest(std::vector<SkippedCheckpoint>& skipped) const;

 private:
  CheckpointFolderOptions options_;
};

}  // namespace troupe
