// Which way gradients go, as far as a job says it.
#include "launcher/gradient_plan.hpp"

#include "runtime/job/job_file.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>
#include <string>
#include <vector>

namespace troupe {
namespace {

GradientPlan plan_with(const std::vector<std::string>& settings) {
  auto reading =
      parse_job(R"({"dataset": {"path": "d"}, "sample": {"fanout": [2]}})", "base", settings);
  EXPECT_OK(reading);
  EXPECT_EQ(to_string(reading->problems), "");
  const Job& job = reading->job;
  return gradient_plan(job, make_layout(job), job.cluster.device.kind != DeviceKind::cpu);
}

TEST(GradientPlan, DevicesExchangeWhatEachRankHasOnItsOwn) {
  const std::vector<std::vector<std::string>> all = {
      {"cluster.device=emulated:2", "cluster.trainers_per_host=2"},
      {"cluster.device=emulated:1", "cluster.hosts=4"},
      {"cluster.device=emulated:3", "cluster.hosts=2", "cluster.trainers_per_host=2"},
      {"cluster.device=cuda:0,1", "cluster.trainers_per_host=2", "cluster.launch=local"},
      {"cluster.device=cuda", "cluster.trainers_per_host=4", "cluster.launch=local"},
      {"cluster.device=cuda", "cluster.hosts=2", "cluster.launch=local"},
      {"cluster.device=cuda", "cluster.launch=manual", "cluster.listen=127.0.0.1:7000",
       "cluster.hosts=2", "cluster.trusted_network=true"},
      {"cluster.device=emulated:2", "cluster.trainers_per_host=2", "cluster.launch=local"},
  };
  for (const auto& settings : all) {
    const auto plan = plan_with(settings);
    EXPECT_TRUE(plan.by_devices) << settings.front() << ": " << plan.why_not;
    EXPECT_EQ(plan.why_not, "");
    EXPECT_EQ(gradient_text(plan), "; gradients between devices");
  }
}

TEST(GradientPlan, LinksTakeTheOthersAndTheStartSaysWhy) {
  struct Case {
    std::vector<std::string> settings;
    const char* why;
  };
  const std::vector<Case> cases = {
      {{"cluster.device=emulated:1", "cluster.trainers_per_host=2"}, "ranks share a device"},
      {{"cluster.device=emulated:2", "cluster.trainers_per_host=3"}, "ranks share a device"},
      {{"cluster.device=cuda:1", "cluster.hosts=2", "cluster.trainers_per_host=2",
        "cluster.launch=local"},
       "ranks share a device"},
      {{"cluster.device=emulated:1", "cluster.hosts=2", "cluster.launch=local"},
       "emulated devices of several processes"},
      {{"cluster.device=cuda", "cluster.launch=manual", "cluster.listen=127.0.0.1:7000",
        "cluster.hosts=2"},
       "between hosts devices exchange them with cluster.trusted_network alone"},
  };
  for (const auto& [settings, why] : cases) {
    const auto plan = plan_with(settings);
    EXPECT_FALSE(plan.by_devices) << settings.front();
    EXPECT_EQ(gradient_text(plan), fmt::format("; gradients over the links ({})", why));
  }
}

TEST(GradientPlan, NothingIsSaidWhereThereIsNothingToExchange) {
  for (const auto& settings : std::vector<std::vector<std::string>>{
           {}, {"cluster.hosts=2"}, {"cluster.device=emulated:2"}, {"cluster.device=cuda"}}) {
    const auto plan = plan_with(settings);
    EXPECT_FALSE(plan.by_devices);
    EXPECT_EQ(gradient_text(plan), "");
  }
}

TEST(GradientPlan, FastSumsPromiseNoDigest) {
  const auto plan =
      plan_with({"cluster.device=emulated:2", "cluster.trainers_per_host=2", "train.reduce=fast"});
  EXPECT_EQ(plan.options.order, SumOrder::any);
  EXPECT_EQ(gradient_text(plan),
            "; gradients between devices, added in any order (train.reduce \"fast\"): no digest of "
            "parameters is promised");
}

}  // namespace
}  // namespace troupe
