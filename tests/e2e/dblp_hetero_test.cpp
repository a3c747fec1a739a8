// examples/dblp_hetero, where its data is: import, partition, and learn on the heterogeneous graph.
#include "tests/support/expect.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The data has no licence and is not here: TROUPE_DBLP_HETERO names its folder where somebody has it.
std::vector<std::string> folders() {
  const char* const data = std::getenv("TROUPE_DBLP_HETERO");
  return data == nullptr ? std::vector<std::string>{} : std::vector<std::string>{data};
}

class DblpHetero : public ::testing::TestWithParam<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DblpHetero);
INSTANTIATE_TEST_SUITE_P(Folder, DblpHetero, ::testing::ValuesIn(folders()));

TEST_P(DblpHetero, LearnsTheFieldsOfAuthors) {
  const testing::ScratchFolder scratch;
  const auto folder = scratch.path();
  const auto example = fs::path(TROUPE_SOURCE_DIR) / "examples" / "dblp_hetero";
  for (const auto& entry : fs::directory_iterator(GetParam())) {
    if (entry.path().extension() == ".npy") {
      fs::copy(entry.path(), folder);
    }
  }
  fs::copy(example / "dblp.json", folder);
  fs::copy(example / "job.json", folder);
  const auto troupe = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), TROUPE_PROGRAM);
    return testing::run_process(arguments, folder.string());
  };
  const auto out = (folder / "out").string();

  const auto imported = troupe(
      {"import", "--from", "npy", (folder / "dblp.json").string(), (folder / "store").string()});
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  const auto ran = troupe({"run", (folder / "job.json").string(), "--set", "output=" + out});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;

  std::ifstream in(folder / "out" / "report.json");
  const auto report = json::parse(in, nullptr, false);
  ASSERT_FALSE(report.is_discarded());
  EXPECT_GE(report["scores"]["test"]["accuracy"].get<double>(), 0.885);
  EXPECT_EQ(report["scores"]["test"]["labelled"], 1000);
}

}  // namespace
}  // namespace troupe
