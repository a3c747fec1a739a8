// examples/samplers: run every job, with the output that its README shows, and in another layout.
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/npy_reader.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;

const fs::path sampler_examples = fs::path(TROUPE_SOURCE_DIR) / "examples" / "samplers";

class SamplerExamples : public ::testing::Test {
 protected:
  static std::string readme() { return testing::file_text(sampler_examples / "README.md"); }
  /// The last line of an output that begins with a word, with its digest.
  static std::string digest_line(const std::string& output, const std::string& word) {
    const auto at = output.rfind("\n" + word);
    return at == std::string::npos ? "" : output.substr(at + 1, output.find('\n', at + 1) - at - 1);
  }
  auto troupe(const std::string& command, const std::string& job,
              const std::vector<std::string>& settings, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{TROUPE_PROGRAM, command,
                                       (sampler_examples / (job + ".json")).string()};
    for (const auto& setting : settings) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return testing::run_process(arguments, scratch_.path().string());
  }

  testing::ScratchFolder scratch_;
};

TEST_F(SamplerExamples, GiveTheBatchesOfTheReadme) {
  const auto text = readme();
  for (const std::string job : {"labor", "induced", "bidirectional"}) {
    const auto folder = (scratch_.path() / job).string();
    const auto ran = troupe("run", job, {"output=" + folder});
    ASSERT_EQ(ran.exit_code, 0) << job << ": " << ran.err;
    const auto batches = digest_line(ran.out, "batches");
    ASSERT_EQ(batches.size(), 11U + 32U) << ran.out;
    EXPECT_NE(text.find(batches), std::string::npos) << job << ": " << batches;
    const auto spread = troupe("run", job,
                               {"cluster.hosts=3", "partition.parts=5", "partition.halo=1",
                                "cluster.samplers_per_trainer=2", "output=" + folder + "-spread"});
    ASSERT_EQ(spread.exit_code, 0) << job << ": " << spread.err;
    EXPECT_EQ(digest_line(spread.out, "batches"), batches) << job;
  }
}

TEST_F(SamplerExamples, WalksAreWrittenWithTheirPairs) {
  const auto out = scratch_.path() / "walks";
  const auto ran = troupe("batches", "walks", {}, {"--count", "2", "-o", out.string()});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto batches = digest_line(ran.out, "batches ");
  EXPECT_NE(readme().find(batches), std::string::npos) << batches;
  const auto batch = out / "batch-1";
  const auto walks = testing::read_npy(batch / "walks.npy").as<std::int64_t>();
  ASSERT_EQ(walks.size(), 64U * 4 * 11);
  const auto ids = testing::read_npy(batch / "nodes-node" / "ids.npy");
  for (const auto place : walks) {
    ASSERT_LT(place, static_cast<std::int64_t>(ids.size()));
  }
  const auto centers = testing::read_npy(batch / "pair_centers.npy").as<std::uint32_t>();
  const auto contexts = testing::read_npy(batch / "pair_contexts.npy").as<std::uint32_t>();
  ASSERT_EQ(centers.size(), contexts.size());
  EXPECT_GT(centers.size(), 64U * 4 * 40);
  for (std::size_t i = 0; i < centers.size(); ++i) {
    ASSERT_EQ(centers[i] / 11, contexts[i] / 11) << "of one walk";
    ASSERT_GE(walks[contexts[i]], 0);
  }
  EXPECT_TRUE(fs::exists(batch / "seeds.npy"));
  EXPECT_EQ(testing::read_npy(batch / "edges-edge" / "sources.npy").as<std::uint32_t>().size(), 0U);
}

TEST_F(SamplerExamples, WalksAreForProgramsAndNotForTheBuiltInModels) {
  const auto checked = troupe("check", "walks", {});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_NE(checked.out.find("a program of your own"), std::string::npos) << checked.out;
  const auto ran = troupe("run", "walks", {});
  EXPECT_EQ(ran.exit_code, 2) << ran.out;
  EXPECT_NE(ran.err.find("/task/kind"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace troupe
