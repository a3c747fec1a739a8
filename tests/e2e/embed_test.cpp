// A user program in every launch mode: the same results, arguments, mistakes.
#include "runtime/graph/store.hpp"
#include "tests/e2e/embed_fixture.hpp"
#include "tests/e2e/other_build.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/network_hosts.hpp"
#include "tests/support/slurm_cluster.hpp"
#include "tests/support/watched_run.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string_view>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::Embed;
using testing::line_of;
using testing::ProcessResult;
using testing::Words;

TEST_F(Embed, AStoreOfOnesOwnIsPartitionedByAnOwnMethodAndLearned) {
  const auto people = output("people");
  const auto parts = output("people_parts");
  const auto written = run({built() + "/store_build/write_store", people});
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_EQ(line_of(written, "4000"), written.out.substr(0, written.out.size() - 1));
  const auto made = run({built() + "/store_build/partition_store", people, parts});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, "2 parts by by_group\n");
  ASSERT_OK_AND_ASSIGN(const auto store, PartitionedStore::open(parts, {}));
  const auto& info = store.partition();
  EXPECT_EQ(info.method, "by_group");
  EXPECT_LT(info.cut_edges * 5, store.info().edge_types[0].count) << "groups keep to themselves";

  const auto ran = run({built() + "/installed/bin/troupe", "run",
                        std::string(TROUPE_SOURCE_DIR) + "/examples/store/job.json", "--set",
                        "dataset.path=" + parts, "--set", "output=" + output("people_run")});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  std::ifstream in(output("people_run") + "/report.json");
  const auto report = nlohmann::json::parse(in);
  EXPECT_GE(report["scores"]["test"]["accuracy"].get<double>(), 0.9);
  EXPECT_NE(run({built() + "/store_build/write_store", people}).exit_code, 0) << "it exists";
}

TEST_F(Embed, AModelOfOnesOwnLearnsAndHasTheSameResultsOnOneAndTwoHosts) {
  const auto own_model = [this](const std::string& out, const Words& settings) {
    auto words = command(out, settings);
    words[2] = std::string(TROUPE_SOURCE_DIR) + "/examples/own_model/cora.json";
    words.insert(words.end(), {"--", built() + "/model_build/own_model"});
    return run(words);
  };
  const auto two = own_model("model-two", {});
  const auto one =
      own_model("model-one", {"--set", "cluster.hosts=1", "--set", "cluster.trainers_per_host=2"});
  ASSERT_EQ(two.exit_code, 0) << two.out << two.err;
  ASSERT_EQ(one.exit_code, 0) << one.out << one.err;
  for (const char* word : {"batches", "test", "weights"}) {
    EXPECT_EQ(line_of(one, word), line_of(two, word));
  }
  EXPECT_GE(std::stod("0" + line_of(two, "test accuracy").substr(14)), 0.75) << two.out;
}

TEST_F(Embed, TheSameProgramRunsOnOneAndTwoHostsWithTheSameResults) {
  const auto two = run(program_command("two", {}));
  const auto one = run(
      program_command("one", {"--set", "cluster.hosts=1", "--set", "cluster.trainers_per_host=2"}));
  const auto built_in = run(command("built-in", {"--set", "eval.every=0"}));

  ASSERT_EQ(two.exit_code, 0) << two.err;
  ASSERT_EQ(one.exit_code, 0) << one.err;
  ASSERT_EQ(built_in.exit_code, 0) << built_in.err;
  EXPECT_NE(two.out.find("2 ranks on 2 simulated hosts"), std::string::npos) << two.out;
  EXPECT_NE(one.out.find("2 ranks on 1 simulated hosts"), std::string::npos) << one.out;
  for (const char* word : {"batches", "weights", "test"}) {
    EXPECT_EQ(line_of(one, word), line_of(two, word));
  }
  const auto digest = line_of(two, "batches").substr(8);
  EXPECT_NE(line_of(built_in, "batches").find(digest), std::string::npos) << built_in.out;
  EXPECT_GE(std::stod("0" + line_of(two, "test accuracy").substr(14)), 0.77) << two.out;
}

TEST_F(Embed, OnDevicesItsWeightsHaveTheSameBits) {
  const auto& on_cpu = run_once("simulated", {});
  ASSERT_EQ(on_cpu.exit_code, 0) << on_cpu.err;
  const auto on_devices = [this](const std::string& out, Words settings) {
    settings.insert(settings.end(), {"--", built() + "/build/device_trainer"});
    return run(command(out, settings));
  };
  const auto expect_same = [&](const ProcessResult& ran, const char* exchanged) {
    ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err;
    EXPECT_EQ(line_of(ran, "weights"), line_of(on_cpu, "weights")) << ran.out;
    EXPECT_EQ(line_of(ran, "batches"), line_of(on_cpu, "batches"));
    EXPECT_EQ(line_of(ran, "gradients between devices:"),
              std::string("gradients between devices: ") + exchanged);
  };
  const Words device = {"--set", "cluster.device=emulated:1"};
  expect_same(on_devices("device-parts", device), "yes");
  auto whole = device;
  whole.insert(whole.end(), {"--set", "partition.parts=1", "--set", "cluster.replicas=2"});
  expect_same(on_devices("device-whole", whole), "yes");
  auto processes = device;
  processes.insert(processes.end(), {"--set", "cluster.launch=local"});
  expect_same(on_devices("device-processes", processes), "no");

  const auto without = on_devices("device-none", {});
  EXPECT_EQ(without.exit_code, 3) << without.out;
  // Both ranks find that out; the first one ends the run.
  EXPECT_TRUE(without.err.starts_with("troupe: rank 0: expected a device, found a CPU\n") ||
              without.err.starts_with("troupe: rank 1: expected a device, found a CPU\n"))
      << without.err;
}

/// device_trainer with the package's component "cuda".
class EmbedWithCuda : public Embed {
 protected:
  ProcessResult configure(const Words& options) const {
    Words words = testing::configure_example("embed", output("build"), built() + "/installed");
    words.emplace_back("-DWITH_CUDA=ON");
    words.insert(words.end(), options.begin(), options.end());
    return run(words);
  }
  ProcessResult train(const std::string& device) const {
    return run(command(device, {"--set", "cluster.device=" + device, "--set", "train.epochs=2",
                                "--", output("build") + "/device_trainer"}));
  }
  static constexpr std::string_view cuda_root = TROUPE_CUDA_ROOT;
};

TEST_F(EmbedWithCuda, AProgramHasGpusBesideEmulatedDevicesAndStartsWithoutADriver) {
  if (cuda_root.empty()) {
    GTEST_SKIP() << "built without a CUDA compiler";
  }
  const auto configured = configure({"-DCUDAToolkit_ROOT=" + std::string(cuda_root)});
  ASSERT_EQ(configured.exit_code, 0) << configured.out << configured.err;
  const auto made = run({TROUPE_CMAKE, "--build", output("build"), "--target", "device_trainer"});
  ASSERT_EQ(made.exit_code, 0) << made.out << made.err;
  const auto emulated = train("emulated:1");
  EXPECT_EQ(emulated.exit_code, 0) << emulated.err;
  const auto on_gpu = train("cuda");
  EXPECT_NE(on_gpu.exit_code, 0);
  const bool no_gpu = on_gpu.err.find("CUDA devices: expected ") != std::string::npos;
  EXPECT_TRUE(no_gpu || on_gpu.err.find("kernels of this example:") != std::string::npos)
      << on_gpu.err;
}

TEST_F(EmbedWithCuda, WhatIsMissingIsSaidWhenItIsConfigured) {
  const auto configured = configure({"-DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON"});
  EXPECT_NE(configured.exit_code, 0);
  EXPECT_NE(configured.err.find(cuda_root.empty() ? "expected a Troupe with code for GPUs"
                                                  : "expected the runtime of CUDA 13, found none"),
            std::string::npos)
      << configured.err;
}

TEST_F(Embed, WhatProcessesPrintIsKeptByProcess) {
  const auto ran = run(program_command("logged", {"--set", "cluster.launch=local"}));
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::string log = testing::file_text(output("logged") + "/logs/host-0.log");
  EXPECT_NE(log.find("epoch 1:"), std::string::npos) << log;
  EXPECT_NE(ran.out.find("[host 0] epoch 1:"), std::string::npos) << ran.out;
}

TEST_F(Embed, RunsInProcessesOfEveryPlacement) {
  for (const std::string placement : {"collocated", "worker", "server_client"}) {
    SCOPED_TRACE(placement);
    expect_results_of_simulation(run(program_command(
        placement, {"--set", "cluster.launch=local", "--set", "cluster.placement=" + placement})));
  }
}

class EmbedByHand : public Embed {
 protected:
  static inline const Words settings = {"--set", "cluster.launch=manual", "--set",
                                        "cluster.listen=127.0.0.1:0"};
  /// Of the test's output.
  static std::string name() {
    return ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  void start() {
    run_.emplace(program_command(name(), settings), folder());
    ASSERT_TRUE(run_->wait_for_line("--director ", 60s)) << run_->text();
  }
  std::unique_ptr<testing::Process> join(const std::string& host, const Words& more) const {
    auto words = command(name(), settings);
    words[1] = "join";
    words.insert(words.end(), {"--director", run_->word_after("--director "), "--token-file",
                               output(name()) + "/token", "--host-rank", host});
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<testing::Process>(words, folder());
  }
  ProcessResult end() {
    ProcessResult result;
    result.exit_code = run_->wait_for_end(60s).value_or(-1);
    result.out = run_->text();
    return result;
  }
  std::optional<testing::WatchedRun> run_;
};

TEST_F(EmbedByHand, RunsOnHostsThatJoinWithIt) {
  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_TRUE(run_->find("--token-file FILE -- " + program())) << run_->text();
  const auto first = join("0", {"--", program()});
  const auto second = join("1", {"--", program()});

  auto ended = end();
  const auto printed_there = first->wait();
  ended.out += printed_there.out;  // by rank 0
  expect_results_of_simulation(ended);
  EXPECT_EQ(printed_there.exit_code, 0);
  EXPECT_EQ(second->wait().exit_code, 0);
}

TEST_F(EmbedByHand, AHostThatJoinsWithoutItIsToldSoOnBothSides) {
  ASSERT_NO_FATAL_FAILURE(start());
  const auto without = join("0", {});

  const auto ended = end();
  const auto joined = without->wait();

  const std::string why = "expected the program of the user's that trains in this run, found none";
  EXPECT_EQ(ended.exit_code, 3) << ended.out;
  EXPECT_NE(ended.out.find(why), std::string::npos) << ended.out;
  EXPECT_NE(joined.err.find(why), std::string::npos) << joined.err;
}

TEST_F(Embed, OfAnotherBuildThanTheCommandItEndsAtOnce) {
  auto words = program_command("other_build", {"--set", "cluster.launch=local"});
  words[0] = testing::program_of_other_build(words[0], folder());

  const auto ran = run(words);

  EXPECT_EQ(ran.exit_code, 3) << ran.out << ran.err;
  EXPECT_NE(ran.err.find("expected the program 0.1.0, build 0123456789abcdef"), std::string::npos)
      << ran.err;
  const std::string lost = "host 0 is lost";
  const auto first = ran.err.find(lost);
  EXPECT_EQ(ran.err.find(lost, first == std::string::npos ? 0 : first + 1), std::string::npos)
      << "started again in vain: " << ran.err;
}

TEST_F(Embed, RunsInAnAllocationOfSlurm) {
  if (const auto why = testing::SlurmCluster::unavailable(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const testing::SlurmCluster cluster(folder() + "/slurm");
  ASSERT_EQ(cluster.problem(), "");
  auto words = cluster.command({"salloc", "--quiet", "--nodes=2"});
  const auto program = program_command("allocated", {"--set", "cluster.launch=slurm"});
  words.insert(words.end(), program.begin(), program.end());

  expect_results_of_simulation(run(words));
}

TEST_F(Embed, IsBroughtToHostsThatDoNotHaveIt) {
  using testing::NetworkHosts;
  if (const auto why = NetworkHosts::unavailable(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  const auto build = built() + "/build";
  const NetworkHosts hosts(2, folder(), {output("brought"), build, folder() + "/there"});
  ASSERT_EQ(hosts.problem(), "");
  std::vector<std::string> options = {
      "--set",
      "cluster.ssh.copy=true",
      "--set",
      "cluster.ssh.program=" + folder() + "/there/troupe",
      "--set",
      "cluster.hosts=[\"" + NetworkHosts::address(0) + "\",\"" + NetworkHosts::address(1) + "\"]"};
  for (const auto& setting : hosts.ssh_settings()) {
    options.insert(options.end(), {"--set", setting});
  }
  auto words = hosts.at_launcher();
  const auto program = program_command("brought", options);
  words.insert(words.end(), program.begin(), program.end());

  expect_results_of_simulation(run(words));
  EXPECT_TRUE(std::filesystem::exists(hosts.own_folder(1, 1) + "/my_trainer"));
}

TEST_F(Embed, ItsArgumentsReachTheProgram) {
  const Words settings = {"--set", "train.epochs=1", "--set", "cluster.hosts=1"};
  const auto as_is = run(program_command("as-is", settings));
  auto words = program_command("slower", settings);
  words.emplace_back("5");  // the learning rate
  const auto slower = run(words);

  ASSERT_EQ(slower.exit_code, 0) << slower.err;
  EXPECT_NE(line_of(as_is, "weights"), line_of(slower, "weights"));
  EXPECT_EQ(line_of(as_is, "batches"), line_of(slower, "batches"));
}

TEST_F(Embed, MistakesAreTold) {
  const auto expect = [this](const std::vector<std::string>& words, int code, const char* text) {
    const auto ran = run(words);
    EXPECT_EQ(ran.exit_code, code) << ran.out;
    EXPECT_NE(ran.err.find(text), std::string::npos) << text << " is not in:\n" << ran.err;
  };

  expect({program()}, 2, "try: troupe run JOB -- ");
  expect(command("none", {"--"}), 2, "expected a program after --");
  expect(command("none", {"--", folder() + "/no_such_program"}), 2,
         "no_such_program: No such file");
  expect(command("none", {"--log", "json", "--", program()}), 2, "--log json");
  expect(program_command("none", {"--set", "sample.fanouts=[5]"}), 2, "/sample/fanouts");
  expect(program_command("none", {"--set", "sample.fanout=[5,\n5]"}), 2, "expected one line");
  expect(program_command("none", {"--resume"}), 3, "expected a checkpoint that is whole");
  const std::vector<std::string> once = {"--set", "train.epochs=1", "--set",
                                         "checkpoint.every.epochs=1"};
  EXPECT_EQ(run(command("built-in-once", once)).exit_code, 0);
  expect(program_command("built-in-once", {"--resume"}), 3, "skipped checkpoint step-3");
}

}  // namespace
}  // namespace troupe
