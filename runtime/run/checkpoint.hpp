#pragma once
/// \file checkpoint.hpp
/// What a run continues from, and the folder that keeps it (design, section 7).
#include "runtime/base/result.hpp"
#include "runtime/base/staged_directory.hpp"
#include "runtime/nn/network.hpp"
#include "runtime/run/checkpoint_origin.hpp"
#include "runtime/run/run_record.hpp"
#include "runtime/run/table_source.hpp"
#include "runtime/run/tensor_source.hpp"
#include "runtime/wire/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

using net::TrainingState;

struct Checkpoint {
  TrainingState training;
  RunRecord record;              ///< epochs that are over, and what is known of the best one
  std::string job;               ///< Job::json of the run that wrote it
  CheckpointOrigin origin = {};  ///< As read; what is written is that of the folder
  std::shared_ptr<const TableSource> tables = nullptr;  ///< Learned rows; null: the job has none
  /// Rows of tensors by name, each named by a blob without bytes (tensor_blob()); null: none were made.
  std::shared_ptr<const TensorSource> tensors = nullptr;
};

/// \errors failed_precondition: a parameter is infinite or not a number
Status check_finite(const TrainingState& state);

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
  std::filesystem::path dir;     ///< holds `step-N/`; made when first written to
  std::uint32_t keep = 2;        ///< newest checkpoints that stay
  nn::ParameterLayout layout;    ///< names of the parameters in the shards
  CheckpointOrigin origin = {};  ///< Store and program of this run, for the manifests
  /// For tests of faults: called before each file is written; an error fails the write as a full
  /// disk would.
  std::function<Status(const std::filesystem::path&)> before_write = {};
  Flush flush = Flush::yes;  ///< no: a power cut may tear the newest, which is then skipped
};

/// The checkpoints of one run. `step-N/` (N = global step) holds `parameters.safetensors`,
/// `optimizer.safetensors`, `best.safetensors`, `blobs.bin`, `learned-PART.bin` and `tensors-PART.bin` where there are
/// any, and `manifest.json`: position, record, job, and every other file with its size and checksum, and a
/// checksum of itself.
/// Guarantees: a directory appears whole (staged, flushed, renamed); what a crash leaves behind is
///   never read, and removed by the next write. While one of the same name is replaced, the old one
///   is `step-N.old`, and read if a crash leaves only it
/// Threads:    one at a time; blocks on the disk
class CheckpointFolder {
 public:
  explicit CheckpointFolder(CheckpointFolderOptions options) : options_(std::move(options)) {}

  /// Writes `step-N`, replacing one of that name, then removes those of later steps (this run did not
  /// come from them) and of the others all but the newest `keep`, at least this one.
  /// \errors failed_precondition: the disk; invalid_argument: arrays of other sizes than the layout
  ///   says, a text that is not UTF-8. Other checkpoints are untouched
  Status write(const Checkpoint& checkpoint);

  /// The newest checkpoint that is whole. Others are skipped and named.
  /// \errors not_found: no checkpoint that can be read, with the names of those skipped
  ///   (data_corruption of each in its sentence)
  Result<LoadedCheckpoint> latest(std::vector<SkippedCheckpoint>& skipped) const;

  /// `Checkpoint::job` of the newest with a whole manifest, whatever its other files and their layout.
  /// \errors not_found: none has one
  Result<std::string> newest_job() const;

 private:
  CheckpointFolderOptions options_;
};

}  // namespace troupe
