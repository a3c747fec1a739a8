#include "runtime/run/recovery.hpp"

#include "tests/runtime/run/recovery_support.hpp"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::RecoveryTrace;
using Names = std::vector<std::string>;

const Rank rank_0{0};
const Rank rank_1{1};

class RecoveryTest : public ::testing::Test, public RecoveryTrace {};

TEST_F(RecoveryTest, BeginsWithTheRestore) {
  EXPECT_TRUE(recovery_.recovering());
  EXPECT_EQ(begin(), (Names{"meet", "restore in 0"}));
  EXPECT_EQ(restored(), (Names{"resume"}));
  EXPECT_FALSE(recovery_.recovering());
}

TEST_F(RecoveryTest, ALostRankTakesEverybodyThroughAllSteps) {
  lead();

  EXPECT_EQ(rank_lost(rank_1), (Names{"generation 1: rank 1 ended", "find processes"}));
  EXPECT_TRUE(recovery_.recovering());
  EXPECT_EQ(all_there(), (Names{"regroup in 1 without 1"}));
  EXPECT_EQ(regrouped(), (Names{"introduce in 1"}));
  EXPECT_EQ(introduced(), (Names{"meet", "restore in 1"}));
  EXPECT_EQ(restored(), (Names{"resume"}));
  EXPECT_FALSE(recovery_.recovering());
}

TEST_F(RecoveryTest, OnlyErrorsThatARestartMendsAreRecoveredFrom) {
  for (const auto code : {Errc::peer_lost, Errc::fenced, Errc::not_found}) {
    RecoveryTrace other;
    other.lead();
    EXPECT_EQ(other.failed(code), (Names{"generation 1: failed", "find processes"}));
  }
  for (const auto code : {Errc::deadline_exceeded, Errc::internal, Errc::data_corruption}) {
    RecoveryTrace other;
    other.lead();
    EXPECT_EQ(other.failed(code), (Names{"end: failed"}));
  }
}

TEST_F(RecoveryTest, WithoutSupervisorsALossEndsTheRun) {
  RecoveryTrace alone({.supervised = false});
  alone.lead();

  EXPECT_EQ(alone.rank_lost(rank_0), (Names{"end: rank 0 ended"}));
}

// ---- losses during a recovery ----

TEST_F(RecoveryTest, ALossDuringTheRegroupingRestartsTheSameRanksAgain) {
  lead();
  rank_lost(rank_1);
  all_there();

  EXPECT_EQ(failed(Errc::peer_lost), (Names{"generation 2: failed", "find processes"}));
  EXPECT_EQ(all_there(), (Names{"regroup in 2 without 1"}));
}

TEST_F(RecoveryTest, ALossDuringTheIntroductionBeginsTheNextGeneration) {
  lead();
  rank_lost(rank_1);
  all_there();
  regrouped();

  EXPECT_EQ(failed(Errc::peer_lost), (Names{"generation 2: failed", "find processes"}));
  EXPECT_EQ(all_there(), (Names{"regroup in 2 without "})) << "rank 1 is restarted by now";
}

TEST_F(RecoveryTest, ALossDuringTheRestoreRestartsThatRankAlone) {
  lead();
  rank_lost(rank_1);
  all_there();
  regrouped();
  introduced();

  EXPECT_EQ(rank_lost(rank_0), (Names{"generation 2: rank 0 ended", "find processes"}));
  EXPECT_EQ(restored(), (Names{})) << "of the generation before";
  EXPECT_EQ(all_there(), (Names{"regroup in 2 without 0"}));
}

TEST_F(RecoveryTest, ASecondLossBeforeTheRegroupingIsMendedByTheSameRegrouping) {
  lead();
  rank_lost(rank_1);
  missing("host 1");

  EXPECT_EQ(rank_lost(rank_0), (Names{"generation 2: rank 0 ended", "find processes"}));
  EXPECT_EQ(all_there(), (Names{"regroup in 2 without 0,1"}));
}

TEST_F(RecoveryTest, AnAnswerThatDoesNotFitTheStepChangesNothing) {
  lead();

  EXPECT_EQ(regrouped(), (Names{}));
  EXPECT_EQ(introduced(), (Names{}));
  EXPECT_EQ(restored(), (Names{}));
  rank_lost(rank_0);
  EXPECT_EQ(regrouped(), (Names{}));
  all_there();
  EXPECT_EQ(introduced(), (Names{}));
  EXPECT_EQ(restored(), (Names{}));
  EXPECT_EQ(evaluate(), (Names{}));
}

// ---- waiting for processes ----

TEST_F(RecoveryTest, TheRegroupingWaitsForLostProcesses) {
  lead();
  rank_lost(rank_1);

  EXPECT_EQ(missing("host 1"), (Names{"deadline of wait 1 after 500"}));
  EXPECT_TRUE(recovery_.awaits_processes());
  EXPECT_EQ(missing("host 0"), (Names{})) << "one deadline for a wait";
  EXPECT_EQ(all_there(), (Names{"regroup in 1 without 1"}));
  EXPECT_FALSE(recovery_.awaits_processes());
}

TEST_F(RecoveryTest, AProcessThatIsNotBackInTimeEndsTheRunWithItsName) {
  lead();
  rank_lost(rank_1);
  missing("host 1");

  EXPECT_EQ(waited_enough(1), (Names{"find processes"}));
  EXPECT_EQ(missing("host 1"),
            (Names{"end: host 1: lost, and not back within 500 ms; try: what the process printed "
                   "last, or a larger cluster.recovery_deadline"}));
}

TEST_F(RecoveryTest, AProcessThatIsBackWhenTheDeadlinePassesIsInTime) {
  lead();
  rank_lost(rank_1);
  missing("host 1");

  waited_enough(1);

  EXPECT_EQ(all_there(), (Names{"regroup in 1 without 1"}));
}

TEST_F(RecoveryTest, AWaitAfterOneThatWasTooLongHasADeadlineOfItsOwn) {
  lead();
  rank_lost(rank_1);
  missing("host 1");
  waited_enough(1);
  recover();

  rank_lost(rank_1);

  EXPECT_EQ(missing("host 1"), (Names{"deadline of wait 2 after 500"}));
}

TEST_F(RecoveryTest, AWaitThatTakesThePlaceOfAnotherHasItsWholeDeadline) {
  lead();
  evaluate();
  EXPECT_EQ(missing("host 1"), (Names{"deadline of wait 1 after 500"}));

  rank_lost(rank_0);
  EXPECT_EQ(missing("host 1"), (Names{"deadline of wait 2 after 500"}));

  EXPECT_EQ(waited_enough(1), (Names{}));
  EXPECT_EQ(waited_enough(2), (Names{"find processes"}));
}

TEST_F(RecoveryTest, TheDeadlineOfAWaitThatIsOverIsIgnored) {
  lead();
  evaluate();
  missing("host 1");
  all_there();

  EXPECT_EQ(waited_enough(1), (Names{}));
  recovery_.answered();
  evaluate();
  EXPECT_EQ(waited_enough(1), (Names{})) << "during the next wait";
}

TEST_F(RecoveryTest, ALostProcessIsAwaitedWhereItMayReturn) {
  lead();
  RecoveryTrace none({.return_deadline = 0ms});
  none.lead();

  EXPECT_EQ(process_lost(), (Names{}));
  EXPECT_EQ(none.process_lost(), (Names{"end: process ended"}));
}

// ---- evaluations ----

TEST_F(RecoveryTest, AnEvaluationWaitsForLostProcesses) {
  lead();

  EXPECT_EQ(evaluate(), (Names{"find processes"}));
  EXPECT_EQ(missing("host 1"), (Names{"deadline of wait 1 after 500"}));
  EXPECT_FALSE(recovery_.recovering());
  EXPECT_EQ(all_there(), (Names{"meet evaluators", "evaluate"}));
  EXPECT_TRUE(recovery_.evaluating());
  recovery_.answered();
  EXPECT_FALSE(recovery_.evaluating());
}

TEST_F(RecoveryTest, ALossTakesThePlaceOfAnEvaluationThatWaits) {
  lead();
  evaluate();
  missing("host 1");
  rank_lost(rank_0);

  EXPECT_EQ(all_there(), (Names{"regroup in 1 without 0"}));
  EXPECT_FALSE(recovery_.evaluating());
}

TEST_F(RecoveryTest, AnEvaluatorLostWithItsProcessRollsBackOnlyWhileItEvaluates) {
  lead();

  EXPECT_EQ(evaluator_lost(true), (Names{}));
  evaluate();
  EXPECT_EQ(evaluator_lost(true), (Names{}));
  all_there();
  EXPECT_EQ(evaluator_lost(true), (Names{"generation 1: evaluator ended", "find processes"}));
}

TEST_F(RecoveryTest, AnEvaluatorLostAloneRollsBack) {
  lead();

  EXPECT_EQ(evaluator_lost(false), (Names{"generation 1: evaluator ended", "find processes"}));
}

TEST_F(RecoveryTest, AnEvaluatorWhoseProcessDoesNotReturnRollsBack) {
  RecoveryTrace none({.return_deadline = 0ms});
  none.lead();

  EXPECT_EQ(none.evaluator_lost(true), (Names{"generation 1: evaluator ended", "find processes"}));
}

TEST_F(RecoveryTest, EvaluatorsThatAreBackAreMetUnlessAllWillBe) {
  lead();

  EXPECT_EQ(all_there(), (Names{"meet evaluators"}));
  EXPECT_EQ(missing("host 1"), (Names{"meet evaluators"}));
  rank_lost(rank_0);
  all_there();
  EXPECT_EQ(all_there(), (Names{})) << "the regrouping is under way";
}

// ---- the budget of roll-backs ----

TEST_F(RecoveryTest, RollBacksInARowAreCounted) {
  lead();

  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(rank_lost(rank_0).size(), 2U);
    recover();
  }

  EXPECT_EQ(rank_lost(rank_0), (Names{"end: rank 0 ended"}));
}

TEST_F(RecoveryTest, RollBacksOfARecoveryThatFailsAreCountedToo) {
  lead();
  rank_lost(rank_0);
  rank_lost(rank_0);
  rank_lost(rank_0);

  EXPECT_EQ(rank_lost(rank_0), (Names{"end: rank 0 ended"}));
}

TEST_F(RecoveryTest, ANewStateResetsTheCount) {
  lead();
  for (int i = 0; i < 3; ++i) {
    rank_lost(rank_0);
    recover();
  }

  recovery_.new_state();

  EXPECT_EQ(rank_lost(rank_0), (Names{"generation 4: rank 0 ended", "find processes"}));
}

TEST_F(RecoveryTest, NothingFollowsTheEnd) {
  lead();
  failed(Errc::internal);

  EXPECT_EQ(rank_lost(rank_0), (Names{}));
  EXPECT_EQ(failed(Errc::internal), (Names{}));
  EXPECT_EQ(evaluator_lost(false), (Names{}));
  EXPECT_EQ(all_there(), (Names{}));
  EXPECT_EQ(evaluate(), (Names{}));
}

}  // namespace
}  // namespace troupe
