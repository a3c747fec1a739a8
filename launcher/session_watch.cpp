#include "launcher/session_watch.hpp"

#include "launcher/cluster_plan.hpp"
#include "launcher/print_error.hpp"
#include "launcher/run_checkpoints.hpp"
#include "launcher/seconds.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace troupe {
namespace {

void print_results(const Report& report, const Job& job) {
  if (report.record.batches) {
    std::printf("batches %s\n", to_string(*report.record.batches).c_str());
  }
  for (const auto& table : report.record.tensors) {
    std::printf("rows    %s of %s\n", to_string(table.rows).c_str(), table.name.c_str());
  }
  std::printf("%.1f s, wait %.0f %%, report in %s\n", report.run_seconds,
              100 * wait_share(report.record.epochs), (job.output / "report.json").c_str());
  std::fflush(stdout);
}

}  // namespace

SessionWatch::SessionWatch(const Job& job, CheckpointOrigin origin,
                           std::shared_ptr<const Checkpoint> resume)
    : job_(job),
      origin_(std::move(origin)),
      resume_(std::move(resume)),
      record_(job.cluster.world(), resume_ ? resume_->record.epochs : std::vector<EpochRecord>()),
      last_checkpoint_(resume_ ? folder_of_checkpoint(job, resume_->training.global_step)
                               : std::string()),
      told_step_(resume_ ? resume_->training.global_step : 0) {}

Result<std::shared_ptr<SessionWatch>> SessionWatch::begin(const Job& job,
                                                          const SessionWatchOptions& options,
                                                          const Say& print) {
  TROUPE_ASSIGN_OR_RETURN(auto digest, dataset_digest(job));
  const CheckpointedJob run{job, origin_of_run(std::move(digest))};
  std::shared_ptr<const Checkpoint> from;
  if (options.resume) {
    TROUPE_ASSIGN_OR_RETURN(from, find_checkpoint(run, {}, print));
  }
  std::shared_ptr<SessionWatch> watch(new SessionWatch(job, run.origin, from));
  watch->report_.began = watch->started_ = options.began;
  watch->report_.start = start_of_run(job, options.command);
  watch->overwrites_ = options.overwrite;
  TROUPE_ASSIGN_OR_RETURN(auto log, MetricsLog::open(job.output / "metrics.jsonl",
                                                     from ? metrics_point(*from) : MetricsPoint{}));
  TROUPE_RETURN_IF_ERROR(log.start(watch->report_.start));
  watch->metrics_.emplace(std::move(log));
  TROUPE_ASSIGN_OR_RETURN(watch->keeper_,
                          checkpoint_keeper(
                              run, {},
                              [self = watch.get()](const std::string& folder) {
                                const std::lock_guard guard(self->mutex_);
                                self->last_checkpoint_ = folder;
                              },
                              [self = watch.get()](const std::string& text) { self->note(text); }));
  return watch;
}

Status SessionWatch::keep(Checkpoint checkpoint) {
  checkpoint.job = job_.json;
  {
    const std::lock_guard guard(mutex_);
    checkpoint.record.epochs = record_.epochs_at(checkpoint.training.global_step);
  }
  return keeper_.write(checkpoint);
}

Result<std::shared_ptr<const Checkpoint>> SessionWatch::go_back() {
  std::shared_ptr<const Checkpoint> from;
  std::string line = "all ranks start again from the beginning: there is no checkpoint";
  const bool any = [this] {
    const std::lock_guard guard(mutex_);
    return !last_checkpoint_.empty();
  }();
  if (any) {
    TROUPE_ASSIGN_OR_RETURN(from, find_checkpoint({job_, origin_}, {}, [&](const std::string& at) {
                              line = "all ranks start again, " + at;
                            }));
  }
  note(line);
  const std::lock_guard guard(mutex_);
  const auto point = from ? metrics_point(*from) : MetricsPoint{};
  record_.go_back(point.global_step);
  told_step_ = point.global_step;
  went_back_ = true;
  rewind(point);
  return from;
}

void SessionWatch::epoch(const net::RankEpoch& epoch) {
  const std::lock_guard guard(mutex_);
  if (went_back_ && raw(epoch.result.rank) == 0 && epoch.global_step > told_step_) {
    return;  // late report of the lost process: rank 0 reports its steps before their epoch
  }
  const auto over = record_.add(epoch);
  if (over && metrics_) {
    tell(metrics_->epoch(*over));
  }
}

void SessionWatch::step(const StepReport& step) {
  const std::lock_guard guard(mutex_);
  if (step.global_step <= told_step_) {  // the one before was a lost process's, reported late
    record_.go_back(step.global_step, step.rank);
    rewind({step.global_step - 1, step.epoch});
  }
  told_step_ = step.global_step;
  went_back_ = false;
  step_times_.add(step.seconds);
  if (metrics_ && job_.log_every > 0 && step.step % job_.log_every == 0) {
    tell(metrics_->step(step));
  }
}

void SessionWatch::rewind(const MetricsPoint& to) {
  if (metrics_) {
    tell(metrics_->rewind(to));
  }
}

void SessionWatch::note(const std::string& text) {
  writer_.print(STDERR_FILENO, "troupe: " + text + "\n");
  const std::lock_guard guard(mutex_);
  report_.notes.push_back(text);
}

/// A log that cannot be written does not end a run; it is told once.
void SessionWatch::tell(const Status& written) {
  if (!written) {
    std::fprintf(stderr, "troupe: %s\n", written.error().what().c_str());
    metrics_.reset();
  }
}

void SessionWatch::start() {
  const std::lock_guard guard(mutex_);
  started_ = std::chrono::steady_clock::now();
}

std::string SessionWatch::interrupted() {
  const std::lock_guard guard(mutex_);
  return interrupted_text(last_checkpoint_, overwrites_);
}

ExitCode SessionWatch::finish(const std::optional<SessionOutcome>& outcome, const Traffic& traffic,
                              bool print_failure) {
  const std::lock_guard guard(mutex_);
  if (finished_) {
    return *finished_;
  }
  writer_.flush_for(std::chrono::seconds(1));
  auto& report = report_;
  report.record.epochs = record_.epochs();
  report.traffic = traffic;
  report.threads = compute_threads(job_.cluster);
  report.load_seconds = std::chrono::duration<double>(started_ - report.began).count();
  report.run_seconds = seconds_since(started_);
  auto code = ExitCode::done;
  if (!outcome || (!outcome->status && outcome->status.error().code() == Errc::cancelled)) {
    report.status = "interrupted";
    code = ExitCode::interrupted;
    tell_interrupted(last_checkpoint_, overwrites_);
  } else if (!outcome->status) {
    const auto& why = outcome->status.error();
    report.status = "failed";
    report.error = why.what();
    code = print_failure ? print_error(why) : exit_code_of(why.code());
  } else {
    report.status = "done";
    if (job_.digest != DigestMode::off) {
      report.record.batches = outcome->batches;
    }
    report.record.tensors = outcome->tensors;
    print_results(report, job_);
  }
  const auto written = write_end(report, job_, step_times_, metrics_);
  metrics_.reset();  // ranks that are still there add no lines
  finished_ = written ? code : print_error(written.error());
  return *finished_;
}

}  // namespace troupe
