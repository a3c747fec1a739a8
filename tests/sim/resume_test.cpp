// A run that is killed or stopped at any step and continued ends with the bits of the undisturbed one.
#include "launcher/cluster_runtime.hpp"
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "runtime/run/checkpoint.hpp"
#include "tests/sim/link_files.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>
#include <optional>
#include <thread>

namespace troupe {
namespace {

using Settings = std::vector<std::string>;

/// One job, run in virtual time on new clusters again and again.
class ResumeTest : public ::testing::Test {
 protected:
  void prepare(const Settings& settings) {
    Settings all = {"sample.batch_size=24", "cluster.trainers_per_host=2", "train.epochs=3"};
    all.insert(all.end(), settings.begin(), settings.end());
    ASSERT_OK_AND_ASSIGN(job_, testing::cora_job(scratch_.path(), all));
    ASSERT_OK_AND_ASSIGN(store_, prepare_store(job_, [](const std::string&) {}));
    ASSERT_TRUE(fit_to_graph_or_print(job_, store_->info()));
  }

  std::filesystem::path checkpoints() const { return scratch_.path() / "checkpoints"; }
  CheckpointFolder folder(const SimulatedCluster& cluster) const {
    CheckpointFolderOptions options;
    options.dir = checkpoints();
    options.layout = cluster.layout();
    options.keep = job_.checkpoint.keep;
    options.flush = Flush::no;
    return CheckpointFolder(std::move(options));
  }

  enum class End { none, kill, stop };
  struct Outcome {
    std::optional<Result<RunResult>> result;
    std::uint64_t steps = 0;  ///< that rank 0 made in this run
    std::uint64_t began_at = 0;
  };
  /// Runs from the newest checkpoint, if there is one. With `End::kill` everything is gone at once
  /// when rank 0 has made `at` steps of the run; with `End::stop` it is asked to stop.
  Outcome run(End end, std::uint64_t at) {
    Outcome outcome;
    std::uint64_t reached = 0;
    VirtualRuntime runtime({});
    ClusterHooks hooks;
    SimulatedCluster* running = nullptr;
    hooks.on_step = [&](const StepReport& report) {
      if (raw(report.rank) == 0) {
        ++outcome.steps;
        reached = report.global_step;
        if (end == End::stop && reached == at) {
          running->stop();
        }
      }
    };
    auto cluster = SimulatedCluster::create(job_, *store_, hooks, runtime);
    EXPECT_OK(cluster);
    running = cluster->get();
    const auto keeper = std::make_shared<CheckpointFolder>(folder(**cluster));
    RunSetup setup;
    std::vector<SkippedCheckpoint> skipped;
    if (auto found = keeper->latest(skipped); found) {
      outcome.began_at = found->checkpoint.training.global_step;
      setup.resume = std::make_shared<const Checkpoint>(std::move(found->checkpoint));
    }
    setup.write_checkpoint = [keeper](const Checkpoint& what) { return keeper->write(what); };
    (*cluster)->start(std::move(setup),
                      [&](Result<RunResult> result) { outcome.result = std::move(result); });
    const bool ended = runtime.wait_until(
        [&] { return outcome.result.has_value() || (end == End::kill && reached >= at); });
    EXPECT_TRUE(ended);
    return outcome;
  }

  void expect_same(const RunRecord& record, const RunRecord& right) {
    EXPECT_EQ(record.batches, right.batches);
    EXPECT_EQ(record.parameters, right.parameters);
    EXPECT_EQ(record.best_parameters, right.best_parameters);
    EXPECT_EQ(record.outputs, right.outputs);
    EXPECT_EQ(record.best_epoch, right.best_epoch);
    ASSERT_EQ(record.epochs.size(), right.epochs.size());
    for (std::size_t e = 0; e < right.epochs.size(); ++e) {
      EXPECT_EQ(record.epochs[e].loss, right.epochs[e].loss) << e;
      EXPECT_EQ(record.epochs[e].valid->accuracy, right.epochs[e].valid->accuracy) << e;
      EXPECT_EQ(record.epochs[e].valid->more, right.epochs[e].valid->more) << e;
    }
  }

  /// Ends a run after each of its steps in turn, resumes it, and compares.
  /// \returns how often it went on from a checkpoint
  std::uint64_t end_everywhere(End end) {
    const auto undisturbed = run(End::none, 0);
    EXPECT_OK(*undisturbed.result);
    const auto right = (*undisturbed.result)->record;
    std::uint64_t resumed = 0;
    for (std::uint64_t at = 1; at <= undisturbed.steps; ++at) {
      SCOPED_TRACE(fmt::format("after step {}", at));
      std::filesystem::remove_all(checkpoints());
      run(end, at);
      const auto rest = run(End::none, 0);
      EXPECT_OK(*rest.result);
      if (!rest.result->ok()) {
        return 0;
      }
      expect_same((*rest.result)->record, right);
      EXPECT_EQ(rest.steps, undisturbed.steps - rest.began_at) << "no step is made twice";
      resumed += rest.began_at > 0 ? 1U : 0U;
      if (end == End::stop) {
        EXPECT_EQ(rest.began_at, at) << "stopping keeps the step it stops at";
      }
    }
    return resumed;
  }

  testing::ScratchFolder scratch_;
  Job job_;
  std::optional<PartitionedStore> store_;
};

TEST_F(ResumeTest, KilledAfterAnyStepWithACheckpointPerStep) {
  prepare({"checkpoint.every.steps=1"});
  EXPECT_GE(end_everywhere(End::kill), 4U);
}

TEST_F(ResumeTest, ARunEndsOnceItsLastCheckpointIsWritten) {
  prepare({"checkpoint.every.steps=1", "embedding.node.dim=4"});
  std::vector<std::uint64_t> written;
  ASSERT_OK_AND_ASSIGN(const auto cluster, SimulatedCluster::create(job_, *store_, {}));
  auto setup = testing::setup_with_checkpoints(*cluster, checkpoints(), false);
  setup.write_checkpoint = [&, write = setup.write_checkpoint](const Checkpoint& what) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // training does not wait for it
    written.push_back(what.training.global_step);
    return write(what);
  };
  ASSERT_OK_AND_ASSIGN(const auto ended, cluster->run(setup));
  ASSERT_FALSE(written.empty());
  EXPECT_EQ(written.back(), ended.state->global_step);
  EXPECT_TRUE(std::filesystem::exists(checkpoints() / fmt::format("step-{}", written.back())));
}

/// As a hook of the first steps may do while the cluster is still starting.
TEST_F(ResumeTest, StoppedBeforeItHasADirector) {
  prepare({});
  ASSERT_OK_AND_ASSIGN(const auto cluster, SimulatedCluster::create(job_, *store_, {}));
  cluster->stop();
  EXPECT_ERROR(cluster->run(), Errc::cancelled, "interrupted");
}

TEST_F(ResumeTest, KilledAfterAnyStepWithACheckpointEveryFewSteps) {
  prepare({"checkpoint.every.steps=4", "cluster.hosts=2", "cluster.trainers_per_host=1",
           "partition.parts=2"});
  EXPECT_GE(end_everywhere(End::kill), 1U);
}

TEST_F(ResumeTest, KilledAfterAnyStepWithACheckpointPerEpoch) {
  prepare({"checkpoint.every.epochs=1", "train.schedule.kind=cosine", "train.clip=0.5"});
  EXPECT_GE(end_everywhere(End::kill), 1U);
}

TEST_F(ResumeTest, KilledAfterAnyStepWithACheckpointPerSecond) {
  prepare({"checkpoint.every.seconds=1", "cluster.hosts=2", "cluster.trainers_per_host=1",
           "cluster.network.latency_us=100000"});
  EXPECT_GE(end_everywhere(End::kill), 1U);
}

TEST_F(ResumeTest, LinksKilledAfterAnyStepWithACheckpointPerStep) {
  auto settings = testing::write_cora_links(scratch_.path());
  settings.insert(settings.end(),
                  {"checkpoint.every.steps=1", "sample.batch_size=84", "task.decoder.kind=mlp",
                   "task.negatives.kind=binary", "train.loss=softmax", "eval.metric=mrr",
                   "eval.negatives.per_positive=4"});
  prepare(settings);
  EXPECT_GE(end_everywhere(End::kill), 4U);
}

TEST_F(ResumeTest, LinksOnDevicesKilledAfterAnyStepWithACheckpointPerStep) {
  const auto files = testing::write_cora_links(scratch_.path());
  for (const char* const decoder : {"distmult", "mlp"}) {
    SCOPED_TRACE(decoder);
    std::filesystem::remove_all(checkpoints());
    auto settings = files;
    settings.insert(settings.end(), {"checkpoint.every.steps=1", "sample.batch_size=100",
                                     "train.epochs=1", std::string("task.decoder.kind=") + decoder,
                                     "train.loss=self_adversarial", "task.negatives.kind=binary",
                                     "eval.mode=sampled", "cluster.device=emulated:2"});
    prepare(settings);
    EXPECT_GE(end_everywhere(End::kill), 2U);
  }
}

/// Scores of each epoch, from exact inference, decide which is the best.
TEST_F(ResumeTest, ExactInferenceOnDevicesKilledAfterAnyStepWithACheckpointPerEpoch) {
  prepare({"checkpoint.every.epochs=1", "cluster.device=emulated:2", "sample.batch_size=84",
           "train.epochs=2"});
  EXPECT_GE(end_everywhere(End::kill), 1U);
}

TEST_F(ResumeTest, AttentionKilledAfterAnyStepWithACheckpointPerStep) {
  for (const char* kind : {"gat", "hgt"}) {
    SCOPED_TRACE(kind);
    std::filesystem::remove_all(checkpoints());
    prepare({std::string("model.kind=") + kind, "model.heads=2", "model.norm=batch",
             "checkpoint.every.steps=1", "train.epochs=2"});
    EXPECT_GE(end_everywhere(End::kill), 3U);
  }
}

TEST_F(ResumeTest, WithWeightsOfClassesKilledAfterAnyStepWithACheckpointPerStep) {
  prepare({"checkpoint.every.steps=1", "train.class_weights=[1,2,0,0.4,5,6,7]"});
  EXPECT_GE(end_everywhere(End::kill), 4U);
}

TEST_F(ResumeTest, StoppedAfterAnyStep) {
  prepare({});  // without a schedule: stopping alone keeps a checkpoint
  EXPECT_GE(end_everywhere(End::stop), 4U);
}

TEST_F(ResumeTest, OnDevicesKilledAfterAnyStepWithACheckpointPerStep) {
  prepare({"checkpoint.every.steps=1", "cluster.device=emulated:2", "model.norm=batch",
           "train.optimizer.kind=adamw", "train.clip=0.5"});
  EXPECT_GE(end_everywhere(End::kill), 4U);
}

/// Emulated devices have the CPU's bits in everything, so a run may change between both at each end.
TEST_F(ResumeTest, ARunGoesOnOnADeviceAndBackOnTheCpu) {
  prepare({"checkpoint.every.steps=1"});
  const auto undisturbed = run(End::none, 0);
  ASSERT_OK(*undisturbed.result);
  std::filesystem::remove_all(checkpoints());
  run(End::kill, 2);
  job_.cluster.device = {.kind = DeviceKind::emulated, .count = 2};
  EXPECT_GE(run(End::kill, 4).began_at, 1U);
  job_.cluster.device = {};
  const auto rest = run(End::none, 0);

  ASSERT_OK(*rest.result);
  EXPECT_GE(rest.began_at, 3U);
  expect_same((*rest.result)->record, (*undisturbed.result)->record);
}

TEST_F(ResumeTest, ARunGoesOnWithAnotherLayoutOfAsManyRanks) {
  prepare({"checkpoint.every.steps=1"});
  const auto undisturbed = run(End::none, 0);
  ASSERT_OK(*undisturbed.result);
  std::filesystem::remove_all(checkpoints());
  run(End::kill, 3);

  job_.cluster.hosts = 2;
  job_.cluster.trainers_per_host = 1;
  job_.cluster.batches_in_flight = 1;
  const auto rest = run(End::none, 0);

  ASSERT_OK(*rest.result);
  EXPECT_GT(rest.began_at, 0U);
  expect_same((*rest.result)->record, (*undisturbed.result)->record);
}

TEST_F(ResumeTest, ATornCheckpointIsLeftOutAndTheOneBeforeIsUsed) {
  prepare({"checkpoint.every.steps=1"});
  const auto undisturbed = run(End::none, 0);
  ASSERT_OK(*undisturbed.result);
  std::filesystem::remove_all(checkpoints());
  run(End::kill, 4);
  std::uint64_t newest = 0;
  for (const auto& entry : std::filesystem::directory_iterator(checkpoints())) {
    newest =
        std::max<std::uint64_t>(newest, std::stoull(entry.path().filename().string().substr(5)));
  }
  const auto torn = checkpoints() / fmt::format("step-{}", newest) / "parameters.safetensors";
  std::filesystem::resize_file(torn, std::filesystem::file_size(torn) - 1);

  const auto rest = run(End::none, 0);

  ASSERT_OK(*rest.result);
  EXPECT_EQ(rest.began_at, newest - 1);
  expect_same((*rest.result)->record, (*undisturbed.result)->record);
}

}  // namespace
}  // namespace troupe
