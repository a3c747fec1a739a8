// Learned rows through the program: a lost server with a replica takes nobody back; predictions from what a
// run leaves.
#include "tests/support/fault_cell.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/folded_cora.hpp"
#include "tests/support/run_processes.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/watched_run.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <signal.h>
#include <string>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 60s;

std::vector<std::string> learned_job(const std::string& output, const char* launch) {
  auto words = testing::fault_job(output, 8);
  for (const char* const setting :
       {"cluster.placement=server_client", "cluster.servers=2", "cluster.replicas=2",
        "partition.parts=2", "embedding.node.dim=8", "eval.mode=sampled"}) {
    words.insert(words.end(), {"--set", setting});
  }
  words.insert(words.end(), {"--set", std::string("cluster.launch=") + launch});
  return words;
}

TEST(LearnedProcessFault, AKilledServerWithAReplicaTakesNobodyBack) {
  const testing::ScratchFolder scratch;
  const auto folder = [&](const char* name) { return (scratch.path() / name).string(); };
  const auto undisturbed =
      testing::run_process(learned_job(folder("undisturbed"), "simulate"), folder("."));
  ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.out << undisturbed.err;
  const auto digests = testing::digests_in(folder("undisturbed"));
  ASSERT_NE(digests.find("tensors"), std::string::npos) << digests;

  for (const char* const server : {"server 0", "server 1"}) {
    SCOPED_TRACE(server);
    const auto output = folder(server);
    testing::WatchedRun run(learned_job(output, "local"), folder("."));
    ASSERT_TRUE(run.wait_for_line("epoch 3/8  step 4/9", patience)) << run.text();
    const auto victim = testing::find_process(run.mark(), server);
    ASSERT_GT(victim, 0) << run.text();
    kill(victim, SIGKILL);
    const auto exit_code = run.wait_for_end(patience);
    ASSERT_TRUE(exit_code) << run.text();
    EXPECT_EQ(*exit_code, 0) << run.text();
    EXPECT_EQ(testing::digests_in(output), digests);
    EXPECT_TRUE(run.find(server + std::string(" is lost"))) << run.text();
    EXPECT_FALSE(run.find("go back to step")) << run.text();
  }
}

TEST(LearnedPredictions, AreThoseOfTheRunWithItsOwnRowsAlone) {
  const testing::ScratchFolder scratch;
  const auto out = scratch.path() / "out";
  const auto here = scratch.path().string();
  const auto program = [&](const char* command, std::vector<std::string> more) {
    std::vector<std::string> words{TROUPE_PROGRAM,
                                   command,
                                   testing::quick_job().string(),
                                   "--set",
                                   "output=" + out.string(),
                                   "--set",
                                   "train.epochs=3",
                                   "--set",
                                   "embedding.node.dim=8"};
    words.insert(words.end(), more.begin(), more.end());
    return testing::run_process(words, here);
  };
  const auto run = program("run", {"--set", "partition.parts=3", "--set", "cluster.hosts=1"});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  ASSERT_TRUE(std::filesystem::exists(out / "learned-2.bin")) << run.out;
  const auto model = (out / "model.safetensors").string();
  const std::vector<std::string> predict{"--model", model,
                                         "--set",   "partition.parts=2",
                                         "--out",   (scratch.path() / "predicted").string()};

  const auto done = program("predict", predict);
  ASSERT_EQ(done.exit_code, 0) << done.out << done.err;
  EXPECT_EQ(testing::file_text(scratch.path() / "predicted" / "predictions.npy"),
            testing::file_text(out / "predictions.npy"));

  // Rows of another run, as large.
  std::filesystem::copy(out, scratch.path() / "mixed", std::filesystem::copy_options::recursive);
  const auto other = program("run", {"--set", "partition.parts=3", "--set", "cluster.hosts=1",
                                     "--set", "seed=9", "--overwrite"});
  ASSERT_EQ(other.exit_code, 0) << other.out << other.err;
  const auto overwrite = std::filesystem::copy_options::overwrite_existing;
  std::filesystem::copy_file(scratch.path() / "mixed" / "model.safetensors", model, overwrite);
  const auto mixed = program("predict", predict);
  EXPECT_NE(mixed.exit_code, 0) << mixed.out;
  EXPECT_NE(mixed.err.find("expected"), std::string::npos) << mixed.err;
  EXPECT_NE(mixed.err.find("checksum"), std::string::npos) << mixed.err;

  std::filesystem::remove(out / "learned-1.bin");
  const auto missing = program("predict", predict);
  EXPECT_NE(missing.exit_code, 0) << missing.out;
  EXPECT_NE(missing.err.find("learned-1.bin"), std::string::npos) << missing.err;
}

}  // namespace
}  // namespace troupe
