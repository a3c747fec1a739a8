// examples/links: split edges, and write batches of links, with the output that its README shows.
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
  const auto readme = testing::file_text(examples_folder / "links" / "README.md");
  const auto out = scratch_.path() / "batches";
  const auto ran = troupe_job("batches", {"--epoch", "1", "--count", "2", "-o", out.string()});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto at = ran.out.find("\nbatches ");
  ASSERT_NE(at, std::string::npos) << ran.out;
  const auto line = ran.out.substr(at + 1, 8 + 32);
  EXPECT_NE(readme.find(line), std::string::npos) << line;

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

/// The line of a run's output that begins with a word.
std::string line_of(const std::string& out, const std::string& word) {
  const auto at = out.find("\n" + word);
  return at == std::string::npos ? "" : out.substr(at + 1, out.find('\n', at + 1) - at - 1);
}

TEST_F(LinksExample, AreLearnedInOneProcessAndInSeveral) {
  const auto readme = testing::file_text(examples_folder / "links" / "README.md");
  const auto job = (examples_folder / "links" / "sage.json").string();
  const auto run = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"run", job, "--set", "dataset.path=" + store_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return troupe(arguments);
  };
  const auto whole = run({"--set", "output=" + (scratch_.path() / "whole").string()});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const auto batches = line_of(whole.out, "batches");
  ASSERT_NE(batches, "") << whole.out;
  EXPECT_NE(readme.find(batches), std::string::npos) << batches;
  const auto test = line_of(whole.out, "test  auc ");
  ASSERT_GT(test.size(), 16U) << whole.out;
  EXPECT_GT(std::stod(test.substr(10, 6)), 0.87) << test;
  EXPECT_NE(whole.out.find("968 links, exact"), std::string::npos) << whole.out;

  const std::vector<std::string> brief{"--set", "train.epochs=1", "--set"};
  std::vector<std::string> parameters;
  for (const char* launch : {"simulate", "local"}) {
    auto more = brief;
    more.insert(more.end(), {std::string("cluster.launch=") + launch, "--set",
                             "output=" + (scratch_.path() / launch).string()});
    const auto ran = run(more);
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    parameters.push_back(line_of(ran.out, "parameters"));
    EXPECT_NE(line_of(ran.out, "test  auc"), "");
  }
  EXPECT_EQ(parameters[0], parameters[1]);
  EXPECT_NE(parameters[0], "");
}

TEST_F(LinksExample, GiveRowsOfAllNodesWithoutLabels) {
  const auto out = scratch_.path() / "unsupervised";
  const auto ran = troupe({"run", (examples_folder / "links" / "sage.json").string(), "--set",
                           "dataset.path=" + store_, "--set", "task.kind=unsupervised", "--set",
                           "train.epochs=1", "--set", "output=" + out.string()});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(testing::read_npy(out / "predictions.npy").shape, (std::vector<std::size_t>{2708, 64}));
  EXPECT_EQ(testing::read_npy(out / "node_ids.npy").as<std::int64_t>().back(), 2707);
}

}  // namespace
}  // namespace troupe
