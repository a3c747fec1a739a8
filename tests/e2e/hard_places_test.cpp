// Real processes where there is little room: few cores, full disks, folders that cannot be written, a launcher that is told to stop.
#include "tests/support/fault_cell.hpp"
#include "tests/support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mount.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::WatchedRun;
using Words = std::vector<std::string>;

class HardPlaces : public ::testing::Test {
 protected:
  std::string folder() const { return scratch_.path().string(); }
  std::string output() const { return folder() + "/out"; }
  Words job(int epochs, const Words& settings, const std::string& launch = "local") const {
    auto words = testing::fault_job(output(), epochs);
    words.insert(words.end(), {"--set", "cluster.launch=" + launch});
    for (const auto& setting : settings) {
      words.insert(words.end(), {"--set", setting});
    }
    return words;
  }
  /// The job as the last words of a program that becomes it.
  static Words behind(Words words, const Words& job) {
    words.insert(words.end(), job.begin(), job.end());
    return words;
  }
  /// A job of twelve epochs on a clock that jumps.
  Words jumping(const Words& settings) const {
    return behind({"/usr/bin/env", "LD_PRELOAD=" TROUPE_CLOCK_JUMP}, job(12, settings));
  }
  /// The digests of the same ranks, simulated in one process.
  std::string simulated(int epochs, const Words& settings) {
    testing::run_process(job(epochs, settings, "simulate"), folder());
    const auto digests = testing::digests_in(output());
    std::filesystem::remove(output() + "/report.json");  // else the next run is refused
    return digests;
  }
  void expect_digests(WatchedRun& run, const std::string& digests) {
    ASSERT_EQ(run.wait_for_end(200s), 0) << run.text();
    EXPECT_NE(digests, "");
    EXPECT_EQ(testing::digests_in(output()), digests);
    EXPECT_TRUE(run.wait_for_all(10s).empty());
  }

  const testing::ScratchFolder scratch_;
};

TEST_F(HardPlaces, TwentyTrainersInOneProcessEndRight) {
  const Words settings = {"cluster.trainers_per_host=20", "cluster.hosts=1", "cluster.threads=2"};
  const auto digests = simulated(2, settings);

  WatchedRun run(job(2, settings), folder());

  expect_digests(run, digests);
}

TEST_F(HardPlaces, TwentyTrainersInTwentyProcessesEndRight) {
  const Words settings = {"cluster.trainers_per_host=10", "cluster.hosts=2"};
  const auto digests = simulated(2, settings);
  auto words = job(2, settings);
  words.insert(words.end(), {"--set", "cluster.placement=server_client", "--set",
                             "cluster.servers=2", "--set", "cluster.lost_after=3"});

  WatchedRun run(words, folder());

  expect_digests(run, digests);
  EXPECT_FALSE(run.find("is lost")) << run.text();
}

TEST_F(HardPlaces, SigtermLeavesACheckpointAndGoesOnFromItToTheSameDigests) {
  auto words = job(12, {"checkpoint.every.steps=1000"});
  {
    WatchedRun run(words, folder());
    ASSERT_TRUE(run.wait_for_line("epoch  3/12  step", 60s)) << run.text();
    kill(run.pid(), SIGTERM);
    EXPECT_EQ(run.wait_for_end(30s), 130) << run.text();
    EXPECT_TRUE(run.find("interrupted; go on from " + output() + "/checkpoints/step-"))
        << run.text();
    EXPECT_TRUE(run.wait_for_all(10s).empty());
  }
  words.emplace_back("--resume");

  WatchedRun rest(words, folder());

  expect_digests(rest, testing::undisturbed_digests(12));
  EXPECT_TRUE(rest.find("resuming from")) << rest.text();
}

/// A disk of a few MiB.
class SmallDisk {
 public:
  SmallDisk(std::string folder, const std::string& size) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
    mounted_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) {
      umount2(folder_.c_str(), MNT_DETACH);
    }
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  std::string folder_;
  bool mounted_ = false;
};

TEST_F(HardPlaces, AFullDiskForCheckpointsIsToldAndTheRunGoesOn) {
  const SmallDisk disk(output() + "/checkpoints", "64k");
  if (!disk.mounted()) {
    GTEST_SKIP() << "a small disk is a tmpfs, and mounting one needs root";
  }

  WatchedRun run(job(12, {}), folder());

  expect_digests(run, testing::undisturbed_digests(12));
  EXPECT_TRUE(run.find("checkpoint of step 10 not written")) << run.text();
  EXPECT_TRUE(run.find("No space left on device; try: make space on its disk")) << run.text();
}

TEST_F(HardPlaces, AClockThatJumpsChangesNothing) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own library must come first";
#endif

  WatchedRun run(jumping({}), folder());

  expect_digests(run, testing::undisturbed_digests(12));
  EXPECT_FALSE(run.find("is lost")) << run.text();
}

TEST_F(HardPlaces, AClockThatJumpsMakesNoCertificateInvalid) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own library must come first";
#endif

  WatchedRun run(jumping({"cluster.tls=true"}), folder());

  expect_digests(run, testing::undisturbed_digests(12));
  EXPECT_FALSE(run.find("refused")) << run.text();
}

/// A partitioned store of the run's own.
class ChangedStore : public HardPlaces {
 protected:
  void SetUp() override {
    const auto graph = folder() + "/graph";
    const auto by_program = [this](const Words& words) {
      const auto done = testing::run_process(words, folder());
      ASSERT_EQ(done.exit_code, 0) << done.err;
    };
    by_program({TROUPE_PROGRAM, "import", "--from", "npy", TROUPE_SOURCE_DIR "/examples/data/cora",
                graph});
    by_program({TROUPE_PROGRAM, "partition", graph, store(), "--parts", "2"});
  }
  std::string store() const { return folder() + "/parts"; }
  Words on_store(int epochs) const {
    return job(epochs, {"dataset.path=" + store(), "partition.parts=2", "cluster.hosts=2"});
  }
  std::filesystem::path largest_file() const {
    std::filesystem::path largest;
    std::uintmax_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(store())) {
      if (entry.is_regular_file() && entry.file_size() > bytes) {
        bytes = entry.file_size();
        largest = entry.path();
      }
    }
    return largest;
  }
};

TEST_F(ChangedStore, EndsTheRunWithTheFile) {
  WatchedRun run(on_store(1000), folder());
  ASSERT_TRUE(run.wait_for_line("epoch    2/", 60s)) << run.text();

  const auto file = largest_file();
  std::filesystem::last_write_time(
      file, std::filesystem::last_write_time(file) + std::chrono::seconds(1));

  EXPECT_EQ(run.wait_for_end(20s), 3) << run.text();
  EXPECT_TRUE(run.find(file.string() + ": was changed while the run reads it")) << run.text();
  EXPECT_TRUE(run.wait_for_all(10s).empty());
}

TEST_F(ChangedStore, ThatWasCutShortUnderItsReadersEndsTheRunWithTheFile) {
  WatchedRun run(on_store(1000), folder());
  ASSERT_TRUE(run.wait_for_line("epoch    2/", 60s)) << run.text();

  const auto file = largest_file();
  std::filesystem::resize_file(file, 4096);

  const auto code = run.wait_for_end(30s);
  EXPECT_TRUE(code == 3 || code == 4) << run.text();
  EXPECT_TRUE(run.find(file.filename().string())) << run.text();
  EXPECT_TRUE(run.wait_for_all(10s).empty());
}

TEST_F(HardPlaces, AnOutputThatIsNoFolderEndsTheRunBeforeAnyProcessIsStarted) {
  WatchedRun run(job(12, {"output=/proc/troupe"}), folder());

  EXPECT_EQ(run.wait_for_end(20s), 3) << run.text();
  EXPECT_TRUE(run.find("/proc/troupe")) << run.text();
  EXPECT_TRUE(run.wait_for_all(5s).empty());
}

}  // namespace
}  // namespace troupe
