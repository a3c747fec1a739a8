#include "launcher/training_watch.hpp"

#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <signal.h>
#include <sys/resource.h>

namespace troupe {
namespace {

/// Epochs of two steps; the test tells what rank 0 and the director would.
class TrainingWatches : public ::testing::Test {
 protected:
  void SetUp() override {
    watch_.log_every = 1;
    watch_.steps_per_epoch = 2;
    ::testing::internal::CaptureStdout();
    watch_.progress = std::make_unique<Progress>(
        Progress::Options{.epochs = 9, .steps_per_epoch = 2, .metric = "accuracy"});
    open({});
  }
  void TearDown() override {
    watch_.progress.reset();
    ::testing::internal::GetCapturedStdout();
  }
  void open(const MetricsPoint& from) {
    ASSERT_OK_AND_ASSIGN(auto log, MetricsLog::open(file_, from));
    watch_.metrics.emplace(std::move(log));
    watch_.logged = from;
  }
  void tell_step(std::uint64_t global_step) {
    const auto done = global_step - 1;
    watch_.step({.rank = Rank{0},
                 .epoch = static_cast<std::uint32_t>(done / 2),
                 .step = done % 2 + 1,
                 .steps = 2,
                 .global_step = global_step,
                 .seconds = 1});
  }
  void tell_epoch(std::uint32_t epoch) {
    EpochRecord record;
    record.epoch = epoch;
    record.valid.emplace().labelled = 1;
    watch_.epoch(record);
  }
  void tell_steps_and_epoch(std::uint32_t epoch) {
    tell_step(2 * epoch + std::uint64_t{1});
    tell_step(2 * epoch + std::uint64_t{2});
    tell_epoch(epoch);
  }
  /// s3: step 3 of the run; v2 and e2: evaluation and line of the second epoch.
  std::string lines() const {
    std::string found;
    std::ifstream in(file_);
    for (std::string line; std::getline(in, line);) {
      const auto json = nlohmann::json::parse(line);
      const auto kind = json.at("kind").get<std::string>();
      found += kind == "step"   ? "s" + json.at("global_step").dump()
               : kind == "eval" ? "v" + json.at("epoch").dump()
                                : "e" + json.at("epoch").dump();
      found += ' ';
    }
    return found;
  }

  testing::ScratchFolder folder_;
  std::filesystem::path file_ = folder_.path() / "metrics.jsonl";
  TrainingWatch watch_;
};

TEST_F(TrainingWatches, AnEpochIsToldAfterItsSteps) {
  tell_step(1);
  tell_epoch(0);  // over another actor than the steps
  EXPECT_EQ(lines(), "s1 ");
  EXPECT_TRUE(watch_.epochs.empty());
  tell_step(2);
  tell_steps_and_epoch(1);

  EXPECT_EQ(lines(), "s1 s2 v1 e1 s3 s4 v2 e2 ");
  EXPECT_EQ(watch_.epochs.size(), 2U);
}

TEST_F(TrainingWatches, AtTheEndOfARunAllEpochsAreTold) {
  tell_step(1);
  tell_epoch(0);
  watch_.add_epochs(true);

  EXPECT_EQ(lines(), "s1 v1 e1 ");
  EXPECT_EQ(watch_.epochs.size(), 1U);
}

TEST_F(TrainingWatches, ARunResumedBeforeAnEvaluationKeepsWhatWasTold) {
  tell_steps_and_epoch(0);
  tell_steps_and_epoch(1);
  tell_step(5);
  watch_.epochs.resize(2);  // as in the checkpoint of step 4, whose epoch is not over

  open({.global_step = 4, .epochs = 1});
  EXPECT_EQ(lines(), "s1 s2 v1 e1 s3 s4 ");
  tell_epoch(1);
  tell_step(5);

  EXPECT_EQ(lines(), "s1 s2 v1 e1 s3 s4 v2 e2 s5 ");
}

TEST_F(TrainingWatches, WhatARollBackRepeatsReplacesWhatWasTold) {
  tell_steps_and_epoch(0);
  tell_steps_and_epoch(1);
  tell_step(5);

  tell_step(3);  // from a checkpoint of step 2
  EXPECT_EQ(lines(), "s1 s2 v1 e1 s3 ");
  tell_epoch(1);
  tell_step(4);
  tell_step(5);

  EXPECT_EQ(lines(), "s1 s2 v1 e1 s3 s4 v2 e2 s5 ");
  EXPECT_EQ(watch_.epochs.size(), 2U);
}

TEST_F(TrainingWatches, AnEpochThatIsOverAgainBeforeItsStepsAreToldAgainStays) {
  tell_steps_and_epoch(0);
  tell_step(3);
  tell_step(4);  // and the ranks go back to step 3 before the epoch is over

  tell_epoch(1);  // after step 4 was made again
  tell_step(4);
  tell_step(5);

  EXPECT_EQ(lines(), "s1 s2 v1 e1 s3 s4 v2 e2 s5 ");
  EXPECT_EQ(watch_.epochs.size(), 2U);
}

TEST_F(TrainingWatches, AnEpochThatARollBackRepeatsMayBeToldAfterLaterSteps) {
  tell_steps_and_epoch(0);
  tell_steps_and_epoch(1);

  tell_step(2);  // from a checkpoint of step 1
  tell_step(3);
  EXPECT_EQ(lines(), "s1 s2 v1 e1 s3 ");
  tell_epoch(0);  // over another actor than the step after it
  tell_step(4);
  tell_epoch(1);

  EXPECT_EQ(lines(), "s1 s2 v1 e1 s3 s4 v2 e2 ");
  EXPECT_EQ(watch_.epochs.size(), 2U);
}

TEST_F(TrainingWatches, AnEvaluationThatARollBackRepeatsReplacesTheFirst) {
  tell_steps_and_epoch(0);
  tell_step(3);

  tell_epoch(0);  // from a checkpoint of step 2, before the evaluation
  tell_step(3);

  EXPECT_EQ(lines(), "s1 s2 v1 e1 s3 ");
  EXPECT_EQ(watch_.epochs.size(), 1U);
}

TEST_F(TrainingWatches, ALogThatCannotBeWrittenAfterTheRunIsGivenUp) {
  watch_.progress.reset();
  RunRecord record;
  record.test.emplace().labelled = 1;
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);

  watch_.scores(record);

  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_FALSE(watch_.metrics.has_value());
}

}  // namespace
}  // namespace troupe
