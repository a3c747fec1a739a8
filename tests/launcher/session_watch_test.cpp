#include "launcher/session_watch.hpp"

#include "runtime/job/job_file.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/store_writer.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace troupe {
namespace {

/// Two ranks with epochs of one step.
class SessionWatches : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(testing::write_graph_store(testing::random_graph(20, 60, 2).contents,
                                         folder_.path() / "store"));
    ASSERT_OK_AND_ASSIGN(auto reading, parse_job(R"({"dataset": {"path": "store"}, "seed": 1,
        "sample": {"fanout": [2]}, "cluster": {"hosts": 2}, "log_every": 1})",
                                                 folder_.path(), {}));
    reading.job.output = folder_.path();
    ASSERT_OK_AND_ASSIGN(watch_, SessionWatch::begin(reading.job, {.command = "troupe run job"},
                                                     [](const auto&) {}));
    metrics_ = reading.job.output / "metrics.jsonl";
  }

  void tell_step(std::uint32_t epoch) {
    watch_->step({.rank = Rank{0},
                  .epoch = epoch,
                  .step = 1,
                  .steps = 1,
                  .global_step = epoch + std::uint64_t{1},
                  .seconds = 1});
  }
  void tell_epoch(std::uint32_t rank, std::uint32_t epoch) {
    net::RankEpoch over;
    over.result.rank = static_cast<Rank>(rank);
    over.result.epoch = epoch;
    over.global_step = epoch + std::uint64_t{1};
    watch_->epoch(over);
  }
  void run_epoch(std::uint32_t epoch) {
    tell_epoch(1, epoch);  // the ranks' processes are not in step with each other
    tell_step(epoch);
    tell_epoch(0, epoch);
  }
  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> found;
    std::ifstream in(metrics_);
    for (std::string line; std::getline(in, line);) {
      found.push_back(nlohmann::json::parse(line));
    }
    return found;
  }
  /// Of the lines after the first, which says how the run was started.
  std::string kinds() const {
    std::string found;
    const auto all = lines();
    for (std::size_t i = 1; i < all.size(); ++i) {
      found += all[i].at("kind").get<std::string>().substr(0, 1) +
               std::to_string(all[i].at("epoch").get<int>()) + " ";
    }
    return found;
  }

  testing::ScratchFolder folder_;
  std::shared_ptr<SessionWatch> watch_;
  std::filesystem::path metrics_;
};

TEST_F(SessionWatches, StepsAndEpochsAreLoggedInOrder) {
  run_epoch(0);
  run_epoch(1);

  EXPECT_EQ(kinds(), "s1 e1 s2 e2 ");
}

TEST_F(SessionWatches, LogAndReportSayHowTheRunWasStartedAndEnded) {
  watch_->start();
  constexpr std::uint32_t epochs = StepTimes::left_out + 1;
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    run_epoch(epoch);
  }
  EXPECT_EQ(watch_->finish(SessionOutcome{}, {}, false), ExitCode::done);

  std::ifstream in(metrics_.parent_path() / "report.json");
  const auto report = nlohmann::json::parse(in);
  EXPECT_EQ(report["command"], "troupe run job");
  EXPECT_EQ(report["start"].get<std::string>().size(), std::string("2026-05-01T09:30:00Z").size());
  EXPECT_EQ(report["hosts"].size(), 1U);
  EXPECT_EQ(report["seconds_per_step"], 1.0);
  EXPECT_GE(report["seconds"]["total"], report["seconds"]["run"]);
  EXPECT_EQ(report["digests"]["tensors"], nlohmann::json::object());
  EXPECT_EQ(report["digests"]["best_tensors"], nullptr) << "only the program knows its best epoch";
  const auto logged = lines();
  for (const auto* key : {"start", "command", "hosts"}) {
    EXPECT_EQ(logged.front()[key], report[key]) << key;
  }
  EXPECT_EQ(logged.front()["kind"], "start");
  EXPECT_EQ(logged.back(), (nlohmann::json{{"kind", "end"},
                                           {"status", "done"},
                                           {"seconds", report["seconds"]["total"]},
                                           {"seconds_per_step", 1.0}}));
}

TEST_F(SessionWatches, RanksThatGoBackLogTheirStepsOnce) {
  run_epoch(0);
  run_epoch(1);
  ASSERT_OK(watch_->go_back());
  EXPECT_EQ(kinds(), "");

  run_epoch(0);
  run_epoch(1);

  EXPECT_EQ(kinds(), "s1 e1 s2 e2 ");
}

TEST_F(SessionWatches, WhatAnEndedProcessHadToldIsNotKeptIfItComesLate) {
  const auto lates = std::to_array<std::function<void()>>({
      [this] { tell_step(2); },
      [this] { tell_epoch(0, 2); },
      [this] { tell_epoch(1, 2); },
      [this] {
        tell_step(2);
        tell_epoch(0, 2);
        tell_epoch(1, 2);
      },
  });
  for (std::size_t late = 0; late < lates.size(); ++late) {
    SCOPED_TRACE(late);
    run_epoch(0);
    run_epoch(1);
    ASSERT_OK(watch_->go_back());

    lates[late]();
    for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
      run_epoch(epoch);
    }

    EXPECT_EQ(kinds(), "s1 e1 s2 e2 s3 e3 s4 e4 ");
    ASSERT_OK(watch_->go_back());
  }
}

}  // namespace
}  // namespace troupe
