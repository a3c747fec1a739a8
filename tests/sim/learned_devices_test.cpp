// Learned rows where devices make batches, or gather rows of several parts: the bits of the CPU in batches,
// parameters and tables.
#include "launcher/device_plan.hpp"
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "runtime/job/collect_options.hpp"
#include "runtime/job/sample_options.hpp"
#include "tests/sim/heterogeneous_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <string>
#include <vector>

namespace troupe {
namespace {

using testing::Settings;

/// A batch is made on the device, its rows are gathered there, or neither.
enum class Made : std::uint8_t { there, rows_there, by_host };

struct LearnedLayout {
  Settings settings;
  Made made;
};

/// All of two ranks.
std::vector<LearnedLayout> learned_layouts() {
  return {
      {{"cluster.hosts=2", "partition.parts=1", "cluster.replicas=2"}, Made::there},
      {{"cluster.hosts=1", "partition.parts=1", "cluster.trainers_per_host=2"}, Made::there},
      {{"cluster.hosts=2", "partition.parts=4"}, Made::rows_there},
      {{"cluster.hosts=2", "partition.parts=2", "cluster.replicas=2"}, Made::rows_there},
      {{"cluster.hosts=2", "partition.parts=4", "cluster.placement=worker"}, Made::by_host},
      {{"cluster.hosts=2", "partition.parts=4", "sample.on=host"}, Made::by_host},
  };
}

class LearnedOnDevices : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(testing::write_heterogeneous_store(scratch_.path() / "graph"));
  }
  /// Papers and authors have learned rows beside features, venues have features alone.
  Result<Job> job(const std::vector<Settings>& settings) const {
    Settings all{"embedding.paper.dim=6", "embedding.paper.init.std=0.1", "embedding.author.dim=3",
                 "embedding.author.optimizer.kind=adam", "train.epochs=2"};
    for (const auto& some : settings) {
      all.insert(all.end(), some.begin(), some.end());
    }
    return testing::heterogeneous_job(scratch_.path() / "graph", scratch_.path() / "out", all);
  }
  Result<RunRecord> run(const std::vector<Settings>& settings) const {
    TROUPE_ASSIGN_OR_RETURN(auto made, job(settings));
    return testing::run_job(std::move(made));
  }
  static void expect_same(const RunRecord& record, const RunRecord& expected) {
    EXPECT_EQ(record.batches, expected.batches);
    EXPECT_EQ(record.parameters, expected.parameters);
    EXPECT_EQ(record.best_parameters, expected.best_parameters);
    EXPECT_EQ(record.outputs, expected.outputs);
    EXPECT_EQ(record.tensors, expected.tensors);
    ASSERT_EQ(record.epochs.size(), expected.epochs.size());
    for (std::size_t e = 0; e < record.epochs.size(); ++e) {
      EXPECT_EQ(record.epochs[e].loss, expected.epochs[e].loss) << e;
      EXPECT_EQ(record.epochs[e].counters.learned_rows, expected.epochs[e].counters.learned_rows);
    }
  }
  testing::ScratchFolder scratch_;
};

TEST_F(LearnedOnDevices, HaveTheBitsOfTheCpuInEveryCell) {
  ASSERT_OK_AND_ASSIGN(const auto on_cpu, run({{"cluster.hosts=2", "partition.parts=4"}}));
  ASSERT_EQ(on_cpu.tensors.size(), 2U);
  for (const auto& [layout, made] : learned_layouts()) {
    for (const char* const device : {"cluster.device=emulated:1", "cluster.device=emulated:2"}) {
      for (const char* const flight :
           {"cluster.batches_in_flight=1", "cluster.batches_in_flight=16"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", fmt::join(layout, " "), device, flight));
        ASSERT_OK_AND_ASSIGN(const auto record, run({layout, {device, flight}}));
        expect_same(record, on_cpu);
        const auto& counters = record.epochs.back().counters;
        EXPECT_EQ(counters.rows_device + counters.rows_pinned > 0, made != Made::by_host);
      }
    }
  }
}

TEST_F(LearnedOnDevices, HaveTheBitsOfTheCpuWhateverReadsThem) {
  for (const Settings& way : std::vector<Settings>{
           {"eval.mode=sampled", "model.dropout=0.5", "model.input_dropout=0.2", "digest=full"},
           {"eval.mode=exact", "digest=ids"},
           {"model.kind=hgt", "model.heads=2", "digest=off"},
           {"model.input=linear", "model.norm=batch", "features.cache.device_budget=10%"},
           {R"(sample.edge_data=["features"])", "model.kind=rgat", "model.edge_features=true",
            "eval.mode=sampled"}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(way, " ")));
    std::optional<RunRecord> on_cpu;
    for (const auto& [layout, made] : learned_layouts()) {
      const bool budget = way.back().starts_with("features.cache");
      if (made == Made::by_host) {
        continue;  // as before
      }
      if (!on_cpu) {
        const Settings without(way.begin(), way.end() - (budget ? 1 : 0));
        ASSERT_OK_AND_ASSIGN(on_cpu, run({layout, without}));
      }
      ASSERT_OK_AND_ASSIGN(const auto record, run({layout, way, {"cluster.device=emulated:1"}}));
      expect_same(record, *on_cpu);
    }
  }
}

/// Every node type has learned rows alone.
TEST_F(LearnedOnDevices, StandAloneWithoutFeatures) {
  const testing::ScratchFolder scratch;
  ASSERT_OK(testing::write_featureless_store(scratch.path() / "graph"));
  const auto text =
      fmt::format(R"({{
    "dataset": {{ "path": "{}" }},
    "sample": {{ "fanout": [5, 5], "batch_size": 64 }},
    "embedding": {{ "node": {{ "dim": 8 }} }},
    "model": {{ "kind": "graphsage", "hidden": 8 }},
    "train": {{ "epochs": 2 }},
    "eval": {{ "mode": "sampled" }},
    "output": "{}"
  }})",
                  (scratch.path() / "graph").string(), (scratch.path() / "out").string());
  const auto run_alone = [&](const Settings& settings) -> Result<RunRecord> {
    TROUPE_ASSIGN_OR_RETURN(auto reading, parse_job(text, "", settings));
    EXPECT_TRUE(reading.problems.empty()) << to_string(reading.problems);
    return testing::run_job(std::move(reading.job));
  };
  ASSERT_OK_AND_ASSIGN(const auto on_cpu, run_alone({"cluster.hosts=2", "partition.parts=2"}));
  for (const auto& [layout, made] : learned_layouts()) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(layout, " ")));
    auto on_device = layout;
    on_device.emplace_back("cluster.device=emulated:2");
    ASSERT_OK_AND_ASSIGN(const auto record, run_alone(on_device));
    expect_same(record, on_cpu);
  }
}

TEST_F(LearnedOnDevices, TheFirstLineSaysWhoDoesWhat) {
  const auto text = [&](const Settings& more) {
    auto made = job({{"cluster.device=emulated:1", "cluster.hosts=2"}, more});
    EXPECT_OK(made);
    const auto store = prepare_store(*made, [](const std::string&) {});
    EXPECT_OK(store);
    EXPECT_TRUE(fit_to_graph_or_print(*made, store->info()));
    const auto collect = collect_options(*made, store->info(), BatchReader::trainer);
    EXPECT_OK(collect);
    const auto plan =
        device_plan(*made, make_layout(*made), sample_options(*made, store->info()), *collect);
    EXPECT_OK(plan);
    return device_text(*made, *plan);
  };
  const std::string learned = "; learned rows and their gradients pass through the host";
  EXPECT_EQ(text({"partition.parts=1", "cluster.replicas=2"}),
            "device emulated:1: trains, makes batches" + learned);
  EXPECT_EQ(text({"partition.parts=4"}),
            "device emulated:1: trains, gathers rows; the host samples batches and stages rows of "
            "other parts (sampling on a device: a graph of 4 parts is not built yet)" +
                learned);
  EXPECT_EQ(text({"partition.parts=4", "sample.on=host"}),
            "device emulated:1: trains; the host makes batches (sample.on is \"host\")" + learned);
}

}  // namespace
}  // namespace troupe
