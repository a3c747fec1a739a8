// Exact inference of whole runs on emulated devices: the outputs of the CPU in every layout, with little memory,
// of the best epoch and without training; where a device cannot the CPU does it, and says so.
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "runtime/base/files.hpp"
#include "runtime/run/node_request.hpp"
#include "tests/sim/heterogeneous_run.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mutex>
#include <string>
#include <vector>

namespace troupe {
namespace {

using testing::Settings;

void expect_same_outputs(const RunRecord& actual, const RunRecord& expected) {
  EXPECT_EQ(to_string(actual.outputs), to_string(expected.outputs));
  EXPECT_EQ(to_string(actual.best_parameters), to_string(expected.best_parameters));
  EXPECT_EQ(actual.valid->accuracy, expected.valid->accuracy);
  ASSERT_EQ(actual.epochs.size(), expected.epochs.size());
  for (std::size_t e = 0; e < actual.epochs.size(); ++e) {
    EXPECT_EQ(actual.epochs[e].valid->accuracy, expected.epochs[e].valid->accuracy) << e;
  }
}

class ExactDevices : public ::testing::Test {
 protected:
  /// Keeps what is said, and the places where blocks were computed.
  Result<RunRecord> run(Settings settings, const std::string& device) {
    settings.push_back(fmt::format("cluster.device={}", device));
    said_.clear();
    ClusterHooks hooks;
    hooks.say = [this](const std::string& text) {
      const std::lock_guard guard(mutex_);
      said_.push_back(text);
    };
    hooks.tracer = std::make_shared<Tracer>();
    auto record = testing::run_cora(scratch_.path(), settings, hooks);
    const auto file = scratch_.path() / "trace.json";
    EXPECT_OK(hooks.tracer->write(file));
    const auto text = read_text_file(file, 1U << 30);
    EXPECT_OK(text);
    const auto trace = nlohmann::json::parse(*text);
    blocks_there_ = 0;
    blocks_here_ = 0;
    for (const auto& event : trace.at("traceEvents")) {
      const auto name = event.value("name", "");
      blocks_there_ += name == "compute a block on a device" ? 1U : 0U;
      blocks_here_ += name == "compute a block" ? 1U : 0U;
    }
    return record;
  }
  std::size_t said(const std::string& text) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        said_, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
  }

  testing::ScratchFolder scratch_;
  std::mutex mutex_;
  std::vector<std::string> said_;
  std::size_t blocks_there_ = 0;
  std::size_t blocks_here_ = 0;
};

TEST_F(ExactDevices, EveryModelHasTheOutputsOfTheCpu) {
  const std::vector<Settings> models = {
      {"model.kind=graphsage", "model.aggregator=max", "model.norm=layer"},
      {"model.kind=gcn"},
      {"model.kind=gat", "model.heads=2"},
      {"model.kind=gatv2", "model.heads=2"},
      {"model.kind=gin", "model.norm=batch"}};
  struct Layout {
    Settings settings;
    const char* device;
  };
  const std::vector<Layout> layouts = {
      {{"cluster.hosts=1", "cluster.trainers_per_host=2"}, "emulated:2"},
      {{"cluster.hosts=2"}, "emulated:1"},
      {{"cluster.hosts=3", "partition.parts=3"}, "emulated:1"}};
  for (std::size_t m = 0; m < models.size(); ++m) {
    const auto& [layout, device] = layouts[m % layouts.size()];
    SCOPED_TRACE(fmt::format("{}, {}", models[m].front(), device));
    auto settings = models[m];
    settings.insert(settings.end(), layout.begin(), layout.end());
    settings.emplace_back("train.epochs=1");
    ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(settings, "cpu"));
    EXPECT_EQ(blocks_there_, 0U);
    ASSERT_OK_AND_ASSIGN(const auto record, run(settings, device));
    expect_same_outputs(record, on_cpu);
    EXPECT_GT(blocks_there_, 0U);
    EXPECT_EQ(blocks_here_, 0U);
    EXPECT_EQ(said("exact inference"), 0U);
  }
}

TEST_F(ExactDevices, TheBestEpochIsThatOfTheCpuWhateverTheMemory) {
  const Settings settings = {testing::whole_cora, "cluster.hosts=2", "train.epochs=4",
                             "train.optimizer.lr=0.1"};
  ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(settings, "cpu"));
  std::size_t blocks = 0;
  for (const char* const device : {"emulated:1", "emulated:1,40MiB"}) {
    SCOPED_TRACE(device);
    ASSERT_OK_AND_ASSIGN(const auto record, run(settings, device));
    expect_same_outputs(record, on_cpu);
    EXPECT_EQ(record.best_epoch, on_cpu.best_epoch);
    EXPECT_GT(blocks_there_, blocks) << "more of them where there is less memory";
    blocks = blocks_there_;
  }
}

TEST_F(ExactDevices, ADeviceWithoutRoomForANodeLeavesItToTheCpuAndSaysSoOnce) {
  const Settings settings = {testing::whole_cora, "cluster.hosts=2", "train.epochs=3"};
  ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(settings, "cpu"));
  ASSERT_OK_AND_ASSIGN(const auto record, run(settings, "emulated:1,12MiB"));
  expect_same_outputs(record, on_cpu);
  EXPECT_EQ(blocks_there_, 0U);
  for (const char* const host : {"host 0", "host 1"}) {
    EXPECT_EQ(said(fmt::format("{}: exact inference on the CPU: the node of part", host)), 1U)
        << fmt::format("{}", fmt::join(said_, "\n"));
  }
}

/// Processes with parts have no ranks, and so no devices.
TEST_F(ExactDevices, ServersComputeOnTheirCpus) {
  const Settings settings = {"cluster.placement=server_client", "cluster.servers=2",
                             "cluster.hosts=2", "train.epochs=1"};
  ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(settings, "cpu"));
  ASSERT_OK_AND_ASSIGN(const auto record, run(settings, "emulated:1"));
  expect_same_outputs(record, on_cpu);
  EXPECT_EQ(blocks_there_, 0U);
}

TEST_F(ExactDevices, PredictionsAreThoseOfTheCpu) {
  const auto outputs = [&](const Settings& more, bool embeddings) {
    Settings settings = {"model.kind=gat", "model.heads=2"};
    settings.insert(settings.end(), more.begin(), more.end());
    auto job = testing::cora_job(scratch_.path(), settings);
    EXPECT_OK(job);
    const auto store = prepare_store(*job, [](const std::string&) {});
    EXPECT_OK(store);
    EXPECT_TRUE(fit_to_graph_or_print(*job, store->info()));
    auto found = find_nodes(*store, {.sources = {"all"}, .split = ""});
    EXPECT_OK(found);
    ClusterHooks hooks;
    hooks.inference =
        InferenceTask{{std::make_shared<const SeedList>(std::move(found->nodes))}, embeddings};
    const auto network = nn::make_network(job->model);
    EXPECT_OK(network);
    const auto cluster = SimulatedCluster::create(*job, *store, std::move(hooks));
    EXPECT_OK(cluster);
    const auto result = (*cluster)->run({.parameters = (*network)->initial_parameters(job->seed)});
    EXPECT_OK(result);
    const auto rows = result->only_outputs()->view().flat();
    return std::vector<float>(rows.begin(), rows.end());
  };
  for (const bool embeddings : {false, true}) {
    const auto expected = outputs({"cluster.hosts=1", "partition.parts=1"}, embeddings);
    EXPECT_EQ(outputs({"cluster.hosts=2", "cluster.device=emulated:1"}, embeddings), expected);
    EXPECT_EQ(outputs({"cluster.hosts=1", "partition.parts=1", "cluster.trainers_per_host=2",
                       "cluster.device=emulated:2"},
                      embeddings),
              expected);
  }
}

class ExactDevicesHeterogeneous : public testing::HeterogeneousRun {};

TEST_F(ExactDevicesHeterogeneous, HasTheOutputsOfTheCpu) {
  for (const Settings& way :
       std::vector<Settings>{{"partition.parts=1", "cluster.hosts=1"},
                             {"model.kind=hgt", "model.heads=2"},
                             {"model.kind=rgat", "model.heads=2", "model.input=linear"},
                             {"model.kind=gatv2", "model.heads=2", "model.loops=false"},
                             {"model.kind=rgcn", "embedding.author.dim=4"},
                             {R"(sample.edge_data=["weights"])", "model.edge_weights=true"},
                             {R"(sample.edge_data=["features"])", "model.edge_features=true",
                              "model.kind=rgat", "model.heads=2"}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(way, " ")));
    Settings settings = {"train.epochs=1"};
    settings.insert(settings.end(), way.begin(), way.end());
    ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(settings));
    settings.emplace_back("cluster.device=emulated:1");
    ASSERT_OK_AND_ASSIGN(const auto record, run(settings));
    EXPECT_EQ(record.outputs, on_cpu.outputs);
    EXPECT_EQ(record.parameters, on_cpu.parameters);
  }
}

}  // namespace
}  // namespace troupe
