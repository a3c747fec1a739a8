// The learner of one rank: what is done in turn, and what is read while a batch is computed.
#include "actors/error.hpp"
#include "actors/learner.hpp"
#include "tests/runtime/run/learner_support.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/held_executor.hpp"

#include <caf/all.hpp>

#include <future>

namespace troupe {
namespace {

using namespace std::chrono_literals;

/// Both nodes are seeds.
Ref<ReadyBatch> small_batch(std::vector<std::int64_t> labels = {1, 0}) {
  return Ref<ReadyBatch>(ReadyBatch{testing::two_nodes({0, 1}, std::move(labels)), {}});
}

class CpuLearnerTest : public ::testing::Test {
 protected:
  CpuLearnerTest() : system_(config_), executor_(std::make_shared<testing::HeldExecutor>()) {
    auto options = testing::small_learner();
    options.model.in_dim = 2;
    const auto started = spawn_cpu_learner(system_, options, executor_);
    EXPECT_OK(started);
    handle_ = *started;
  }
  ~CpuLearnerTest() override { caf::anon_send_exit(handle_.actor, caf::exit_reason::kill); }

  template <class Reply, class Request>
  Result<Ref<Reply>> ask(Request request, std::chrono::milliseconds deadline = 10s) {
    caf::scoped_actor self(system_);
    Result<Ref<Reply>> result = Error(Errc::internal, "no answer");
    self->request(handle_.actor, deadline, Ref<Request>(std::move(request)))
        .receive([&](const Ref<Reply>& reply) { result = reply; },
                 [&](const caf::error& error) { result = from_caf(error); });
    return result;
  }
  template <class Reply, class Request>
  std::future<Result<Ref<Reply>>> begin(Request request) {
    return std::async(std::launch::async,
                      [this, what = std::move(request)] { return ask<Reply>(what); });
  }
  /// Waits until a task is there, then runs it.
  void run_task() {
    for (int i = 0; i < 10'000 && executor_->held() == 0; ++i) {
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(executor_->run_all(), 1U);
  }
  std::vector<float> parameters() {
    const auto taken = ask<net::StateReply>(TakeSnapshot{});
    EXPECT_OK(taken);
    return (*taken)->state->parameters;
  }
  /// One step on the batch, alone.
  void step() {
    auto trained = begin<Contribution>(TrainBatch{.ready = small_batch(), .alone = true});
    run_task();
    ASSERT_OK_AND_ASSIGN(const auto share, trained.get());
    EXPECT_EQ(share->values.bytes.size(), 0U);
    auto applied = begin<Applied>(ApplyStep{{{}, share->weight, share->number, {}}, true});
    run_task();
    ASSERT_OK_AND_ASSIGN(const auto done, applied.get());
    EXPECT_DOUBLE_EQ(done->lr, 0.1);
  }

  caf::actor_system_config config_;
  caf::actor_system system_;
  std::shared_ptr<testing::HeldExecutor> executor_;
  LearnerHandle handle_;
};

TEST_F(CpuLearnerTest, ItsHandleSaysHowLargeTheNetworkIs) {
  EXPECT_EQ(handle_.num_parameters, parameters().size());
  EXPECT_EQ(handle_.out_dim, 2U);
}

TEST_F(CpuLearnerTest, ParametersAreReadWhileABatchIsComputed) {
  auto trained = begin<Contribution>(TrainBatch{.ready = small_batch()});
  while (executor_->held() == 0) {
    std::this_thread::sleep_for(1ms);
  }

  EXPECT_OK(ask<net::StateReply>(TakeSnapshot{}));
  EXPECT_OK(ask<net::ParameterVector>(net::ReadParameters{}));

  run_task();
  ASSERT_OK_AND_ASSIGN(const auto share, trained.get());
  EXPECT_EQ(share->weight, 2U);
  EXPECT_EQ(share->values.bytes.size(), handle_.num_parameters * sizeof(float));
}

TEST_F(CpuLearnerTest, WhatIsReadDuringAStepIsOfAfterIt) {
  const auto before = parameters();
  Reduced mean{std::vector<float>(handle_.num_parameters, 1.0F), 1, 0, {}};
  auto applied = begin<Applied>(ApplyStep{std::move(mean), false});
  while (executor_->held() == 0) {
    std::this_thread::sleep_for(1ms);
  }
  auto taken = begin<net::StateReply>(TakeSnapshot{});
  EXPECT_EQ(taken.wait_for(20ms), std::future_status::timeout);

  run_task();

  ASSERT_OK(applied.get());
  ASSERT_OK_AND_ASSIGN(const auto state, taken.get());
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_FLOAT_EQ(state->state->parameters[i], before[i] - 0.1F);
  }
}

TEST_F(CpuLearnerTest, GoesBackToASnapshotAfterTheTaskUnderWay) {
  net::TrainingState position;
  position.global_step = 7;
  ASSERT_OK_AND_ASSIGN(const auto first, ask<net::StateReply>(TakeSnapshot{position}));
  EXPECT_EQ(first->state->global_step, 7U);
  step();
  EXPECT_NE(parameters(), first->state->parameters);

  auto trained = begin<Contribution>(TrainBatch{.ready = small_batch()});
  while (executor_->held() == 0) {
    std::this_thread::sleep_for(1ms);
  }
  auto restored = begin<net::Done>(RestoreSnapshot{first->state});
  EXPECT_EQ(restored.wait_for(20ms), std::future_status::timeout);
  run_task();

  EXPECT_OK(trained.get());
  EXPECT_OK(restored.get());
  EXPECT_EQ(parameters(), first->state->parameters);
}

TEST_F(CpuLearnerTest, KeepsTheBestParametersAndScoresWithThem) {
  ASSERT_OK(ask<net::Done>(net::KeepBest{}));
  ASSERT_OK_AND_ASSIGN(const auto best, ask<net::ParameterVector>(net::ReadParameters{true}));
  auto scored = begin<Matrix>(ScoreBatch{small_batch()});
  run_task();
  ASSERT_OK_AND_ASSIGN(const auto then, scored.get());
  step();

  auto now = begin<Matrix>(ScoreBatch{small_batch()});
  run_task();
  auto with_best = begin<Matrix>(ScoreBatch{small_batch(), true});
  run_task();

  ASSERT_OK_AND_ASSIGN(const auto of_now, now.get());
  ASSERT_OK_AND_ASSIGN(const auto of_best, with_best.get());
  EXPECT_TRUE(std::ranges::equal(of_best->view().flat(), then->view().flat()));
  EXPECT_FALSE(std::ranges::equal(of_now->view().flat(), then->view().flat()));
  ASSERT_OK_AND_ASSIGN(const auto end, ask<net::FinishResult>(net::Finish{}));
  EXPECT_EQ(end->best_parameters, digest_of(best->values.bytes));
  EXPECT_NE(end->parameters, end->best_parameters);
}

TEST_F(CpuLearnerTest, ABatchThatCannotBeTrainedFailsAndTheNextIsTrained) {
  auto failed = begin<Contribution>(TrainBatch{.ready = small_batch({1, 7})});
  run_task();
  EXPECT_ERROR(failed.get(), Errc::failed_precondition, "labels: expected -1 to 1, found 7");

  step();
}

TEST_F(CpuLearnerTest, AStateOfOtherSizesIsRefused) {
  auto state = std::make_shared<net::TrainingState>();
  state->parameters = {1.F, 2.F};

  EXPECT_ERROR(ask<net::Done>(RestoreSnapshot{state}), Errc::data_corruption, "expected");
}

}  // namespace
}  // namespace troupe
