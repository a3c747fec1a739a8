#include "runtime/run/metrics_log.hpp"

#include "tests/runtime/run/checkpoint_samples.hpp"
#include "tests/runtime/run/documented_keys.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <csignal>
#include <fstream>
#include <sys/resource.h>

namespace troupe {
namespace {

using nlohmann::json;

class Metrics : public ::testing::Test {
 protected:
  std::string text() const { return testing::file_text(file_); }
  std::vector<json> lines() const {
    std::vector<json> found;
    std::ifstream in(file_);
    for (std::string line; std::getline(in, line);) {
      found.push_back(json::parse(line));
    }
    return found;
  }
  /// What epoch `epoch` (from 0) of two steps writes, from its step `first` on.
  static void write_epoch(MetricsLog& log, std::uint32_t epoch, std::uint64_t first = 0) {
    for (std::uint64_t step = first; step < 2; ++step) {
      EXPECT_OK(log.step({.epoch = epoch,
                          .step = step + 1,
                          .steps = 2,
                          .global_step = 2 * epoch + step + 1,
                          .loss = 0.5,
                          .lr = 0.01,
                          .seconds = 1}));
    }
    EXPECT_OK(log.eval({.epoch = epoch, .last = false, .role = "valid", .seconds = 2}));
    EXPECT_OK(log.epoch(testing::sample_epoch(epoch)));
  }
  static void write_end(MetricsLog& log) {
    EXPECT_OK(log.eval({.epoch = 1, .last = true, .role = "valid", .seconds = 3}));
    EXPECT_OK(log.eval({.epoch = 1, .last = true, .role = "test", .seconds = 4}));
  }

  testing::ScratchFolder folder_;
  std::filesystem::path file_ = folder_.path() / "metrics.jsonl";
};

TEST_F(Metrics, AreObjectsThatCountEpochsFromOne) {
  ASSERT_OK_AND_ASSIGN(auto log, MetricsLog::open(file_));
  ASSERT_OK(log.step({.rank = {},
                      .epoch = 1,
                      .step = 3,
                      .steps = 5,
                      .global_step = 8,
                      .loss = 0.1,
                      .lr = 1e-3,
                      .seconds = 0.25}));
  ASSERT_OK(log.eval({.epoch = 1,
                      .last = true,
                      .role = "test",
                      .seconds = 2,
                      .scores = {.labelled = 4, .accuracy = 0.75, .f1 = {}, .auc = {}}}));
  const auto record = testing::sample_epoch(1);
  ASSERT_OK(log.epoch(record));

  const auto found = lines();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0], json::parse(R"({"kind": "step", "epoch": 2, "step": 3, "global_step": 8,
                                      "loss": 0.1, "lr": 0.001, "seconds_per_step": 0.25})"));
  EXPECT_EQ(found[1], json::parse(R"({"kind": "eval", "epoch": 2, "last": true, "role": "test",
      "seconds": 2.0, "labelled": 4, "accuracy": 0.75, "f1": null, "auc": null})"));
  EXPECT_EQ(found[2]["kind"], "epoch");
  EXPECT_EQ(found[2]["epoch"], 2);
  EXPECT_EQ(found[2]["wait_ns"], ~std::uint64_t{0});
  EXPECT_EQ(found[2]["valid"]["accuracy"], 0.7);
  EXPECT_EQ(found[2]["wait_share"], record.wait_share());
  EXPECT_EQ(found[2]["cache_hit_rate"], *record.cache_hit_rate());
  EXPECT_EQ(found[2]["cache_hit_rate_at_best"], *record.cache_hit_rate_at_best());
}

TEST_F(Metrics, HaveTheKeysThatTheDocumentationLists) {
  ASSERT_OK_AND_ASSIGN(auto log, MetricsLog::open(file_));
  ASSERT_OK(log.start({}));
  ASSERT_OK(log.end({}));
  ASSERT_OK(log.step({}));
  ASSERT_OK(log.eval({}));
  ASSERT_OK(log.epoch({}));
  for (const auto& line : lines()) {
    std::set<std::string> keys;
    for (const auto& [key, value] : line.items()) {
      keys.insert(key);
    }
    EXPECT_EQ(keys, testing::documented_keys("kind `" + line["kind"].get<std::string>() + "`"));
  }
}

TEST_F(Metrics, NumbersThatJsonLacksAreNull) {
  ASSERT_OK_AND_ASSIGN(auto log, MetricsLog::open(file_));
  ASSERT_OK(log.step({.loss = std::numeric_limits<double>::quiet_NaN()}));
  EpochRecord record;
  record.loss = std::numeric_limits<double>::infinity();
  ASSERT_OK(log.epoch(record));
  EXPECT_TRUE(lines()[0]["loss"].is_null());
  EXPECT_TRUE(lines()[1]["loss"].is_null());
  EXPECT_TRUE(lines()[1]["valid"].is_null());
}

TEST_F(Metrics, OfARunThatGoesOnAreThoseOfAnUndisturbedOne) {
  {
    ASSERT_OK_AND_ASSIGN(auto log, MetricsLog::open(file_));
    write_epoch(log, 0);
    write_epoch(log, 1);
    write_end(log);
  }
  const auto undisturbed = text();
  for (std::uint64_t step = 0; step <= 4; ++step) {
    const auto epoch = static_cast<std::uint32_t>(step / 2);
    ASSERT_OK_AND_ASSIGN(auto log, MetricsLog::open(file_, {.global_step = step, .epochs = epoch}));
    if (epoch < 2) {
      write_epoch(log, epoch, step % 2);
    }
    if (epoch < 1) {
      write_epoch(log, 1);
    }
    write_end(log);
    EXPECT_EQ(text(), undisturbed) << "from step " << step;
  }
}

TEST_F(Metrics, HaveTheFirstStartAndTheLastEnd) {
  const auto run = [&](const std::string& start, const MetricsPoint& from) {
    ASSERT_OK_AND_ASSIGN(auto log, MetricsLog::open(file_, from));
    ASSERT_OK(log.start({.start = start, .command = "troupe run", .build = "1", .hosts = {"a"}}));
    write_epoch(log, from.epochs);
    ASSERT_OK(log.end({.status = "done", .seconds = 3, .seconds_per_step = {}}));
  };
  run("first", {});
  run("second", {.global_step = 2, .epochs = 1});

  const auto found = lines();
  ASSERT_EQ(found.size(), 10U);
  EXPECT_EQ(found.front(), json::parse(R"({"kind": "start", "start": "first",
      "command": "troupe run", "build": "1", "hosts": ["a"]})"));
  EXPECT_EQ(found.back(), json::parse(R"({"kind": "end", "status": "done", "seconds": 3.0,
      "seconds_per_step": null})"));
  EXPECT_EQ(found[5]["kind"], "step");
}

TEST_F(Metrics, OfAnEpochWithoutItsEvaluationAreCutBeforeTheEvaluation) {
  ASSERT_OK_AND_ASSIGN(auto log, MetricsLog::open(file_));
  write_epoch(log, 0);
  write_epoch(log, 1);
  auto checkpoint = testing::sample_checkpoint(4);  // whose second epoch is not over
  EXPECT_EQ(metrics_point(checkpoint).epochs, 1U);

  ASSERT_OK(log.rewind(metrics_point(checkpoint)));
  EXPECT_EQ(lines().size(), 6U);
  EXPECT_EQ(lines().back()["global_step"], 4);
  ASSERT_OK(log.rewind({}));
  EXPECT_EQ(text(), "");
}

TEST_F(Metrics, TornAndForeignLinesEndTheFile) {
  {
    ASSERT_OK_AND_ASSIGN(auto log, MetricsLog::open(file_));
    write_epoch(log, 0);
  }
  const auto whole = text();
  const std::string deep(1'000'000, '[');
  const std::vector<std::string> tails = {R"({"kind":"step","epoch":1,"step":1,"global_step":1})",
                                          "{\"kind\":",
                                          "\n",
                                          "null\n",
                                          "{\"kind\":\"other\",\"epoch\":1}\n",
                                          "{\"kind\":\"step\",\"global_step\":-1}\n",
                                          "{\"kind\":\"eval\",\"epoch\":1}\n",
                                          deep + "\n"};
  for (const auto& tail : tails) {
    std::ofstream(file_, std::ios::trunc) << whole << tail;
    EXPECT_OK(MetricsLog::open(file_, {.global_step = 2, .epochs = 1}));
    EXPECT_EQ(text(), whole) << tail.substr(0, 80);
  }
}

TEST_F(Metrics, ALineThatTheDiskCannotTakeLeavesNothing) {
  ASSERT_OK_AND_ASSIGN(auto log, MetricsLog::open(file_));
  write_epoch(log, 0);
  const auto before = text();
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  auto small = limit;
  small.rlim_cur = before.size() + 10;

  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto failed = log.step({});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);

  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_ERROR(failed, Errc::failed_precondition, "metrics.jsonl: cannot write");
  EXPECT_EQ(text(), before);
  EXPECT_OK(log.step({}));
  EXPECT_EQ(lines().size(), 5U);
}

TEST_F(Metrics, AFolderThatIsMissingIsNamed) {
  EXPECT_ERROR(MetricsLog::open(folder_.path() / "none" / "m"), Errc::not_found, "none");
}

}  // namespace
}  // namespace troupe
