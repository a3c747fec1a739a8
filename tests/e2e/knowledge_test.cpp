// examples/knowledge: a knowledge graph with the output that its README shows, and learned rows of real processes: interrupted,
// killed, resumed.
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/watched_run.hpp"

#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using nlohmann::json;

const fs::path knowledge_folder = fs::path(TROUPE_SOURCE_DIR) / "examples" / "knowledge";

class KnowledgeExample : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto made = troupe({"import", "--from", "triples", "--relations", "one",
                              (knowledge_folder / "family").string(), store_});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }

  testing::ProcessResult troupe(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), TROUPE_PROGRAM);
    return testing::run_process(arguments, scratch_.path().string());
  }
  /// \param settings  as "key=value"
  std::vector<std::string> command(const std::string& output,
                                   const std::vector<std::string>& settings = {}) const {
    std::vector<std::string> arguments{
        TROUPE_PROGRAM,           "run",   (knowledge_folder / "family.json").string(),    "--set",
        "dataset.path=" + store_, "--set", "output=" + (scratch_.path() / output).string()};
    for (const auto& setting : settings) {
      arguments.emplace_back("--set");
      arguments.push_back(setting);
    }
    return arguments;
  }
  testing::ProcessResult run(const std::vector<std::string>& arguments) const {
    return testing::run_process(arguments, scratch_.path().string());
  }
  json report(const std::string& output) const {
    std::ifstream in(scratch_.path() / output / "report.json");
    return json::parse(in, nullptr, false);
  }
  /// Digests and scores: all that must not depend on how a run went.
  void expect_same(const std::string& output, const std::string& other) const {
    EXPECT_EQ(report(output)["digests"], report(other)["digests"]);
    EXPECT_EQ(report(output)["scores"], report(other)["scores"]);
    EXPECT_FALSE(report(other)["digests"]["tensors"].empty());
  }

  testing::ScratchFolder scratch_;
  std::string store_ = (scratch_.path() / "store").string();
};

TEST_F(KnowledgeExample, GivesTheOutputOfTheReadme) {
  const auto text = testing::file_text(knowledge_folder / "README.md");
  const auto begin = text.find("valid mrr");
  const auto end = text.find("```", begin);
  ASSERT_NE(end, std::string::npos);

  const auto ran = run(command("out"));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find(text.substr(begin, end - begin)), std::string::npos)
      << text.substr(begin, end - begin) << "\nfound\n"
      << ran.out;
  EXPECT_NEAR(report("out")["scores"]["test"]["hits@1"].get<double>(), 0.635, 0.0005);
  EXPECT_NEAR(report("out")["scores"]["test"]["hits@10"].get<double>(), 0.869, 0.0005);

  const auto rows = troupe(
      {"predict", (knowledge_folder / "family.json").string(), "--set", "dataset.path=" + store_,
       "--set", "output=" + (scratch_.path() / "out").string(), "--model",
       (scratch_.path() / "out" / "model.safetensors").string(), "--nodes", "all"});
  EXPECT_EQ(rows.exit_code, 0) << rows.err;
  EXPECT_NE(rows.out.find("learned rows of 334 \"entity\" nodes"), std::string::npos) << rows.out;
  const auto scores = troupe(
      {"predict", (knowledge_folder / "family.json").string(), "--set", "dataset.path=" + store_,
       "--set", "output=" + (scratch_.path() / "out").string(), "--model",
       (scratch_.path() / "out" / "model.safetensors").string(), "--links", "test"});
  EXPECT_EQ(scores.exit_code, 0) << scores.err;
  EXPECT_NE(scores.out.find("scores of 141 triples, 1 column, in "), std::string::npos)
      << scores.out;

  const auto rotate = run(command(
      "rotate", {"task.score.kind=rotate", "train.margin=3", "embedding.entity.init.scale=0.5",
                 "task.regularization.kind=none", "task.regularization.factor=0"}));
  ASSERT_EQ(rotate.exit_code, 0) << rotate.err;
  EXPECT_NEAR(report("rotate")["scores"]["test"]["mrr"].get<double>(), 0.580, 0.0005);
}

TEST_F(KnowledgeExample, LearnsTheSameRowsInProcessesOfTheirOwn) {
  ASSERT_EQ(run(command("whole")).exit_code, 0);
  const auto local =
      run(command("local", {"cluster.launch=local", "partition.parts=3", "cluster.hosts=2"}));
  ASSERT_EQ(local.exit_code, 0) << local.err;
  expect_same("whole", "local");
}

TEST_F(KnowledgeExample, AnInterruptedRunOfProcessesGoesOnToTheSameRows) {
  const std::vector<std::string> job{"cluster.launch=local", "train.epochs=150",
                                     "checkpoint.every.epochs=1", "checkpoint.keep=2"};
  ASSERT_EQ(run(command("whole", job)).exit_code, 0);
  {
    testing::WatchedRun interrupted(command("out", job), scratch_.path().string());
    ASSERT_TRUE(interrupted.wait_for_line("epoch   7/150", 30s)) << interrupted.text();
    ASSERT_TRUE(testing::signal_process(interrupted.pid(), SIGINT));
    ASSERT_EQ(interrupted.wait_for_end(30s), 130) << interrupted.text();
    EXPECT_TRUE(interrupted.wait_for_all(5s).empty());
  }

  auto arguments = command("out", job);
  arguments.emplace_back("--resume");
  const auto rest = run(arguments);

  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_NE(rest.out.find("resuming from"), std::string::npos) << rest.out;
  expect_same("whole", "out");
}

TEST_F(KnowledgeExample, AKilledHostCostsNoBit) {
  const std::vector<std::string> job{"cluster.launch=local", "train.epochs=150",
                                     "checkpoint.every.epochs=1"};
  ASSERT_EQ(run(command("whole", job)).exit_code, 0);

  testing::WatchedRun watched(command("out", job), scratch_.path().string());
  ASSERT_TRUE(watched.wait_for_line("epoch   7/150", 30s)) << watched.text();
  ASSERT_TRUE(testing::signal_process(testing::find_process(watched.mark(), "host 1"), SIGKILL));
  ASSERT_EQ(watched.wait_for_end(60s), 0) << watched.text();

  EXPECT_TRUE(watched.wait_for_all(5s).empty());
  EXPECT_NE(watched.text().find("host 1"), std::string::npos) << watched.text();
  expect_same("whole", "out");
}

}  // namespace
}  // namespace troupe
