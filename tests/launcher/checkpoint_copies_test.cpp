// Which hosts keep copies of checkpoints; without ssh.
#include "launcher/processes/checkpoint_copies.hpp"

#include "launcher/processes/local_address.hpp"
#include "runtime/job/host_list.hpp"
#include "tests/support/expect.hpp"

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

  EXPECT_TRUE(copies.bring().empty());
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

}  // namespace
}  // namespace troupe
