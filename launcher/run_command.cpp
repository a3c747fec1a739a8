#include "launcher/bound_the_end.hpp"
#include "launcher/commands.hpp"
#include "launcher/end_at_signal.hpp"
#include "launcher/end_or_signal.hpp"
#include "launcher/make_cluster.hpp"
#include "launcher/prepare_run.hpp"
#include "launcher/print_error.hpp"
#include "launcher/processes/host_copy.hpp"
#include "launcher/report.hpp"
#include "launcher/run_checkpoints.hpp"
#include "launcher/seconds.hpp"
#include "launcher/standard_streams.hpp"
#include "launcher/training_watch.hpp"
#include "runtime/graph/store_watch.hpp"
#include "runtime/run/metrics_log.hpp"
#include "runtime/run/outputs.hpp"
#include "runtime/run/table_source.hpp"

#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <optional>
#include <signal.h>
#include <unistd.h>
#include <vector>

namespace troupe {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Scores and digests.
std::string outcome_text(const Report& report, const Job& job) {
  const auto& record = report.record;
  std::string text;
  const auto show = [&](const char* role, const std::optional<Scores>& scores) {
    if (scores) {
      text += fmt::format("{} {} {} ({} {}, {}, parameters of epoch {})\n", role, job.eval.metric,
                          score_text(scores->by_name(job.eval.metric)), scores->labelled,
                          job.task.links() ? "links" : "nodes",
                          job.infers_exactly() || job.model.layers == 0 ? "exact" : "sampled",
                          record.best_epoch.value_or(0) + 1);
    }
  };
  if (record.epochs.size() < job.train.epochs) {
    text += fmt::format("ended after epoch {}: {} was no better in {} evaluation{}\n",
                        record.epochs.size(), job.eval.metric, job.train.patience,
                        job.train.patience == 1 ? "" : "s");
  }
  show("valid", record.valid);
  show("test ", record.test);
  if (record.batches) {
    text += fmt::format("batches    {}\n", to_string(*record.batches));
  }
  if (job.train.staleness > 0) {
    return text + "no digests of parameters and rows: with train.staleness they depend on timing\n";
  }
  text += fmt::format("parameters {}\n", to_string(record.parameters));
  for (const auto& table : record.tensors) {
    text += fmt::format("rows       {} of {}\n", to_string(table.rows), table.name);
  }
  return text;
}

/// The trained model, with learned rows by name.
Status write_trained(const Job& job, const RunResult& result, const nn::ParameterLayout& layout,
                     const TrainingWatch& watch) {
  const auto& state = *result.state;
  const auto& best = state.best.empty() ? state.parameters : state.best;
  auto metadata = metadata_of_model(job);
  if (!watch.rows.empty()) {
    metadata[learned_rows_key] = files_text(watch.rows);
    if (!watch.learned_nodes.empty()) {
      metadata[learned_nodes_key] = watch.learned_nodes;
    }
  }
  return write_model(job.output / "model.safetensors", layout, best, metadata);
}

/// What the model makes of the test seeds.
Status write_predicted(const Job& job, const PartitionedStore& store, const RunResult& result) {
  const auto outputs = result.only_outputs();
  if (!outputs) {
    return remove_predictions(job.output);
  }
  if (job.task.embeds()) {  // of all nodes, by original id
    std::vector<OriginalId> nodes;
    for (std::uint64_t id = 0; id < outputs->rows(); ++id) {
      nodes.push_back(static_cast<OriginalId>(id));
    }
    return write_predictions(job.output, nodes, outputs->view());
  }
  TROUPE_ASSIGN_OR_RETURN(const auto seeds, store.seeds(job.dataset.split, "test"));
  return write_predictions(job.output, seeds.original, outputs->view());
}

/// \errors those of writing, with the loss and a way out of it
Status write_outputs(const Job& job, const PartitionedStore& store, const RunResult& result,
                     const nn::ParameterLayout& layout, const TrainingWatch& watch) {
  if (const auto written = write_trained(job, result, layout, watch); !written) {
    const auto checkpoint = watch.last_checkpoint.get();
    const auto left = checkpoint.empty() ? "scores and digests are in the report"
                                         : fmt::format("the newest checkpoint is {}", checkpoint);
    return Error(
        written.error().code(),
        fmt::format("{}\ntraining has ended, but its model is lost; {}\ntry: make room in "
                    "{}, then {}",
                    written.error().what(), left, job.output.string(),
                    checkpoint.empty() ? "run the job again; \"checkpoint\" in the job keeps work"
                                       : "--resume"));
  }
  if (const auto written = write_predicted(job, store, result); !written) {
    return Error(written.error().code(),
                 fmt::format("{}\nthe trained model is in {}, its predictions are lost\ntry: make "
                             "room there, then troupe predict",
                             written.error().what(), job.output.string()));
  }
  return ok_status();
}

/// Exit code of a run, and the lines that are printed once all its files are written.
struct LastLines {
  ExitCode code = ExitCode::done;
  std::string outcome;  ///< For standard output
  std::string errors;   ///< For standard error
};

void add_error(const Error& error, ExitCode code, LastLines& last) {
  last.errors += fmt::format("troupe: {}\n", error.what());
  last.code = last.code == ExitCode::done ? code : last.code;
}

/// Writes the outputs of a run that is done.
LastLines last_lines_of(const Job& job, const PartitionedStore& store, Report& report,
                        const std::optional<Result<RunResult>>& result, TrainingWatch& watch,
                        const nn::ParameterLayout& layout) {
  LastLines last;
  if (!result || (!*result && result->error().code() == Errc::cancelled)) {
    report.status = "interrupted";
    last.code = ExitCode::interrupted;
    last.errors = interrupted_text(watch.last_checkpoint.get(), watch.overwrites) + "\n";
  } else if (!*result) {
    report.status = "failed";
    report.error = result->error().what();
    add_error(result->error(), exit_code_of(result->error().code()), last);
  } else {
    report.status = "done";
    report.trained = true;
    report.record = (*result)->record;
    watch.scores(report.record);
    const auto written = write_outputs(job, store, **result, layout, watch);
    last.outcome = outcome_text(report, job);
    if (!written) {
      report.status = "failed";
      report.error = written.error().what();
      add_error(written.error(), ExitCode::data, last);
    } else {
      last.outcome += fmt::format("{:.1f} s, report in {}\n", report.run_seconds,
                                  (job.output / "report.json").string());
    }
  }
  return last;
}

/// Ends the progress of a run with its last lines. Where the reader does not read them, a signal ends the wait.
void print_last_lines(const LastLines& last, LogFormat log, TrainingWatch& watch) {
  constexpr std::chrono::seconds before_signals{1};
  auto& progress = *watch.progress;
  if (log == LogFormat::text) {
    progress.outcome(last.outcome);
  }
  if (!last.errors.empty()) {
    progress.error(last.errors);
  }
  if (!progress.writer().flush_for(before_signals)) {
    const EndAtSignal end_at_signal;
    progress.writer().flush();
  }
  watch.progress.reset();
}

ExitCode finish(const Job& job, const PartitionedStore& store, Report& report,
                const std::optional<Result<RunResult>>& result, TrainingWatch& watch,
                const nn::ParameterLayout& layout, LogFormat log) {
  auto last = last_lines_of(job, store, report, result, watch, layout);
  if (const auto written = write_end(report, job, watch.step_times, watch.metrics); !written) {
    add_error(written.error(), exit_code_of(written.error().code()), last);
  }
  print_last_lines(last, log, watch);
  return last.code;
}

/// Opens the log of metrics where the run begins.
Status open_metrics(const Job& job, const RunSetup& setup, const RunStart& start,
                    TrainingWatch& watch) {
  const auto from = setup.resume ? metrics_point(*setup.resume) : MetricsPoint{};
  TROUPE_ASSIGN_OR_RETURN(auto log, MetricsLog::open(job.output / "metrics.jsonl", from));
  watch.metrics.emplace(std::move(log));
  watch.logged = from;
  return watch.metrics->start(start);
}

ClusterHooks hooks_of(const std::shared_ptr<TrainingWatch>& watch, std::shared_ptr<Tracer> tracer) {
  ClusterHooks hooks;
  hooks.on_step = [watch](const StepReport& report_of_step) { watch->step(report_of_step); };
  hooks.on_infer = [watch](const InferenceReport& of_block) { watch->infer(of_block); };
  hooks.say = [watch](const std::string& text) { watch->note(text); };
  hooks.tracer = std::move(tracer);
  return hooks;
}

void show_progress(TrainingWatch& watch, const Cluster& cluster, const Job& job, LogFormat format) {
  auto progress = std::make_unique<Progress>(
      Progress::Options{.format = format,
                        .terminal = isatty(STDOUT_FILENO) == 1,
                        .epochs = job.train.epochs,
                        .steps_per_epoch = cluster.steps_per_epoch() * cluster.reports_per_step(),
                        .metric = job.eval.metric,
                        .log_every = job.log_every});
  const std::lock_guard guard(watch.mutex);
  watch.progress = std::move(progress);
  watch.steps_per_epoch = cluster.steps_per_epoch();
}

/// Ends the run when the store is no longer the same.
std::function<void(const EpochRecord&)> watched_epochs(const std::shared_ptr<TrainingWatch>& watch,
                                                       StoreWatch store) {
  return [watch, store = std::move(store)](const EpochRecord& epoch) {
    watch->epoch(epoch);
    if (const auto same = store.check(); !same) {
      watch->end.end(same.error());
    }
  };
}

/// Runs to the end, or to what stops it.
/// \param output  as EndOrSignal::wait() has it
std::optional<Result<RunResult>> run_to_end(const Job& job, Cluster& cluster, RunSetup setup,
                                            const std::shared_ptr<TrainingWatch>& watch, int output,
                                            Report& report) {
  report.load_seconds = seconds_since(report.began);
  const auto run_began = SteadyClock::now();
  cluster.start(std::move(setup),
                [watch](Result<RunResult> result) { watch->end.end(std::move(result)); });
  auto result = watch->end.wait(output);
  if (!result) {
    watch->progress->writer().release();
    watch->progress->error(
        fmt::format("{}\n", watch->end.reader_gone() ? reader_gone_text : stopping_text));
    watch->cut_copying();
    cluster.stop();
    result = watch->end.wait_stopped(stop_deadline(job.cluster.step_deadline_s));
    bound_the_end(time_to_stop, ExitCode::interrupted,
                  interrupted_text(watch->last_checkpoint.get(), watch->overwrites));
    watch->cut_copying();
  }
  report.run_seconds = seconds_since(run_began);
  report.traffic = cluster.finish();
  report.threads = cluster.threads();
  return result;
}

/// What the run writes beside training, and reads when it goes back to that.
/// \errors those of checkpoint_keeper()
Status keep_states(const CheckpointedJob& run, const nn::ParameterLayout& layout,
                   const std::shared_ptr<TrainingWatch>& watch, RunSetup& setup) {
  TROUPE_ASSIGN_OR_RETURN(
      auto keeper,
      checkpoint_keeper(
          run, layout, [watch](const std::string& folder) { watch->last_checkpoint.set(folder); },
          [watch](const std::string& text) { watch->note(text); }));
  setup.write_checkpoint = std::move(keeper.write);
  watch->cut_copying = std::move(keeper.cut_copying);
  setup.newest_checkpoint = [run, layout]() -> Result<std::shared_ptr<const Checkpoint>> {
    auto found = find_checkpoint(run, layout, [](const std::string&) {});
    const bool none = !found && found.error().code() == Errc::not_found;
    return none ? Result<std::shared_ptr<const Checkpoint>>(nullptr) : std::move(found);
  };
  setup.write_tables = [watch, dir = run.job.output](const TableSource& rows) -> Status {
    TROUPE_ASSIGN_OR_RETURN(auto files, write_table_files(rows, dir));
    const std::lock_guard guard(watch->mutex);
    watch->rows = std::move(files);
    return ok_status();
  };
  return ok_status();
}

/// The run continues from the newest checkpoint.
/// \errors those of find_checkpoint()
Status take_checkpoint(const CheckpointedJob& run, const nn::ParameterLayout& layout,
                       const Say& say, TrainingWatch& watch, RunSetup& setup) {
  TROUPE_ASSIGN_OR_RETURN(setup.resume, find_checkpoint(run, layout, say));
  watch.epochs = setup.resume->record.epochs;
  watch.last_checkpoint.set(folder_of_checkpoint(run.job, setup.resume->training.global_step));
  return ok_status();
}

/// Rows that are learned are those of nodes by number: `watch` keeps which nodes have these.
/// \errors those of numbered_nodes()
Status note_learned_nodes(const Job& job, const PartitionedStore& store, TrainingWatch& watch) {
  if (!job.embedding.empty()) {
    TROUPE_ASSIGN_OR_RETURN(watch.learned_nodes, numbered_nodes(job, store));
  }
  return ok_status();
}

ExitCode run_cluster(const PreparedRun& prepared, Report& report, const RunArguments& arguments,
                     const Say& say, int output) {
  const auto& job = prepared.job;
  const auto& store = prepared.store;
  auto watch = std::make_shared<TrainingWatch>();
  watch->log_every = job.log_every;
  watch->overwrites = arguments.overwrite;
  const auto tracer = job.trace ? std::make_shared<Tracer>() : nullptr;
  auto cluster = make_cluster(job, store, hooks_of(watch, tracer), prepared.folder);
  if (!cluster) {
    return print_error(cluster.error());
  }
  const auto layout = (*cluster)->layout();
  report.devices = (*cluster)->devices();
  if (!report.devices.empty()) {
    say(report.devices);
  }
  RunSetup setup;
  auto digest = dataset_digest(job);
  if (!digest) {
    return print_error(digest.error(), ExitCode::data);
  }
  const CheckpointedJob run{job, origin_of_run(*std::move(digest))};
  if (arguments.resume) {
    if (const auto taken = take_checkpoint(run, layout, say, *watch, setup); !taken) {
      return print_error(taken.error(), ExitCode::data);
    }
  }
  if (const auto noted = note_learned_nodes(job, store, *watch); !noted) {
    return print_error(noted.error(), ExitCode::data);
  }
  show_progress(*watch, **cluster, job, arguments.log);
  if (const auto opened = open_metrics(job, setup, report.start, *watch); !opened) {
    return print_error(opened.error(), ExitCode::data);
  }
  auto store_watch = StoreWatch::begin(store.dir());
  if (!store_watch) {
    return print_error(store_watch.error(), ExitCode::data);
  }
  setup.progress = watched_epochs(watch, *std::move(store_watch));
  if (const auto kept = keep_states(run, layout, watch, setup); !kept) {
    return print_error(kept.error());
  }
  auto result = run_to_end(job, **cluster, std::move(setup), watch, output, report);
  cluster->reset();
  {
    const std::lock_guard guard(watch->mutex);
    watch->add_epochs(true);
  }
  if (tracer) {
    if (const auto written = tracer->write(job.output / "trace.json"); !written) {
      print_error(written.error());
    }
  }
  const std::lock_guard guard(watch->mutex);
  report.record.epochs = watch->epochs;
  report.notes = watch->notes;
  return finish(job, store, report, result, *watch, layout, arguments.log);
}

}  // namespace

void block_stop_signals() {
  const auto set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void unblock_stop_signals() {
  const auto set = stop_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

ExitCode run_command(const RunArguments& arguments) {
  const auto began = SteadyClock::now();
  const WithoutPipeSignal unsignaled;
  const Say say = [&](const std::string& text) {
    if (arguments.log == LogFormat::text) {
      std::printf("%s\n", text.c_str());
      std::fflush(stdout);
    }
  };
  std::optional<PreparedRun> run;
  if (const auto code = prepare_run_on_hosts(arguments, say, run); !run) {
    return code;
  }
  if (const auto copied = copy_if_asked(run->job, run->store, arguments.job.file, {}, say);
      !copied) {
    return print_error(copied.error());
  }
  if (const auto cleared = clear_earlier_run(*run, arguments); !cleared) {
    return print_error(cleared.error());
  }
  Report report;
  report.began = began;
  report.start = start_of_run(run->job, arguments.command);
  return run_cluster(*run, report, arguments, say, unsignaled.output());
}

}  // namespace troupe
