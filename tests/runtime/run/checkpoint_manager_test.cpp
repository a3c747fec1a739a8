#include "runtime/run/checkpoint_manager.hpp"

#include "tests/support/expect.hpp"

#include <fmt/format.h>
#include <optional>
#include <string>
#include <vector>

namespace troupe {
namespace {

using Names = std::vector<std::string>;
constexpr std::uint64_t steps_of_epoch = 4;

std::shared_ptr<const TrainingState> state_of(std::uint64_t global_step) {
  TrainingState state;
  state.epoch = static_cast<std::uint32_t>(global_step / steps_of_epoch);
  state.step = global_step % steps_of_epoch;
  state.global_step = global_step;
  return std::make_shared<const TrainingState>(std::move(state));
}

/// Record of some epochs, of which the last may still need its evaluation.
RunRecord record_of(std::size_t epochs, bool over = true) {
  RunRecord record;
  record.epochs.resize(epochs);
  for (auto& epoch : record.epochs) {
    epoch.over = &epoch != &record.epochs.back() || over;
  }
  return record;
}

/// An action as a line, e.g. "take to write, 1 over": one epoch is over.
struct ManagerText {
  std::string operator()(const CheckpointManager::TakeState& a) const {
    const auto when =
        a.request.multiple_of > 0
            ? fmt::format("multiple of {} after {}", a.request.multiple_of, a.request.after_step)
            : std::string("now");
    return fmt::format("take {}{}, {} over in {}", when, a.to_write ? " to write" : "",
                       a.epochs_over, a.request.generation);
  }
  std::string operator()(const CheckpointManager::Write& a) const {
    return fmt::format("write step {}", a.checkpoint->training.global_step);
  }
  std::string operator()(const CheckpointManager::NewState&) const { return "new state"; }
  std::string operator()(const CheckpointManager::End& a) const { return "end: " + a.why.what(); }
  std::string operator()(const CheckpointManager::Finish&) const { return "finish"; }
};

/// Drives a manager from step 0; every input gives its actions as text.
class ManagerTrace {
 public:
  explicit ManagerTrace(const CheckpointSchedule& schedule = {}, bool write = true)
      : manager_({std::make_shared<const Checkpoint>(), schedule, write}) {}

  Names restored(const RunRecord& record = {}) { return text(manager_.restored(record)); }
  Names between(const RunRecord& record) { return text(manager_.between_commands(record)); }
  Names time_passed(const RunRecord& record = {}) { return text(manager_.time_passed(record)); }
  Names stop(const RunRecord& record = {}) { return text(manager_.stop(record)); }
  Names not_taken() { return text(manager_.not_taken()); }
  Names written() { return text(manager_.written()); }
  Names finish() { return text(manager_.finish()); }
  /// The answer to the request made first of those without an answer.
  Names taken(std::uint64_t global_step, const RunRecord& record) {
    const auto what = asked_.front();
    asked_.erase(asked_.begin());
    return text(manager_.taken(what, state_of(global_step), record));
  }
  Names roll_back(std::uint32_t generation) { return text(manager_.roll_back(generation)); }
  const Checkpoint& last() { return *manager_.last(); }
  std::uint64_t last_step() { return last().training.global_step; }

 private:
  Names text(const CheckpointManager::Actions& all) {
    Names lines;
    for (const auto& action : all) {
      lines.push_back(std::visit(ManagerText{}, action));
      if (const auto* take = std::get_if<CheckpointManager::TakeState>(&action)) {
        asked_.push_back(*take);
      }
    }
    return lines;
  }
  CheckpointManager manager_;
  std::vector<CheckpointManager::TakeState> asked_;
};

// ---- which state a roll-back goes to ----

TEST(CheckpointManager, RequestsAStateBeforeAndAfterTheEvaluationOfAnEpoch) {
  ManagerTrace run;

  EXPECT_EQ(run.restored(), (Names{}));
  EXPECT_EQ(run.between(record_of(0)), (Names{})) << "it is where it began";
  EXPECT_EQ(run.between(record_of(1, false)), (Names{"take now, 0 over in 0"}));
  EXPECT_EQ(run.between(record_of(1, false)), (Names{})) << "within the evaluation";
  EXPECT_EQ(run.between(record_of(1)), (Names{"take now, 1 over in 0"}));
  EXPECT_EQ(run.between(record_of(2, false)), (Names{"take now, 1 over in 0"}));
}

TEST(CheckpointManager, ARollBackGoesToTheStateTakenLast) {
  ManagerTrace run;
  run.restored();
  run.between(record_of(1, false));

  EXPECT_EQ(run.taken(4, record_of(1, false)), (Names{"new state"}));

  EXPECT_EQ(run.last_step(), 4U);
  EXPECT_EQ(run.last().record.epochs.size(), 1U);
}

TEST(CheckpointManager, AStateOfTheSameStepIsNotANewState) {
  ManagerTrace run;
  run.restored();
  run.between(record_of(1, false));
  run.taken(4, record_of(1, false));
  run.between(record_of(1));

  EXPECT_EQ(run.taken(4, record_of(1)), (Names{}));
  EXPECT_TRUE(run.last().record.epochs.back().over);
}

TEST(CheckpointManager, AStateFromBeforeTheEvaluationKeepsItsEpochOpen) {
  ManagerTrace run;
  run.restored();
  run.between(record_of(1, false));

  run.taken(4, record_of(1, true));  // the evaluation was quicker than the answer

  EXPECT_FALSE(run.last().record.epochs.back().over);
}

TEST(CheckpointManager, AStateWithinAnEpochHasTheRecordOfTheEpochsBefore) {
  ManagerTrace run({.steps = 3});
  run.restored();

  run.taken(6, record_of(2));

  EXPECT_EQ(run.last().record.epochs.size(), 1U);
  EXPECT_TRUE(run.last().record.epochs.back().over);
}

TEST(CheckpointManager, EpochsThatWereOverStayAsTheyWere) {
  auto record = record_of(3);
  record.epochs[0].loss = 7;
  auto again = record_of(3);
  again.epochs[0].loss = again.epochs[1].loss = again.epochs[2].loss = 9;
  ManagerTrace run({.steps = 4});
  run.restored();
  run.taken(8, record);
  EXPECT_EQ(run.last().record.epochs.size(), 2U);

  run.taken(12, again);  // what was over stays as it was

  EXPECT_EQ(run.last().record.epochs.at(0).loss, 7);
  EXPECT_EQ(run.last().record.epochs.at(1).loss, 9) << "it was open";
  EXPECT_EQ(run.last().record.epochs.at(2).loss, 9);
}

TEST(CheckpointManager, AnAnswerFromBeforeARollBackIsDropped) {
  ManagerTrace run({.steps = 2});
  run.restored();
  run.roll_back(1);

  EXPECT_EQ(run.taken(2, {}), (Names{}));
  EXPECT_EQ(run.last_step(), 0U);
  EXPECT_EQ(run.restored(), (Names{"take multiple of 2 after 0, 0 over in 1"}));
}

// ---- states whose record is not in yet ----

TEST(CheckpointManager, AStateThatIsEarlierThanItsRecordWaitsForIt) {
  ManagerTrace run({.steps = 4});
  run.restored();

  EXPECT_EQ(run.taken(4, record_of(0)), (Names{"take multiple of 4 after 4, 0 over in 0"}));
  EXPECT_EQ(run.last_step(), 0U);
  EXPECT_EQ(run.between(record_of(1, false)), (Names{"new state", "take now, 0 over in 0"}));
  EXPECT_EQ(run.last_step(), 4U);
}

TEST(CheckpointManager, ARollBackDropsAStateThatWaitsForItsRecord) {
  ManagerTrace run({.steps = 4});
  run.restored();
  run.taken(4, record_of(0));

  run.roll_back(1);
  run.restored();
  run.between(record_of(1, false));

  EXPECT_EQ(run.last_step(), 0U);
}

TEST(CheckpointManager, AStateThatIsEarlierThanItsRecordIsTheLastOneOfAStoppedRun) {
  ManagerTrace run;
  run.restored();
  run.stop(record_of(0));

  EXPECT_EQ(run.taken(4, record_of(0)), (Names{}));
  EXPECT_EQ(run.between(record_of(1)),
            (Names{"new state", "write step 4", "take now, 1 over in 0"}));
  EXPECT_EQ(run.written(), (Names{"end: interrupted"}));
}

// ---- what is written ----

TEST(CheckpointManager, WithoutAScheduleNothingIsWritten) {
  ManagerTrace run;
  run.restored();
  run.between(record_of(1));

  EXPECT_EQ(run.taken(4, record_of(1)), (Names{"new state"}));
}

TEST(CheckpointManager, AStateByEpochsIsWrittenOnlyAfterTheEvaluation) {
  ManagerTrace run({.epochs = 1});
  run.restored();
  run.between(record_of(1, false));

  EXPECT_EQ(run.taken(4, record_of(1, false)), (Names{"new state"}));
  run.between(record_of(1));
  EXPECT_EQ(run.taken(4, record_of(1)), (Names{"write step 4"}));
}

TEST(CheckpointManager, OnlyScheduledEpochsAreWritten) {
  ManagerTrace run({.epochs = 2});
  run.restored();
  run.between(record_of(1));

  EXPECT_EQ(run.taken(4, record_of(1)), (Names{"new state"}));
  run.between(record_of(2));
  EXPECT_EQ(run.taken(8, record_of(2)), (Names{"new state", "write step 8"}));
}

TEST(CheckpointManager, AStateBySteps) {
  ManagerTrace run({.steps = 2});

  EXPECT_EQ(run.restored(), (Names{"take multiple of 2 after 0, 0 over in 0"}));
  EXPECT_EQ(run.taken(2, record_of(0)),
            (Names{"new state", "write step 2", "take multiple of 2 after 2, 0 over in 0"}));
}

TEST(CheckpointManager, AStateByTimeIsWrittenWhateverItsStep) {
  ManagerTrace run({.seconds = 1});
  run.restored();

  EXPECT_EQ(run.time_passed(), (Names{"take now to write, 0 over in 0"}));
  EXPECT_EQ(run.taken(3, record_of(0)), (Names{"new state", "write step 3"}));
}

TEST(CheckpointManager, NoStateByTimeDuringARecovery) {
  ManagerTrace run({.seconds = 1});

  EXPECT_EQ(run.time_passed(), (Names{}));
  run.restored();
  run.roll_back(1);
  EXPECT_EQ(run.time_passed(), (Names{}));
}

TEST(CheckpointManager, TheStartIsNotWritten) {
  ManagerTrace run({.seconds = 1});
  run.restored();
  run.time_passed();

  EXPECT_EQ(run.taken(0, record_of(0)), (Names{}));
}

TEST(CheckpointManager, OfStatesDueDuringAWriteOnlyTheNewestIsWritten) {
  ManagerTrace run({.steps = 1});
  run.restored();
  run.taken(1, record_of(0));

  EXPECT_EQ(run.taken(2, record_of(0)),
            (Names{"new state", "take multiple of 1 after 2, 0 over in 0"}));
  run.taken(3, record_of(0));
  EXPECT_EQ(run.written(), (Names{"write step 3"}));
  EXPECT_EQ(run.written(), (Names{}));
}

TEST(CheckpointManager, WithoutAFolderNothingIsWritten) {
  ManagerTrace run({.steps = 2}, false);
  run.restored();

  EXPECT_EQ(run.taken(2, record_of(0)),
            (Names{"new state", "take multiple of 2 after 2, 0 over in 0"}));
}

// ---- the end of a run ----

TEST(CheckpointManager, FinishesAtOnceWhereNothingIsBeingWritten) {
  ManagerTrace run({.steps = 1});
  run.restored();
  run.taken(1, record_of(0));
  run.written();

  EXPECT_EQ(run.finish(), (Names{"finish"}));
}

TEST(CheckpointManager, FinishesOnceAllThatIsDueIsWritten) {
  ManagerTrace run({.steps = 1});
  run.restored();
  run.taken(2, record_of(0));
  run.taken(3, record_of(0));

  EXPECT_EQ(run.finish(), (Names{}));
  EXPECT_EQ(run.written(), (Names{"write step 3"}));
  EXPECT_EQ(run.written(), (Names{"finish"}));
}

TEST(CheckpointManager, AFinishedRunIsNotWrittenAgainByTime) {
  ManagerTrace run({.steps = 1, .seconds = 1});
  run.restored();
  run.taken(1, record_of(0));
  run.finish();

  EXPECT_EQ(run.time_passed(), (Names{}));
  EXPECT_EQ(run.written(), (Names{"finish"}));
}

TEST(CheckpointManager, ARunThatGoesBackFinishesAnew) {
  ManagerTrace run({.steps = 1});
  run.restored();
  run.taken(1, record_of(0));
  run.finish();
  run.roll_back(1);
  run.restored();

  EXPECT_EQ(run.written(), (Names{}));
  EXPECT_EQ(run.finish(), (Names{"finish"}));
  run.roll_back(2);
  EXPECT_EQ(run.finish(), (Names{"finish"})) << "a second time: learned rows were not written";
}

TEST(CheckpointManager, ARunThatIsOverBeforeTheStateToStopWithIsWrittenStops) {
  ManagerTrace run;
  run.restored();
  run.stop();
  run.taken(2, record_of(0));

  EXPECT_EQ(run.finish(), (Names{}));
  EXPECT_EQ(run.written(), (Names{"end: interrupted"}));
}

TEST(CheckpointManager, AStopOfARunThatFinishesLetsItFinish) {
  ManagerTrace run({.steps = 1});
  run.restored();
  run.taken(1, record_of(0));
  run.finish();
  run.stop();

  EXPECT_EQ(run.written(), (Names{"finish"}));
}

// ---- stopping ----

TEST(CheckpointManager, StopsOnceTheStateItAskedForIsWritten) {
  ManagerTrace run;
  run.restored();

  EXPECT_EQ(run.stop(), (Names{"take now to write, 0 over in 0"}));
  EXPECT_EQ(run.taken(3, record_of(0)), (Names{"new state", "write step 3"}));
  EXPECT_EQ(run.written(), (Names{"end: interrupted"}));
}

TEST(CheckpointManager, StopsWithTheStateItAskedForNotWithAnEarlierOne) {
  ManagerTrace run({.steps = 1});
  run.restored();
  run.stop();

  EXPECT_EQ(run.taken(1, record_of(0)),
            (Names{"new state", "write step 1", "take multiple of 1 after 1, 0 over in 0"}));
  EXPECT_EQ(run.taken(2, record_of(0)), (Names{"new state"}));
  EXPECT_EQ(run.written(), (Names{"write step 2"}));
  EXPECT_EQ(run.written(), (Names{"end: interrupted"}));
}

TEST(CheckpointManager, StopsAlthoughStatesBecomeDueWhileTheOneItAskedForIsWritten) {
  ManagerTrace run({.steps = 1});
  run.restored();
  run.stop();
  run.taken(1, record_of(0));
  run.taken(2, record_of(0));
  EXPECT_EQ(run.written(), (Names{"write step 2"}));

  EXPECT_EQ(run.taken(3, record_of(0)),
            (Names{"new state", "take multiple of 1 after 3, 0 over in 0"}));
  EXPECT_EQ(run.written(), (Names{"end: interrupted"}));
}

TEST(CheckpointManager, StopsAtOnceWhereNothingIsWritten) {
  ManagerTrace run({}, false);
  run.restored();
  run.stop();

  EXPECT_EQ(run.taken(3, record_of(0)), (Names{"new state", "end: interrupted"}));
}

TEST(CheckpointManager, StopsDuringARecoveryWithTheStateAllGoBackTo) {
  ManagerTrace run({.steps = 2});
  run.restored();
  run.taken(2, record_of(0));
  run.written();
  run.roll_back(1);

  EXPECT_EQ(run.stop(), (Names{"write step 2"}));
  EXPECT_EQ(run.written(), (Names{"end: interrupted"}));
}

TEST(CheckpointManager, StopsDuringTheFirstRestoreWithoutAState) {
  ManagerTrace run;

  EXPECT_EQ(run.stop(), (Names{"end: interrupted"}));
}

TEST(CheckpointManager, StopsWithTheLastStateWhereNoNewerOneIsGiven) {
  ManagerTrace run({.steps = 2});
  run.restored();
  run.taken(2, record_of(0));
  run.written();
  run.stop();

  EXPECT_EQ(run.not_taken(), (Names{"write step 2"}));
  EXPECT_EQ(run.written(), (Names{"end: interrupted"}));
}

TEST(CheckpointManager, ARollBackDoesNotLoseAStopWhoseStateIsStillOnItsWay) {
  ManagerTrace run({.steps = 2});
  run.restored();
  run.taken(2, record_of(0));
  run.written();
  run.stop();

  EXPECT_EQ(run.roll_back(1), (Names{"write step 2"}));

  EXPECT_EQ(run.taken(3, record_of(0)), (Names{})) << "of the generation before";
  EXPECT_EQ(run.written(), (Names{"end: interrupted"}));
}

TEST(CheckpointManager, ARollBackDoesNotLoseAStopWhoseStateWaitsForItsRecord) {
  ManagerTrace run;
  run.restored();
  run.stop();
  run.taken(4, record_of(0));

  EXPECT_EQ(run.roll_back(1), (Names{"end: interrupted"})) << "there is no state but the start";
}

TEST(CheckpointManager, TheLastStateOfAStoppedRunIsWrittenOnce) {
  ManagerTrace run({.steps = 2});
  run.restored();
  run.taken(2, record_of(0));
  run.written();
  run.stop();
  run.roll_back(1);

  EXPECT_EQ(run.not_taken(), (Names{}));
  EXPECT_EQ(run.written(), (Names{"end: interrupted"}));
}

TEST(CheckpointManager, AStateThatIsNotGivenToARunThatGoesOnIsNoMatter) {
  ManagerTrace run({.seconds = 1});
  run.restored();
  run.time_passed();

  EXPECT_EQ(run.not_taken(), (Names{}));
}

}  // namespace
}  // namespace troupe
