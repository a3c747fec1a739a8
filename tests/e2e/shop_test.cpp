// examples/shop: generate the graph and run every job on it, with the output that its README shows.
#include "tests/support/expect.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;

const fs::path shop_example = fs::path(TROUPE_SOURCE_DIR) / "examples" / "shop";

std::string readme_of_shop() {
  std::ostringstream text;
  text << std::ifstream(shop_example / "README.md").rdbuf();
  return text.str();
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
  for (const auto& [job, scores] : {std::pair("weighted", "exact"), std::pair("as_of", "sampled"),
                                    std::pair("last", "sampled")}) {
    const auto out = (scratch.path() / job).string();
    const auto ran = troupe({"run", (shop_example / job).string() + ".json", "--set",
                             "dataset.path=" + store, "--set", "output=" + out});
    ASSERT_EQ(ran.exit_code, 0) << job << ": " << ran.err;
    const auto batches = line_with(ran.out, "batches");
    ASSERT_EQ(batches.size(), 11U + 32U) << ran.out;
    EXPECT_NE(readme.find(batches), std::string::npos) << job << ": " << batches;
    EXPECT_NE(line_with(ran.out, "test ").find(scores), std::string::npos) << ran.out;
  }
}

}  // namespace
}  // namespace troupe
