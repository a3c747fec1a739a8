#include "runtime/run/checkpoint.hpp"

#include "tests/runtime/run/checkpoint_samples.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/scratch_folder.hpp"

#include <fstream>
#include <iterator>
#include <limits>
#include <set>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using testing::expect_same;
using testing::sample_checkpoint;

class Checkpoints : public ::testing::Test {
 protected:
  CheckpointFolderOptions options(std::uint32_t keep = 2) const {
    return {.dir = dir_, .keep = keep, .layout = testing::sample_layout, .flush = Flush::no};
  }
  CheckpointFolder folder(std::uint32_t keep = 2) const { return CheckpointFolder(options(keep)); }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(dir_)) {
      found.insert(entry.path().filename().string());
    }
    return found;
  }
  /// Of the newest that is whole, which must be as written; 0: none.
  static std::uint64_t latest_step(const CheckpointFolder& folder) {
    std::vector<SkippedCheckpoint> skipped;
    const auto loaded = folder.latest(skipped);
    if (!loaded.ok()) {
      return 0;
    }
    const auto step = loaded->checkpoint.training.global_step;
    expect_same(loaded->checkpoint, sample_checkpoint(step));
    return step;
  }
  static void put(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }

  testing::ScratchFolder scratch_;
  fs::path dir_ = scratch_.path() / "deep" / "checkpoints";
};

TEST_F(Checkpoints, ComeBackToTheBit) {
  const auto written = sample_checkpoint(12);
  auto options_with_flush = options();
  options_with_flush.flush = Flush::yes;
  ASSERT_OK(CheckpointFolder(options_with_flush).write(written));

  std::vector<SkippedCheckpoint> skipped;
  ASSERT_OK_AND_ASSIGN(const auto loaded, folder().latest(skipped));
  expect_same(loaded.checkpoint, written);
  EXPECT_EQ(loaded.dir, dir_ / "step-12");
  EXPECT_TRUE(skipped.empty());
}

TEST_F(Checkpoints, AreSmallestWithNothingInThem) {
  auto empty = options();
  empty.layout.clear();
  ASSERT_OK(CheckpointFolder(empty).write({}));

  std::vector<SkippedCheckpoint> skipped;
  ASSERT_OK_AND_ASSIGN(const auto loaded, CheckpointFolder(empty).latest(skipped));
  expect_same(loaded.checkpoint, {});
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_ / "step-0"), {}), 1);
}

TEST_F(Checkpoints, TheNewestStayAndTheRestGo) {
  fs::create_directories(dir_ / "step-other");
  for (const std::uint64_t step : {1U, 2U, 9U, 10U}) {
    ASSERT_OK(folder(2).write(sample_checkpoint(step)));
    EXPECT_EQ(latest_step(folder()), step);
  }
  EXPECT_EQ(names(), (std::set<std::string>{"step-10", "step-9", "step-other"}));

  ASSERT_OK(folder(0).write(sample_checkpoint(11)));  // what is just written stays in any case
  EXPECT_EQ(names(), (std::set<std::string>{"step-11", "step-other"}));
}

TEST_F(Checkpoints, OfLaterStepsBelongToAnotherCourseAndGo) {
  for (const std::uint64_t step : {3U, 6U, 9U}) {
    ASSERT_OK(folder(3).write(sample_checkpoint(step)));
  }
  put(dir_ / "step-9" / "manifest.json", "torn");
  EXPECT_EQ(latest_step(folder()), 6U);

  ASSERT_OK(folder(1).write(sample_checkpoint(7)));
  EXPECT_EQ(names(), std::set<std::string>{"step-7"});
}

TEST_F(Checkpoints, OfTheSameStepAreReplaced) {
  ASSERT_OK(folder().write(sample_checkpoint(3)));
  auto other = sample_checkpoint(3);
  other.job = "other";
  ASSERT_OK(folder().write(other));

  std::vector<SkippedCheckpoint> skipped;
  ASSERT_OK_AND_ASSIGN(const auto loaded, folder().latest(skipped));
  expect_same(loaded.checkpoint, other);
  EXPECT_EQ(names(), std::set<std::string>{"step-3"});
}

TEST_F(Checkpoints, NoneIsNotFound) {
  std::vector<SkippedCheckpoint> skipped;
  EXPECT_ERROR(folder().latest(skipped), Errc::not_found, dir_.string());
  EXPECT_TRUE(skipped.empty());
  put(scratch_.path() / "deep", "a file");
  EXPECT_ERROR(folder().latest(skipped), Errc::failed_precondition, "cannot list");
  EXPECT_ERROR(folder().write(sample_checkpoint(1)), Errc::failed_precondition, "cannot list");
}

/// step-8 is hurt by `hurt(text of one file, position)`, for each file and position.
class HurtCheckpoint : public Checkpoints {
 protected:
  void SetUp() override {
    ASSERT_OK(folder().write(sample_checkpoint(4)));
    ASSERT_OK(folder().write(sample_checkpoint(8)));
    for (const auto& entry : fs::directory_iterator(dir_ / "step-8")) {
      files_.push_back(entry.path());
    }
    ASSERT_EQ(files_.size(), 5U);
  }
  /// step-8 is skipped by name, with a reason that names it too, and step-4 used.
  void expect_skipped(const std::string& what) {
    std::vector<SkippedCheckpoint> skipped;
    const auto loaded = folder().latest(skipped);
    ASSERT_OK(loaded) << what;
    EXPECT_EQ(loaded->dir, dir_ / "step-4") << what;
    ASSERT_EQ(skipped.size(), 1U) << what;
    EXPECT_EQ(skipped[0].name, "step-8");
    EXPECT_NE(skipped[0].why.what().find("step-8"), std::string::npos) << skipped[0].why.what();
  }
  std::vector<fs::path> files_;
};

TEST_F(HurtCheckpoint, AnyByteFlippedIsSkipped) {
  for (const auto& file : files_) {
    const auto text = testing::file_text(file);
    std::fstream in_place(file, std::ios::binary | std::ios::in | std::ios::out);
    const auto put_byte = [&](std::size_t at, char byte) {
      in_place.seekp(static_cast<std::streamoff>(at)).put(byte).flush();
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
      put_byte(i, static_cast<char>(text[i] ^ (1 << (i % 8))));
      expect_skipped(file.filename().string() + " at " + std::to_string(i));
      put_byte(i, text[i]);
    }
  }
  EXPECT_EQ(latest_step(folder()), 8U);
}

TEST_F(HurtCheckpoint, AnyFileCutLongerOrGoneIsSkipped) {
  for (const auto& file : files_) {
    const auto text = testing::file_text(file);
    for (std::size_t size = 0; size < text.size(); size += size < 64 ? 1 : 7) {
      put(file, text.substr(0, size));
      expect_skipped(file.filename().string() + " of " + std::to_string(size));
    }
    put(file, text + "\n");
    expect_skipped(file.filename().string() + " longer");
    fs::remove(file);
    expect_skipped(file.filename().string() + " gone");
    fs::create_directories(file);
    expect_skipped(file.filename().string() + " a folder");
    fs::remove(file);
    put(file, text);
  }
  EXPECT_EQ(latest_step(folder()), 8U);
}

TEST_F(HurtCheckpoint, FilesOfAnotherCheckpointAreSkipped) {
  for (const char* name : {"parameters.safetensors", "manifest.json"}) {
    const auto text = testing::file_text(dir_ / "step-8" / name);
    put(dir_ / "step-8" / name, testing::file_text(dir_ / "step-4" / name));
    expect_skipped(name);
    put(dir_ / "step-8" / name, text);
  }
}

TEST_F(HurtCheckpoint, OfAnotherModelAreSkippedAndAllAreNamedWhenNoneIsLeft) {
  auto other = options();
  other.layout[1].name = "conv1.gain";
  std::vector<SkippedCheckpoint> skipped;
  const auto loaded = CheckpointFolder(other).latest(skipped);
  EXPECT_ERROR(loaded, Errc::not_found, "step-8 is skipped");
  EXPECT_ERROR(loaded, Errc::not_found, "step-4 is skipped");
  EXPECT_ERROR(loaded, Errc::not_found, "conv1.gain");
  EXPECT_EQ(skipped.size(), 2U);
}

TEST_F(HurtCheckpoint, TheNewestJobIsReadWhateverTheOtherFiles) {
  auto other = options();
  other.layout[1].name = "conv1.gain";
  put(dir_ / "step-8" / "parameters.safetensors", "cut");
  ASSERT_OK_AND_ASSIGN(const auto job, CheckpointFolder(other).newest_job());
  EXPECT_EQ(job, sample_checkpoint(8).job);

  put(dir_ / "step-8" / "manifest.json", "{");
  ASSERT_OK_AND_ASSIGN(const auto older, folder().newest_job());
  EXPECT_EQ(older, sample_checkpoint(4).job);

  put(dir_ / "step-4" / "manifest.json", "{");
  EXPECT_ERROR(folder().newest_job(), Errc::not_found, "expected a checkpoint with a manifest");
}

TEST(CheckFinite, NamesTheFirstParameterThatIsNoNumber) {
  TrainingState state;
  EXPECT_OK(check_finite(state));
  state.parameters = {0, std::numeric_limits<float>::max(), 1};
  EXPECT_OK(check_finite(state));

  state.parameters[2] = -std::numeric_limits<float>::infinity();
  EXPECT_ERROR(check_finite(state), Errc::failed_precondition, "infinity at 2 of 3");
  state.parameters[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_ERROR(check_finite(state), Errc::failed_precondition, "not a number at 1 of 3");
}

TEST_F(Checkpoints, WhatACrashLeavesIsIgnoredAndRemovedByTheNextWrite) {
  ASSERT_OK(folder().write(sample_checkpoint(5)));
  for (const char* name : {"step-9.tmp-Ab12Cd", "step-9.new", "step-5.new.tmp-xxxxxx",
                           "step-3.tmp-gone", "notes", "step-09", "step-9.txt", "step-9x"}) {
    fs::copy(dir_ / "step-5", dir_ / name, fs::copy_options::recursive);
  }
  EXPECT_EQ(latest_step(folder()), 5U);

  ASSERT_OK(folder().write(sample_checkpoint(6)));
  EXPECT_EQ(names(), (std::set<std::string>{"step-5", "step-6", "notes", "step-09", "step-9.txt",
                                            "step-9x"}));
}

TEST_F(Checkpoints, ACrashWhileReplacingLeavesTheOldOneToBeRead) {
  ASSERT_OK(folder().write(sample_checkpoint(2)));
  ASSERT_OK(folder().write(sample_checkpoint(5)));
  fs::rename(dir_ / "step-5", dir_ / "step-5.old");
  fs::copy(dir_ / "step-2", dir_ / "step-5.new", fs::copy_options::recursive);

  std::vector<SkippedCheckpoint> skipped;
  ASSERT_OK_AND_ASSIGN(const auto loaded, folder().latest(skipped));
  expect_same(loaded.checkpoint, sample_checkpoint(5));
  ASSERT_OK(folder(3).write(sample_checkpoint(6)));
  EXPECT_EQ(names(), (std::set<std::string>{"step-2", "step-5", "step-6"}));
  EXPECT_EQ(latest_step(folder()), 6U);
}

TEST_F(Checkpoints, ACrashAfterReplacingLeavesTheNewOneToBeRead) {
  ASSERT_OK(folder().write(sample_checkpoint(5)));
  auto old = sample_checkpoint(5);
  old.job = "old";
  fs::rename(dir_ / "step-5", scratch_.path() / "new");
  ASSERT_OK(folder().write(old));
  fs::rename(dir_ / "step-5", dir_ / "step-5.old");
  fs::rename(scratch_.path() / "new", dir_ / "step-5");

  EXPECT_EQ(latest_step(folder()), 5U);
  ASSERT_OK(folder().write(sample_checkpoint(6)));
  EXPECT_EQ(names(), (std::set<std::string>{"step-5", "step-6"}));
}

TEST_F(Checkpoints, AFaultAtAnyFileLeavesTheOlderOnesAsTheyWere) {
  for (const std::uint64_t step : {5U, 6U}) {  // replacing, and beside another
    for (int fault = 0; fault < 5; ++fault) {
      fs::remove_all(dir_);
      ASSERT_OK(folder().write(sample_checkpoint(4)));
      ASSERT_OK(folder().write(sample_checkpoint(5)));
      int files = 0;
      auto failing = options();
      failing.before_write = [&](const fs::path& path) -> Status {
        EXPECT_EQ(latest_step(folder()), 5U) << path;  // what a crash at this moment leaves
        return files++ == fault ? Status(Error(Errc::failed_precondition,
                                               path.filename().string() + ": no space"))
                                : ok_status();
      };
      EXPECT_ERROR(CheckpointFolder(failing).write(sample_checkpoint(step)),
                   Errc::failed_precondition, "no space");
      EXPECT_EQ(files, fault + 1);
      EXPECT_EQ(names(), (std::set<std::string>{"step-4", "step-5"}));
      EXPECT_EQ(latest_step(folder()), 5U);
    }
  }
}

TEST_F(Checkpoints, AFullDiskInTheMiddleOfAFileIsAFault) {
  ASSERT_OK(folder().write(sample_checkpoint(4)));
  auto failing = options();
  failing.before_write = [&](const fs::path& path) {
    put(path, "half");  // then the file cannot be made
    return ok_status();
  };
  EXPECT_ERROR(CheckpointFolder(failing).write(sample_checkpoint(5)), Errc::failed_precondition,
               "parameters.safetensors: cannot create");
  EXPECT_EQ(names(), std::set<std::string>{"step-4"});
}

TEST_F(Checkpoints, ArraysThatDoNotFitTheLayoutAreRefused) {
  auto checkpoint = sample_checkpoint(1);
  checkpoint.training.parameters.pop_back();
  EXPECT_ERROR(folder().write(checkpoint), Errc::invalid_argument, "expected 8 parameters, got 7");
  checkpoint = sample_checkpoint(1);
  checkpoint.training.best.push_back(1);
  EXPECT_ERROR(folder().write(checkpoint), Errc::invalid_argument, "9 of the best epoch");
  checkpoint = sample_checkpoint(1);
  checkpoint.training.optimizer.arrays.emplace_back("exp_avg", std::vector<float>{});
  EXPECT_ERROR(folder().write(checkpoint), Errc::invalid_argument, "\"exp_avg\" twice");
  checkpoint = sample_checkpoint(1);
  checkpoint.training.blobs["\xFF"] = {};
  EXPECT_ERROR(folder().write(checkpoint), Errc::invalid_argument, "UTF-8");
  EXPECT_FALSE(fs::exists(dir_ / "step-1"));
}

}  // namespace
}  // namespace troupe
