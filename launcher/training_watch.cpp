#include "launcher/training_watch.hpp"

#include <algorithm>
#include <cstdio>
#include <tuple>
#include <utility>

namespace troupe {

void TrainingWatch::epoch(const EpochRecord& record) {
  const std::lock_guard guard(mutex);
  std::erase_if(early_, [&](const Early& epoch) { return epoch.record.epoch >= record.epoch; });
  early_.push_back({record});
  add_epochs();
}

void TrainingWatch::add_epochs(bool all) {
  while (!early_.empty() &&
         (all || (early_.front().record.epoch + std::uint64_t{1}) * steps_per_epoch <=
                     logged.global_step)) {
    add(early_.front());
    early_.pop_front();
  }
}

void TrainingWatch::add(const Early& epoch) {
  const auto& record = epoch.record;
  if (progress && !epoch.printed) {
    progress->epoch(record);
  }
  epochs.resize(std::min<std::size_t>(record.epoch, epochs.size()));  // a roll-back repeats some
  epochs.push_back(record);
  if (record.epoch >= logged.epochs) {
    logged.epochs = record.epoch + 1;
    write(record);
  }
}

void TrainingWatch::write(const EpochRecord& record) {
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
  if (report.global_step <= logged.global_step) {
    go_back({report.global_step - 1, report.epoch});
  }
  logged.global_step = report.global_step;
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

void TrainingWatch::go_back(const MetricsPoint& to) {
  // A record may be of the new try already, as steps come over another actor: each is logged again after its epoch's steps.
  while (epochs.size() > to.epochs) {
    early_.push_front({std::move(epochs.back()), true});
    epochs.pop_back();
  }
  logged = {to.global_step, std::min(to.epochs, logged.epochs)};
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
