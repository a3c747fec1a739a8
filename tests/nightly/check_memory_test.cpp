// The memory that `troupe check` names, against measured peaks: examples and generated jobs.
#include "tests/support/checked_memory.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fmt/format.h>
#include <fstream>

namespace troupe {
namespace {

using Words = std::vector<std::string>;

struct GeneratedJob {
  const char* name;
  Words graph;  ///< arguments of `troupe generate`, kind first
  Words settings;
  Words partition = {};  ///< options of `troupe partition` before the run; none: the run partitions
};

void expect_memory(const std::string& name, const testing::CheckedMemory& memory) {
  const auto said = memory.said_bytes >> 20U;
  const auto peak = memory.peak_bytes >> 20U;
  fmt::print("{}: said {} MiB, measured {} MiB\n", name, said, peak);
  EXPECT_TRUE(memory.holds()) << name << ": said " << said << ", measured " << peak << "\n"
                              << memory.output;
  EXPECT_TRUE(memory.close()) << name << ": said " << said << ", measured " << peak << "\n"
                              << memory.output;
}

class CheckMemory : public ::testing::Test {
 protected:
  void expect_generated(const GeneratedJob& job) {
    const auto folder = scratch_.path() / job.name;
    std::filesystem::create_directories(folder);
    Words generate{TROUPE_PROGRAM, "generate", job.graph.front(), (folder / "graph").string()};
    generate.insert(generate.end(), job.graph.begin() + 1, job.graph.end());
    expect_done(generate, folder);
    Words settings = job.settings;
    if (!job.partition.empty()) {
      Words partition{TROUPE_PROGRAM, "partition", (folder / "graph").string(),
                      (folder / "parts").string()};
      partition.insert(partition.end(), job.partition.begin(), job.partition.end());
      expect_done(partition, folder);
      if (std::ranges::find(partition, "later") != partition.end()) {
        add_features(folder);
      }
      settings.insert(settings.end(), {"dataset.path=parts", "partition={}"});
    }
    std::ofstream(folder / "job.json")
        << R"({ "dataset": { "path": "graph" }, "partition": { "method": "random", "parts": 2 },
              "cluster": { "hosts": 2, "batches_in_flight": 4 }, "sample": { "fanout": [10, 10], "batch_size": 256 },
              "model": { "hidden": 64 } })";
    expect_memory(job.name, testing::check_and_run((folder / "job.json").string(), settings,
                                                   folder.string()));
  }
  /// Adds them to the parts, between two checks that name the same memory.
  static void add_features(const std::filesystem::path& folder) {
    std::ofstream(folder / "parts.json")
        << R"({ "dataset": { "path": "parts" }, "cluster": { "hosts": 2 },
              "sample": { "fanout": [10, 10] } })";
    const Words check{TROUPE_PROGRAM, "check", (folder / "parts.json").string(), "--measure", "0"};
    const auto before = testing::run_process(check, folder.string());
    expect_done(
        {TROUPE_PROGRAM, "add-features", (folder / "graph").string(), (folder / "parts").string()},
        folder);
    const auto after = testing::run_process(check, folder.string());
    EXPECT_EQ(before.exit_code, 0) << before.err;
    EXPECT_EQ(before.out, after.out);
  }
  static void expect_done(const Words& command, const std::filesystem::path& folder) {
    const auto done = testing::run_process(command, folder.string());
    ASSERT_EQ(done.exit_code, 0) << done.err;
  }
  testing::ScratchFolder scratch_;
};

TEST_F(CheckMemory, IsEnoughForTheExamples) {
  for (const std::string name : {"quickstart", "cora", "cora_gcn", "amazon_computers", "tolokers",
                                 "local", "local_worker", "local_servers"}) {
    const auto folder = scratch_.path() / name;
    std::filesystem::create_directories(folder);
    expect_memory(
        name, testing::check_and_run(std::string(TROUPE_SOURCE_DIR) + "/examples/" + name + ".json",
                                     {}, folder.string()));
  }
}

TEST_F(CheckMemory, IsEnoughForGeneratedJobs) {
  const Words rmat = {
      "rmat",      "--nodes", "50000",      "--edges", "1000000",         "--symmetrize",
      "--classes", "8",       "--train",    "0.1",     "--val",           "0.05",
      "--test",    "0.05",    "--features", "128",     "--feature-dtype", "f16"};
  const Words sbm = {"sbm",          "--nodes",    "30000", "--edges",   "200000",
                     "--symmetrize", "--features", "300",   "--classes", "10"};
  const Words powerlaw = {
      "powerlaw",   "--nodes", "100000",          "--edges", "500000",    "--symmetrize",
      "--features", "32",      "--feature-dtype", "u8",      "--classes", "40",
      "--train",    "0.3",     "--val",           "0.1",     "--test",    "0.1"};
  const Words wide = {"rmat",       "--nodes", "200000",    "--edges", "2000000", "--symmetrize",
                      "--features", "64",      "--classes", "16",      "--train", "2000",
                      "--val",      "1000",    "--test",    "1000"};
  expect_generated({"wide layers, exact inference", wide, {"model.hidden=256"}});
  expect_generated({"three layers on one host",
                    rmat,
                    {"cluster.hosts=1", "partition.parts=1", "model.hidden=256", "model.layers=3",
                     "sample.fanout=[5,5,5]"}});
  expect_generated(
      {"caches of four processes",
       rmat,
       {"cluster.hosts=4", "partition.parts=4", "cluster.launch=local",
        R"(features.cache={"policy":"degree","budget":"8MB"})", "sample.cache.budget=4MB"}});
  expect_generated({"maximum with two ranks a host",
                    sbm,
                    {"cluster.trainers_per_host=2", "model.aggregator=max", "model.hidden=32"}});
  expect_generated({"copied store, sampler processes",
                    powerlaw,
                    {"model.hidden=128", "dataset.memory=copied", "cluster.launch=local",
                     "cluster.placement=worker"}});
  expect_generated(
      {"eight ranks",
       powerlaw,
       {"model.hidden=128", "cluster.hosts=8", "partition.parts=8", "cluster.batches_in_flight=8",
        R"(features.cache={"policy":"presample","ratio":0.2})"}});
  expect_generated({"as many batches in flight as waits ask for",
                    rmat,
                    {"cluster.batches_in_flight=auto", "cluster.network.latency_us=20000",
                     "sample.batch_size=32"}});
  expect_generated({"heterogeneous graph",
                    {"heterogeneous", "--nodes", "40000", "--features", "64"},
                    {"eval.mode=sampled", "sample.batch_size=512"}});
}

TEST_F(CheckMemory, IsEnoughForWhatStoresKeepBesidesPlainLists) {
  const auto schema = (scratch_.path() / "schema.json").string();
  std::ofstream(schema) << R"({
    "classes": 5,
    "node_types": {"page": {"count": 50000, "features": 8, "labels": true}},
    "edge_types": {"links": {"source": "page", "destination": "page", "edges": 8000000,
                             "weights": true, "times": true}},
    "splits": {"": {"nodes": "page", "train": 1000, "val": 0, "test": 0}} })";
  const Words graph = {"heterogeneous", "--schema", schema};
  const Words parts = {"--parts", "2", "--method", "random"};
  const auto with = [&](const Words& options) {
    Words all = parts;
    all.insert(all.end(), options.begin(), options.end());
    return all;
  };
  expect_generated({"weights and times", graph, {"dataset.memory=copied"}});
  expect_generated({"parts with lists in both directions",
                    graph,
                    {"dataset.memory=copied"},
                    with({"--complete-for", "both"})});
  const Words halo = with({"--halo", "1", "--halo-features"});
  expect_generated(
      {"parts with halos", graph, {"dataset.memory=copied", "cluster.launch=local"}, halo});
  auto later = halo;
  later.insert(later.end(), {"--features", "later"});
  expect_generated({"features that come later", graph, {"dataset.memory=copied"}, later});
}

}  // namespace
}  // namespace troupe
