// Seeds from a file of the job (`dataset.seeds`), read by every process of a run and by the commands
// that need none.
#include "tests/support/expect.hpp"
#include "tests/support/folded_cora.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace troupe {
namespace {

class OwnSeedsRun : public ::testing::Test {
 protected:
  void SetUp() override { write(300); }
  /// As many ids, some of them twice.
  void write(int count) const {
    std::ofstream file(ids());
    for (int i = 0; i < count; ++i) {
      file << i * 97 % 200 << '\n';
    }
  }
  std::string ids() const { return (scratch_.path() / "ids.txt").string(); }
  testing::ProcessResult troupe(const std::string& command, const std::string& output,
                                const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{TROUPE_PROGRAM, command, testing::quick_job().string()};
    const auto set = [&](std::string value) {
      words.emplace_back("--set");
      words.push_back(std::move(value));
    };
    set(fmt::format("dataset.seeds.train={}", ids()));
    set(fmt::format("output={}", (scratch_.path() / output).string()));
    set("checkpoint.every.epochs=1");
    for (const auto& word : more) {
      if (word.starts_with("-") || words.back().starts_with("-")) {
        words.push_back(word);
      } else {
        set(word);
      }
    }
    return testing::run_process(words, scratch_.path().string());
  }
  static std::string batches_of(const testing::ProcessResult& run) {
    const std::string word = "\nbatches    ";
    const auto at = run.out.find(word);
    return at == std::string::npos ? run.out + run.err : run.out.substr(at + word.size(), 32);
  }

  testing::ScratchFolder scratch_;
};

TEST_F(OwnSeedsRun, ProcessesAndResumedRunsHaveThemAndOtherFilesAreRefused) {
  const auto whole = troupe("run", "whole", {"train.epochs=3"});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const auto local =
      troupe("run", "local", {"train.epochs=3", "cluster.launch=local", "cluster.hosts=2"});
  EXPECT_EQ(local.exit_code, 0) << local.err;
  EXPECT_EQ(batches_of(local), batches_of(whole));

  ASSERT_EQ(troupe("run", "part", {"train.epochs=2"}).exit_code, 0);
  write(299);
  const auto refused = troupe("run", "part", {"train.epochs=3", "--resume"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_NE(refused.err.find("the store, or a file of dataset.seeds, was made anew since"),
            std::string::npos)
      << refused.err;
  write(300);
  const auto resumed = troupe("run", "part", {"train.epochs=3", "--resume"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(batches_of(resumed), batches_of(whole));
}

TEST_F(OwnSeedsRun, CommandsCountThemAndNameWhatDoesNotFit) {
  const auto checked = troupe("check", "check", {"--measure", "0"});
  EXPECT_NE(checked.out.find("an epoch: 10 batches in 5 steps"), std::string::npos)
      << checked.out << checked.err;
  const auto batches = troupe("batches", "batches",
                              {"--out", (scratch_.path() / "written").string(), "--epoch", "1"});
  EXPECT_NE(batches.out.find("10 batches of epoch 1: 300 seeds"), std::string::npos)
      << batches.out << batches.err;
  std::ofstream(ids()) << "5\n2708\n";
  for (const auto* command : {"run", "check"}) {
    const auto refused = troupe(command, "refused");
    EXPECT_EQ(refused.exit_code, 3);
    EXPECT_NE(refused.err.find("/dataset/seeds/train: "), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("line 2: expected an id below 2708 in column 0, got \"2708\""),
              std::string::npos)
        << refused.err;
  }
}

}  // namespace
}  // namespace troupe
