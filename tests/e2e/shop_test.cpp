// examples/shop: generate the graph and run every job on it, with the output that its README shows.
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;

const fs::path shop_example = fs::path(TROUPE_SOURCE_DIR) / "examples" / "shop";

std::string readme_of_shop() {
  return testing::file_text(shop_example / "README.md");
}

/// The line of an output that begins with a word; empty if there is none.
std::string line_with(const std::string& output, const std::string& word) {
  const auto at = output.find("\n" + word);
  return at == std::string::npos ? "" : output.substr(at + 1, output.find('\n', at + 1) - at - 1);
}

TEST(Shop, JobsGiveTheBatchesOfTheReadme) {
  const testing::ScratchFolder scratch;
  const auto readme = readme_of_shop();
  const auto troupe = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), TROUPE_PROGRAM);
    return testing::run_process(arguments, scratch.path().string());
  };
  const auto store = (scratch.path() / "store").string();
  const auto made = troupe(
      {"generate", "heterogeneous", "--schema", (shop_example / "schema.json").string(), store});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto run_job = [&](const std::string& job, const std::string& out,
                           const std::vector<std::string>& settings) {
    std::vector<std::string> arguments{"run", (shop_example / job).string() + ".json"};
    for (const auto& setting : settings) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    arguments.insert(arguments.end(), {"--set", "dataset.path=" + store, "--set",
                                       "output=" + (scratch.path() / out).string()});
    return troupe(arguments);
  };
  for (const auto& [job, scores] : {std::pair<std::string, std::string>("weighted", "exact"),
                                    {"as_of", "sampled"},
                                    {"last", "sampled"},
                                    {"weighted_as_of", "sampled"}}) {
    const auto ran = run_job(job, job, {});
    ASSERT_EQ(ran.exit_code, 0) << job << ": " << ran.err;
    const auto batches = line_with(ran.out, "batches");
    ASSERT_EQ(batches.size(), 11U + 32U) << ran.out;
    EXPECT_NE(readme.find(batches), std::string::npos) << job << ": " << batches;
    EXPECT_NE(line_with(ran.out, "test ").find(scores), std::string::npos) << ran.out;
    const auto spread = run_job(job, job + "-spread",
                                {"cluster.hosts=3", "partition.method=random", "partition.parts=5",
                                 "sample.cache.budget=1MB", "cluster.samplers_per_trainer=2"});
    ASSERT_EQ(spread.exit_code, 0) << job << ": " << spread.err;
    EXPECT_EQ(line_with(spread.out, "batches"), batches) << job;
  }
}

}  // namespace
}  // namespace troupe
