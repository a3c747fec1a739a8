// Gradients that emulated devices exchange: the bits of the links and of the CPU, with ranks lost at any step.
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "tests/sim/heterogeneous_run.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace troupe {
namespace {

/// Counts the steps of all ranks by the way of their gradients.
struct WaysOfSteps {
  std::mutex mutex;
  std::uint64_t by_devices = 0;
  std::uint64_t over_links = 0;
  std::vector<std::string> said;

  ClusterHooks hooks() {
    ClusterHooks hooks;
    hooks.on_step = [this](const StepReport& step) {
      const std::lock_guard lock(mutex);
      ++(step.by_devices ? by_devices : over_links);
    };
    hooks.say = [this](const std::string& line) {
      const std::lock_guard lock(mutex);
      said.push_back(line);
    };
    return hooks;
  }
};

void expect_same_run(const RunRecord& actual, const RunRecord& expected) {
  ASSERT_TRUE(actual.batches && expected.batches);
  EXPECT_EQ(to_string(*actual.batches), to_string(*expected.batches));
  EXPECT_EQ(to_string(actual.parameters), to_string(expected.parameters));
  EXPECT_EQ(to_string(actual.best_parameters), to_string(expected.best_parameters));
  EXPECT_EQ(to_string(actual.outputs), to_string(expected.outputs));
  ASSERT_EQ(actual.epochs.size(), expected.epochs.size());
  for (std::size_t e = 0; e < actual.epochs.size(); ++e) {
    EXPECT_EQ(actual.epochs[e].loss, expected.epochs[e].loss) << e;
  }
}

class GradientsByDevices : public ::testing::Test {
 protected:
  Result<RunRecord> run(testing::Settings settings, const std::string& device,
                        ClusterHooks hooks = {}) {
    settings.push_back(fmt::format("cluster.device={}", device));
    return testing::run_cora(scratch_.path(), settings, std::move(hooks));
  }
  testing::ScratchFolder scratch_;
};

TEST_F(GradientsByDevices, HaveTheBitsOfTheCpuForAnyNumberOfRanks) {
  struct Layout {
    testing::Settings settings;
    const char* device;
    std::uint64_t world;
  };
  const std::vector<Layout> layouts = {
      {{"cluster.trainers_per_host=2"}, "emulated:2", 2},
      {{"cluster.trainers_per_host=3", "model.norm=batch"}, "emulated:3", 3},
      {{"cluster.trainers_per_host=4", "train.clip=0.1"}, "emulated:4", 4},
      {{"cluster.hosts=2", "model.dropout=0.2"}, "emulated:1", 2},
      {{"cluster.hosts=2", "cluster.trainers_per_host=2", "train.optimizer.kind=sgd"},
       "emulated:2",
       4},
      // Ranks without a batch in the last steps.
      {{"cluster.trainers_per_host=5", "sample.batch_size=24"}, "emulated:5", 5},
  };
  for (const auto& [settings, device, world] : layouts) {
    SCOPED_TRACE(fmt::format("{} on {}", fmt::join(settings, " "), device));
    testing::Settings longer = settings;
    longer.emplace_back("train.epochs=4");
    ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(longer, "cpu"));
    WaysOfSteps ways;
    ASSERT_OK_AND_ASSIGN(const auto record, run(longer, device, ways.hooks()));
    expect_same_run(record, on_cpu);
    EXPECT_EQ(ways.over_links, world * 2) << "the first two steps of each rank";
    EXPECT_GT(ways.by_devices, 0U);
    EXPECT_EQ(ways.said, std::vector<std::string>());
  }
}

TEST_F(GradientsByDevices, RanksThatShareADeviceUseTheLinks) {
  const testing::Settings settings = {"cluster.trainers_per_host=3"};
  ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(settings, "cpu"));
  for (const char* const device : {"emulated:1", "emulated:2"}) {
    WaysOfSteps ways;
    ASSERT_OK_AND_ASSIGN(const auto record, run(settings, device, ways.hooks()));
    expect_same_run(record, on_cpu);
    EXPECT_EQ(ways.by_devices, 0U);
    EXPECT_GT(ways.over_links, 0U);
  }
}

TEST_F(GradientsByDevices, FastSumsTrainAsWellAndBatchesAreTheSame) {
  const testing::Settings settings = {"cluster.trainers_per_host=4", "train.epochs=10"};
  ASSERT_OK_AND_ASSIGN(const auto exact, run(settings, "emulated:4"));
  testing::Settings fast = settings;
  fast.emplace_back("train.reduce=fast");
  WaysOfSteps ways;
  ASSERT_OK_AND_ASSIGN(const auto record, run(fast, "emulated:4", ways.hooks()));
  EXPECT_GT(ways.by_devices, 0U);
  EXPECT_EQ(record.batches, exact.batches);
  EXPECT_NE(record.parameters, exact.parameters) << "sums have another order";
  EXPECT_NEAR(record.epochs.back().loss, exact.epochs.back().loss, 1e-2);
  EXPECT_ERROR(run(fast, "cpu"), Errc::invalid_argument,
               "/train/reduce: expected \"exact\" with cluster.device \"cpu\"");
}

/// Runs with an actor killed at a step of rank 0.
struct Loss {
  std::uint64_t at = 0;
  std::uint32_t process = 0;
  std::string actor = {};
};

class LostRanks : public GradientsByDevices {
 protected:
  Result<RunRecord> run_with(const testing::Settings& settings, const Loss& loss,
                             WaysOfSteps& ways) {
    TROUPE_ASSIGN_OR_RETURN(auto job, testing::cora_job(scratch_.path(), settings));
    TROUPE_ASSIGN_OR_RETURN(const auto store, prepare_store(job, [](const std::string&) {}));
    if (!fit_to_graph_or_print(job, store.info())) {
      return Error(Errc::invalid_argument, "the job does not fit its data");
    }
    SimulatedCluster* running = nullptr;
    std::atomic<bool> done{false};
    auto hooks = ways.hooks();
    hooks.on_step = [&, count = hooks.on_step](const StepReport& step) {
      count(step);
      if (raw(step.rank) == 0 && step.global_step == loss.at && !done.exchange(true)) {
        EXPECT_TRUE(running->kill(ProcessId{loss.process}, loss.actor));
      }
    };
    TROUPE_ASSIGN_OR_RETURN(const auto cluster,
                            SimulatedCluster::create(job, store, std::move(hooks)));
    running = cluster.get();
    TROUPE_ASSIGN_OR_RETURN(auto result, cluster->run());
    EXPECT_TRUE(done);
    return std::move(result.record);
  }
};

TEST_F(LostRanks, AtAnyStepAreMadeUpForWithTheSameDigests) {
  const testing::Settings in_one = {"cluster.trainers_per_host=3", "train.epochs=4",
                                    "cluster.device=emulated:3", "sample.batch_size=24"};
  const testing::Settings in_two = {"cluster.hosts=2", "train.epochs=3",
                                    "cluster.device=emulated:1", "checkpoint.every.steps=2"};
  // In one process after odd steps, in two after even ones, with one victim and the other by turns.
  const std::vector<std::pair<testing::Settings, std::vector<Loss>>> ways = {
      {in_one, {{0, 0, "trainer of rank 2"}, {0, 0, "trainer of rank 0"}}},
      {in_two, {{0, 1, "trainer of rank 1"}, {0, 0, "trainer of rank 0"}}}};
  for (const auto& [settings, losses] : ways) {
    testing::Settings quiet = settings;
    ASSERT_OK_AND_ASSIGN(const auto undisturbed, testing::run_cora(scratch_.path(), quiet));
    for (std::uint64_t at = settings == in_one ? 1 : 2; at <= 7; at += 2) {
      Loss loss = losses[at / 2 % losses.size()];
      loss.at = at;
      SCOPED_TRACE(fmt::format("{} lost after step {}", loss.actor, at));
      WaysOfSteps steps;
      ASSERT_OK_AND_ASSIGN(const auto record, run_with(settings, loss, steps));
      EXPECT_EQ(to_string(*record.batches), to_string(*undisturbed.batches));
      EXPECT_EQ(to_string(record.parameters), to_string(undisturbed.parameters));
      EXPECT_EQ(to_string(record.best_parameters), to_string(undisturbed.best_parameters));
      EXPECT_GT(steps.by_devices, 0U);
      EXPECT_TRUE(std::ranges::any_of(steps.said, [](const std::string& line) {
        return line.find("all ranks go back to step") != std::string::npos;
      }));
    }
  }
}

class GradientsByDevicesHeterogeneous : public testing::HeterogeneousRun {};

/// Learned rows go to their holders, the rest between the devices.
TEST_F(GradientsByDevicesHeterogeneous, HaveTheSameBitsWithLearnedRowsAndRunningStatistics) {
  for (const testing::Settings& way :
       std::vector<testing::Settings>{{"model.kind=rgcn", "model.norm=batch"},
                                      {"model.kind=hgt", "model.heads=2"},
                                      {"embedding.author.dim=8"}}) {
    SCOPED_TRACE(way.front());
    testing::Settings settings = {"train.epochs=3", "cluster.hosts=1",
                                  "cluster.trainers_per_host=2", "partition.parts=1"};
    settings.insert(settings.end(), way.begin(), way.end());
    ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(settings));
    settings.emplace_back("cluster.device=emulated:2");
    ASSERT_OK_AND_ASSIGN(const auto record, run(settings));
    EXPECT_EQ(record.batches, on_cpu.batches);
    EXPECT_EQ(record.parameters, on_cpu.parameters);
    EXPECT_EQ(record.tensors, on_cpu.tensors);
  }
}

}  // namespace
}  // namespace troupe
