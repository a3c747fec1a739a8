#include "runtime/job/device_choice.hpp"

#include "runtime/job/job_file.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

TEST(ParseDevice, TakesEachKindAndGivesItBackAsText) {
  for (const auto& [text, choice] : std::vector<std::pair<std::string, DeviceChoice>>{
           {"cpu", {}},
           {"cuda", {.kind = DeviceKind::cuda}},
           {"auto", {.kind = DeviceKind::undecided, .automatic = true}},
           {"auto:cpu", {.kind = DeviceKind::cpu, .automatic = true}},
           {"auto:cuda", {.kind = DeviceKind::cuda, .automatic = true}},
           {"cuda:0", {.kind = DeviceKind::cuda, .numbers = {0}}},
           {"cuda:1,3", {.kind = DeviceKind::cuda, .numbers = {1, 3}}},
           {"emulated:1", {.kind = DeviceKind::emulated, .count = 1}},
           {"emulated:64", {.kind = DeviceKind::emulated, .count = 64}},
           {"emulated:2,65536B", {.kind = DeviceKind::emulated, .count = 2, .memory_bytes = 65536}},
       }) {
    ASSERT_OK_AND_ASSIGN(const auto parsed, parse_device(text));
    EXPECT_EQ(parsed, choice) << text;
    EXPECT_EQ(to_string(parsed), text);
  }
  ASSERT_OK_AND_ASSIGN(const auto range, parse_device("cuda:0,2-4"));
  EXPECT_EQ(to_string(range), "cuda:0,2,3,4");
  ASSERT_OK_AND_ASSIGN(const auto sized, parse_device("emulated:1,2 KiB"));
  EXPECT_EQ(sized.memory_bytes, 2048U);
}

TEST(ParseDevice, RefusesEverythingElse) {
  for (const char* const text : {"",
                                 "CPU",
                                 "cpu:0",
                                 "auto:",
                                 "auto:emulated:1",
                                 "auto:cuda:0",
                                 "auto:auto",
                                 "Auto",
                                 "cpu ",
                                 " cpu",
                                 "gpu",
                                 "gpu:0",
                                 "cud",
                                 "cudaa",
                                 "cuda:",
                                 "cuda:x",
                                 "cuda:-1",
                                 "cuda:64",
                                 "cuda:1,1",
                                 "cuda:2,1",
                                 "cuda:3-1",
                                 "cuda:0,",
                                 "cuda:,0",
                                 "cuda: 0",
                                 "cuda:0;1",
                                 "cuda:99999999999999999999",
                                 "emulated",
                                 "emulated:",
                                 "emulated:0",
                                 "emulated:65",
                                 "emulated:-1",
                                 "emulated:+1",
                                 "emulated:1x",
                                 "emulated:1 ",
                                 "emulated:1.5",
                                 "emulated:18446744073709551617",
                                 "emulated:1,",
                                 "emulated:1,0B",
                                 "emulated:1,5",
                                 "emulated:1,5XB",
                                 "emulated:1,-5MB",
                                 "emulated:1,99999999TB",
                                 "emulated:1,1MB,2",
                                 "emulated:,1MB"}) {
    SCOPED_TRACE(text);
    EXPECT_ERROR(parse_device(text), Errc::invalid_argument, "expected");
  }
  // Bytes that are no text.
  for (const std::string& text :
       {std::string("cuda\0", 5), std::string("emulated:1\0", 11), std::string(100000, 'c'),
        std::string("\xff\xfe"), fmt::format("cuda:{:1>100000}", 1)}) {
    EXPECT_FALSE(parse_device(text).ok());
  }
}

/// Problems of a job with these settings of `cluster`.
std::string device_problems(const std::string& cluster, Job* job = nullptr) {
  const auto text = fmt::format(
      R"({{"dataset": {{"path": "d"}}, "sample": {{"fanout": [2]}}, "cluster": {}}})", cluster);
  const auto reading = parse_job(text, "base", {});
  EXPECT_OK(reading);
  if (job != nullptr) {
    *job = reading->job;
  }
  return to_string(reading->problems);
}

TEST(JobDevice, IsTheCpuUnlessTheJobSaysAnother) {
  Job job;
  EXPECT_EQ(device_problems("{}", &job), "");
  EXPECT_EQ(job.cluster.device, DeviceChoice{});
  EXPECT_EQ(device_problems(R"({"device": "cuda:0,2"})", &job), "");
  EXPECT_EQ(to_string(job.cluster.device), "cuda:0,2");
  EXPECT_EQ(job.cluster.device_on(0), job.cluster.device);
}

TEST(JobDevice, NamesWhatItCannotMean) {
  const auto problem = device_problems(R"({"device": "gpu"})");
  EXPECT_NE(problem.find("/cluster/device"), std::string::npos) << problem;
  EXPECT_NE(problem.find("found \"gpu\""), std::string::npos) << problem;
  EXPECT_NE(device_problems(R"({"device": 1})"), "");
  EXPECT_NE(device_problems(R"({"device": ""})"), "");
}

TEST(JobDevice, IsSetInTheJobAndInItsText) {
  Job job;
  ASSERT_EQ(device_problems(R"({"device": "auto", "hosts": 2})", &job), "");
  EXPECT_NE(job.json.find("\"device\": \"auto\""), std::string::npos) << job.json;

  set_device(job, {.kind = DeviceKind::cuda, .automatic = true});

  EXPECT_EQ(to_string(job.cluster.device), "auto:cuda");
  ASSERT_OK_AND_ASSIGN(const auto again, parse_job(job.json, "base", {}));
  ASSERT_TRUE(again.problems.empty()) << to_string(again.problems);
  EXPECT_EQ(again.job.cluster.device, job.cluster.device);
  EXPECT_EQ(again.job.cluster.hosts, 2U);
  EXPECT_EQ(again.job.json, job.json);
}

TEST(JobDevice, AutoIsForAllHostsTogether) {
  const auto problem =
      device_problems(R"({"launch": "local", "hosts": ["a device=auto", "b"], "device": "auto"})");
  EXPECT_NE(problem.find("expected cpu, cuda or cuda:0,2 on a host's line (device), found "
                         "auto, which is for cluster.device"),
            std::string::npos)
      << problem;
  const auto other =
      device_problems(R"({"launch": "local", "hosts": ["a device=cuda", "b"], "device": "auto"})");
  EXPECT_NE(other.find("expected no device= on a host's line with cluster.device \"auto\", found "
                       "device=cuda on a; cluster.device \"cuda\", or a line without device="),
            std::string::npos)
      << other;
}

TEST(JobDevice, OfAHostGoesBeforeThatOfAll) {
  Job job;
  EXPECT_EQ(device_problems(R"({"launch": "local", "hosts": ["a device=cuda:1", "b"],
                                "device": "cuda"})",
                            &job),
            "");
  EXPECT_EQ(to_string(job.cluster.device_on(0)), "cuda:1");
  EXPECT_EQ(to_string(job.cluster.device_on(1)), "cuda");
}

TEST(JobDevice, IsThatOfTheLinesWhereAllHostsHaveOneKind) {
  Job job;
  EXPECT_EQ(device_problems(R"({"launch": "local", "hosts": ["a device=emulated:2,1MB",
                                "b device=emulated:1"]})",
                            &job),
            "");
  EXPECT_EQ(to_string(job.cluster.device), to_string(*job.cluster.named[0].device));
  EXPECT_EQ(to_string(job.cluster.device_on(1)), "emulated:1");
  EXPECT_NE(job.json.find(to_string(job.cluster.device)), std::string::npos) << "also elsewhere";
  for (const char* const kinds : {R"(["a device=emulated:2", "b device=cuda"])",
                                  R"(["a device=emulated:2", "b"])", R"(["a", "b device=cuda"])"}) {
    const auto problem =
        device_problems(fmt::format(R"({{"launch": "local", "hosts": {}}})", kinds));
    EXPECT_NE(problem.find("cluster.device is that of lines without device="), std::string::npos)
        << problem;
  }
  EXPECT_NE(device_problems(R"({"launch": "local", "hosts": ["a device=cuda"], "device": "cpu"})"),
            "");
}

TEST(JobDevice, AllHostsHaveOneKind) {
  for (const std::string cluster :
       {R"({"launch": "local", "hosts": ["a device=cuda:1", "b"]})",
        R"({"launch": "local", "hosts": ["a", "b device=emulated:1"], "device": "cuda"})",
        R"({"launch": "local", "hosts": ["a device=cpu", "b"], "device": "emulated:2"})"}) {
    const auto problem = device_problems(cluster);
    EXPECT_NE(problem.find("/cluster/hosts"), std::string::npos) << problem;
    EXPECT_NE(problem.find("a run has devices of one kind"), std::string::npos) << problem;
  }
  EXPECT_EQ(device_problems(R"({"launch": "local", "hosts": ["a device=emulated:1", "b"],
                                "device": "emulated:4"})"),
            "");
}

}  // namespace
}  // namespace troupe
