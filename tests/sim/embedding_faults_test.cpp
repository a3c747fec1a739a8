// Learned rows after losses, and continued from checkpoints: the rows of an undisturbed run.
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "runtime/run/checkpoint.hpp"
#include "tests/sim/heterogeneous_support.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace troupe {
namespace {

class LearnedRowsFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(testing::write_heterogeneous_store(scratch_.path() / "graph"));
    ASSERT_OK_AND_ASSIGN(auto undisturbed, run({}));
    right_ = undisturbed.record;
    ASSERT_EQ(right_.tensors.size(), 3U);
  }
  struct Disturbance {
    std::vector<std::string> settings = {};
    std::uint64_t at = 0;  ///< step of rank 0; 0: undisturbed
    std::optional<ProcessId> process = {};
    std::string actor = {};  ///< killed then; empty: the run is stopped
    bool in_all = false;     ///< those of that name in all processes
    std::string then = {};   ///< killed in the same process at a later step
    std::uint64_t then_at = 0;
    bool resume = false;
    std::uint64_t checkpoint_steps = 0;
    std::uint64_t window = 0;  ///< of learned rows and their gradients; 1: of one request
    bool unreadable = false;   ///< the folder of checkpoints, from then on
  };
  std::filesystem::path checkpoints() const { return scratch_.path() / "checkpoints"; }
  std::filesystem::path aside() const { return scratch_.path() / "aside"; }

  Result<RunResult> run(const Disturbance& what) {
    std::vector<std::string> all{"cluster.hosts=2",
                                 "partition.parts=2",
                                 "train.epochs=3",
                                 "sample.batch_size=16",
                                 "embedding.paper.dim=6",
                                 "embedding.venue.dim=4",
                                 "embedding.venue.optimizer.kind=adam",
                                 "embedding.author.dim=3",
                                 "embedding.author.optimizer.kind=row_adagrad"};
    all.insert(all.end(), what.settings.begin(), what.settings.end());
    TROUPE_ASSIGN_OR_RETURN(auto job, testing::heterogeneous_job(scratch_.path() / "graph",
                                                                 scratch_.path() / "out", all));
    TROUPE_ASSIGN_OR_RETURN(const auto store, prepare_store(job, [](const std::string&) {}));
    if (!fit_to_graph_or_print(job, store.info())) {
      return Error(Errc::invalid_argument, "the job does not fit its data");
    }
    job.checkpoint.steps = what.checkpoint_steps;
    SimulatedCluster* running = nullptr;
    std::atomic<bool> done{false};
    std::atomic<bool> later{false};
    ClusterHooks hooks;
    said_.clear();
    hooks.learned_window_bytes = what.window;
    hooks.say = [this](const std::string& text) { said_ += text + "\n"; };
    hooks.on_step = [&](const StepReport& report) {
      if (raw(report.rank) == 0 && report.global_step == what.at && !done.exchange(true)) {
        if (what.unreadable) {
          std::filesystem::rename(checkpoints(), aside());
          std::ofstream(checkpoints()) << "no folder";
        }
        disturb(*running, what);
      }
      if (raw(report.rank) == 0 && what.then_at > 0 && report.global_step == what.then_at &&
          !later.exchange(true)) {
        static_cast<void>(running->kill(*what.process, what.then));
      }
    };
    if (what.at > 0) {  // long enough for the request to arrive, also on a busy machine
      hooks.pause = [at = what.at, most = what.process ? 100 : 400](Rank rank, std::uint64_t step) {
        return std::chrono::milliseconds(raw(rank) == 0 && step == at ? most : 0);
      };
    }
    TROUPE_ASSIGN_OR_RETURN(const auto cluster,
                            SimulatedCluster::create(job, store, std::move(hooks)));
    running = cluster.get();
    return cluster->run(testing::setup_with_checkpoints(*cluster, checkpoints(), what.resume));
  }

  static void disturb(SimulatedCluster& running, const Disturbance& what) {
    if (!what.process) {
      return running.stop();
    }
    for (const std::uint32_t process : {0U, 1U}) {
      if (what.in_all || process == raw(*what.process)) {
        static_cast<void>(running.kill(ProcessId{process}, what.actor));
      }
    }
  }

  void expect_no_way_back(const Disturbance& what, const std::string& where);
  void expect_right(const Result<RunResult>& result, const std::string& what) const {
    SCOPED_TRACE(what + "\n" + said_);
    ASSERT_OK(result);
    const auto& record = result->record;
    EXPECT_EQ(record.batches, right_.batches);
    EXPECT_EQ(to_string(record.parameters), to_string(right_.parameters));
    EXPECT_EQ(to_string(record.best_parameters), to_string(right_.best_parameters));
    EXPECT_EQ(to_string(record.outputs), to_string(right_.outputs));
    ASSERT_EQ(record.tensors.size(), right_.tensors.size());
    for (std::size_t t = 0; t < right_.tensors.size(); ++t) {
      EXPECT_EQ(to_string(record.tensors[t].rows), to_string(right_.tensors[t].rows)) << t;
      EXPECT_EQ(to_string(record.tensors[t].best), to_string(right_.tensors[t].best)) << t;
    }
  }

  testing::ScratchFolder scratch_;
  RunRecord right_;
  std::string said_;
};

TEST_F(LearnedRowsFaults, StoppedAtEveryStepAndContinuedInOtherParts) {
  for (std::uint64_t at = 1; at <= 11; ++at) {
    std::filesystem::remove_all(checkpoints());
    const auto stopped = run({.at = at});
    ASSERT_EQ(stopped.ok(), false) << at;
    const char* const parts = at % 3 == 0   ? "partition.parts=2"
                              : at % 3 == 1 ? "partition.parts=3"
                                            : "partition.parts=1";
    expect_right(run({.settings = {parts}, .resume = true}), "after step " + std::to_string(at));
  }
}

TEST_F(LearnedRowsFaults, LostTrainersGoBackWithTheRows) {
  for (const std::uint64_t at : {1U, 4U, 7U}) {
    for (const std::uint32_t rank : {0U, 1U}) {
      expect_right(run({.at = at,
                        .process = ProcessId{rank},
                        .actor = "trainer of rank " + std::to_string(rank),
                        .checkpoint_steps = 3}),
                   "rank " + std::to_string(rank) + " at step " + std::to_string(at));
    }
  }
}

/// Devices make whole batches, or gather rows of several parts; what is right is of the CPU.
TEST_F(LearnedRowsFaults, OfDevicesAreThoseOfTheCpuKilledAndContinued) {
  const std::vector<std::vector<std::string>> layouts = {
      {"cluster.device=emulated:2", "partition.parts=1", "cluster.replicas=2"},
      {"cluster.device=emulated:1", "partition.parts=4"}};
  for (const auto& layout : layouts) {
    for (const std::uint64_t at : {1U, 10U}) {
      const auto what = layout.front() + " at step " + std::to_string(at);
      std::filesystem::remove_all(checkpoints());
      ASSERT_EQ(run({.settings = layout, .at = at}).ok(), false) << what;
      expect_right(run({.settings = layout, .resume = true}), what + ", continued");
      std::filesystem::remove_all(checkpoints());
      for (const char* const actor : {"trainer of rank 1", "device sampler of trainer of rank 1"}) {
        expect_right(run({.settings = layout,
                          .at = at,
                          .process = ProcessId{1},
                          .actor = actor,
                          .checkpoint_steps = 3}),
                     what + ", without the " + actor);
      }
    }
  }
}

TEST_F(LearnedRowsFaults, LostSamplersChangeNothing) {
  expect_right(run({.at = 3, .process = ProcessId{1}, .actor = "sampler 0 of trainer of rank 1"}),
               "sampler");
}

TEST_F(LearnedRowsFaults, WithALostHolderAllGoBackToTheDiskOrTheStart) {
  for (const std::uint64_t steps : {0U, 3U}) {
    for (const std::uint64_t at : {2U, 8U}) {
      std::filesystem::remove_all(checkpoints());
      expect_right(run({.at = at,
                        .process = ProcessId{1},
                        .actor = "holder of part 1",
                        .checkpoint_steps = steps}),
                   "holder at step " + std::to_string(at));
      EXPECT_NE(said_.find("has lost them"), std::string::npos) << said_;
    }
  }
}

TEST_F(LearnedRowsFaults, CheckpointsThatCannotBeReadEndTheRunAndStay) {
  const auto ended = run({.at = 8,
                          .process = ProcessId{1},
                          .actor = "holder of part 1",
                          .checkpoint_steps = 2,
                          .unreadable = true});

  EXPECT_ERROR(ended, Errc::failed_precondition, "cannot list the folder");
  EXPECT_ERROR(ended, Errc::failed_precondition, "going back to a checkpoint after");
  std::filesystem::remove(checkpoints());
  std::filesystem::rename(aside(), checkpoints());
  expect_right(run({.resume = true}), "from the checkpoint that was there");
}

/// Expects a run with a replica of each part to go on where it was when one of them was lost.
void LearnedRowsFaults::expect_no_way_back(const Disturbance& what, const std::string& where) {
  std::filesystem::remove_all(checkpoints());
  expect_right(run(what), where);
  EXPECT_NE(said_.find("started the holder of part"), std::string::npos) << where << said_;
  EXPECT_EQ(said_.find("go back to step"), std::string::npos) << where << said_;
  EXPECT_EQ(said_.find("has lost them"), std::string::npos) << where << said_;
}

TEST_F(LearnedRowsFaults, WithAReplicaALostHolderTakesNobodyBack) {
  for (std::uint64_t at = 1; at <= 11; ++at) {
    for (const std::uint32_t process : {0U, 1U}) {
      expect_no_way_back({.settings = {"cluster.replicas=2"},
                          .at = at,
                          .process = ProcessId{process},
                          .actor = fmt::format("holder of part {}", at % 2),
                          .checkpoint_steps = at % 3 == 0 ? 2U : 0U},
                         fmt::format("process {} at step {}", process, at));
    }
  }
}

TEST_F(LearnedRowsFaults, WithAReplicaNothingIsLostUnderLatency) {
  for (const std::uint64_t at : {1U, 4U, 5U, 8U, 11U}) {
    for (const char* const latency : {"300", "3000"}) {
      expect_no_way_back({.settings = {"cluster.replicas=2", "cluster.hosts=2",
                                       std::string("cluster.network.latency_us=") + latency},
                          .at = at,
                          .process = ProcessId{static_cast<std::uint32_t>(at % 2)},
                          .actor = fmt::format("holder of part {}", (at / 2) % 2),
                          .checkpoint_steps = 3},
                         fmt::format("{} us at step {}", latency, at));
    }
  }
}

TEST_F(LearnedRowsFaults, WithAReplicaATrainerGoesBackToCopiesInMemory) {
  // Its state is of step 4; the holder that was lost at step 5 has copied those of before.
  std::filesystem::remove_all(checkpoints());
  expect_right(run({.settings = {"cluster.replicas=2"},
                    .at = 5,
                    .process = ProcessId{1},
                    .actor = "holder of part 0",
                    .then = "trainer of rank 1",
                    .then_at = 7,
                    .checkpoint_steps = 4}),
               "a trainer afterwards");
  EXPECT_EQ(said_.find("has lost them"), std::string::npos) << said_;
}

TEST_F(LearnedRowsFaults, WhenBothReplicasAreLostAllGoBack) {
  std::filesystem::remove_all(checkpoints());
  expect_right(run({.settings = {"cluster.replicas=2"},
                    .at = 5,
                    .process = ProcessId{1},
                    .actor = "holder of part 0",
                    .in_all = true,
                    .checkpoint_steps = 2}),
               "both");
  EXPECT_NE(said_.find("go back to step"), std::string::npos) << said_;
}

TEST_F(LearnedRowsFaults, AWindowOfOneRequestHoldsNobodyUp) {
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{},
        {"partition.parts=5"},
        {"cluster.network.latency_us=300"},
        {"cluster.replicas=2"},
        {"cluster.placement=worker", "partition.parts=3"},
        {"cluster.batches_in_flight=1", "cluster.threads=1"}}) {
    const auto what = settings.empty() ? std::string("plain") : settings.front();
    expect_right(run({.settings = settings, .checkpoint_steps = 3, .window = 1}), what);
  }
  const std::vector<std::string> four{"cluster.trainers_per_host=2", "partition.parts=3"};
  ASSERT_OK_AND_ASSIGN(const auto wide, run({.settings = four}));
  ASSERT_OK_AND_ASSIGN(const auto narrow, run({.settings = four, .window = 1}));
  EXPECT_EQ(to_string(narrow.record.parameters), to_string(wide.record.parameters));
  EXPECT_EQ(narrow.record.tensors, wide.record.tensors);
}

TEST_F(LearnedRowsFaults, AReplicaIsCopiedThroughAWindowOfOneRequest) {
  for (const std::uint64_t at : {2U, 5U, 9U}) {
    expect_no_way_back({.settings = {"cluster.replicas=2", "partition.parts=3"},
                        .at = at,
                        .process = ProcessId{static_cast<std::uint32_t>(at % 2)},
                        .actor = "holder of part 1",
                        .checkpoint_steps = 3,
                        .window = 1},
                       fmt::format("at step {}", at));
  }
}

TEST_F(LearnedRowsFaults, ADamagedFileOfRowsLeavesTheCheckpointBefore) {
  std::filesystem::remove_all(checkpoints());
  ASSERT_FALSE(run({.at = 5, .checkpoint_steps = 2}).ok());
  // That of step 4 is left out where the one of step 2 is still being written.
  ASSERT_TRUE(std::filesystem::exists(checkpoints() / "step-2") ||
              std::filesystem::exists(checkpoints() / "step-4"));
  const auto file = checkpoints() / "step-5" / "learned-1.bin";
  ASSERT_TRUE(std::filesystem::exists(file));
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(200);
  bytes.put('x');
  bytes.close();

  expect_right(run({.resume = true}), "from the checkpoint before");
}

}  // namespace
}  // namespace troupe
