// Processes that are lost and come back while the director leads the run.
#include "tests/actors/fake_run.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::FakeRun;
using testing::host_0;
using testing::host_1;
using testing::process_names;
using testing::sampler_0;

TEST(DirectorReturn, AnEvaluatorsProcessLostWhileTrainingDoesNotRollBack) {
  FakeRun run;
  ASSERT_TRUE(run.wait_told("epoch 1"));

  run.lose(host_1);
  run.bring_back(host_1);
  run.let_go("epoch 1");

  EXPECT_OK(run.end());
  EXPECT_EQ(run.count("regroup 1"), 0);
  EXPECT_EQ(run.count("epoch 1"), 1);
}

TEST(DirectorReturn, TheEvaluationWaitsForItsProcess) {
  FakeRun run({.return_deadline = 10s});
  ASSERT_TRUE(run.wait_told("epoch 1"));
  run.lose(host_1);
  run.let_go("epoch 1");
  ASSERT_TRUE(run.wait_told("epoch 2"));
  std::this_thread::sleep_for(50ms);  // the evaluation is due
  EXPECT_EQ(run.count("infer"), 0);

  run.bring_back(host_1);

  EXPECT_OK(run.end());
  EXPECT_EQ(run.count("infer"), 1);
  EXPECT_EQ(run.count("regroup 1"), 0);
}

TEST(DirectorReturn, AnEvaluatorsProcessLostWhileEvaluatingRollsBack) {
  FakeRun run({.return_deadline = 10s});
  run.hold("infer");
  run.let_go("epoch 1");
  ASSERT_TRUE(run.wait_told("infer"));

  run.lose(host_1);
  ASSERT_TRUE(run.wait_told("link down"));
  run.let_go("infer");
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(run.count("regroup 1"), 0) << "not before it is back";
  run.bring_back(host_1);

  EXPECT_OK(run.end());
  EXPECT_EQ(run.count("regroup 1"), 1);
  EXPECT_EQ(run.count("restore step 3"), 1) << "what was trained is not trained again";
  EXPECT_EQ(run.count("infer"), 2);
}

TEST(DirectorReturn, ATrainersProcessThatComesBackMakesAllGoOnFromTheLastState) {
  FakeRun run({.return_deadline = 10s});
  ASSERT_TRUE(run.wait_told("epoch 1"));

  run.lose(host_0);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(run.count("regroup 1"), 0);
  run.let_go("epoch 1");
  run.bring_back(host_0);

  ASSERT_OK_AND_ASSIGN(const auto end, run.end());
  EXPECT_EQ(end.record.epochs.size(), 3U);
  EXPECT_EQ(run.count("regroup 1"), 1);
  EXPECT_EQ(run.count("restore step 1"), 1);
  EXPECT_EQ(run.count("epoch 0"), 1);
}

TEST(DirectorReturn, ASamplersProcessIsNoReasonToRollBack) {
  FakeRun run({.return_deadline = 10s});
  ASSERT_TRUE(run.wait_told("epoch 1"));

  run.lose(sampler_0);
  run.bring_back(sampler_0);
  run.lose(sampler_0);
  run.let_go("epoch 1");
  run.bring_back(sampler_0);

  EXPECT_OK(run.end());
  EXPECT_EQ(run.count("regroup 1"), 0);
}

TEST(DirectorReturn, NewsWithoutAChangeChangeNothing) {
  FakeRun run;
  ASSERT_TRUE(run.wait_told("epoch 1"));
  for (int i = 0; i < 100; ++i) {
    run.change();
  }
  run.let_go("epoch 1");

  EXPECT_OK(run.end());
  EXPECT_EQ(run.count("regroup 1"), 0);
}

TEST(DirectorReturn, OneThatDoesNotComeBackEndsTheRunWithItsName) {
  for (const auto process : {host_0, host_1, sampler_0}) {
    FakeRun run({.return_deadline = 100ms});
    ASSERT_TRUE(run.wait_told("epoch 1"));

    run.lose(process);
    run.let_go("epoch 1");

    const auto end = run.end();
    EXPECT_ERROR(end, Errc::peer_lost,
                 process_names[process] + ": lost, and not back within 100 ms");
    EXPECT_ERROR(end, Errc::peer_lost, "try:");
  }
}

TEST(DirectorReturn, WhereNoneComesBackALossEndsTheRunAtOnce) {
  FakeRun run({.return_deadline = 0ms});
  ASSERT_TRUE(run.wait_told("epoch 1"));

  run.end_actors(sampler_0);

  EXPECT_ERROR(run.end(), Errc::peer_lost, "sampler 0 of rank 0: the actor ended");
}

TEST(DirectorReturn, EveryWaitHasItsWholeDeadline) {
  FakeRun run({.return_deadline = 600ms});
  ASSERT_TRUE(run.wait_told("epoch 1"));
  run.lose(host_1);
  run.let_go("epoch 1");
  ASSERT_TRUE(run.wait_told("epoch 2"));
  std::this_thread::sleep_for(400ms);  // the evaluation waits

  run.lose(host_0);
  run.bring_back(host_1);
  std::this_thread::sleep_for(400ms);  // longer than the rest of the first wait
  run.bring_back(host_0);

  EXPECT_OK(run.end());
  EXPECT_EQ(run.count("regroup 1"), 1);
}

TEST(DirectorReturn, LossesWhileItRecoversAreWaitedForToo) {
  FakeRun run({.return_deadline = 10s});
  ASSERT_TRUE(run.wait_told("epoch 1"));
  run.lose(host_0);
  run.lose(host_1);
  run.lose(sampler_0);
  run.let_go("epoch 1");
  for (const auto process : {sampler_0, host_1, host_0}) {
    EXPECT_EQ(run.count("regroup 1"), 0);
    run.bring_back(process);
  }

  EXPECT_OK(run.end());
  EXPECT_EQ(run.count("regroup 1"), 1);
}

}  // namespace
}  // namespace troupe
