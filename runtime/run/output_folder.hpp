#pragma once
/// \file output_folder.hpp
/// The folder that a run writes to: chosen, locked for the run, and cleared of an earlier one. What
/// is written there is in outputs.hpp, metrics_log.hpp and checkpoint.hpp.
#include "runtime/base/open_file.hpp"
#include "runtime/base/result.hpp"

#include <filesystem>
#include <utility>

namespace troupe {

struct OutputRequest {
  std::filesystem::path output = {};  ///< The job's
  bool given = false;  ///< It is named by the job or `--set`; else the first of a row
  bool resume = false;
  bool overwrite = false;
};

/// Chooses the folder of a run. Without `given` that is the first of OUTPUT, OUTPUT-2, OUTPUT-3, …
/// without a run; with `resume` the last with a run that is not finished, else the last with a run.
/// \errors failed_precondition: `given`, it holds a finished run, and neither `resume` nor
///   `overwrite` is set
Result<std::filesystem::path> choose_output(const OutputRequest& request);

/// Whether a folder holds a run, finished or not, or the script of one.
bool has_run(const std::filesystem::path& dir);

/// The folder that runs into `output` share: `runs/NAME` for `runs/NAME` and `runs/NAME-2`,
/// `runs/NAME-3`, …; else `output` itself.
/// \param first  `runs/NAME`
std::filesystem::path shared_folder(const std::filesystem::path& output,
                                    const std::filesystem::path& first);

/// A hold on the output folder of a run, or on one of predictions.
/// Lifecycle:  held until destroyed, or until the process ends, however it ends
/// Guarantees: no other process holds the same folder, where the file system has locks
class OutputClaim {
 public:
  OutputClaim() = default;
  /// Chooses a folder, makes it and locks it. Without `given` folders of runs under way are passed
  /// over.
  /// \errors failed_precondition: as choose_output(); another process holds it (with its pid and
  ///   host); it cannot be made
  static Result<OutputClaim> take(const OutputRequest& request);

  /// Makes a folder for predictions and locks it, so that the files in it are of one command.
  /// \errors failed_precondition: another process holds it, a run too; it cannot be made
  static Result<OutputClaim> take_for_predictions(std::filesystem::path dir);

  /// Removes the lock's file, and the folder if nothing else is in it; the claim ends.
  void remove_lock() &&;

  const std::filesystem::path& dir() const { return dir_; }

 private:
  OutputClaim(std::filesystem::path dir, OpenFile lock)
      : dir_(std::move(dir)), lock_(std::move(lock)) {}

  std::filesystem::path dir_;
  OpenFile lock_;
};

/// Removes the files of an earlier run: report, metrics, model, predictions, trace, logs and
/// checkpoints.
/// `store/` and files that a run does not write stay.
/// \errors failed_precondition: one of them cannot be removed
Status clear_output(const std::filesystem::path& dir);

}  // namespace troupe
