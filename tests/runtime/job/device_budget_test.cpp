#include "runtime/job/device_budget.hpp"

#include "runtime/base/value_rule.hpp"
#include "runtime/job/job_file.hpp"
#include "tests/support/expect.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace troupe {
namespace {

using Json = nlohmann::json;

Result<JobReading> with_budget(const std::string& budget) {
  return parse_job(R"({"dataset": {"path": "d"}, "sample": {"fanout": [3]}})", "base",
                   std::vector<std::string>{"features.cache.device_budget=" + budget});
}

TEST(DeviceBudget, IsReadAsBytesShareOrAuto) {
  using Kind = DeviceBudget::Kind;
  const std::vector<std::pair<const char*, DeviceBudget>> all = {
      {"auto", {}},
      {"0", {.kind = Kind::bytes}},
      {"4096", {.kind = Kind::bytes, .bytes = 4096}},
      {"\"64MB\"", {.kind = Kind::bytes, .bytes = 64'000'000}},
      {"2GiB", {.kind = Kind::bytes, .bytes = std::uint64_t{2} << 30}},
      {"0%", {.kind = Kind::share}},
      {"10%", {.kind = Kind::share, .share = 0.1}},
      {"2.5%", {.kind = Kind::share, .share = 0.025}},
      {"100%", {.kind = Kind::share, .share = 1}}};
  for (const auto& [text, expected] : all) {
    ASSERT_OK_AND_ASSIGN(const auto reading, with_budget(text));
    EXPECT_EQ(to_string(reading.problems), "") << text;
    EXPECT_EQ(reading.job.features.device_budget, expected) << text;
    EXPECT_EQ(parse_device_budget(Json(to_string(expected))), expected) << text;
  }
}

TEST(DeviceBudget, OtherTextsAreProblems) {
  for (const char* const text : {"automatic", "-1", "101%", "-1%", "%", "ten%", "1e1%", "10 %",
                                 "nan%", "inf%", "10%%", "1.5", "true", "[1]", "64XB", "3000GB"}) {
    ASSERT_OK_AND_ASSIGN(const auto reading, with_budget(text));
    EXPECT_NE(to_string(reading.problems).find("/features/cache/device_budget"), std::string::npos)
        << text;
  }
}

TEST(DeviceBudget, HasNoMoreBytesThanThereAre) {
  using Kind = DeviceBudget::Kind;
  EXPECT_EQ(budget_bytes({}, 1000, 400), 400U);
  EXPECT_EQ(budget_bytes({}, 1000, 4000), 1000U);
  EXPECT_EQ(budget_bytes({.kind = Kind::bytes, .bytes = 700}, 1000, 400), 700U);
  EXPECT_EQ(budget_bytes({.kind = Kind::bytes, .bytes = 7000}, 1000, 400), 1000U);
  EXPECT_EQ(budget_bytes({.kind = Kind::share, .share = 0.25}, 1000, 0), 250U);
  EXPECT_EQ(budget_bytes({.kind = Kind::share, .share = 1}, 1000, 0), 1000U);
  EXPECT_EQ(budget_bytes({.kind = Kind::share}, 1000, 4000), 0U);
}

TEST(ParseShare, TakesPercent) {
  EXPECT_EQ(parse_share(Json("50%")), 0.5);
  for (const Json& other : {Json("50"), Json(50), Json("%"), Json(""), Json(nullptr)}) {
    EXPECT_EQ(parse_share(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace troupe
