#include "tests/runtime/run/checkpoint_samples.hpp"
#include "tests/runtime/run/learner_support.hpp"
#include "tests/support/scratch_folder.hpp"

namespace troupe {
namespace {

using testing::make;
using testing::two_nodes;

void make_steps(Learner& learner, std::uint32_t steps) {
  InlineExecutor executor;
  for (std::uint32_t step = 0; step < steps; ++step) {
    const std::int64_t label = static_cast<std::int64_t>(learner.steps() % 2);
    ASSERT_OK_AND_ASSIGN(const auto share,
                         learner.compute(executor, two_nodes({0, 1}, {label, 1})));
    learner.apply_own(share.weight);
  }
}

/// What a folder gives back of `learner` between two steps.
net::TrainingState written_and_read(const Learner& learner, const std::filesystem::path& dir) {
  CheckpointFolder folder(
      {.dir = dir, .keep = 1, .layout = learner.network().layout(), .flush = Flush::no});
  Checkpoint checkpoint = testing::sample_checkpoint(learner.steps());
  const auto optimizer = learner.optimizer_state();
  checkpoint.training.parameters = *learner.snapshot();
  checkpoint.training.optimizer = {optimizer.steps, optimizer.arrays};
  checkpoint.training.best = *learner.best();
  EXPECT_OK(folder.write(checkpoint));
  std::vector<SkippedCheckpoint> skipped;
  const auto loaded = folder.latest(skipped);
  EXPECT_OK(loaded);
  EXPECT_TRUE(skipped.empty());
  return loaded->checkpoint.training;
}

TEST(LearnerCheckpoint, ContinuesWithTheSameBitsFromItsFile) {
  std::vector<nn::OptimizerOptions> optimizers(3);
  optimizers[0] = {.kind = "adagrad", .lr = 0.05, .eps = nn::default_eps("adagrad")};
  optimizers[1] = {.kind = "adam", .lr = 0.01};
  optimizers[2] = {.kind = "sgd", .lr = 0.1, .momentum = 0.9};
  for (const auto& optimizer : optimizers) {
    auto options = testing::small_learner();
    options.model.in_dim = 2;
    options.optimizer = optimizer;
    const testing::ScratchFolder scratch;
    const auto undisturbed = make(options);
    make_steps(*undisturbed, 3);
    undisturbed->keep_best();

    const auto state = written_and_read(*undisturbed, scratch.path());
    const auto resumed = make(options);
    ASSERT_OK(resumed->restore(state.parameters, {state.optimizer.steps, state.optimizer.arrays},
                               state.best, state.global_step));
    make_steps(*undisturbed, 4);
    make_steps(*resumed, 4);

    EXPECT_EQ(resumed->steps(), 7U) << optimizer.kind;
    EXPECT_TRUE(testing::same_bits(*resumed->snapshot(), *undisturbed->snapshot()))
        << optimizer.kind;
    EXPECT_TRUE(testing::same_bits(*resumed->best(), *undisturbed->best())) << optimizer.kind;
    EXPECT_EQ(resumed->optimizer_state().arrays, undisturbed->optimizer_state().arrays);
  }
}

TEST(LearnerCheckpoint, OfAnotherOptimizerIsRefused) {
  auto options = testing::small_learner();
  options.model.in_dim = 2;
  options.optimizer = {.kind = "adagrad", .lr = 0.05};
  const testing::ScratchFolder scratch;
  const auto adagrad = make(options);
  make_steps(*adagrad, 1);
  options.optimizer.kind = "adam";
  const auto adam = make(options);

  const auto state = written_and_read(*adagrad, scratch.path());

  EXPECT_ERROR(adam->restore(state.parameters, {state.optimizer.steps, state.optimizer.arrays},
                             state.best, state.global_step),
               Errc::data_corruption, "expected 2 arrays, got 1");
}

}  // namespace
}  // namespace troupe
