// Random answers, roll-backs, writes and a stop: whatever happens, the state to go back to has its
// record, writes come one at a time, and a run that is to stop does.
#include "runtime/base/philox.hpp"
#include "runtime/run/checkpoint_manager.hpp"
#include "tests/support/expect.hpp"

#include <cstdlib>
#include <deque>
#include <fmt/format.h>
#include <optional>

namespace troupe {
namespace {

constexpr std::uint64_t epoch_steps = 3;

/// Plays a run of epochs with evaluations against a manager, one random event at a time.
class ManagedRun {
 public:
  ManagedRun(std::uint64_t seed, const CheckpointSchedule& schedule, bool write)
      : draws_({{8, 1}}, seed),
        schedule_(schedule),
        manager_({std::make_shared<const Checkpoint>(), schedule, write}) {}

  void event() {
    switch (draws_.below(10)) {
      case 0:
        roll_back();
        break;
      case 1:
        if (schedule_.seconds > 0) {
          take(manager_.time_passed(record_));
        }
        break;
      case 2:
        finish_write();
        break;
      case 3:
      case 4:
        answer_one();
        break;
      case 5:
        if (!recovering_) {
          take(manager_.between_commands(record_));
        }
        break;
      default:
        go_on();
    }
    check();
  }

  /// Stops the run; what is asked for is answered or lost with a roll-back, then all is quiet.
  void stop() {
    take(manager_.stop(record_));
    for (int i = 0; i < 12 && !ended_; ++i) {
      event();
    }
    for (int i = 0; i < 10 && !ended_; ++i) {
      finish_write();
      answer_one();
      go_on();
      check();
    }
    EXPECT_TRUE(ended_);
  }
  /// The run is over: what is due is written, then it finishes; unless it goes back first.
  void finish() {
    if (recovering_) {
      return;
    }
    finishing_ = true;
    take(manager_.finish());
    for (int i = 0; i < 4 && finishing_; ++i) {
      draws_.below(8) == 0 ? roll_back() : finish_write();
      if (recovering_) {
        finishing_ = false;
      }
    }
    EXPECT_FALSE(finishing_);
  }
  std::uint64_t written() const { return written_; }

 private:
  // ---- actions ----
  void take(const CheckpointManager::Actions& actions) {
    for (const auto& action : actions) {
      std::visit([this](const auto& what) { carry_out(what); }, action);
    }
  }
  void carry_out(const CheckpointManager::TakeState& what) {
    EXPECT_FALSE(recovering_ && !resuming_) << "ranks cannot give a state";
    EXPECT_EQ(what.request.generation, generation_);
    if (what.request.multiple_of > 0) {
      EXPECT_EQ(what.request.multiple_of, schedule_.steps);
      EXPECT_FALSE(std::exchange(step_asked_, true)) << "one scheduled step at a time";
    }
    asked_.push_back(what);
  }
  void carry_out(const CheckpointManager::Write& what) {
    EXPECT_FALSE(writing_) << "one write at a time";
    writing_ = true;
    ++written_;
    const auto& record = what.checkpoint->record;
    EXPECT_GT(what.checkpoint->training.global_step, 0U);
    EXPECT_EQ(record.epochs.size(), what.checkpoint->training.epoch);
  }
  void carry_out(const CheckpointManager::NewState&) {
    EXPECT_GT(manager_.last()->training.global_step, last_step_);
  }
  void carry_out(const CheckpointManager::End&) {
    EXPECT_FALSE(writing_);
    EXPECT_FALSE(ended_);
    ended_ = true;
  }

  void carry_out(const CheckpointManager::Finish&) {
    EXPECT_FALSE(writing_);
    EXPECT_TRUE(finishing_);
    finishing_ = false;
  }

  // ---- events ----
  /// The next of: a step of training, the record of the epoch, its evaluation; or the end of a recovery.
  void go_on() {
    if (recovering_) {
      return restore();
    }
    const auto epoch = record_.epochs.size();
    if (at_.epoch > epoch) {
      record_.epochs.emplace_back().loss = static_cast<double>(draws_.below(1000));
      take(manager_.between_commands(record_));
    } else if (epoch > 0 && !record_.epochs.back().over) {
      record_.epochs.back().over = true;
      take(manager_.between_commands(record_));
    } else {
      at_.global_step += 1;
      at_.step += 1;
      if (at_.step == epoch_steps) {
        at_.step = 0;
        at_.epoch += 1;
      }
    }
  }
  void roll_back() {
    ++generation_;
    recovering_ = true;
    step_asked_ = false;
    take(manager_.roll_back(generation_));
    for (const auto& asked : std::exchange(asked_, {})) {
      if (draws_.below(2) == 0) {
        take(manager_.not_taken());
      } else {
        late_.push_back(asked);
      }
    }
  }
  void restore() {
    at_ = manager_.last()->training;
    record_ = manager_.last()->record;
    resuming_ = true;
    take(manager_.restored(record_));
    recovering_ = resuming_ = false;
    take(manager_.between_commands(record_));
  }
  void answer_one() {
    if (!late_.empty()) {
      const auto old = late_.front();
      late_.pop_front();
      const auto before = manager_.last();
      EXPECT_TRUE(manager_.taken(old, std::make_shared<const TrainingState>(at_), record_).empty());
      EXPECT_EQ(manager_.last(), before);
    }
    for (auto it = asked_.begin(); it != asked_.end() && !recovering_; ++it) {
      const auto& request = it->request;
      const bool due = request.multiple_of == 0 || (at_.global_step > request.after_step &&
                                                    at_.global_step % request.multiple_of == 0);
      if (due) {
        const auto what = *it;
        asked_.erase(it);
        step_asked_ = step_asked_ && request_is_by_time(what);
        take(manager_.taken(what, std::make_shared<const TrainingState>(at_), record_));
        return;
      }
    }
  }
  static bool request_is_by_time(const CheckpointManager::TakeState& what) {
    return what.request.multiple_of == 0;
  }
  void finish_write() {
    if (std::exchange(writing_, false)) {
      take(manager_.written());
    }
  }
  void check() {
    const auto& last = *manager_.last();
    EXPECT_EQ(last.record.epochs.size(), last.training.epoch);
    EXPECT_GE(last.training.global_step, last_step_) << "states only get newer";
    last_step_ = last.training.global_step;
    for (std::size_t i = 0; i + 1 < last.record.epochs.size(); ++i) {
      EXPECT_TRUE(last.record.epochs[i].over);
      EXPECT_EQ(last.record.epochs[i].loss, record_.epochs[i].loss);
    }
  }

  DrawStream draws_;
  const CheckpointSchedule schedule_;
  CheckpointManager manager_;
  TrainingState at_;  ///< Where the ranks are
  RunRecord record_;
  std::deque<CheckpointManager::TakeState> asked_;
  std::deque<CheckpointManager::TakeState> late_;  ///< Of earlier generations
  bool step_asked_ = false;
  bool recovering_ = true;
  bool resuming_ = false;
  bool writing_ = false;
  bool finishing_ = false;
  bool ended_ = false;
  std::uint32_t generation_ = 0;
  std::uint64_t last_step_ = 0;
  std::uint64_t written_ = 0;
};

/// TROUPE_TEST_SEED=N plays that seed alone. Returns how many checkpoints were written.
std::uint64_t play_runs(const CheckpointSchedule& schedule, bool write) {
  const char* only = std::getenv("TROUPE_TEST_SEED");
  const std::uint64_t first = only == nullptr ? 1 : std::strtoull(only, nullptr, 10);
  std::uint64_t written = 0;
  for (std::uint64_t seed = first; seed <= (only == nullptr ? 300 : first); ++seed) {
    SCOPED_TRACE(fmt::format("TROUPE_TEST_SEED={}", seed));
    ManagedRun game(seed, schedule, write);
    for (int i = 0; i < 200; ++i) {
      game.event();
    }
    game.finish();
    game.stop();
    written += game.written();
    if (::testing::Test::HasFailure()) {
      return written;
    }
  }
  return written;
}

TEST(CheckpointManagerProperty, HoldsItsStatesWithTheirRecords) {
  EXPECT_GT(play_runs({}, true), 0U);
}
TEST(CheckpointManagerProperty, HoldsItsStatesWithTheirRecordsByEpochs) {
  EXPECT_GT(play_runs({.epochs = 2}, true), 0U);
}
TEST(CheckpointManagerProperty, HoldsItsStatesWithTheirRecordsBySteps) {
  EXPECT_GT(play_runs({.steps = 2}, true), 0U);
}
TEST(CheckpointManagerProperty, HoldsItsStatesWithTheirRecordsByTime) {
  EXPECT_GT(play_runs({.seconds = 1}, true), 0U);
}
TEST(CheckpointManagerProperty, HoldsItsStatesWithTheirRecordsWithoutAFolder) {
  EXPECT_EQ(play_runs({.steps = 3}, false), 0U);
}

}  // namespace
}  // namespace troupe
