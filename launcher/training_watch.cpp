#include "launcher/training_watch.hpp"

#include <cstdio>
#include <tuple>

namespace troupe {

void TrainingWatch::epoch(const EpochRecord& record) {
  const std::lock_guard guard(mutex);
  early_.push_back(record);
  add_epochs();
}

void TrainingWatch::add_epochs(bool all) {
  while (!early_.empty() &&
         (all || (early_.front().epoch + std::uint64_t{1}) * steps_per_epoch <= global_step)) {
    add(early_.front());
    early_.pop_front();
  }
}

void TrainingWatch::add(const EpochRecord& record) {
  if (progress) {
    progress->epoch(record);
  }
  if (record.epoch < epochs.size()) {  // a roll-back repeats some
    epochs.resize(record.epoch);
    rewind({global_step, record.epoch});
  }
  epochs.push_back(record);
  if (metrics && record.valid) {
    tell(metrics->eval({.epoch = record.epoch,
                        .last = false,
                        .role = "valid",
                        .seconds = record.eval_seconds,
                        .scores = *record.valid}));
  }
  if (metrics) {
    tell(metrics->epoch(record));
  }
}

void TrainingWatch::step(const StepReport& report) {
  const std::lock_guard guard(mutex);
  if (!progress) {
    return;
  }
  progress->step(report);
  if (raw(report.rank) != 0) {
    return;
  }
  step_times.add(report.seconds);
  if (report.global_step <= global_step) {
    rewind({report.global_step - 1, report.epoch});
  }
  global_step = report.global_step;
  if (metrics && log_every > 0 && report.step % log_every == 0) {
    tell(metrics->step(report));
  }
  add_epochs();
}

void TrainingWatch::infer(const InferenceReport& report) {
  const std::lock_guard guard(mutex);
  if (progress) {
    progress->infer(report);
  }
}

void TrainingWatch::note(const std::string& text) {
  const std::lock_guard guard(mutex);
  print(text);
  notes.push_back(text);
}

void TrainingWatch::print(const std::string& text) {
  if (progress) {
    progress->note(text);
  } else {  // before the run, or after it
    std::fprintf(stderr, "troupe: %s\n", text.c_str());
  }
}

void TrainingWatch::scores(const RunRecord& record) {
  const std::tuple<const char*, const std::optional<Scores>&, double> roles[] = {
      {"valid", record.valid, record.valid_seconds}, {"test", record.test, record.test_seconds}};
  for (const auto& [role, scores, seconds] : roles) {
    if (metrics && scores) {
      tell(metrics->eval({.epoch = record.best_epoch.value_or(0),
                          .last = true,
                          .role = role,
                          .seconds = seconds,
                          .scores = *scores}));
    }
  }
}

void TrainingWatch::rewind(const MetricsPoint& to) {
  if (metrics) {
    tell(metrics->rewind(to));
  }
}

void TrainingWatch::tell(const Status& written) {
  if (!written) {
    print(written.error().what());
    metrics.reset();
  }
}

}  // namespace troupe
