// The lines of `cluster.host_file` in a job.
#include "runtime/job/job_file.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <fstream>

namespace troupe {
namespace {

class HostFile : public ::testing::Test {
 protected:
  Result<JobReading> parse_with(const std::string& lines,
                                const std::vector<std::string>& overrides) {
    std::ofstream(scratch_.path() / "hosts") << lines;
    return parse_job(job_, scratch_.path(), overrides);
  }
  const std::string job_ = R"({"dataset": {"path": "d"}, "sample": {"fanout": [3, 2]},
                               "cluster": {"hosts": 5, "launch": "ssh"}})";
  const testing::ScratchFolder scratch_;
};

TEST_F(HostFile, NamedOnTheCommandLineTakesThePlaceOfTheHostsInTheJob) {
  ASSERT_OK_AND_ASSIGN(const auto reading, parse_with("# two\na 2 user=u\n\nb port=7 # last\n",
                                                      {"cluster.host_file=hosts"}));

  EXPECT_EQ(to_string(reading.problems), "");
  ASSERT_EQ(reading.job.cluster.named.size(), 2U);
  EXPECT_EQ(reading.job.cluster.named[0].user, "u");
  EXPECT_EQ(reading.job.cluster.named[0].slots, 2U);
  EXPECT_EQ(reading.job.cluster.named[1].port, 7U);
  EXPECT_EQ(reading.job.cluster.hosts, 2U);
  EXPECT_EQ(reading.job.json.find("host_file\""), std::string::npos)
      << "other processes would look for the file";
}

TEST_F(HostFile, HostsOnTheCommandLineTakeItsPlace) {
  ASSERT_OK_AND_ASSIGN(const auto reading, parse_with("a\n", {"cluster.host_file=hosts",
                                                              R"(cluster.hosts=["b", "c"])"}));

  EXPECT_EQ(to_string(reading.problems), "");
  EXPECT_EQ(reading.job.cluster.hosts, 2U);
}

TEST_F(HostFile, AJobWithHostsBesideItIsRefused) {
  std::ofstream(scratch_.path() / "hosts") << "a\n";
  const auto both = R"({"dataset": {"path": "d"}, "sample": {"fanout": [3]},
                        "cluster": {"hosts": 5, "host_file": "hosts", "launch": "ssh"}})";
  ASSERT_OK_AND_ASSIGN(const auto reading, parse_job(both, scratch_.path(), {}));

  const auto problems = to_string(reading.problems);
  EXPECT_NE(problems.find("/cluster/host_file: expected either cluster.hosts or "
                          "cluster.host_file, found both; leave out one of the two"),
            std::string::npos)
      << problems;
}

TEST_F(HostFile, MayHaveTabsAndLineEndsOfWindowsAndRemarksBetweenWords) {
  ASSERT_OK_AND_ASSIGN(const auto reading,
                       parse_with("# two\r\na\tuser=u  env=A=b#c\r\n\tb 2 #user=v\r\n",
                                  {"cluster.host_file=hosts"}));

  EXPECT_EQ(to_string(reading.problems), "");
  ASSERT_EQ(reading.job.cluster.named.size(), 2U);
  EXPECT_EQ(reading.job.cluster.named[0].user, "u");
  EXPECT_EQ(reading.job.cluster.named[0].env, std::vector<std::string>{"A=b#c"});
  EXPECT_EQ(reading.job.cluster.named[1].address, "b");
  EXPECT_EQ(reading.job.cluster.named[1].user, "");
}

TEST_F(HostFile, AMistakeIsToldWithItsLine) {
  ASSERT_OK_AND_ASSIGN(const auto reading,
                       parse_with("a\nb port=x\n", {"cluster.host_file=hosts"}));

  const auto problems = to_string(reading.problems);
  EXPECT_NE(problems.find("/cluster/host_file"), std::string::npos) << problems;
  EXPECT_NE(problems.find("hosts:2"), std::string::npos) << problems;
}

}  // namespace
}  // namespace troupe
