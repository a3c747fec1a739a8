#include "launcher/run_checkpoints.hpp"

#include "launcher/processes/checkpoint_copies.hpp"
#include "launcher/version.hpp"
#include "runtime/job/resume.hpp"
#include "runtime/run/failure_streak.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <vector>

namespace troupe {
namespace {

std::filesystem::path checkpoint_dir(const Job& job) {
  return job.output / "checkpoints";
}

CheckpointFolder checkpoint_folder(const CheckpointedJob& run, nn::ParameterLayout layout) {
  CheckpointFolderOptions options;
  options.dir = checkpoint_dir(run.job);
  options.keep = run.job.checkpoint.keep;
  options.layout = std::move(layout);
  options.origin = run.origin;
  return CheckpointFolder(std::move(options));
}

void note_copies(std::uint64_t step, const std::vector<Error>& errors, FailureStreak& not_copied,
                 const Say& note) {
  if (errors.empty()) {
    if (const auto failures = not_copied.end(); failures > 0) {
      note(fmt::format("checkpoint of step {} is copied, after {} that could not be", step,
                       failures));
    }
    return;
  }
  const auto count = not_copied.add();
  for (const auto& why : errors) {
    if (not_copied.due()) {
      note(fmt::format("checkpoint of step {} not copied{}: {}", step, count, why.what()));
    }
  }
}

}  // namespace

CheckpointOrigin origin_of_run(std::string store) {
  return {std::move(store), sampling_version, build_text(), "cpu"};
}

Result<std::shared_ptr<const Checkpoint>> find_checkpoint(const CheckpointedJob& run,
                                                          const nn::ParameterLayout& layout,
                                                          const Say& say) {
  std::vector<SkippedCheckpoint> skipped;
  const auto folder = checkpoint_folder(run, layout);
  auto found = folder.latest(skipped);
  if (!found) {  // with another model none has the arrays that are looked for
    if (const auto job = folder.newest_job()) {
      TROUPE_RETURN_IF_ERROR(check_resumable(*job, run.job));
    }
  }
  for (const auto& [name, why] : skipped) {
    std::fprintf(stderr, "troupe: skipped checkpoint %s: %s\n", name.c_str(), why.what().c_str());
  }
  if (!found) {
    auto error = std::move(found).error();
    return error.code() != Errc::not_found
               ? error
               : Error(Errc::not_found,
                       fmt::format("{}\ntry: the same command without --resume", error.what()));
  }
  TROUPE_RETURN_IF_ERROR(check_resumable(found->checkpoint.job, run.job));
  const auto& at = found->checkpoint.training;
  TROUPE_RETURN_IF_ERROR(
      check_epochs_left(found->checkpoint.job, run.job, {.epoch = at.epoch, .steps = at.step}));
  TROUPE_RETURN_IF_ERROR(check_same_origin(found->checkpoint.origin, run.origin));
  if (const auto warning = other_build(found->checkpoint.origin, run.origin); !warning.empty()) {
    std::fprintf(stderr, "troupe: %s\n", warning.c_str());
  }
  say(fmt::format("resuming from {}: epoch {}, step {} of it", found->dir.string(), at.epoch + 1,
                  at.step));
  return std::make_shared<const Checkpoint>(std::move(found->checkpoint));
}

std::string folder_of_checkpoint(const Job& job, std::uint64_t step) {
  return (checkpoint_dir(job) / fmt::format("step-{}", step)).string();
}

Result<CheckpointKeeper> checkpoint_keeper(const CheckpointedJob& run,
                                           const nn::ParameterLayout& layout, Say written,
                                           Say note) {
  TROUPE_ASSIGN_OR_RETURN(auto opened, CheckpointCopies::open(run.job, checkpoint_dir(run.job)));
  const auto copies = std::make_shared<CheckpointCopies>(std::move(opened));
  const auto folder = std::make_shared<CheckpointFolder>(checkpoint_folder(run, layout));
  CheckpointKeeper keeper;
  keeper.write = [folder, copies, tell = std::move(written), note = std::move(note),
                  not_copied = std::make_shared<FailureStreak>(),
                  job = run.job](const Checkpoint& checkpoint) -> Status {
    const auto cuts = copies->cuts();
    TROUPE_RETURN_IF_ERROR(check_finite(checkpoint.training));
    TROUPE_RETURN_IF_ERROR(folder->write(checkpoint));
    const auto step = checkpoint.training.global_step;
    tell(folder_of_checkpoint(job, step));
    note_copies(step, copies->bring(cuts), *not_copied, note);
    return ok_status();
  };
  keeper.cut_copying = [copies] { copies->cut(); };
  return keeper;
}

std::string interrupted_text(const std::string& checkpoint, bool overwrites) {
  return checkpoint.empty()
             ? "troupe: interrupted; there is no checkpoint to go on from"
             : fmt::format(
                   "troupe: interrupted; go on from {} with the same command and --resume{}",
                   checkpoint, overwrites ? " in the place of --overwrite" : "");
}

void tell_interrupted(const std::string& checkpoint, bool overwrites) {
  std::fprintf(stderr, "%s\n", interrupted_text(checkpoint, overwrites).c_str());
}

}  // namespace troupe
