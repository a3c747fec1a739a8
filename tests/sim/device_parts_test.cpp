// Devices that gather the rows of graphs in several parts, those of parts elsewhere as the host stages them:
// the bits of the CPU, and as many rows over the links.
#include "launcher/device_plan.hpp"
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "launcher/simulation.hpp"
#include "runtime/job/collect_options.hpp"
#include "runtime/job/sample_options.hpp"
#include "tests/sim/heterogeneous_run.hpp"
#include "tests/support/fault_tally.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

namespace troupe {
namespace {

using testing::Settings;

/// Four parts on two hosts; all types of nodes have features.
class StagedRun : public testing::HeterogeneousRun {
 protected:
  /// Each row was read somewhere, and as many came over the links as without devices.
  static void expect_counts(const RunRecord& record, const RunRecord& on_cpu) {
    for (std::size_t e = 0; e < record.epochs.size(); ++e) {
      const auto& counters = record.epochs[e].counters;
      const auto& before = on_cpu.epochs[e].counters;
      EXPECT_EQ(counters.rows, before.rows);
      EXPECT_EQ(counters.rows_remote + counters.rows_cached,
                before.rows_remote + before.rows_cached);
      EXPECT_EQ(
          counters.rows_device + counters.rows_pinned + counters.rows_remote + counters.rows_cached,
          counters.rows);
    }
  }
  /// \param way  of sampling, of layouts or models
  void expect_same_on_devices(const Settings& way) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(way, " ")));
    ASSERT_OK_AND_ASSIGN(plain_, run(way));
    auto settings = way;
    settings.emplace_back("cluster.device=emulated:1");
    ASSERT_OK_AND_ASSIGN(const auto record, run(settings));
    expect_same_bits(record);
    expect_counts(record, plain_);
  }
};

TEST_F(StagedRun, HasTheBitsOfTheCpuWithAnyBudget) {
  for (const char* const device : {"emulated:1", "emulated:2"}) {
    for (const char* const budget : {"0", "10%", "100%", "2KB", "auto"}) {
      SCOPED_TRACE(fmt::format("{}, {}", device, budget));
      ASSERT_OK_AND_ASSIGN(const auto record,
                           run({fmt::format("cluster.device={}", device),
                                fmt::format("features.cache.device_budget={}", budget)}));
      expect_same_bits(record);
      expect_counts(record, plain_);
      const auto& counters = record.epochs.back().counters;
      EXPECT_GT(counters.rows_remote, 0U);
      EXPECT_EQ(counters.rows_device == 0, std::string(budget) == "0");
      EXPECT_EQ(counters.rows_pinned == 0,
                std::string(budget) == "100%" || std::string(budget) == "auto");
    }
  }
}

/// Among them halos of lists and rows, replicas, caches that look ahead, small windows.
TEST_F(StagedRun, HasTheBitsOfTheCpuInEveryLayout) {
  expect_same_bits_in_layouts({"cluster.device=emulated:1"},
                              {{"partition.parts=2", "cluster.hosts=2", "cluster.replicas=2"},
                               {"cluster.batches_in_flight=16", "digest=full"}},
                              [this](const Settings& settings) { return run(settings); });
}

TEST_F(StagedRun, HasTheBitsOfTheCpuWhateverTheHostSamples) {
  for (const Settings& way : std::vector<Settings>{
           {"sample.choice=weighted", R"(sample.fanout={"*": [-1, -1], "writes": [4, 3]})",
            R"(sample.edge_data=["weights"])", "digest=full"},
           {"sample.choice=labor", R"(sample.edge_data=["features"])", "digest=full"},
           {R"(sample.edge_data=["features"])", "model.kind=rgat", "model.edge_features=true",
            "eval.mode=sampled"},
           {"sample.disjoint=true", "digest=off"},
           {"sample.replace=true", "sample.frontier=all", "digest=ids"},
           {"eval.mode=sampled", "train.epochs=3", "model.norm=batch"},
           {"features.normalize=row", "model.kind=hgt", "model.heads=2"},
           {"model.dropout=0.5", "model.input_dropout=0.2", "digest=off"},
           {"partition.order=hotness", "features.cache.device_budget=10%"}}) {
    expect_same_on_devices(way);
  }
}

TEST_F(StagedRun, CachesOfOtherHostsRowsStayAsTheyAre) {
  for (const char* const policy : {"hotness", "presample", "future"}) {
    const Settings cached = {fmt::format("features.cache.policy={}", policy),
                             "features.cache.budget=20KB", "features.cache.presample_batches=3",
                             "partition.order=hotness"};
    expect_same_on_devices(cached);
    EXPECT_GT(plain_.epochs.back().counters.rows_cached, 0U) << policy;
  }
}

TEST_F(StagedRun, HalosAreReadWhereTheyAre) {
  const Settings halos = {"partition.halo=1", "partition.halo_features=true"};
  for (const char* const budget : {"0", "30%", "100%"}) {
    auto settings = halos;
    settings.push_back(fmt::format("features.cache.device_budget={}", budget));
    expect_same_on_devices(settings);
  }
}

/// Their rows alone are gathered by the device.
TEST_F(StagedRun, NamedColumnsStayOnTheHost) {
  for (const Settings& layout :
       std::vector<Settings>{{}, {"partition.parts=1", "cluster.hosts=1"}}) {
    Settings way = {
        R"(features.columns=["nodes-author/age", "nodes-author/at", "edges-writes/kind"])"};
    way.insert(way.end(), layout.begin(), layout.end());
    expect_same_on_devices(way);
  }
}

TEST_F(StagedRun, TheFirstLineSaysWhoDoesWhat) {
  const auto text = [&](const Settings& more) {
    Settings settings = {"cluster.device=emulated:1"};
    settings.insert(settings.end(), more.begin(), more.end());
    auto made = job(settings);
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
  EXPECT_EQ(text({}),
            "device emulated:1: trains, gathers rows; the host samples batches and stages rows of "
            "other parts (sampling on a device: a graph of 4 parts is not built yet)");
  EXPECT_EQ(text({"partition.parts=1", "cluster.hosts=1"}),
            "device emulated:1: trains, makes batches");
  EXPECT_EQ(text({"cluster.placement=worker"}),
            "device emulated:1: trains; the host makes batches (batches on a device: expected a "
            "rank that makes its own batches, other processes make those of rank 0)");
  EXPECT_EQ(text({"sample.on=host"}),
            "device emulated:1: trains; the host makes batches (sample.on is \"host\")");
}

/// Samplers, collectors, holders, ranks and links are lost while rows are staged.
TEST(StagedFaults, ComeToWhatTheyMustWhereDevicesGatherRows) {
  const testing::ScratchFolder scratch;
  ASSERT_OK_AND_ASSIGN(auto simulation, Simulation::create(scratch.path()));
  const auto tally = testing::run_seeds(simulation, 0, 80, [](FaultPlan& plan) {
    plan.device = plan.seed % 2 == 0 ? "emulated:1" : "emulated:2";
    return true;
  });
  EXPECT_GT(tally.rollbacks, 0U);
  EXPECT_GT(tally.restarts, 0U);
}

}  // namespace
}  // namespace troupe
