// examples/links: split edges, and write batches of links, with the output that its README shows.
#include "tests/support/expect.hpp"
#include "tests/support/npy_reader.hpp"
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

const fs::path examples_folder = fs::path(TROUPE_SOURCE_DIR) / "examples";

class LinksExample : public ::testing::Test {
 protected:
  auto troupe(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), TROUPE_PROGRAM);
    return testing::run_process(arguments, scratch_.path().string());
  }
  auto troupe_job(const std::string& command, std::vector<std::string> more) const {
    std::vector<std::string> arguments{command, (examples_folder / "links" / "cora.json").string(),
                                       "--set", "dataset.path=" + store_,
                                       "--set", "output=" + (scratch_.path() / "run").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return troupe(arguments);
  }

  void SetUp() override {
    const auto made = troupe({"import", "--edge-split", "0.8,0.1,0.1",
                              (examples_folder / "data" / "cora").string(), store_});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }

  testing::ScratchFolder scratch_;
  std::string store_ = (scratch_.path() / "store").string();
};

TEST_F(LinksExample, GivesTheBatchesOfTheReadme) {
  std::ostringstream readme;
  readme << std::ifstream(examples_folder / "links" / "README.md").rdbuf();
  const auto out = scratch_.path() / "batches";
  const auto ran = troupe_job("batches", {"--epoch", "1", "--count", "2", "-o", out.string()});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto at = ran.out.find("\nbatches ");
  ASSERT_NE(at, std::string::npos) << ran.out;
  const auto line = ran.out.substr(at + 1, 8 + 32);
  EXPECT_NE(readme.str().find(line), std::string::npos) << line;

  const auto batch = out / "batch-1";
  const auto nodes = testing::read_npy(batch / "nodes-node" / "ids.npy").size();
  for (const auto& [name, size] :
       {std::pair("link_sources", 256U), std::pair("link_destinations", 256U),
        std::pair("negative_sources", 512U), std::pair("negative_destinations", 512U)}) {
    const auto places = testing::read_npy(batch / (std::string(name) + ".npy")).as<std::uint32_t>();
    EXPECT_EQ(places.size(), size) << name;
    for (const auto place : places) {
      EXPECT_LT(place, nodes) << name;
    }
  }
  EXPECT_FALSE(fs::exists(batch / "seeds.npy"));
}

TEST_F(LinksExample, AreForProgramsAndNotForTheBuiltInModels) {
  const auto checked = troupe_job("check", {});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_NE(checked.out.find("a program of your own"), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("an epoch: 34 batches in 17 steps"), std::string::npos) << checked.out;
  const auto ran = troupe_job("run", {});
  EXPECT_EQ(ran.exit_code, 2) << ran.out;
  EXPECT_NE(ran.err.find("/task/kind"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace troupe
