// Processes as jobs list them.
#include "runtime/job/process_list.hpp"

#include "runtime/job/job_file.hpp"
#include "runtime/job/layout.hpp"
#include "tests/support/expect.hpp"

namespace troupe {
namespace {

using Numbers = std::vector<std::uint32_t>;

TEST(NumberList, HasSingleNumbersAndRangesAscending) {
  for (const auto& [text, numbers] :
       std::vector<std::pair<std::string, Numbers>>{{"0", {0}},
                                                    {"3,5", {3, 5}},
                                                    {"0-2", {0, 1, 2}},
                                                    {"1,3-4,9", {1, 3, 4, 9}},
                                                    {"7-7", {7}}}) {
    ASSERT_OK_AND_ASSIGN(const auto found, parse_number_list("x", text, 10));
    EXPECT_EQ(found, numbers) << text;
  }
  for (const std::string text : {"", ",", "1,", ",1", "1,,2", "2,1", "1,1", "3-1", "1-", "-1", "10",
                                 "1-10", "x", "1 2", "0-4294967295", "99999999999999999999"}) {
    EXPECT_ERROR(parse_number_list("parts", text, 10), Errc::invalid_argument,
                 "parts: expected numbers 0..9 ascending");
  }
}

TEST(ProcessLine, SaysWhereAProcessIsAndWhatItHolds) {
  ASSERT_OK_AND_ASSIGN(
      const auto process,
      parse_process(" host=2 name=feeder parts=0,2 maps=0-3\tranks=1 samples_for=0,3 "));
  EXPECT_EQ(process, (ProcessSpec{.host = 2,
                                  .name = "feeder",
                                  .parts = {0, 2},
                                  .maps = {0, 1, 2, 3},
                                  .ranks = {1},
                                  .samples_for = {0, 3}}));
}

TEST(ProcessLine, RefusesWhatItCannotMean) {
  for (const auto& [line, problem] : std::vector<std::pair<std::string, std::string>>{
           {"", "expected host=K"},
           {"parts=0", "expected host=K"},
           {"host=0", "expected parts=, ranks= or samples_for="},
           {"host=0 maps=1", "expected parts=, ranks= or samples_for="},
           {"host=0-1 ranks=0", "one of them"},
           {"host=1024 ranks=0", "0..1023"},
           {"host=0 ranks=", "ranks: expected numbers"},
           {"host=0 ranks=0 name=", "name: expected 1..64"},
           {"host=0 ranks=0 color=red", "\"color=red\""},
           {"host=0 ranks", "ranks: expected numbers"},
       }) {
    EXPECT_ERROR(parse_process(line), Errc::invalid_argument, problem);
  }
}

Status check(const std::vector<std::string>& lines, std::uint32_t hosts, std::uint32_t parts) {
  std::vector<ProcessSpec> processes;
  for (const auto& line : lines) {
    auto process = parse_process(line);
    EXPECT_OK(process);
    processes.push_back(*std::move(process));
  }
  return check_processes(processes, hosts, parts);
}

TEST(ProcessList, MustMakeARun) {
  EXPECT_OK(check({"host=0 parts=0 ranks=0"}, 1, 1));
  EXPECT_OK(check({"host=0 parts=0-1", "host=1 ranks=0-2", "host=0 samples_for=1"}, 2, 2));
  EXPECT_ERROR(check({"host=0 parts=0"}, 1, 1), Errc::invalid_argument, "ranks 0..W-1");
  EXPECT_ERROR(check({"host=0 parts=0 ranks=1"}, 1, 1), Errc::invalid_argument, "the highest 1");
  EXPECT_ERROR(check({"host=0 parts=0 ranks=0", "host=0 ranks=0"}, 1, 1), Errc::invalid_argument,
               "rank 0 is in two processes");
  EXPECT_ERROR(check({"host=1 parts=0 ranks=0"}, 1, 1), Errc::invalid_argument,
               "host 1: expected one of 0..0");
  EXPECT_ERROR(check({"host=0 parts=0 ranks=0"}, 1, 2), Errc::invalid_argument, "found 1 of them");
  EXPECT_ERROR(check({"host=0 parts=1 ranks=0"}, 1, 1), Errc::invalid_argument, "part 1");
  EXPECT_ERROR(check({"host=0 parts=0 maps=0-1 ranks=0"}, 1, 1), Errc::invalid_argument, "part 1");
  EXPECT_ERROR(check({"host=0 parts=0 ranks=0 samples_for=0"}, 1, 1), Errc::invalid_argument,
               "of another process");
  EXPECT_ERROR(check({"host=0 parts=0 ranks=0", "host=0 samples_for=1"}, 1, 1),
               Errc::invalid_argument, "samples_for=1");
  EXPECT_ERROR(check({"host=0 name=a parts=0 ranks=0", "host=0 name=a ranks=1"}, 1, 1),
               Errc::invalid_argument, "two processes are named a");
}

Result<JobReading> read_cluster(const std::string& cluster) {
  return parse_job(
      R"({"dataset": {"path": "d"}, "sample": {"fanout": [2]}, "cluster": )" + cluster + "}",
      "/jobs", {});
}

TEST(ProcessList, OfAJobIsItsLayout) {
  ASSERT_OK_AND_ASSIGN(const auto reading, read_cluster(R"({"hosts": 2, "placement": "explicit",
      "processes": ["host=0 parts=0", "host=1 name=two parts=1 ranks=0,1", "host=0 samples_for=1",
                    "host=0 maps=0 ranks=2"]})"));
  ASSERT_EQ(to_string(reading.problems), "");
  EXPECT_EQ(reading.job.cluster.world(), 3U);
  const auto layout = make_layout(reading.job);
  ASSERT_EQ(layout.processes.size(), 4U);
  EXPECT_EQ(layout.at(ProcessId{0}).name, "process 0 of host 0");
  EXPECT_EQ(layout.at(ProcessId{1}).name, "two");
  EXPECT_EQ(layout.at(ProcessId{1}).maps, std::vector<PartId>{PartId{1}});
  EXPECT_EQ(layout.at(ProcessId{3}).name, "process 2 of host 0");
  EXPECT_EQ(layout.at(ProcessId{3}).maps, std::vector<PartId>{PartId{0}});
  EXPECT_TRUE(layout.at(ProcessId{3}).serves.empty());
  EXPECT_EQ(layout.process_of(Rank{1}), ProcessId{1});
  EXPECT_EQ(layout.samplers_of(Rank{1}), std::vector<ProcessId>{ProcessId{2}});
  EXPECT_EQ(layout.evaluators().size(), 2U);
  // The job that travels makes the same processes.
  ASSERT_OK_AND_ASSIGN(const auto again, parse_job(reading.job.json, "/elsewhere", {}));
  EXPECT_EQ(again.job.cluster.processes, reading.job.cluster.processes);
}

TEST(ProcessList, OfAJobIsRefusedWithItsKey) {
  for (const auto& [cluster, problem] : std::vector<std::pair<std::string, std::string>>{
           {R"({"placement": "explicit"})", "a line for each process"},
           {R"({"processes": ["host=0 parts=0 ranks=0"]})", "none with placement \"collocated\""},
           {R"({"placement": "explicit", "processes": ["host=0 parts=0 ranks=0", "host=x"]})",
            "(host), found \"x\" in \"host=x\""},
           {R"({"placement": "explicit", "processes": ["host=0 parts=0 ranks=1"]})",
            "ranks 0..W-1"},
       }) {
    ASSERT_OK_AND_ASSIGN(const auto reading, read_cluster(cluster));
    const auto text = to_string(reading.problems);
    EXPECT_NE(text.find("/cluster/processes"), std::string::npos) << cluster << text;
    EXPECT_NE(text.find(problem), std::string::npos) << cluster << text;
  }
}

}  // namespace
}  // namespace troupe
