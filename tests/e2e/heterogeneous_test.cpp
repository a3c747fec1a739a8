// The program on a heterogeneous graph: the same bits in one process and in several, and what it refuses.
#include "tests/sim/heterogeneous_support.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <fstream>

namespace troupe {
namespace {

using nlohmann::json;

class HeterogeneousProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(testing::write_heterogeneous_store(scratch_.path() / "graph"));
    std::ofstream(scratch_.path() / "job.json")
        << testing::heterogeneous_job_text(scratch_.path() / "graph", scratch_.path() / "out");
  }
  testing::ProcessResult troupe(const std::string& command,
                                const std::vector<std::string>& settings) const {
    std::vector<std::string> arguments{TROUPE_PROGRAM, command, "job.json"};
    for (const auto& setting : settings) {
      arguments.emplace_back("--set");
      arguments.push_back(setting);
    }
    return run_in_folder(std::move(arguments));
  }
  testing::ProcessResult run_in_folder(std::vector<std::string> arguments) const {
    arguments[2] = (scratch_.path() / arguments[2]).string();
    return testing::run_process(arguments, scratch_.path().string());
  }
  json digests(const std::vector<std::string>& settings) const {
    std::filesystem::remove(scratch_.path() / "out" / "report.json");  // else the run is refused
    const auto ran = troupe("run", settings);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    std::ifstream in(scratch_.path() / "out" / "report.json");
    const auto report = json::parse(in, nullptr, false);
    return report.is_object() ? report["digests"] : json();
  }
  testing::ScratchFolder scratch_;
};

TEST_F(HeterogeneousProgram, ProcessesGiveTheBitsOfASimulation) {
  const auto simulated = digests({"cluster.hosts=2", "partition.parts=2"});
  ASSERT_TRUE(simulated.is_object());
  EXPECT_EQ(digests({"cluster.hosts=2", "partition.parts=2", "cluster.launch=local"}), simulated);
  EXPECT_EQ(digests({"cluster.hosts=2", "partition.parts=4", "cluster.launch=local",
                     "cluster.placement=server_client", "cluster.servers=2"}),
            simulated);
}

TEST_F(HeterogeneousProgram, SaysWhatIsNotBuiltForHeterogeneousGraphs) {
  const auto gcn = troupe("check", {"model.kind=gcn"});
  EXPECT_NE(gcn.exit_code, 0);
  EXPECT_NE(gcn.err.find("/model/kind: expected \"graphsage\""), std::string::npos) << gcn.err;
}

TEST_F(HeterogeneousProgram, PredictGivesTheOutputsOfTheRunAndEmbeddingsOfOtherTypes) {
  ASSERT_TRUE(digests({"eval.mode=exact"}).is_object());
  const auto out = scratch_.path() / "out";
  const auto predict = [&](std::vector<std::string> more) {
    std::vector<std::string> words{TROUPE_PROGRAM, "predict", "job.json", "--model",
                                   (out / "model.safetensors").string()};
    words.insert(words.end(), more.begin(), more.end());
    return run_in_folder(words);
  };
  const auto bytes = [&](const std::string& file) { return testing::file_text(out / file); };

  for (const std::string parts : {"1", "3"}) {
    const auto predicted =
        predict({"--set", "cluster.hosts=" + parts, "--set", "partition.parts=" + parts});
    ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
    EXPECT_EQ(bytes("predict/predictions.npy"), bytes("predictions.npy")) << parts;
    EXPECT_EQ(bytes("predict/node_ids.npy"), bytes("node_ids.npy"));
  }
  const auto papers = predict({"--embeddings", "--nodes", "all", "--node-type", "paper"});
  EXPECT_EQ(papers.exit_code, 0) << papers.err;
  EXPECT_NE(papers.out.find("embeddings of 500 nodes"), std::string::npos) << papers.out;
  const auto of_role = predict({"--embeddings", "--node-type", "paper"});
  EXPECT_EQ(of_role.exit_code, 2);
  EXPECT_NE(of_role.err.find("expected nodes of type \"paper\", found the role \"test\" of type"),
            std::string::npos)
      << of_role.err;
  const auto logits = predict({"--node-type", "paper", "--nodes", "all"});
  EXPECT_EQ(logits.exit_code, 2);
  EXPECT_NE(logits.err.find("--node-type: expected \"author\", found \"paper\""), std::string::npos)
      << logits.err;
}

TEST_F(HeterogeneousProgram, CheckPrintsFanoutsAndBoundsByType) {
  const auto checked = run_in_folder({TROUPE_PROGRAM, "check", "job.json", "--full"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_NE(checked.out.find("\"rev_writes\": [3, 0]"), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("  nodes: "), std::string::npos);
}

}  // namespace
}  // namespace troupe
