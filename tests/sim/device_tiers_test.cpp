// Rows and lists of devices in two tiers: the bits of the CPU wherever they are. The nightly tests have all
// cells of the table.
#include "tests/sim/device_tiers.hpp"

#include "launcher/device_plan.hpp"
#include "runtime/job/collect_options.hpp"
#include "runtime/job/sample_options.hpp"

#include <fmt/ranges.h>
#include <string>
#include <vector>

namespace troupe {
namespace {

using testing::DeviceRunTiers;
using testing::TierCell;

/// Each pair of values of two columns is there.
TEST_F(DeviceRunTiers, SomeCellsHaveTheDigestsOfTheCpu) {
  ASSERT_OK_AND_ASSIGN(const auto on_cpu, run({}));
  for (const TierCell& cell : std::vector<TierCell>{{1, "0", "device", 16, true},
                                                    {1, "10%", "pinned", 1, false},
                                                    {1, "100%", "device", 1, true},
                                                    {2, "0", "pinned", 1, false},
                                                    {2, "10%", "device", 16, true},
                                                    {2, "100%", "pinned", 16, false},
                                                    {4, "0", "device", 1, false},
                                                    {4, "10%", "pinned", 16, true},
                                                    {4, "100%", "pinned", 1, true}}) {
    expect_the_digests_of(on_cpu, cell);
  }
}

/// The same of graphs whose rows are not all in each process.
TEST_F(DeviceRunTiers, SomeCellsOfSeveralPartsHaveTheDigestsOfTheCpu) {
  ASSERT_OK_AND_ASSIGN(const auto on_cpu, run({}));
  for (const TierCell& cell : std::vector<TierCell>{{1, "0", "device", 16, true, 1, 2},
                                                    {2, "10%", "device", 1, false, 2, 2},
                                                    {1, "100%", "device", 1, true, 3, 2},
                                                    {2, "0", "device", 1, false, 3, 1},
                                                    {1, "10%", "device", 16, true, 2, 2},
                                                    {2, "100%", "device", 16, false, 1, 2}}) {
    expect_the_digests_of(on_cpu, cell);
  }
}

TEST_F(DeviceRunTiers, ADeviceTooSmallForAllRowsNowWorks) {
  ASSERT_OK_AND_ASSIGN(const auto on_cpu, run({}));
  ASSERT_OK_AND_ASSIGN(const auto small, run({"cluster.device=emulated:1,300KB", "sample.on=device",
                                              "cluster.batches_in_flight=1"}));
  EXPECT_EQ(small.batches, on_cpu.batches);
  EXPECT_EQ(small.parameters, on_cpu.parameters);
  EXPECT_GT(small.epochs.back().counters.rows_pinned, 0U);
}

/// From too little for the lists up to enough for all.
TEST_F(DeviceRunTiers, EndWithTheDevicesErrorOrTheDigestsOfTheCpu) {
  ASSERT_OK_AND_ASSIGN(const auto on_cpu, run({}));
  std::size_t failed = 0;
  std::size_t ended = 0;
  for (const char* const memory : {"1KB", "20KB", "60KB", "100KB", "200KB", "2MB"}) {
    for (const char* const budget : {"auto", "0", "100%"}) {
      SCOPED_TRACE(fmt::format("{}, budget {}", memory, budget));
      const auto record = run({fmt::format("cluster.device=emulated:1,{}", memory),
                               "sample.on=device", "cluster.batches_in_flight=2",
                               fmt::format("features.cache.device_budget={}", budget)});
      if (record) {
        ++ended;
        EXPECT_EQ(record->batches, on_cpu.batches);
        EXPECT_EQ(record->parameters, on_cpu.parameters);
      } else {
        ++failed;
        EXPECT_ERROR(record, Errc::out_of_memory, "emulated device: expected room for");
      }
    }
  }
  EXPECT_GE(failed, 6U);
  EXPECT_GE(ended, 3U);
}

/// What `check` names is enough.
TEST_F(DeviceRunTiers, TheMemoryThatIsPlannedIsEnough) {
  for (const std::vector<std::string>& way : std::vector<std::vector<std::string>>{
           {"features.cache.device_budget=100%"},
           {"features.cache.device_budget=0", "model.norm=batch", "model.hidden=64"},
           {"features.cache.device_budget=100%", "sample.device_lists=pinned",
            "sample.batch_size=64", "cluster.trainers_per_host=1"},
           {"features.cache.device_budget=100%", "sample.disjoint=true"},
           {"sample.on=host"},
           {"partition.parts=2", "cluster.hosts=2", "cluster.trainers_per_host=2",
            "features.cache.device_budget=100%"},
           {"partition.parts=3", "cluster.hosts=1", "features.cache.device_budget=0",
            "sample.batch_size=64"}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(way, " ")));
    auto settings = way;
    settings.emplace_back("cluster.device=emulated:1");
    ASSERT_OK_AND_ASSIGN(auto made, job(settings));
    ASSERT_OK_AND_ASSIGN(const auto store, prepare_store(made, [](const std::string&) {}));
    ASSERT_TRUE(fit_to_graph_or_print(made, store.info()));
    const auto sample = sample_options(made, store.info());
    ASSERT_OK_AND_ASSIGN(const auto collect,
                         collect_options(made, store.info(), BatchReader::trainer));
    const auto plan = make_plan(made, store.info());
    ASSERT_OK_AND_ASSIGN(const auto devices, device_plan(made, plan.layout, sample, collect));
    const auto memory = memory_of_devices(devices, made, store.info(), plan, nullptr);
    settings.back() = fmt::format("cluster.device=emulated:1,{}B", memory.bytes());
    EXPECT_OK(run(settings)) << to_string(memory);
    const auto sure = memory.lists + memory.ids + memory.rows;
    settings.back() = fmt::format("cluster.device=emulated:1,{}B", sure / 2 + 1);
    EXPECT_ERROR(run(settings), Errc::out_of_memory, "emulated device");
  }
}

/// Only rows are on the device.
TEST_F(DeviceRunTiers, BatchesThatTheHostSamplesHaveTheirRowsFromBothTiers) {
  for (const std::vector<std::string>& way : std::vector<std::vector<std::string>>{
           {"sample.disjoint=true"},
           {"sample.choice=labor", "sample.edge_data=[\"features\"]"},
           {"sample.choice=labor", "digest=ids", "features.normalize=row"}}) {
    SCOPED_TRACE(way.front());
    ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(way));
    for (const char* const budget : {"0", "10%", "auto"}) {
      SCOPED_TRACE(budget);
      auto settings = way;
      settings.insert(settings.end(), {"cluster.device=emulated:2",
                                       fmt::format("features.cache.device_budget={}", budget)});
      ASSERT_OK_AND_ASSIGN(const auto record, run(settings));
      EXPECT_EQ(record.batches, on_cpu.batches);
      EXPECT_EQ(record.parameters, on_cpu.parameters);
      const auto& counters = record.epochs.back().counters;
      EXPECT_EQ(counters.rows_device + counters.rows_pinned, counters.rows);
      EXPECT_EQ(counters.rows_device == 0, std::string(budget) == "0");
      settings.emplace_back("sample.device_lists=pinned");
      EXPECT_ERROR(run(settings), Errc::invalid_argument,
                   "sample.device_lists: expected batches that devices sample");
    }
  }
}

TEST_F(DeviceRunTiers, MemoryIsRefusedWhereTheHostMakesBatches) {
  for (const char* const key : {"features.cache.device_budget=10%", "sample.device_lists=pinned"}) {
    EXPECT_ERROR(run({"cluster.device=emulated:1", "sample.on=host", key}), Errc::invalid_argument,
                 "but the host does: sample.on is \"host\"");
    EXPECT_ERROR(run({"cluster.device=emulated:1", "cluster.placement=worker", key}),
                 Errc::invalid_argument, "expected a rank that makes its own batches");
    EXPECT_OK(run({key}));  // a CPU reads neither
  }
  EXPECT_ERROR(
      run({"cluster.device=emulated:1", "partition.parts=2", "sample.device_lists=pinned"}),
      Errc::invalid_argument,
      "sample.device_lists: expected batches that devices sample, but the host does: "
      "sampling on a device: a graph of 2 parts");
}

}  // namespace
}  // namespace troupe
