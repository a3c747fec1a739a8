// Which hosts keep copies of checkpoints; without ssh.
#include "launcher/processes/checkpoint_copies.hpp"

#include "launcher/processes/local_address.hpp"
#include "runtime/job/host_list.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>

namespace troupe {
namespace {

Job copies_job(std::uint32_t copies, const std::vector<std::string>& hosts) {
  Job job;
  job.cluster.launch = "ssh";
  job.checkpoint.copies = copies;
  for (const auto& line : hosts) {
    const auto host = parse_host(line);
    EXPECT_OK(host);
    job.cluster.named.push_back(*host);
  }
  return job;
}

TEST(OwnAddress, IsWhatASocketOfThisHostCanHave) {
  EXPECT_TRUE(is_own_address("127.0.0.1"));
  EXPECT_TRUE(is_own_address("127.0.0.2"));
  EXPECT_TRUE(is_own_address("localhost"));
  EXPECT_FALSE(is_own_address("192.0.2.1")) << "kept for documents";
  EXPECT_FALSE(is_own_address("no-such-host.invalid"));
}

TEST(CheckpointCopies, OfOneHostNeedNoOther) {
  ASSERT_OK_AND_ASSIGN(const auto copies, CheckpointCopies::open(copies_job(1, {}), "folder"));

  EXPECT_TRUE(copies.bring(copies.cuts()).empty());
}

TEST(CheckpointCopies, DoNotGoToThisHostUnderAnyOfItsNames) {
  const auto job = copies_job(2, {"127.0.0.1", "localhost", "127.0.0.1 port=2222"});

  EXPECT_ERROR(CheckpointCopies::open(job, "folder"), Errc::invalid_argument,
               "checkpoint.copies: expected at most 1, on this host and on those of "
               "cluster.hosts that are others, found 2");
}

TEST(CheckpointCopies, NeedAHostForEachHoweverOftenItIsNamed) {
  const auto job = copies_job(3, {"192.0.2.1", "192.0.2.1 port=2222", "localhost"});

  EXPECT_ERROR(CheckpointCopies::open(job, "folder"), Errc::invalid_argument,
               "expected at most 2, ");
}

/// Programs of these names, found before others.
class CopiesWithPrograms : public ::testing::Test {
 protected:
  CopiesWithPrograms() {
    before_ = std::getenv("PATH");
    setenv("PATH", (scratch_.path().string() + ":" + before_).c_str(), 1);
  }
  ~CopiesWithPrograms() override { setenv("PATH", before_.c_str(), 1); }
  void write_program(const std::string& name, const std::string& script) const {
    const auto file = scratch_.path() / name;
    std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }

  const testing::ScratchFolder scratch_;
  std::string before_;
};

TEST_F(CopiesWithPrograms, AHostThatHangsHoldsUpNoLaterCheckpoint) {
  write_program("ssh", "exit 0");
  write_program("rsync", "touch " + (scratch_.path() / "begun").string() + "; exec sleep 600");
  ASSERT_OK_AND_ASSIGN(const auto copies,
                       CheckpointCopies::open(copies_job(2, {"192.0.2.1"}), scratch_.path()));
  auto copying = std::async(std::launch::async, [&] { return copies.bring(copies.cuts()); });
  while (!std::filesystem::exists(scratch_.path() / "begun")) {
    ASSERT_EQ(copying.wait_for(std::chrono::milliseconds(10)), std::future_status::timeout);
  }
  const auto of_one_being_written = copies.cuts();

  copies.cut();

  ASSERT_EQ(copying.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  const auto errors = copying.get();
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors.front().code(), Errc::cancelled) << errors.front().what();
  EXPECT_EQ(copies.bring(of_one_being_written).size(), 1U) << "at once";
  write_program("rsync", "exit 0");
  EXPECT_TRUE(copies.bring(copies.cuts()).empty()) << "the last one is copied";
}

}  // namespace
}  // namespace troupe
