#include "runtime/job/host_list.hpp"

#include "runtime/job/job_file.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <fstream>

namespace troupe {
namespace {

TEST(HostLine, AnAddressAloneWillDo) {
  ASSERT_OK_AND_ASSIGN(const auto host, parse_host("node1"));

  EXPECT_EQ(host, (HostSpec{.address = "node1"}));
}

TEST(HostLine, SaysWhatDiffersFromTheJob) {
  ASSERT_OK_AND_ASSIGN(
      const auto host,
      parse_host("  10.0.0.2  3 user=me port=2222 key=/k/id dir=/w program=/b/troupe "
                 "listen=10.1.0.2 threads=2 cores=0,2-3 device=cuda:0,2 env=A=1 env=B=x=y "));

  EXPECT_EQ(host, (HostSpec{.address = "10.0.0.2",
                            .slots = 3,
                            .user = "me",
                            .port = 2222,
                            .key = "/k/id",
                            .dir = "/w",
                            .program = "/b/troupe",
                            .listen = "10.1.0.2",
                            .threads = 2,
                            .cores = {0, 2, 3},
                            .device = DeviceChoice{.kind = DeviceKind::cuda, .numbers = {0, 2}},
                            .env = {"A=1", "B=x=y"}}));
}

TEST(HostLine, AnAddressMayNameItsUserAndStandInBrackets) {
  ASSERT_OK_AND_ASSIGN(const auto host, parse_host("me@host.example port=2222"));
  ASSERT_OK_AND_ASSIGN(const auto six, parse_host("me@[::1] listen=[fe80::2]"));

  EXPECT_EQ(host, (HostSpec{.address = "host.example", .user = "me", .port = 2222}));
  EXPECT_EQ(six, (HostSpec{.address = "::1", .user = "me", .listen = "fe80::2"}));
}

TEST(HostLine, RefusesWhatItCannotMean) {
  for (const auto& [line, problem] : std::vector<std::pair<std::string, std::string>>{
           {"", "found nothing"},
           {"-oProxyCommand=x", "does not begin with -"},
           {"a user=-l", "does not begin with -"},
           {"a 0", "1..64"},
           {"a 65", "1..64"},
           {"a port=70000", "1..65535"},
           {"a port=22x", "\"22x\""},
           {"a env=NAME", "NAME=VALUE"},
           {"a env==x", "NAME=VALUE"},
           {"a env=2A=x", "NAME=VALUE"},
           {"a env=A-B=x", "found \"A-B=***\""},
           {"a user=", "user"},
           {"me@a user=you", "expected one user"},
           {"@a", "user"},
           {"me@", "address"},
           {"me@-l", "does not begin with -"},
           {"a color=red", "\"color=red\""},
           {"a user=b 3", "\"3\""},
           {"a threads=0", "1..1024"},
           {"a cores=3-1", "ascending"},
           {"a cores=1024", "0..1023"},
           {"a device=gpu:0", "device: expected cpu, cuda"},
           {"a device=", "device"},
           {"a listen=0.0.0.0",
            "an address under which the other hosts reach a, found \"0.0.0.0\""},
           {"a listen=[::]", "found \"::\""},
       }) {
    EXPECT_ERROR(parse_host(line), Errc::invalid_argument, problem);
  }
}

TEST(HostLines, LeavesOutEmptyLinesAndRemarks) {
  const testing::ScratchFolder folder;
  std::ofstream(folder.path() / "hosts") << "# two hosts\n\na 2 # the big one\n  b\n";

  ASSERT_OK_AND_ASSIGN(const auto lines, read_host_file(folder.path() / "hosts"));

  ASSERT_EQ(lines.size(), 2U);
  ASSERT_OK_AND_ASSIGN(const auto first, parse_host(lines[0]));
  EXPECT_EQ(first, (HostSpec{.address = "a", .slots = 2}));
}

TEST(HostLines, NamesTheLineThatIsWrong) {
  const testing::ScratchFolder folder;
  std::ofstream(folder.path() / "hosts") << "a\nb port=x\n";

  EXPECT_ERROR(read_host_file(folder.path() / "hosts"), Errc::invalid_argument, "hosts:2");
  EXPECT_ERROR(read_host_file(folder.path() / "none"), Errc::not_found, "none");
}

Job cluster_job(const std::string& cluster, const std::filesystem::path& folder = "/jobs") {
  auto reading = parse_job(
      R"({"dataset": {"path": "d"}, "sample": {"fanout": [2]}, "cluster": )" + cluster + "}",
      folder, {});
  EXPECT_OK(reading);
  EXPECT_EQ(to_string(reading->problems), "");
  return std::move(reading->job);
}

TEST(JobHosts, SlotsAreRanks) {
  const auto job =
      cluster_job(R"({"launch": "ssh", "hosts": ["a 3", "b"], "trainers_per_host": 2})");

  EXPECT_EQ(job.cluster.hosts, 2U);
  EXPECT_EQ(job.cluster.world(), 5U);
  EXPECT_EQ(job.partition.parts, 2U);
}

TEST(JobHosts, ThreadsAreThoseOfTheHostOrOfAll) {
  const auto job =
      cluster_job(R"({"launch": "local", "hosts": ["a threads=3", "b"], "threads": 2})");

  EXPECT_EQ(job.cluster.threads_on(0), 3U);
  EXPECT_EQ(job.cluster.threads_on(1), 2U);
}

TEST(JobHosts, TheLastOnesAreServers) {
  const auto job = cluster_job(
      R"({"launch": "ssh", "hosts": ["a", "b", "c"], "placement": "server_client", "servers": 1})");

  EXPECT_EQ(job.cluster.hosts, 2U);
  EXPECT_EQ(job.cluster.all_hosts(), 3U);
  EXPECT_EQ(job.partition.parts, 1U);
}

TEST(JobHosts, AJobWithoutServersTravelsWithTheDefaultOfTheirNumber) {
  const auto job = cluster_job(R"({"launch": "local", "hosts": ["a", "b", "c", "d"]})");

  ASSERT_OK_AND_ASSIGN(const auto again, parse_job(job.json, "/elsewhere", {}));

  EXPECT_EQ(to_string(again.problems), "");
  EXPECT_EQ(job.partition.parts, 4U);
}

TEST(JobHosts, TheJobThatTravelsHasTheLinesOfTheFile) {
  const testing::ScratchFolder folder;
  std::ofstream(folder.path() / "hosts") << "a\nb 2\n";
  const auto job = cluster_job(R"({"launch": "ssh", "host_file": "hosts"})", folder.path());

  ASSERT_OK_AND_ASSIGN(const auto again, parse_job(job.json, "/elsewhere", {}));

  EXPECT_EQ(to_string(again.problems), "");
  EXPECT_EQ(again.job.cluster.named, job.cluster.named);
  EXPECT_EQ(again.job.cluster.world(), 3U);
}

TEST(JobHosts, AListenAddressThatIsRefusedIsNotMissing) {
  ASSERT_OK_AND_ASSIGN(const auto reading,
                       parse_job(R"({"dataset": {"path": "d"}, "sample": {"fanout": [2]},
                    "cluster": {"launch": "manual", "hosts": 2, "listen": "[::]:7000"}})",
                                 "/jobs", {}));

  EXPECT_EQ(reading.problems.size(), 1U) << to_string(reading.problems);
}

TEST(JobHosts, RefusesWhatCannotBe) {
  for (const auto& [cluster, problem] : std::vector<std::pair<std::string, std::string>>{
           {R"({"launch": "ssh", "hosts": 2})", "/cluster/hosts"},
           {R"({"launch": "ssh", "hosts": ["a", "b port=x"]})",
            "/cluster/hosts: expected a number 1..65535 (port), found \"x\" in \"b port=x\""},
           {R"({"launch": "ssh", "hosts": ["a env=A-B=sesame"]})",
            "/cluster/hosts: expected NAME=VALUE on one line, the name of letters, digits and _ "
            "(env), found \"A-B=***\" in \"a env=A-B=***\""},
           {R"({"launch": "ssh", "hosts": ["a"], "ssh": {"env": ["=x"]}})",
            "/cluster/ssh/env: expected NAME=VALUE on one line, the name of letters, digits and _, "
            "found \"=***\"\n"},
           {R"({"launch": "ssh", "hosts": ["a"], "ssh": {"env": ["FOO"]}})",
            "/cluster/ssh/env: expected NAME=VALUE"},
           {R"({"launch": "ssh", "hosts": ["a\u0001 env=A=sesame"]})", "env=A=***"},
           {R"({"device": "emulated"})",
            "/cluster/device: expected cpu, cuda, cuda:LIST, auto, emulated:N or emulated:N,SIZE, "
            "found \"emulated\""},
           {R"({"launch": "manual", "hosts": 2})", "/cluster/listen"},
           {R"({"hosts": ["a", "b"], "placement": "server_client", "servers": 2})",
            "/cluster/servers"},
           {R"({"placement": "server_client", "server_of_rank": [0, 0]})",
            "/cluster/server_of_rank"},
           {R"({"placement": "server_client", "servers": 2, "server_of_rank": [2]})",
            "/cluster/server_of_rank"},
           {R"({"launch": "local", "listen": "nonsense"})",
            "/cluster/listen: expected a text as in docs/job-file.md, found address \"nonsense\""},
           {R"({"launch": "manual", "listen": "a:70000"})", "expected a port from 0 to 65535"},
           {R"({"launch": "manual", "listen": "0.0.0.0:7000"})",
            "/cluster/listen: expected one that other processes can connect to (address "
            "\"0.0.0.0:7000\"), found one that stands for all addresses of a host"},
           {R"({"hosts": 2, "servers": 7})",
            "/cluster/servers: expected none with placement \"collocated\", found 7; placement "
            "\"server_client\" has servers"},
           {R"({"hosts": ["a", "b", "c"], "servers": 3, "placement": "worker"})",
            "/cluster/servers: expected none with placement \"worker\", found 3"},
           {R"({"launch": "local", "transport": "ucx", "tls": true})",
            "where nobody reads along, set cluster.tls to false"},
           {R"({"launch": "ssh", "hosts": ["a"], "transport": "ucx"})",
            "where nobody reads along, set cluster.trusted_network to true"},
       }) {
    ASSERT_OK_AND_ASSIGN(
        const auto reading,
        parse_job(
            R"({"dataset": {"path": "d"}, "sample": {"fanout": [2]}, "cluster": )" + cluster + "}",
            "/jobs", {}));
    EXPECT_NE(to_string(reading.problems).find(problem), std::string::npos)
        << cluster << '\n'
        << to_string(reading.problems);
  }
}

}  // namespace
}  // namespace troupe
