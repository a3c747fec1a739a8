// The program on a typed graph: the same bits in one process and in several, and what it refuses.
#include "tests/sim/typed_support.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <fstream>

namespace troupe {
namespace {

using nlohmann::json;

class TypedProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(testing::write_typed_store(scratch_.path() / "graph"));
    std::ofstream(scratch_.path() / "job.json")
        << testing::typed_job_text(scratch_.path() / "graph", scratch_.path() / "out");
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

TEST_F(TypedProgram, ProcessesGiveTheBitsOfASimulation) {
  const auto simulated = digests({"cluster.hosts=2", "partition.parts=2"});
  ASSERT_TRUE(simulated.is_object());
  EXPECT_EQ(digests({"cluster.hosts=2", "partition.parts=2", "cluster.launch=local"}), simulated);
  EXPECT_EQ(digests({"cluster.hosts=2", "partition.parts=4", "cluster.launch=local",
                     "cluster.placement=server_client", "cluster.servers=2"}),
            simulated);
}

TEST_F(TypedProgram, SaysWhatIsNotBuiltForTypedGraphs) {
  const auto exact = troupe("check", {"eval.mode=exact", "model.kind=gcn"});
  EXPECT_NE(exact.exit_code, 0);
  EXPECT_NE(exact.err.find("/eval/mode: expected \"sampled\" for a graph of 3 node types and 4"),
            std::string::npos)
      << exact.err;
  EXPECT_NE(exact.err.find("/model/kind: expected \"graphsage\""), std::string::npos);

  ASSERT_TRUE(digests({}).is_object());
  const auto predicted = run_in_folder({TROUPE_PROGRAM, "predict", "job.json", "--model",
                                        (scratch_.path() / "out/model.safetensors").string()});
  EXPECT_NE(predicted.exit_code, 0);
  EXPECT_NE(predicted.err.find("exact inference on typed graphs is not built yet"),
            std::string::npos)
      << predicted.err;
}

TEST_F(TypedProgram, CheckPrintsFanoutsAndBoundsByType) {
  const auto checked = run_in_folder({TROUPE_PROGRAM, "check", "job.json", "--full"});
  EXPECT_EQ(checked.exit_code, 0) << checked.err;
  EXPECT_NE(checked.out.find("\"rev_writes\": [3, 0]"), std::string::npos) << checked.out;
  EXPECT_NE(checked.out.find("  nodes: "), std::string::npos);
}

}  // namespace
}  // namespace troupe
