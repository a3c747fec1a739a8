// Members that live and do nothing, in every phase of a run.
#include "tests/actors/fake_run.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

using namespace std::chrono_literals;

struct Stall {
  std::string what;  ///< not answered
  std::string who;   ///< the error names
  bool after_a_loss = false;
};

class DirectorStall : public ::testing::TestWithParam<Stall> {};

TEST_P(DirectorStall, WhoeverDoesNothingEndsTheRunWithItsName) {
  const auto& stall = GetParam();
  testing::FakeRun run({.step_deadline = 200ms});
  ASSERT_TRUE(run.wait_told("epoch 1"));
  run.hold(stall.what);
  if (stall.after_a_loss) {
    run.lose(testing::host_0);
    run.bring_back(testing::host_0);
  }
  run.let_go("epoch 1");

  const auto end = run.end();

  EXPECT_ERROR(end, Errc::deadline_exceeded, stall.who);
  EXPECT_ERROR(end, Errc::deadline_exceeded, "nothing done for 200 ms");
}

INSTANTIATE_TEST_SUITE_P(
    Phases, DirectorStall,
    ::testing::Values(Stall{"epoch 2", "trainer 0: asked to train an epoch"},
                      Stall{"keep", "trainer 0: asked to keep the best parameters"},
                      Stall{"infer", "evaluator of host 1: asked to infer a layer"},
                      Stall{"score", "evaluator of host 1: asked to score"},
                      Stall{"finish", "trainer 0: asked to finish"},
                      Stall{"regroup of 2", "sampler 0 of rank 0: asked to start again", true},
                      Stall{"introduce to 1", "host 1: asked to tell its actors", true},
                      Stall{"restore step 1", "trainer 0: asked to go back", true}));

TEST(DirectorProgress, AnEvaluatorThatCountsWorkMayTakeLonger) {
  testing::FakeRun run({.step_deadline = 300ms});
  run.evaluator_works = true;
  run.hold("infer");
  run.let_go("epoch 1");
  ASSERT_TRUE(run.wait_told("infer"));
  std::this_thread::sleep_for(900ms);
  run.let_go("infer");

  EXPECT_OK(run.end());
}

}  // namespace
}  // namespace troupe
