// Runs inside allocations of a real Slurm: two nodes on this machine.
#include "tests/support/eavesdropper.hpp"
#include "tests/support/fault_cell.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/slurm_cluster.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <signal.h>
#include <thread>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::SlurmCluster;
using testing::WatchedRun;
using Words = std::vector<std::string>;

constexpr int slurm_epochs = 12;
constexpr int epochs_with_a_loss = 60;  // more than pass before the loss is noticed
constexpr int many_epochs = 400;

class Slurm : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = SlurmCluster::unavailable(); !why.empty()) {
      GTEST_SKIP() << why;
    }
    cluster_.emplace(folder() + "/slurm");
    ASSERT_EQ(cluster_->problem(), "");
  }
  std::string folder() const { return scratch_.path().string(); }
  std::string output() const { return folder() + "/out"; }
  Words job(const std::string& command, int epochs_of_run, const Words& settings) const {
    auto words = testing::fault_job(output(), epochs_of_run);
    words[1] = command;
    words.insert(words.end(), {"--set", "cluster.launch=slurm"});
    for (const auto& setting : settings) {
      words.insert(words.end(), {"--set", setting});
    }
    return words;
  }
  /// `troupe run` in an allocation made for it.
  void start(int epochs_of_run = slurm_epochs, const Words& settings = {}, int nodes = 2) {
    auto words = cluster_->command({"salloc", "--quiet", fmt::format("--nodes={}", nodes)});
    const auto run = job("run", epochs_of_run, settings);
    words.insert(words.end(), run.begin(), run.end());
    run_.emplace(words, folder(), mark_);
  }
  /// `troupe submit`. Leaves the job's number in `number_`.
  void submit(int epochs_of_run, const Words& settings = {}) {
    run_.emplace(cluster_->command(job("submit", epochs_of_run, settings)), folder(), mark_);
    ASSERT_EQ(run_->wait_for_end(20s), 0) << run_->text();
    const std::string before = "submitted as job ";
    const auto line = run_->find(before);
    ASSERT_TRUE(line) << run_->text();
    number_ = line->text.substr(before.size(), line->text.find(',') - before.size());
  }
  fs::path job_output() const { return output() + "/slurm-" + number_ + ".out"; }
  template <class Done>
  static bool wait_until(std::chrono::seconds timeout, const Done& done) {
    const auto until = testing::TestClock::now() + timeout;
    while (!done()) {
      if (testing::TestClock::now() > until) {
        return false;
      }
      std::this_thread::sleep_for(20ms);
    }
    return true;
  }
  bool wait_for_text(const std::string& text) {
    return wait_until(
        30s, [&] { return testing::file_text(job_output()).find(text) != std::string::npos; });
  }
  bool wait_for_state(const std::string& state) {
    return wait_until(40s, [&] { return cluster_->job_value(number_, "JobState") == state; });
  }
  /// A process of the program itself; srun has the same words on its command line.
  pid_t find_troupe(const std::string& name) const {
    for (const auto& process : testing::processes_of(mark_)) {
      std::error_code error;
      if (process.name == name &&
          fs::read_symlink(fmt::format("/proc/{}/exe", process.pid), error).filename() ==
              "troupe") {
        return process.pid;
      }
    }
    return -1;
  }
  bool all_end() const {
    return wait_until(15s, [&] { return testing::processes_of(mark_).empty(); });
  }
  void expect_digests(int epochs_of_run = slurm_epochs) {
    ASSERT_EQ(run_->wait_for_end(60s), 0) << run_->text();
    EXPECT_EQ(testing::digests_in(output()), testing::undisturbed_digests(epochs_of_run));
    EXPECT_TRUE(all_end());
  }
  void expect_checkpoint_and_its_exit_code() {
    EXPECT_TRUE(wait_for_state("FAILED") || cluster_->job_value(number_, "JobState") == "CANCELLED")
        << cluster_->job_value(number_, "JobState");
    EXPECT_EQ(cluster_->job_value(number_, "ExitCode"), "130:0");
    EXPECT_TRUE(wait_for_text("go on from " + output() + "/checkpoints/step-"))
        << testing::file_text(job_output());
    EXPECT_TRUE(all_end());
  }

  const testing::ScratchFolder scratch_;
  const std::string mark_ = testing::new_run_mark();
  std::optional<SlurmCluster> cluster_;
  std::optional<WatchedRun> run_;
  std::string number_;
};

/// Why cluster.tls "auto" is not true here: the key would be known to those whom it is to keep out.
TEST_F(Slurm, SrunTellsSecretsToWhoReadsAlong) {
  const testing::Eavesdropper between("BEGIN PRIVATE KEY");
  ASSERT_EQ(between.problem(), "");
  start(slurm_epochs, {"cluster.tls=true"});

  EXPECT_EQ(run_->wait_for_end(120s), 0) << run_->text();
  EXPECT_GT(between.found(), 0U) << "then \"auto\" can be true under Slurm, too";
}

TEST_F(Slurm, ItIsSaidThatLinksAreNotEncrypted) {
  start();

  EXPECT_EQ(run_->wait_for_end(120s), 0) << run_->text();
  EXPECT_TRUE(run_->find("srun would pass on a key unencrypted")) << run_->text();
}

TEST_F(Slurm, TwoNodesOfAnAllocationGiveTheDigestsOfOneProcess) {
  start();

  expect_digests();
}

TEST_F(Slurm, NodesOfAnAllocationPredictWhatOneProcessDoes) {
  const auto trained = testing::fault_job(output(), 2);
  run_.emplace(trained, folder(), mark_);
  ASSERT_EQ(run_->wait_for_end(60s), 0) << run_->text();

  auto words = cluster_->command({"salloc", "--quiet", "--nodes=2"});
  const auto predict = job("predict", 2, {});
  words.insert(words.end(), predict.begin(), predict.end());
  words.insert(words.end(), {"--model", output() + "/model.safetensors"});
  run_.emplace(words, folder(), mark_);

  ASSERT_EQ(run_->wait_for_end(60s), 0) << run_->text();
  EXPECT_EQ(testing::file_text(output() + "/predict/predictions.npy"),
            testing::file_text(output() + "/predictions.npy"));
  EXPECT_TRUE(all_end());
}

TEST_F(Slurm, AKilledAgentIsStartedAgain) {
  start(epochs_with_a_loss);
  ASSERT_TRUE(run_->wait_for_line("epoch  4/", 60s)) << run_->text();

  ASSERT_TRUE(testing::signal_process(find_troupe("agent of host 1"), SIGKILL));

  expect_digests(epochs_with_a_loss);
  EXPECT_TRUE(run_->find("agent of host 1 is lost")) << run_->text();
}

TEST_F(Slurm, ANodeThatFailsAndComesBackIsUsedAgain) {
  start(epochs_with_a_loss);
  ASSERT_TRUE(run_->wait_for_line("epoch  4/", 60s)) << run_->text();

  cluster_->kill_node(1);
  ASSERT_TRUE(run_->wait_for_line("agent of host 1 is lost", 5s)) << run_->text();
  cluster_->start_node(1);

  expect_digests(epochs_with_a_loss);
}

TEST_F(Slurm, ANodeThatStaysAwayEndsTheRunWithItsName) {
  start(many_epochs, {"cluster.recovery_deadline=5"});
  ASSERT_TRUE(run_->wait_for_line("epoch   4/", 60s)) << run_->text();

  cluster_->kill_node(1);

  EXPECT_EQ(run_->wait_for_end(60s), 4) << run_->text();
  EXPECT_TRUE(run_->find("host 1")) << run_->text();
  EXPECT_TRUE(all_end());
}

TEST_F(Slurm, AKilledDirectorLeavesNoProcess) {
  start(many_epochs);
  ASSERT_TRUE(run_->wait_for_line("epoch   2/", 60s)) << run_->text();

  ASSERT_TRUE(testing::signal_process(find_troupe(""), SIGKILL));

  EXPECT_NE(run_->wait_for_end(20s), std::nullopt);
  EXPECT_TRUE(all_end());
}

TEST_F(Slurm, AnAllocationThatIsTooSmallIsRefused) {
  start(slurm_epochs, {}, 1);

  EXPECT_EQ(run_->wait_for_end(20s), 2);
  EXPECT_TRUE(run_->find("/cluster/hosts: expected at most 1, the nodes of Slurm's job"))
      << run_->text();
}

TEST_F(Slurm, OutsideAnAllocationTheWaysIntoOneAreNamed) {
  run_.emplace(cluster_->command(job("run", slurm_epochs, {})), folder(), mark_);

  EXPECT_EQ(run_->wait_for_end(20s), 2);
  EXPECT_TRUE(run_->find("try: troupe submit JOB, or salloc")) << run_->text();
}

TEST_F(Slurm, ASubmittedJobGivesTheDigestsAndItsScriptIsPrivate) {
  ASSERT_NO_FATAL_FAILURE(submit(slurm_epochs, {"cluster.slurm.time=10"}));

  EXPECT_TRUE(wait_for_state("COMPLETED")) << testing::file_text(job_output());

  EXPECT_EQ(testing::digests_in(output()), testing::undisturbed_digests(slurm_epochs));
  EXPECT_NE(testing::file_text(job_output()).find("report in " + output()), std::string::npos);
  EXPECT_EQ(fs::status(output() + "/submit.sbatch").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_TRUE(all_end());
}

TEST_F(Slurm, TheWarningBeforeTheTimeIsUpGivesACheckpoint) {
  ASSERT_NO_FATAL_FAILURE(submit(many_epochs));
  ASSERT_TRUE(wait_for_text("epoch   3/")) << testing::file_text(job_output());

  cluster_->run({"scancel", "--batch", "--signal=TERM", number_});  // as --signal=B:TERM@60

  expect_checkpoint_and_its_exit_code();
}

TEST_F(Slurm, ACancelledJobGivesACheckpoint) {
  ASSERT_NO_FATAL_FAILURE(submit(many_epochs));
  ASSERT_TRUE(wait_for_text("epoch   3/")) << testing::file_text(job_output());

  cluster_->run({"scancel", number_});  // tells every process of the job

  EXPECT_TRUE(wait_for_text("go on from " + output() + "/checkpoints/step-"))
      << testing::file_text(job_output());
  EXPECT_TRUE(all_end());
}

TEST_F(Slurm, AJobThatSlurmStartsAgainGoesOnFromItsCheckpoint) {
  ASSERT_NO_FATAL_FAILURE(submit(30));
  ASSERT_TRUE(wait_for_text("epoch  4/")) << testing::file_text(job_output());
  cluster_->run({"scancel", "--batch", "--signal=TERM", number_});
  ASSERT_TRUE(wait_for_state("FAILED")) << testing::file_text(job_output());

  // Slurm itself would wait for two minutes.
  run_.emplace(cluster_->command({"salloc", "--quiet", "--nodes=2", "env", "SLURM_RESTART_COUNT=1",
                                  "bash", output() + "/submit.sbatch"}),
               folder(), mark_);

  ASSERT_EQ(run_->wait_for_end(60s), 0) << run_->text();
  EXPECT_TRUE(run_->find("resuming from")) << run_->text();
  EXPECT_EQ(testing::digests_in(output()), testing::undisturbed_digests(30));
}

}  // namespace
}  // namespace troupe
