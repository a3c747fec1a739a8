// A trainer that sends a step before the one ahead of it is done, and what stands between the two.
#include "actors/local_messages.hpp"
#include "actors/trainer.hpp"
#include "runtime/wire/messages.hpp"
#include "tests/actors/batch_of_seeds.hpp"
#include "tests/actors/scripted_system.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

using testing::Asked;

/// The only rank, of 4 batches in an epoch, whose learner is the test.
class TrainerSteps : public ::testing::Test {
 protected:
  using Batches = std::vector<std::uint64_t>;

  void start(bool launches_ahead = true) {
    auto seeds = std::make_shared<SeedList>();
    for (std::uint64_t i = 0; i < 4; ++i) {
      seeds->original.push_back(OriginalId{i});
      seeds->global.push_back(NodeId{i});
    }
    TrainerOptions options;
    options.ahead = {.first = 4, .most = 4};
    options.collect = std::make_shared<const CollectOptions>();
    options.orders["train"] = std::make_shared<const SeedOrder>(seeds, 1, 1, false);
    options.on_step = [this](const StepReport& report) {
      losses_.push_back(report.loss);
      steps_ = report.global_step;
    };
    trainer_ = system_.add(
        "trainer", spawn_trainer(*system_, std::move(options),
                                 [this] {
                                   return DataPath{.samplers = {sampler_.handle()},
                                                   .collector = collector_.handle()};
                                 },
                                 {.actor = learner_.handle(), .launches_ahead = launches_ahead}));
    epoch_ = director_.request(trainer_, net::EpochRequest{});
    system_.run();
    learner_.take<BeginLearning>();
  }
  /// Answers the next `count` requests for batches.
  void serve(int count) {
    for (int i = 0; i < count; ++i) {
      const auto asked = sampler_.take<SampleBatch>();
      sampler_.answer(asked, testing::batch_of_seeds(*asked.what));
      system_.run();
    }
  }
  Asked<TrainBatch> take(std::uint64_t number) {
    auto asked = learner_.take<TrainBatch>();
    EXPECT_EQ(asked->ready->batch.sampled->key.number, number);
    EXPECT_TRUE(asked->applies && asked->alone);
    return asked;
  }
  /// The step is done, with its number as the loss.
  void answer(const Asked<TrainBatch>& step) {
    Trained trained{.mine = {}, .applied = Applied{0.1}};
    trained.mine.weight = 1;
    trained.mine.number = static_cast<double>(step->ready->batch.sampled->key.number);
    learner_.answer(step, std::move(trained));
    system_.run();
  }
  std::uint64_t ask_state(const net::TakeState& what) {
    const auto asked = director_.request(trainer_, what);
    system_.run();
    return asked;
  }
  /// The learner is asked for its state, of that step.
  void answer_state(std::uint64_t asked, std::uint64_t step) {
    const auto taken = learner_.take<TakeSnapshot>();
    EXPECT_EQ(taken->position.global_step, step);
    learner_.answer(taken, net::StateReply{});
    system_.run();
    EXPECT_OK(director_.answer_to<net::StateReply>(asked));
  }

  testing::ScriptedSystem system_;
  testing::ScriptedActor director_{system_, "director"};
  testing::ScriptedActor sampler_{system_, "sampler"};
  testing::ScriptedActor collector_{system_, "collector"};
  testing::ScriptedActor learner_{system_, "learner"};
  caf::actor trainer_;
  std::uint64_t epoch_ = 0;
  std::vector<double> losses_;
  std::uint64_t steps_ = 0;
};

TEST_F(TrainerSteps, OneIsSentAheadAndNoMore) {
  start();
  serve(1);
  auto first = take(0);
  EXPECT_EQ(learner_.waiting(), 0U) << "the second batch is not here";
  serve(3);
  for (std::uint64_t next = 1; next < 4; ++next) {
    const auto second = take(next);
    EXPECT_EQ(learner_.waiting(), 0U);
    answer(first);
    EXPECT_EQ(steps_, next);
    first = second;
  }
  EXPECT_EQ(learner_.waiting(), 0U) << "the epoch has no other";
  EXPECT_FALSE(director_.is_answered(epoch_));
  answer(first);

  ASSERT_OK_AND_ASSIGN(const auto result, director_.answer_to<net::EpochResult>(epoch_));
  EXPECT_EQ(result->loss_weight, 4U);
  EXPECT_EQ(result->counters.batches, 4U);
  EXPECT_EQ(losses_, (std::vector<double>{0, 1, 2, 3}));
}

TEST_F(TrainerSteps, NoneIsSentAheadToALearnerThatComputesThemOneByOne) {
  start(false);
  serve(4);
  for (std::uint64_t next = 0; next < 4; ++next) {
    const auto step = take(next);
    EXPECT_EQ(learner_.waiting(), 0U);
    answer(step);
  }
  EXPECT_TRUE(director_.is_answered(epoch_));
}

TEST_F(TrainerSteps, AnAnswerThatComesEarlyWaitsForItsTurn) {
  start();
  serve(4);
  const auto first = take(0);
  answer(take(1));
  EXPECT_EQ(losses_.size(), 0U);
  EXPECT_EQ(learner_.waiting(), 0U) << "two are under way until the first one is done";

  answer(first);

  EXPECT_EQ(losses_, (std::vector<double>{0, 1}));
  EXPECT_EQ(learner_.waiting(), 2U);
}

TEST_F(TrainerSteps, AnErrorOfAStepSentAheadEndsTheEpochAtItsTurn) {
  start();
  serve(4);
  const auto first = take(0);
  learner_.fail(take(1), Error(Errc::failed_precondition, "a label of no class"));
  system_.run();
  EXPECT_FALSE(director_.is_answered(epoch_));

  answer(first);

  EXPECT_EQ(losses_, (std::vector<double>{0}));
  EXPECT_ERROR(director_.answer_to<net::EpochResult>(epoch_), Errc::failed_precondition,
               "a label of no class");
  EXPECT_EQ(learner_.waiting(), 0U);
}

TEST_F(TrainerSteps, TheStateAfterAStepIsTakenBeforeTheNextOneIsSent) {
  start();
  const auto of_second = ask_state({.multiple_of = 2});
  serve(4);
  const auto first = take(0);
  const auto second = take(1);
  answer(first);
  EXPECT_EQ(learner_.waiting(), 0U) << "the state after the second step is wanted";
  answer(second);
  EXPECT_EQ(steps_, 2U);
  answer_state(of_second, 2);
  const auto third = take(2);
  EXPECT_EQ(take(3)->applies, true);
  answer(third);
}

TEST_F(TrainerSteps, TheStateOfNowIsTakenWhenTheStepsUnderWayAreDone) {
  start();
  serve(4);
  const auto first = take(0);
  const auto second = take(1);
  const auto asked = ask_state({});
  EXPECT_EQ(learner_.waiting(), 0U);
  answer(first);
  EXPECT_EQ(learner_.waiting(), 0U) << "the second step has changed the parameters";
  answer(second);
  answer_state(asked, 2);
  EXPECT_EQ(learner_.waiting(), 2U) << "the third step and the fourth";
}

TEST_F(TrainerSteps, ARestoreForgetsTheStepSentAhead) {
  start();
  serve(4);
  const auto first = take(0);
  const auto second = take(1);
  const auto state = std::make_shared<const net::TrainingState>();
  const auto restored = director_.request(trainer_, net::Restore{.generation = 1, .state = state});
  system_.run();
  EXPECT_ERROR(director_.answer_to<net::EpochResult>(epoch_), Errc::cancelled, "rolled back");
  const auto put_back = learner_.take<RestoreSnapshot>();
  learner_.answer(put_back, net::Done{});
  system_.run();
  EXPECT_OK(director_.answer_to<net::Done>(restored));

  epoch_ = director_.request(trainer_, net::EpochRequest{.generation = 1, .epoch = 0});
  system_.run();
  learner_.take<BeginLearning>();
  serve(2);
  const auto again = take(0);
  answer(first);
  answer(second);
  EXPECT_EQ(losses_.size(), 0U) << "answers to the pass before";
  const auto ahead = take(1);
  answer(again);
  answer(ahead);
  EXPECT_EQ(losses_, (std::vector<double>{0, 1}));
}

}  // namespace
}  // namespace troupe
