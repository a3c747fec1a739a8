#include "runtime/run/checkpoint_manager.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace troupe {
namespace {

/// Whether the last epoch of the record is complete, with its evaluation.
bool is_over(const std::vector<EpochRecord>& epochs) {
  return epochs.empty() || epochs.back().over;
}

/// Counts the moments between epochs: before the evaluation, and after it.
std::uint64_t stage_of(const std::vector<EpochRecord>& epochs) {
  return 2 * epochs.size() + (is_over(epochs) ? 1 : 0);
}

RunRecord without_epochs(const RunRecord& record) {
  return {.epochs = {},
          .best_epoch = record.best_epoch,
          .valid = record.valid,
          .test = record.test,
          .valid_seconds = record.valid_seconds,
          .test_seconds = record.test_seconds,
          .batches = record.batches,
          .outputs = record.outputs,
          .parameters = record.parameters,
          .best_parameters = record.best_parameters,
          .tensors = record.tensors};
}

}  // namespace

CheckpointManager::CheckpointManager(CheckpointManagerOptions options)
    : options_(std::move(options)), last_(options_.start), epochs_(last_->record.epochs) {}

const std::shared_ptr<const Checkpoint>& CheckpointManager::last() {
  if (auto* incomplete = std::exchange(lacks_epochs_, nullptr)) {
    incomplete->record.epochs = epochs_;
  }
  return last_;
}

CheckpointManager::Actions CheckpointManager::roll_back(std::uint32_t generation) {
  generation_ = generation;
  recovering_ = true;
  finishing_ = false;
  early_.reset();
  return not_taken();
}

// ---- requests ----

/// A roll-back needs the last one, the disk those that are to be written.
std::uint64_t CheckpointManager::oldest_needed() const {
  auto oldest = last_->training.global_step;
  for (const auto* other : {&to_write_, &written_now_}) {
    oldest = *other ? std::min(oldest, (*other)->training.global_step) : oldest;
  }
  return oldest;
}

void CheckpointManager::fall_back(std::shared_ptr<const Checkpoint> to) {
  last_ = to ? std::move(to) : options_.start;
  lacks_epochs_ = nullptr;
  epochs_ = last_->record.epochs;
  early_.reset();
}

CheckpointManager::TakeState CheckpointManager::request_now(const RunRecord& record,
                                                            bool to_write) const {
  const std::size_t over = record.epochs.size() - (is_over(record.epochs) ? 0 : 1);
  return {{.generation = generation_, .multiple_of = 0, .after_step = 0, .oldest = oldest_needed()},
          to_write,
          over};
}

void CheckpointManager::request_next_step(std::uint64_t after, const RunRecord& record,
                                          Actions& actions) const {
  auto next = request_now(record, false);
  next.request.multiple_of = options_.schedule.steps;
  next.request.after_step = after;
  actions.emplace_back(next);
}

CheckpointManager::Actions CheckpointManager::restored(const RunRecord& record) {
  recovering_ = false;
  stage_ = stage_of(epochs_);
  Actions actions;
  if (options_.schedule.steps > 0) {
    request_next_step(last_->training.global_step, record, actions);
  }
  return actions;
}

CheckpointManager::Actions CheckpointManager::between_commands(const RunRecord& record) {
  Actions actions;
  if (const auto early = std::exchange(early_, nullptr)) {
    keep({early, stopping_, early->epoch - 1}, record, actions);
    end_if_done(actions);
  }
  const auto stage = stage_of(record.epochs);
  if (std::exchange(stage_, stage) != stage) {
    actions.emplace_back(request_now(record, false));
  }
  return actions;
}

CheckpointManager::Actions CheckpointManager::time_passed(const RunRecord& record) {
  return recovering_ || finishing_ ? Actions{} : Actions{request_now(record, true)};
}

CheckpointManager::Actions CheckpointManager::stop(const RunRecord& record) {
  stopping_ = true;
  return recovering_ ? stop_with_last() : Actions{request_now(record, true)};
}

// ---- answers ----

CheckpointManager::Actions CheckpointManager::taken(
    const TakeState& what, const std::shared_ptr<const TrainingState>& state,
    const RunRecord& record) {
  Actions actions;
  if (what.request.generation != generation_) {
    return actions;
  }
  keep({state, what.to_write, what.epochs_over}, record, actions);
  if (what.request.multiple_of > 0) {
    request_next_step(state->global_step, record, actions);
  }
  end_if_done(actions);
  return actions;
}

CheckpointManager::Actions CheckpointManager::not_taken() {
  return stopping_ && !stop_kept_ ? stop_with_last() : Actions{};
}

CheckpointManager::Actions CheckpointManager::written() {
  Actions actions;
  writing_ = false;
  written_now_.reset();
  write_next(actions);
  end_if_done(actions);
  return actions;
}

CheckpointManager::Actions CheckpointManager::finish() {
  Actions actions;
  finishing_ = true;
  end_if_done(actions);
  return actions;
}

// ---- states ----

/// A state between two epochs is due once the epoch before is over: the best parameters are in it.
bool CheckpointManager::is_due(const Taken& taken) const {
  const auto& at = *taken.state;
  const auto& schedule = options_.schedule;
  const bool by_epoch = schedule.epochs > 0 && at.step == 0 && at.epoch % schedule.epochs == 0;
  const bool by_step = schedule.steps > 0 && at.global_step % schedule.steps == 0;
  const bool complete = at.step > 0 || is_over(epochs_);
  return at.global_step > 0 && (taken.to_write || ((by_epoch || by_step) && complete));
}

void CheckpointManager::keep(const Taken& taken, const RunRecord& record, Actions& actions) {
  const auto& state = *taken.state;
  if (record.epochs.size() < state.epoch) {
    early_ = taken.state;  // the epoch's results are still on their way
    return;
  }
  auto checkpoint = std::make_shared<Checkpoint>();
  checkpoint->training = state;
  checkpoint->record = without_epochs(record);
  keep_epochs(taken, record);
  checkpoint->job = options_.start->job;
  if (state.global_step > last_->training.global_step) {
    actions.emplace_back(NewState{});
  }
  lacks_epochs_ = checkpoint.get();
  last_ = std::move(checkpoint);
  // States that become due during that write would put the end off, where each takes longer than the next one comes.
  const bool stops_with_another = stop_kept_;
  stop_kept_ = stop_kept_ || (stopping_ && taken.to_write);
  if (options_.write && !stops_with_another && is_due(taken)) {
    to_write_ = last();
    write_next(actions);
  }
}

/// Those that were over have stayed as they were.
void CheckpointManager::keep_epochs(const Taken& taken, const RunRecord& record) {
  const auto& state = *taken.state;
  epochs_.resize(std::min<std::size_t>(epochs_.size(), state.epoch));
  if (!is_over(epochs_)) {
    epochs_.pop_back();
  }
  const auto from = record.epochs.begin() + static_cast<std::ptrdiff_t>(epochs_.size());
  epochs_.insert(epochs_.end(), from, record.epochs.begin() + state.epoch);
  if (state.step == 0 && state.epoch > taken.epochs_over) {
    epochs_.back().over = false;
  }
}

void CheckpointManager::write_next(Actions& actions) {
  if (to_write_ && !writing_) {
    writing_ = true;
    written_now_ = std::exchange(to_write_, nullptr);
    actions.emplace_back(Write{written_now_});
  }
}

// ---- the end ----

CheckpointManager::Actions CheckpointManager::stop_with_last() {
  Actions actions;
  stop_kept_ = true;
  if (options_.write && last_->training.global_step > 0) {
    to_write_ = last();
    write_next(actions);
  }
  end_if_done(actions);
  return actions;
}

void CheckpointManager::end_if_done(Actions& actions) {
  if (writing_ || to_write_) {
    return;
  }
  if (stopping_ && stop_kept_) {  // however far the ranks came meanwhile
    if (!std::exchange(over_, true)) {
      actions.emplace_back(End{Error(Errc::cancelled, "interrupted")});
    }
  } else if (std::exchange(finishing_, false)) {
    actions.emplace_back(Finish{});
  }
}

}  // namespace troupe
