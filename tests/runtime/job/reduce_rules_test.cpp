// train.reduce, and devices that add gradients in one order alone.
#include "runtime/job/reduce_rules.hpp"

#include "tests/support/expect.hpp"

#include <fmt/format.h>
#include <string>
#include <vector>

namespace troupe {
namespace {

constexpr const char* job_of_reduce = R"({"dataset": {"path": "d"}, "sample": {"fanout": [2]}})";

JobReading read_to_reduce(const std::vector<std::string>& settings) {
  auto reading = parse_job(job_of_reduce, "base", settings);
  EXPECT_OK(reading);
  return *std::move(reading);
}

TEST(TrainReduce, IsExactUnlessTheJobSaysFast) {
  const auto plain = read_to_reduce({});
  EXPECT_EQ(to_string(plain.problems), "");
  EXPECT_EQ(plain.job.train.reduce, "exact");
  EXPECT_NE(plain.job.json.find("\"reduce\": \"exact\""), std::string::npos);
  for (const std::string device : {"cuda", "cuda:0,1", "emulated:2", "auto"}) {
    for (const std::string reduce : {"exact", "fast"}) {
      const auto reading = read_to_reduce({"cluster.device=" + device, "train.reduce=" + reduce});
      EXPECT_EQ(to_string(reading.problems), "") << device << " " << reduce;
      EXPECT_EQ(reading.job.train.reduce, reduce);
    }
  }
}

TEST(TrainReduce, OtherValuesAreRefused) {
  EXPECT_NE(
      to_string(read_to_reduce({"train.reduce=fasst"}).problems).find("did you mean \"fast\"?"),
      std::string::npos);
  EXPECT_NE(to_string(read_to_reduce({"train.reduce=1"}).problems).find("/train/reduce"),
            std::string::npos);
}

TEST(TrainReduce, FastIsRefusedOnACpuWithWhatItIsFor) {
  for (const std::string device : {"cpu", "auto:cpu"}) {
    const auto problems =
        to_string(read_to_reduce({"cluster.device=" + device, "train.reduce=fast"}).problems);
    EXPECT_TRUE(problems.starts_with(fmt::format(
        "/train/reduce: expected \"exact\" with cluster.device \"{}\", found \"fast\"", device)))
        << problems;
    EXPECT_NE(problems.find("in the order of ranks; other orders are for GPUs"), std::string::npos)
        << problems;
    EXPECT_EQ(to_string(read_to_reduce({"cluster.device=" + device}).problems), "");
  }
  auto job = read_to_reduce({"cluster.device=auto", "train.reduce=fast"}).job;
  EXPECT_FALSE(reduce_problem(job));
  set_device(job, {.kind = DeviceKind::cuda, .automatic = true});
  EXPECT_FALSE(reduce_problem(job));
  set_device(job, {.kind = DeviceKind::cpu, .automatic = true});
  ASSERT_TRUE(reduce_problem(job));
  EXPECT_EQ(reduce_problem(job)->expected, "\"exact\" with cluster.device \"auto:cpu\"");
}

}  // namespace
}  // namespace troupe
