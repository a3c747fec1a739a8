// train.precision, and devices that have no such products.
#include "runtime/job/precision_rules.hpp"

#include "tests/support/expect.hpp"

#include <fmt/format.h>
#include <string>
#include <vector>

namespace troupe {
namespace {

using PrecisionSettings = std::vector<std::string>;

constexpr const char* job_of_precision = R"({"dataset": {"path": "d"}, "sample": {"fanout": [2]}})";

JobReading read_for_device(const PrecisionSettings& settings) {
  auto reading = parse_job(job_of_precision, "base", settings);
  EXPECT_OK(reading);
  return *std::move(reading);
}

TEST(JobPrecision, IsFloat32UnlessTheJobSaysAnother) {
  const auto plain = read_for_device({});
  EXPECT_EQ(plain.job.train.precision, nn::Precision::float32);
  EXPECT_NE(plain.job.json.find("\"precision\": \"float32\""), std::string::npos);

  for (const auto precision : {nn::Precision::float32, nn::Precision::tf32, nn::Precision::bf16}) {
    const auto name = std::string(nn::to_string(precision));
    const auto reading = read_for_device({"cluster.device=cuda", "train.precision=" + name});
    EXPECT_EQ(to_string(reading.problems), "");
    EXPECT_EQ(reading.job.train.precision, precision);
    ASSERT_OK_AND_ASSIGN(const auto again, parse_job(reading.job.json, "base", {}));
    EXPECT_EQ(to_string(again.problems), "");
    EXPECT_EQ(again.job.train.precision, precision) << "of the job as it is written";
  }
}

TEST(JobPrecision, OtherWordsAreRefused) {
  for (const char* const other : {"TF32", "float16", "double", "\"\"", "1", "null", "[\"tf32\"]"}) {
    const auto problems =
        to_string(read_for_device({fmt::format("train.precision={}", other)}).problems);
    EXPECT_NE(problems.find("/train/precision: expected \"float32\" | \"tf32\" | \"bf16\", found"),
              std::string::npos)
        << problems;
  }
  EXPECT_NE(
      to_string(read_for_device({"train.precision=tf23"}).problems).find("did you mean \"tf32\"?"),
      std::string::npos);
}

TEST(JobPrecision, CpusAndEmulatedDevicesHaveNoProductsInTf32) {
  for (const std::string device : {"cpu", "auto:cpu", "emulated:2", "emulated:1,512MB"}) {
    const auto on = "cluster.device=" + device;
    for (const std::string precision : {"float32", "bf16"}) {
      EXPECT_EQ(to_string(read_for_device({on, "train.precision=" + precision}).problems), "");
    }
    const auto problems = to_string(read_for_device({on, "train.precision=tf32"}).problems);
    EXPECT_TRUE(problems.starts_with(
        "/train/precision: expected \"float32\" or \"bf16\" with cluster.device \""))
        << problems;
    const bool cpu = device.ends_with("cpu");
    EXPECT_NE(problems.find(fmt::format("found \"tf32\", which no CPU has; products of {} are "
                                        "float32 or bf16; cluster.device \"cuda\" computes others",
                                        cpu ? "CPUs" : "emulated devices")),
              std::string::npos)
        << problems;
  }
}

TEST(JobPrecision, AutoIsJudgedOnceItIsDecided) {
  for (const std::string device : {"auto", "auto:cuda", "cuda", "cuda:0,2"}) {
    EXPECT_EQ(
        to_string(read_for_device({"cluster.device=" + device, "train.precision=tf32"}).problems),
        "");
  }
  auto job = read_for_device({"cluster.device=auto", "train.precision=tf32"}).job;
  EXPECT_FALSE(precision_problem(job));
  set_device(job, {.kind = DeviceKind::cuda, .automatic = true});
  EXPECT_FALSE(precision_problem(job));
  set_device(job, {.kind = DeviceKind::cpu, .automatic = true});
  ASSERT_TRUE(precision_problem(job));
  EXPECT_EQ(precision_problem(job)->expected,
            "\"float32\" or \"bf16\" with cluster.device \"auto:cpu\"");
  job.train.precision = nn::Precision::bf16;
  EXPECT_FALSE(precision_problem(job));
}

TEST(JobPrecision, ADeviceThatIsWrongIsTheOnlyProblem) {
  const auto problems =
      to_string(read_for_device({"cluster.device=gpu", "train.precision=tf32"}).problems);
  EXPECT_NE(problems.find("/cluster/device"), std::string::npos) << problems;
  EXPECT_EQ(problems.find("/train/precision"), std::string::npos) << problems;
}

TEST(JobPrecision, ModelsWithoutLayersHaveNoProducts) {
  const PrecisionSettings knowledge = {"task.kind=knowledge", "task.decoder.kind=distmult"};
  const auto with = [&](PrecisionSettings more) {
    more.insert(more.end(), {"cluster.device=cuda", "train.precision=tf32"});
    const auto text =
        R"({"dataset": {"path": "d"}, "task": {"kind": "link"}, "model": {"layers": 0}})";
    const auto reading = parse_job(text, "base", more);
    EXPECT_OK(reading);
    return to_string(reading->problems);
  };
  for (const auto& problems : {with({}), with(knowledge)}) {
    EXPECT_NE(problems.find("/train/precision: expected \"float32\" with "), std::string::npos)
        << problems;
  }
}

}  // namespace
}  // namespace troupe
