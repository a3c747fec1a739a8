// The learner of one rank: what is done in turn, and what is read while a batch is computed.
#include "actors/learner.hpp"

#include "gpu/comm/emulated_communicator.hpp"
#include "gpu/nn/device_block_ops.hpp"
#include "gpu/nn/emulated_block_ops.hpp"
#include "tests/actors/scripted_system.hpp"
#include "tests/runtime/run/learner_support.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

/// Both nodes are seeds.
Ref<ReadyBatch> small_batch(std::vector<std::int64_t> labels = {1, 0}) {
  return Ref<ReadyBatch>(ReadyBatch{testing::two_nodes({0, 1}, std::move(labels)), {}});
}

class LearnerActorTest : public ::testing::Test {
 protected:
  /// \param ops  null: on the CPU
  explicit LearnerActorTest(std::unique_ptr<nn::BlockOps> ops = nullptr) {
    auto options = testing::small_learner();
    options.model.in_dim = 2;
    const auto started = spawn_learner(*system_, options, system_.executor(), std::move(ops));
    EXPECT_OK(started);
    handle_ = *started;
    system_.add("learner", handle_.actor);
  }

  /// Sends a request; what it computes waits for run_task().
  template <class Request>
  std::uint64_t begin(Request request) {
    const auto asked = trainer_.request(handle_.actor, std::move(request));
    system_.run_messages();
    return asked;
  }
  /// As begin(), for what is answered without computing.
  template <class Reply, class Request>
  Result<Ref<Reply>> ask(Request request) {
    return trainer_.answer_to<Reply>(begin(std::move(request)));
  }
  void run_task() {
    EXPECT_EQ(system_.executor()->run_all(), 1U);
    system_.run_messages();
  }
  /// Sends a request that computes, and has it computed.
  template <class Reply, class Request>
  Result<Ref<Reply>> compute(Request request) {
    const auto asked = begin(std::move(request));
    run_task();
    return trainer_.answer_to<Reply>(asked);
  }
  std::vector<float> parameters() {
    const auto taken = ask<net::StateReply>(TakeSnapshot{});
    EXPECT_OK(taken);
    return (*taken)->state->parameters;
  }
  void step() {
    ASSERT_OK_AND_ASSIGN(const auto share,
                         compute<Trained>(TrainBatch{.ready = small_batch(), .alone = true}));
    EXPECT_EQ(share->mine.values.bytes.size(), 0U);
    ASSERT_OK_AND_ASSIGN(
        const auto done,
        compute<Applied>(ApplyStep{{{}, share->mine.weight, share->mine.number, {}}, true}));
    EXPECT_DOUBLE_EQ(done->lr, 0.1);
  }

  testing::ScriptedSystem system_;
  testing::ScriptedActor trainer_{system_, "trainer"};
  LearnerHandle handle_;
};

TEST_F(LearnerActorTest, ItsHandleSaysHowLargeTheNetworkIs) {
  EXPECT_EQ(handle_.num_parameters, parameters().size());
  EXPECT_EQ(handle_.out_dim, 2U);
}

TEST_F(LearnerActorTest, ParametersAreReadWhileABatchIsComputed) {
  const auto trained = begin(TrainBatch{.ready = small_batch()});

  EXPECT_OK(ask<net::StateReply>(TakeSnapshot{}));
  EXPECT_OK(ask<net::ParameterVector>(net::ReadParameters{}));
  EXPECT_FALSE(trainer_.is_answered(trained));

  run_task();
  ASSERT_OK_AND_ASSIGN(const auto share, trainer_.answer_to<Trained>(trained));
  EXPECT_EQ(share->mine.weight, 2U);
  EXPECT_EQ(share->mine.values.bytes.size(), handle_.num_parameters * sizeof(float));
}

TEST_F(LearnerActorTest, WhatIsReadDuringAStepIsOfAfterIt) {
  const auto before = parameters();
  Reduced mean{std::vector<float>(handle_.num_parameters, 1.0F), 1, 0, {}};
  const auto applied = begin(ApplyStep{std::move(mean), false});
  const auto taken = begin(TakeSnapshot{});
  EXPECT_FALSE(trainer_.is_answered(taken));

  run_task();

  ASSERT_OK(trainer_.answer_to<Applied>(applied));
  ASSERT_OK_AND_ASSIGN(const auto state, trainer_.answer_to<net::StateReply>(taken));
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_FLOAT_EQ(state->state->parameters[i], before[i] - 0.1F);
  }
}

TEST_F(LearnerActorTest, AStepThatIsMadeAtOnceIsTheSameAsOneAfterTheGradient) {
  ASSERT_OK_AND_ASSIGN(const auto start, ask<net::StateReply>(TakeSnapshot{}));
  step();
  step();
  const auto expected = parameters();
  const auto restored = begin(RestoreSnapshot{start->state});
  EXPECT_OK(trainer_.answer_to<net::Done>(restored));
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(
        const auto trained,
        compute<Trained>(TrainBatch{.ready = small_batch(), .alone = true, .applies = true}));
    EXPECT_EQ(trained->mine.weight, 2U);
    EXPECT_EQ(trained->mine.values.bytes.size(), 0U);
    ASSERT_TRUE(trained->applied);
    EXPECT_DOUBLE_EQ(trained->applied->lr, 0.1);
  }
  EXPECT_EQ(parameters(), expected);
}

TEST_F(LearnerActorTest, WhatIsReadDuringAStepThatIsMadeAtOnceIsOfAfterIt) {
  const auto before = parameters();
  const auto trained = begin(TrainBatch{.ready = small_batch(), .alone = true, .applies = true});
  const auto taken = begin(TakeSnapshot{});
  EXPECT_FALSE(trainer_.is_answered(taken));
  run_task();
  EXPECT_OK(trainer_.answer_to<Trained>(trained));
  ASSERT_OK_AND_ASSIGN(const auto state, trainer_.answer_to<net::StateReply>(taken));
  EXPECT_NE(state->state->parameters, before);
}

TEST_F(LearnerActorTest, GoesBackToASnapshotAfterTheTaskUnderWay) {
  net::TrainingState position;
  position.global_step = 7;
  ASSERT_OK_AND_ASSIGN(const auto first, ask<net::StateReply>(TakeSnapshot{position}));
  EXPECT_EQ(first->state->global_step, 7U);
  step();
  EXPECT_NE(parameters(), first->state->parameters);

  const auto trained = begin(TrainBatch{.ready = small_batch()});
  const auto restored = begin(RestoreSnapshot{first->state});
  EXPECT_FALSE(trainer_.is_answered(restored));
  run_task();

  EXPECT_OK(trainer_.answer_to<Trained>(trained));
  EXPECT_OK(trainer_.answer_to<net::Done>(restored));
  EXPECT_EQ(parameters(), first->state->parameters);
}

TEST_F(LearnerActorTest, KeepsTheBestParametersAndScoresWithThem) {
  ASSERT_OK(ask<net::Done>(net::KeepBest{}));
  ASSERT_OK_AND_ASSIGN(const auto best, ask<net::ParameterVector>(net::ReadParameters{true}));
  ASSERT_OK_AND_ASSIGN(const auto then, compute<Scored>(ScoreBatch{small_batch()}));
  step();

  ASSERT_OK_AND_ASSIGN(const auto of_now, compute<Scored>(ScoreBatch{small_batch()}));
  ASSERT_OK_AND_ASSIGN(const auto of_best, compute<Scored>(ScoreBatch{small_batch(), true}));

  EXPECT_TRUE(std::ranges::equal(of_best->outputs->view().flat(), then->outputs->view().flat()));
  EXPECT_FALSE(std::ranges::equal(of_now->outputs->view().flat(), then->outputs->view().flat()));
  ASSERT_OK_AND_ASSIGN(const auto end, ask<net::FinishResult>(net::Finish{}));
  EXPECT_EQ(end->best_parameters, digest_of(best->values.bytes));
  EXPECT_NE(end->parameters, end->best_parameters);
}

TEST_F(LearnerActorTest, ABatchThatCannotBeTrainedFailsAndTheNextIsTrained) {
  EXPECT_ERROR(compute<Trained>(TrainBatch{.ready = small_batch({1, 7})}),
               Errc::failed_precondition, "labels: expected -1 to 1, found 7");

  step();
}

TEST_F(LearnerActorTest, AStateOfOtherSizesIsRefused) {
  auto state = std::make_shared<net::TrainingState>();
  state->parameters = {1.F, 2.F};

  EXPECT_ERROR(ask<net::Done>(RestoreSnapshot{state}), Errc::data_corruption, "expected");
}

/// Parameters on a device are read and changed by tasks: handlers do not wait for it.
class LearnerActorOnDevice : public LearnerActorTest {
 protected:
  LearnerActorOnDevice()
      : LearnerActorTest(gpu::make_emulated_block_ops(std::make_shared<gpu::EmulatedDevice>())) {}
  net::TrainingState snapshot() {
    const auto taken = compute<net::StateReply>(TakeSnapshot{});
    EXPECT_OK(taken);
    return *(*taken)->state;
  }
  void step_there() {
    ASSERT_OK_AND_ASSIGN(const auto share,
                         compute<Trained>(TrainBatch{.ready = small_batch(), .alone = true}));
    ASSERT_OK(compute<Applied>(ApplyStep{{{}, share->mine.weight, share->mine.number, {}}, true}));
  }
};

TEST_F(LearnerActorOnDevice, IsReadAfterTheBatchThatIsComputed) {
  const auto trained = begin(TrainBatch{.ready = small_batch()});
  const auto taken = begin(TakeSnapshot{});
  const auto read = begin(net::ReadParameters{});
  EXPECT_FALSE(trainer_.is_answered(taken));

  run_task();
  ASSERT_OK_AND_ASSIGN(const auto share, trainer_.answer_to<Trained>(trained));
  EXPECT_EQ(share->mine.values.bytes.size(), handle_.num_parameters * sizeof(float));
  EXPECT_FALSE(trainer_.is_answered(taken));
  run_task();
  EXPECT_OK(trainer_.answer_to<net::StateReply>(taken));
  EXPECT_FALSE(trainer_.is_answered(read));
  run_task();
  EXPECT_OK(trainer_.answer_to<net::ParameterVector>(read));
}

TEST_F(LearnerActorOnDevice, LaunchesAStepWhileTheOneBeforeIsWaitedFor) {
  EXPECT_TRUE(handle_.launches_ahead);
  const auto ask_step = [this](std::vector<std::int64_t> labels) {
    return begin(
        TrainBatch{.ready = small_batch(std::move(labels)), .alone = true, .applies = true});
  };
  const auto first = ask_step({1, 0});
  const auto second = ask_step({0, 0});
  const auto bad = ask_step({0, 7});
  const auto taken = begin(TakeSnapshot{});
  EXPECT_EQ(system_.executor()->held(), 1U) << "launches one after the other";
  run_task();
  EXPECT_EQ(system_.executor()->held(), 2U) << "the loss of the first, the launch of the second";
  while (system_.executor()->held() > 0) {
    system_.executor()->run_all();
    system_.run_messages();
  }

  ASSERT_OK_AND_ASSIGN(const auto one, trainer_.answer_to<Trained>(first));
  ASSERT_OK_AND_ASSIGN(const auto two, trainer_.answer_to<Trained>(second));
  EXPECT_ERROR(trainer_.answer_to<Trained>(bad), Errc::failed_precondition, "found 7");
  ASSERT_TRUE(one->applied && two->applied);
  EXPECT_DOUBLE_EQ(two->applied->lr, 0.1);
  auto options = testing::small_learner();
  options.model.in_dim = 2;
  ASSERT_OK_AND_ASSIGN(const auto twin, Learner::create(options));
  InlineExecutor executor;
  for (const auto& [labels, trained] : {std::pair(std::vector<std::int64_t>{1, 0}, one),
                                        std::pair(std::vector<std::int64_t>{0, 0}, two)}) {
    ASSERT_OK_AND_ASSIGN(const auto share, twin->compute(executor, small_batch(labels)->batch,
                                                         nullptr, Learner::Gradient::applied));
    EXPECT_EQ(trained->mine.number, share.loss_sum);
    EXPECT_EQ(trained->mine.weight, share.weight);
  }
  ASSERT_OK_AND_ASSIGN(const auto state, trainer_.answer_to<net::StateReply>(taken));
  EXPECT_EQ(state->state->parameters, *twin->snapshot());
}

TEST_F(LearnerActorOnDevice, GoesBackToASnapshotInTurn) {
  step_there();
  const auto first = snapshot();
  ASSERT_OK(compute<net::Done>(net::KeepBest{}));
  step_there();
  EXPECT_NE(snapshot().parameters, first.parameters);
  EXPECT_EQ(snapshot().best, first.parameters);

  const auto trained = begin(TrainBatch{.ready = small_batch()});
  const auto restored = begin(RestoreSnapshot{std::make_shared<const net::TrainingState>(first)});
  run_task();
  EXPECT_OK(trainer_.answer_to<Trained>(trained));
  EXPECT_FALSE(trainer_.is_answered(restored));
  run_task();
  EXPECT_OK(trainer_.answer_to<net::Done>(restored));

  const auto again = snapshot();
  EXPECT_EQ(again.parameters, first.parameters);
  EXPECT_EQ(again.optimizer.arrays, first.optimizer.arrays);
  EXPECT_TRUE(again.best.empty());
  ASSERT_OK_AND_ASSIGN(const auto end, compute<net::FinishResult>(net::Finish{}));
  EXPECT_EQ(end->parameters, digest_parameters(first.parameters));
}

/// The device's communicator has as many ranks as the test says; this is rank 0.
class LearnerActorByDevices : public LearnerActorTest {
 protected:
  LearnerActorByDevices() : LearnerActorByDevices(std::make_shared<gpu::EmulatedDevice>()) {}
  std::shared_ptr<DeviceMean> join(std::uint32_t world) {
    const auto id = means_->make_id();
    EXPECT_OK(id);
    auto joined = means_->join(*id, Rank{0}, world);
    EXPECT_OK(joined);
    return *joined;
  }
  std::uint64_t begin_step(const std::shared_ptr<DeviceMean>& over, bool has_share) {
    EXPECT_OK(compute<Trained>(TrainBatch{.ready = small_batch(), .alone = true}));
    ApplyStep step;
    step.mean.weight = 2;
    step.by_devices = over;
    step.has_share = has_share;
    return begin(std::move(step));
  }
  std::vector<float> parameters_there() {
    const auto taken = compute<net::StateReply>(TakeSnapshot{});
    EXPECT_OK(taken);
    return (*taken)->state->parameters;
  }

 private:
  explicit LearnerActorByDevices(const std::shared_ptr<gpu::EmulatedDevice>& device)
      : LearnerActorByDevices(gpu::make_emulated_block_ops(device)) {}
  explicit LearnerActorByDevices(std::unique_ptr<nn::BlockOps> ops)
      : LearnerActorByDevices{
            gpu::emulated_means(std::make_shared<gpu::EmulatedNetwork>(),
                                dynamic_cast<gpu::OnStream<gpu::EmulatedStream>&>(*ops).stream(),
                                SumOrder::by_rank),
            std::move(ops)} {}  // in this order
  LearnerActorByDevices(std::unique_ptr<DeviceMeans> means, std::unique_ptr<nn::BlockOps> ops)
      : LearnerActorTest(std::move(ops)), means_(std::move(means)) {}

  std::unique_ptr<DeviceMeans> means_;
};

TEST_F(LearnerActorByDevices, AStepOfOneRankIsThatOfARankAlone) {
  const auto over = join(1);
  for (int step = 0; step < 3; ++step) {
    const auto asked = begin_step(over, true);
    run_task();
    ASSERT_OK_AND_ASSIGN(const auto done, trainer_.answer_to<Applied>(asked));
    EXPECT_DOUBLE_EQ(done->lr, 0.1);
  }
  const auto there = parameters_there();
  auto options = testing::small_learner();
  options.model.in_dim = 2;
  ASSERT_OK_AND_ASSIGN(const auto twin, Learner::create(options));
  InlineExecutor executor;
  for (int step = 0; step < 3; ++step) {
    const auto share = twin->compute(executor, small_batch()->batch, nullptr);
    ASSERT_OK(share);
    ASSERT_EQ(share->weight, 2U);
    std::vector<float> mean(share->gradient.begin(), share->gradient.end());
    for (float& value : mean) {
      value = (0.0F + value) / 2;
    }
    twin->apply(mean, 2);
  }
  EXPECT_EQ(there, *twin->snapshot());
}

TEST_F(LearnerActorByDevices, ARankWithoutABatchAddsNothing) {
  const auto before = parameters_there();
  const auto over = join(1);
  const auto asked = begin_step(over, false);  // SGD: without a gradient nothing moves
  run_task();
  ASSERT_OK(trainer_.answer_to<Applied>(asked));
  EXPECT_EQ(parameters_there(), before);
}

TEST_F(LearnerActorByDevices, WaitsForOtherRanksWithoutAThreadUntilItIsAborted) {
  ASSERT_OK_AND_ASSIGN(const auto first, compute<net::StateReply>(TakeSnapshot{}));
  const auto over = join(2);
  const auto asked = begin_step(over, true);
  const auto restored = begin(RestoreSnapshot{first->state});
  run_task();
  EXPECT_FALSE(trainer_.is_answered(asked)) << "the other rank has not launched";
  EXPECT_EQ(system_.executor()->run_all(), 0U) << "nothing waits in the compute pool";
  over->abort();
  system_.run_messages();
  EXPECT_ERROR(trainer_.answer_to<Applied>(asked), Errc::cancelled, "aborted");
  run_task();
  ASSERT_OK(trainer_.answer_to<net::Done>(restored));
  EXPECT_EQ(parameters_there(), first->state->parameters);
}

class LearnerActorOnSmallDevice : public LearnerActorTest {
 protected:
  /// Room for the parameters, not for a batch.
  LearnerActorOnSmallDevice()
      : LearnerActorTest(gpu::make_emulated_block_ops(
            std::make_shared<gpu::EmulatedDevice>(gpu::EmulatedOptions{.memory_bytes = 256}))) {}
};

TEST_F(LearnerActorOnSmallDevice, AnswersReadsWithTheErrorOfTheDevice) {
  EXPECT_ERROR(compute<Trained>(TrainBatch{.ready = small_batch()}), Errc::out_of_memory,
               "emulated device: expected room for");
  EXPECT_ERROR(compute<net::StateReply>(TakeSnapshot{}), Errc::out_of_memory, "");
  EXPECT_ERROR(compute<net::FinishResult>(net::Finish{}), Errc::out_of_memory, "");
}

// ---- inferrers ----

/// Blocks whose rows become the number of the device that they were computed on, from 1; 0: the CPU.
class InferrerTest : public ::testing::Test {
 protected:
  void start(caf::actor inferrer) {
    inferrer_ = std::move(inferrer);
    system_.add("inferrer", inferrer_);
  }
  std::vector<std::shared_ptr<nn::DeviceInference>> devices(std::size_t count) const {
    std::vector<std::shared_ptr<nn::DeviceInference>> all;
    for (std::size_t number = 0; number < count; ++number) {
      all.push_back(std::make_shared<nn::DeviceInference>(
          number, []() -> Result<std::unique_ptr<nn::BlockOps>> {
            return Error(Errc::internal, "these blocks need no operations");
          }));
    }
    return all;
  }
  struct Block {
    std::uint64_t asked;
    std::shared_ptr<Matrix> rows;
  };
  Block infer(const Status& done = ok_status()) {
    auto to = std::make_shared<Matrix>(2, 1);
    InferBlock block{.nodes = {0, 2}, .first_row = 0, .to = to, .make = {}};
    block.make = [done](const InferPlace& on, MutMatrix rows) -> Result<std::uint64_t> {
      TROUPE_RETURN_IF_ERROR(done);
      const auto number = on.device == nullptr ? 0 : on.device->number() + 1;
      std::ranges::fill(rows.flat(), static_cast<float>(number));
      return std::uint64_t{7};
    };
    const auto asked = evaluator_.request(inferrer_, std::move(block));
    system_.run_messages();
    return {asked, to};
  }
  std::size_t compute() {
    const auto tasks = system_.executor()->run_all();
    system_.run_messages();
    return tasks;
  }

  testing::ScriptedSystem system_;
  testing::ScriptedActor evaluator_{system_, "evaluator"};
  caf::actor inferrer_;
};

TEST_F(InferrerTest, TheCpuComputesAnyNumberOfBlocksAtOnce) {
  start(spawn_cpu_inferrer(*system_, system_.executor()));
  const auto first = infer();
  const auto second = infer(Error(Errc::out_of_memory, "no room"));
  EXPECT_EQ(compute(), 2U);

  ASSERT_OK_AND_ASSIGN(const auto done, evaluator_.answer_to<BlockInferred>(first.asked));
  EXPECT_EQ(done->edges, 7U);
  EXPECT_EQ(first.rows->view().row(1)[0], 0.0F);
  EXPECT_ERROR(evaluator_.answer_to<BlockInferred>(second.asked), Errc::out_of_memory, "no room");
}

TEST_F(InferrerTest, EachDeviceComputesABlockAtATime) {
  start(spawn_device_inferrer(*system_, system_.executor(), devices(2)));
  const std::vector<Block> blocks = {infer(), infer(), infer()};
  EXPECT_EQ(compute(), 2U);
  EXPECT_OK(evaluator_.answer_to<BlockInferred>(blocks[0].asked));
  EXPECT_OK(evaluator_.answer_to<BlockInferred>(blocks[1].asked));
  EXPECT_EQ(compute(), 1U);
  EXPECT_OK(evaluator_.answer_to<BlockInferred>(blocks[2].asked));

  EXPECT_EQ(blocks[0].rows->view().row(0)[0], 1.0F);
  EXPECT_EQ(blocks[1].rows->view().row(0)[0], 2.0F);
  EXPECT_GT(blocks[2].rows->view().row(0)[0], 0.0F);
}

TEST_F(InferrerTest, ABlockThatADeviceFailsAtLeavesItToTheNext) {
  start(spawn_device_inferrer(*system_, system_.executor(), devices(1)));
  const auto lost = infer(Error(Errc::cuda_failure, "CUDA device 0: kernel of 7: lost"));
  const auto next = infer();
  EXPECT_EQ(compute(), 1U);
  EXPECT_EQ(compute(), 1U);

  EXPECT_ERROR(evaluator_.answer_to<BlockInferred>(lost.asked), Errc::cuda_failure,
               "kernel of 7: lost");
  EXPECT_OK(evaluator_.answer_to<BlockInferred>(next.asked));
}

}  // namespace
}  // namespace troupe
