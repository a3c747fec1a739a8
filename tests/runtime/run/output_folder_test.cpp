#include "runtime/run/output_folder.hpp"

#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

namespace troupe {
namespace {

namespace fs = std::filesystem;

class OutputFolder : public ::testing::Test {
 protected:
  fs::path first() const { return scratch_.path() / "runs" / "job"; }
  fs::path folder(const std::string& suffix) const { return first().string() + suffix; }
  /// Leaves what a run with this status leaves.
  void leave_run(const fs::path& dir, const std::string& status) const {
    fs::create_directories(dir / "checkpoints" / "step-3");
    std::ofstream(dir / "report.json") << fmt::format(R"({{"status": "{}"}})", status);
  }
  Result<fs::path> choose(OutputRequest request) const {
    request.output = request.output.empty() ? first() : request.output;
    return choose_output(request);
  }

  testing::ScratchFolder scratch_;
};

TEST_F(OutputFolder, IsTheFirstOfARowWithoutARunUnlessItIsGiven) {
  EXPECT_EQ(*choose({}), first());
  fs::create_directories(first() / "store");
  EXPECT_EQ(*choose({}), first());
  leave_run(first(), "done");
  EXPECT_EQ(*choose({}), folder("-2"));
  leave_run(folder("-2"), "interrupted");
  EXPECT_EQ(*choose({}), folder("-3"));
  EXPECT_EQ(*choose({.overwrite = true}), first());
}

TEST_F(OutputFolder, ThatIsGivenIsRefusedWithAFinishedRunOnly) {
  EXPECT_EQ(*choose({.given = true}), first());
  leave_run(first(), "interrupted");
  EXPECT_EQ(*choose({.given = true}), first());
  leave_run(first(), "done");
  EXPECT_ERROR(choose({.given = true}), Errc::failed_precondition, "--overwrite");
  EXPECT_EQ(*choose({.given = true, .overwrite = true}), first());
  EXPECT_EQ(*choose({.given = true, .resume = true}), first());
}

TEST_F(OutputFolder, IsResumedWhereTheNewestUnfinishedRunIs) {
  EXPECT_EQ(*choose({.resume = true}), first());
  leave_run(first(), "done");
  EXPECT_EQ(*choose({.resume = true}), first());
  for (const char* suffix : {"-2", "-9", "-10"}) {
    leave_run(folder(suffix), "interrupted");
  }
  for (const char* suffix : {"-11", "-012", "-x", "x-20"}) {
    leave_run(folder(suffix), "done");
  }
  EXPECT_EQ(*choose({.resume = true}), folder("-10"));
  fs::create_directories(folder("-13"));
  std::ofstream(folder("-13") / "submit.sbatch") << "#!/bin/bash";
  EXPECT_EQ(*choose({.resume = true}), folder("-10"))
      << "the one that is submitted has no checkpoint";
}

TEST_F(OutputFolder, OfARowSharesThatOfItsFirst) {
  EXPECT_EQ(shared_folder("runs/job", "runs/job"), "runs/job");
  EXPECT_EQ(shared_folder("./runs/job-12", "runs/job"), "runs/job");
  for (const char* other :
       {"runs/job-1", "runs/job-two", "runs/other", "elsewhere/job-2", "/tmp/out", "job-2"}) {
    EXPECT_EQ(shared_folder(other, "runs/job"), other);
  }
  EXPECT_EQ(shared_folder("-2", ""), "-2");
}

TEST_F(OutputFolder, IsHeldByOneRunAtATime) {
  const OutputRequest given{.output = first(), .given = true};
  {
    ASSERT_OK_AND_ASSIGN(const auto claim, OutputClaim::take(given));
    EXPECT_EQ(claim.dir(), first());
    const auto second = OutputClaim::take(given);
    EXPECT_ERROR(second, Errc::failed_precondition, fmt::format("in use by pid {} on ", getpid()));
    ASSERT_OK_AND_ASSIGN(const auto beside, OutputClaim::take({.output = first()}));
    EXPECT_EQ(beside.dir(), folder("-2"));
  }
  EXPECT_OK(OutputClaim::take(given));
}

TEST_F(OutputFolder, OfPredictionsIsHeldByOneCommandAtATime) {
  ASSERT_OK_AND_ASSIGN(const auto held, OutputClaim::take_for_predictions(folder("-p")));
  EXPECT_EQ(held.dir(), folder("-p"));
  EXPECT_ERROR(OutputClaim::take_for_predictions(folder("-p")), Errc::failed_precondition,
               fmt::format("is in use by pid {} on ", getpid()));
  ASSERT_OK_AND_ASSIGN(auto unused, OutputClaim::take_for_predictions(folder("-q")));
  std::move(unused).remove_lock();
  EXPECT_FALSE(fs::exists(folder("-q")));
  ASSERT_OK_AND_ASSIGN(auto used, OutputClaim::take_for_predictions(folder("-q")));
  std::ofstream(folder("-q") / "predictions.npy") << "x";
  std::move(used).remove_lock();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder("-q")), {}), 1);
  std::ofstream(folder(".txt")) << "a file";
  EXPECT_ERROR(OutputClaim::take_for_predictions(folder(".txt")), Errc::failed_precondition,
               "--out: ");
}

TEST_F(OutputFolder, IsClearedOfARunButNotOfItsStore) {
  leave_run(first(), "done");
  fs::create_directories(first() / "store");
  std::ofstream(first() / "model.safetensors") << "x";
  std::ofstream(first() / "learned-0.bin") << "x";
  std::ofstream(first() / "learned-1.bin") << "x";
  std::ofstream(first() / "learned-7.bin") << "x";  // of a part whose neighbors have none
  std::ofstream(first() / "trace-host-1.json") << "x";
  std::ofstream(first() / "notes.txt") << "mine";

  ASSERT_OK(clear_output(first()));

  EXPECT_EQ(*choose({.given = true}), first());
  EXPECT_FALSE(fs::exists(first() / "model.safetensors"));
  EXPECT_FALSE(fs::exists(first() / "learned-1.bin"));
  EXPECT_FALSE(fs::exists(first() / "learned-7.bin"));
  EXPECT_FALSE(fs::exists(first() / "trace-host-1.json"));
  EXPECT_FALSE(fs::exists(first() / "checkpoints" / "step-3"));
  EXPECT_TRUE(fs::exists(first() / "store"));
  EXPECT_TRUE(fs::exists(first() / "notes.txt"));
}

}  // namespace
}  // namespace troupe
