// `troupe copy`, `cluster.ssh.copy` and `checkpoint.copies`: hosts that share no folder with the one that starts the run.
#include "tests/support/fault_cell.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/folded_cora.hpp"
#include "tests/support/network_hosts.hpp"
#include "tests/support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <optional>
#include <sys/stat.h>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::NetworkHosts;
using testing::WatchedRun;
using Words = std::vector<std::string>;

constexpr int copy_epochs = 4;
enum Own : std::uint8_t { output_folder, job_folder, program_folder };

class SshCopy : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = NetworkHosts::unavailable(); !why.empty()) {
      GTEST_SKIP() << why;
    }
    hosts_.emplace(2, folder(), Words{output(), folder() + "/job", folder() + "/there"});
    ASSERT_EQ(hosts_->problem(), "");
    fs::copy_file(testing::quick_job(), folder() + "/job/job.json");
  }
  std::string folder() const { return scratch_.path().string(); }
  std::string output() const { return folder() + "/out"; }
  /// \param command  "run" or "copy"
  void start(const std::string& command, const Words& settings = {}, const Words& flags = {}) {
    auto words = hosts_->at_launcher();
    auto job = testing::fault_job(output(), copy_epochs);
    job[1] = command;
    job[2] = folder() + "/job/job.json";
    words.insert(words.end(), job.begin(), job.end());
    auto all = hosts_->ssh_settings();
    all.insert(all.end(),
               {fmt::format("cluster.hosts=[\"{}\",\"{}\"]", NetworkHosts::address(0),
                            NetworkHosts::address(1)),
                fmt::format("cluster.ssh.env=[\"{}\"]", testing::environment_entry(mark_)),
                "cluster.ssh.program=" + folder() + "/there/bin/troupe"});
    all.insert(all.end(), settings.begin(), settings.end());
    for (const auto& setting : all) {
      words.insert(words.end(), {"--set", setting});
    }
    words.insert(words.end(), flags.begin(), flags.end());
    run_.emplace(words, folder(), mark_);
  }
  void copy() {
    start("copy");
    ASSERT_EQ(run_->wait_for_end(60s), 0) << run_->text();
  }
  std::string said_about(std::size_t host) const {
    const auto line = run_->find(NetworkHosts::address(host) + ": ");
    return line ? line->text : "";
  }
  /// The partitioned store on a host.
  fs::path store_of(std::size_t host) const {
    for (const auto& entry :
         fs::directory_iterator(hosts_->own_folder(host, output_folder) + "/store")) {
      if (entry.path().filename().string().starts_with("parts-")) {
        return entry.path();
      }
    }
    return {};
  }
  fs::path checkpoints_on(std::size_t host) const {
    return fs::path(hosts_->own_folder(host, output_folder)) / "checkpoints";
  }
  void expect_refusal(int exit_code, const Words& texts) {
    EXPECT_EQ(run_->wait_for_end(60s), exit_code) << run_->text();
    for (const auto& text : texts) {
      EXPECT_TRUE(run_->find(text)) << text << " in:\n" << run_->text();
    }
  }

  const testing::ScratchFolder scratch_;
  const std::string mark_ = testing::new_run_mark();
  std::optional<NetworkHosts> hosts_;
  std::optional<WatchedRun> run_;
};

TEST_F(SshCopy, ARunBringsProgramJobAndPartsAndGivesTheDigests) {
  start("run", {"cluster.ssh.copy=true"});

  ASSERT_EQ(run_->wait_for_end(60s), 0) << run_->text();
  EXPECT_EQ(testing::digests_in(output()), testing::undisturbed_digests(copy_epochs));
  EXPECT_NE(said_about(0).find("MB: the program and "), std::string::npos) << run_->text();
  for (const std::size_t host : {0U, 1U}) {
    EXPECT_TRUE(fs::exists(hosts_->own_folder(host, program_folder) + "/bin/troupe"));
    EXPECT_TRUE(fs::exists(hosts_->own_folder(host, job_folder) + "/job.json"));
    EXPECT_TRUE(fs::exists(store_of(host) / "graph.json"));
    EXPECT_TRUE(fs::exists(store_of(host) / "splits"));
    EXPECT_TRUE(fs::exists(store_of(host) / fmt::format("part-{}", host)));
    EXPECT_FALSE(fs::exists(store_of(host) / fmt::format("part-{}", 1 - host)));
  }
  EXPECT_TRUE(run_->wait_for_all(10s).empty());
}

TEST_F(SshCopy, WithoutItAHostThatHasNothingIsTold) {
  start("run");

  EXPECT_EQ(run_->wait_for_end(60s), 4) << run_->text();
  EXPECT_TRUE(run_->find("bin/troupe")) << run_->text();
}

TEST_F(SshCopy, ASecondCopyFindsAllUpToDate) {
  ASSERT_NO_FATAL_FAILURE(copy());
  EXPECT_NE(said_about(1).find("copied "), std::string::npos) << run_->text();

  ASSERT_NO_FATAL_FAILURE(copy());

  EXPECT_EQ(said_about(0), NetworkHosts::address(0) + ": up to date");
  EXPECT_EQ(said_about(1), NetworkHosts::address(1) + ": up to date");
}

TEST_F(SshCopy, OnlyWhatDiffersIsCopiedAgain) {
  ASSERT_NO_FATAL_FAILURE(copy());
  std::fstream(store_of(1) / "part-1/nodes-node/labels.npy", std::ios::in | std::ios::out)
      .seekp(200)
      .put('x');
  fs::remove(store_of(1) / "graph.json");
  std::ofstream(hosts_->own_folder(0, program_folder) + "/bin/troupe", std::ios::app) << "x";

  ASSERT_NO_FATAL_FAILURE(copy());

  EXPECT_NE(said_about(0).find("MB: the program"), std::string::npos) << run_->text();
  EXPECT_EQ(said_about(0).find("file"), std::string::npos) << run_->text();
  EXPECT_NE(said_about(1).find("kB: 2 files"), std::string::npos) << run_->text();
  ASSERT_NO_FATAL_FAILURE(copy());
  EXPECT_EQ(said_about(1), NetworkHosts::address(1) + ": up to date");
}

TEST_F(SshCopy, AFullDiskIsNamedWithHostAndFileAndLeavesNothingHalf) {
  const auto out = output();
  ASSERT_EQ(hosts_->on(1, {"mount", "-t", "tmpfs", "-o", "size=1m", "none", out}).exit_code, 0);
  start("copy", {"dataset.path=" TROUPE_SOURCE_DIR "/examples/data/cora"});

  expect_refusal(3, {NetworkHosts::address(1) + ": ", out + "/store/parts-", "features.npy",
                     "No space left on device"});
  const auto left = hosts_->on(1, {"find", out, "-name", "'.*.*'"});
  EXPECT_EQ(left.exit_code, 0) << left.err;
  EXPECT_EQ(left.out, "");
}

TEST_F(SshCopy, AFolderThatCannotBeWrittenIsNamedWithItsHost) {
  const auto out = output();
  ASSERT_EQ(hosts_->on(0, {"mount", "-o", "remount,bind,ro", out}).exit_code, 0);
  start("copy");

  expect_refusal(3, {NetworkHosts::address(0) + ": ", out, "Read-only file system"});
}

TEST_F(SshCopy, APlaceForTheProgramThatCannotBeWrittenIsNamedWithItsHost) {
  const auto there = folder() + "/there";
  ASSERT_EQ(hosts_->on(0, {"mount", "-o", "remount,bind,ro", there}).exit_code, 0);
  start("copy");

  expect_refusal(3, {NetworkHosts::address(0) + ": ", there + "/bin", "Read-only file system"});
}

TEST_F(SshCopy, NothingIsWrittenThroughALinkOrIntoAPipe) {
  ASSERT_NO_FATAL_FAILURE(copy());
  const auto victim = fs::path(hosts_->own_folder(1, job_folder)) / "victim";
  std::ofstream(victim) << "not to be touched";
  const auto inside = folder() + "/job/victim";  // as the host sees it
  const auto labels = store_of(1) / "part-1/nodes-node/labels.npy";
  const auto program = fs::path(hosts_->own_folder(1, program_folder)) / "bin/troupe";
  const auto features = store_of(1) / "part-1/nodes-node/features.npy";
  for (const auto& place : {labels, program, store_of(1) / "graph.json"}) {
    fs::remove(place);
    fs::create_symlink(inside, place);
  }
  fs::remove(features);
  ASSERT_EQ(mkfifo(features.c_str(), 0600), 0);

  ASSERT_NO_FATAL_FAILURE(copy());

  std::string kept;
  std::getline(std::ifstream(victim), kept);
  EXPECT_EQ(kept, "not to be touched");
  for (const auto& place : {labels, program, features, store_of(1) / "graph.json"}) {
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(place))) << place;
  }
  EXPECT_NE(said_about(1).find("the program and 3 files"), std::string::npos) << run_->text();
}

TEST_F(SshCopy, AFolderInAFilesPlaceIsNamedWithItsHost) {
  ASSERT_NO_FATAL_FAILURE(copy());
  const auto labels = store_of(1) / "part-1/nodes-node/labels.npy";
  fs::remove(labels);
  fs::create_directories(labels / "kept");
  start("copy");

  expect_refusal(3, {NetworkHosts::address(1) + ": ", "labels.npy"});
  EXPECT_TRUE(fs::exists(labels / "kept"));
}

TEST_F(SshCopy, AFolderInTheProgramsPlaceIsNamedWithItsHost) {
  const auto program = fs::path(hosts_->own_folder(0, program_folder)) / "bin/troupe";
  fs::create_directories(program);
  start("copy");

  expect_refusal(3, {NetworkHosts::address(0) + ": " + folder() +
                     "/there/bin/troupe: expected a file or nothing, found a folder"});
}

TEST_F(SshCopy, AHostWithoutRsyncIsNamed) {
  const auto empty = folder() + "/no-rsync";
  fs::create_directories(empty);
  std::ofstream(empty + "/rsync") << "";
  ASSERT_EQ(hosts_->on(1, {"mount", "--bind", empty + "/rsync", "/usr/bin/rsync"}).exit_code, 0);
  start("copy");

  expect_refusal(3, {NetworkHosts::address(1) + ": expected rsync there, found none; try: install "
                                                "the packages of packages.txt [run]"});
}

TEST_F(SshCopy, AnUnreachableHostIsNamed) {
  start("copy", {fmt::format("cluster.hosts=[\"{}\",\"{}\"]", NetworkHosts::address(0),
                             NetworkHosts::nobody())});

  expect_refusal(4, {std::string(NetworkHosts::nobody()) + ": "});
}

const Words with_copies{"cluster.ssh.copy=true", "checkpoint.copies=2"};

TEST_F(SshCopy, AHostThatKeepsCheckpointsHasThemAsTheyAreHere) {
  fs::create_directories(checkpoints_on(0) / "step-99999");  // of an earlier run
  std::ofstream(checkpoints_on(0) / "step-99999/manifest.json") << "{}";
  start("run", with_copies);

  ASSERT_EQ(run_->wait_for_end(60s), 0) << run_->text();
  EXPECT_FALSE(run_->find("not copied")) << run_->text();
  const auto here = testing::texts_below(output() + "/checkpoints");
  EXPECT_GE(here.size(), 6U) << "three checkpoints";
  EXPECT_EQ(testing::texts_below(checkpoints_on(0)), here);
  EXPECT_FALSE(fs::exists(checkpoints_on(0) / "step-99999"));
  EXPECT_FALSE(fs::exists(checkpoints_on(1)));
  EXPECT_EQ(testing::digests_in(output()), testing::undisturbed_digests(copy_epochs));
}

TEST_F(SshCopy, ARunWhoseHostIsLostContinuesFromACopy) {
  constexpr int epochs = 16;
  const Words settings{with_copies[0], with_copies[1], fmt::format("train.epochs={}", epochs)};
  start("run", settings);
  const auto two_are_there = [&] {  // so the first one is whole
    const auto folder = checkpoints_on(0);
    return fs::exists(folder) && std::distance(fs::directory_iterator(folder), {}) >= 2;
  };
  ASSERT_TRUE(run_->wait_until(two_are_there, 60s)) << run_->text();
  kill(run_->pid(), SIGKILL);
  ASSERT_TRUE(run_->wait_for_all(30s).empty());
  fs::remove_all(output());
  fs::create_directories(output());
  fs::copy(checkpoints_on(0), output() + "/checkpoints", fs::copy_options::recursive);

  start("run", settings, {"--resume"});

  ASSERT_EQ(run_->wait_for_end(60s), 0) << run_->text();
  EXPECT_TRUE(run_->find("resuming from ")) << run_->text();
  EXPECT_EQ(testing::digests_in(output()), testing::undisturbed_digests(epochs));
}

TEST_F(SshCopy, ACheckpointThatCannotBeCopiedIsNamedAndTheRunContinues) {
  fs::create_directories(checkpoints_on(0));
  const auto there = output() + "/checkpoints";
  ASSERT_EQ(hosts_->on(0, {"mount", "-t", "tmpfs", "-o", "size=8k", "none", there}).exit_code, 0);
  start("run", with_copies);

  ASSERT_EQ(run_->wait_for_end(60s), 0) << run_->text();
  const auto line = run_->find("checkpoint of step 10 not copied: ");
  ASSERT_TRUE(line) << run_->text();
  EXPECT_NE(line->text.find(NetworkHosts::address(0) + ": "), std::string::npos) << line->text;
  EXPECT_TRUE(run_->find("No space left on device")) << run_->text();
  EXPECT_EQ(testing::digests_in(output()), testing::undisturbed_digests(copy_epochs));
}

TEST_F(SshCopy, AHostThatCannotKeepCheckpointsEndsTheRunAtItsStart) {
  std::ofstream(checkpoints_on(0)) << "no folder";
  start("run", with_copies);

  expect_refusal(3, {NetworkHosts::address(0) + ": ", output() + "/checkpoints"});
  EXPECT_FALSE(run_->find("epoch 1/")) << run_->text();
}

TEST_F(SshCopy, IsForHostsThatAreReachedBySsh) {
  start("copy", {"cluster.launch=local"});

  expect_refusal(2, {"copy: expected a job with launch \"ssh\", found \"local\""});
}

}  // namespace
}  // namespace troupe
