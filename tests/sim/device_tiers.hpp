#pragma once
/// \file device_tiers.hpp
/// Runs whose batches devices make, with rows and lists where a cell of the table says. All cells have
/// one digest.
#include "launcher/cluster_runtime.hpp"
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "tests/sim/heterogeneous_support.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {

struct TierCell {
  std::uint32_t devices = 1;
  std::string budget = "100%";
  std::string lists = "device";
  std::uint32_t in_flight = 1;
  bool killed = false;  ///< and resumed
  std::uint32_t parts = 1;
  std::uint32_t hosts = 1;

  /// Whether each process has the whole graph, so that devices sample it.
  bool whole() const { return parts == 1 && hosts == 1; }
  std::string name() const {
    return fmt::format("{} devices, {} parts, {} hosts, budget {}, lists {}, {} in flight{}",
                       devices, parts, hosts, budget, lists, in_flight,
                       killed ? ", killed and resumed" : "");
  }
};

inline std::vector<TierCell> all_tier_cells() {
  std::vector<TierCell> cells;
  for (const std::uint32_t devices : {1U, 2U, 4U}) {
    for (const char* const budget : {"0", "10%", "100%"}) {
      for (const char* const lists : {"device", "pinned"}) {
        for (const std::uint32_t in_flight : {1U, 16U}) {
          for (const bool killed : {false, true}) {
            cells.push_back({devices, budget, lists, in_flight, killed});
          }
        }
      }
    }
  }
  return cells;
}

/// Devices gather rows of several parts, or where the process of some ranks has none.
inline std::vector<TierCell> all_part_cells() {
  std::vector<TierCell> cells;
  for (const std::uint32_t devices : {1U, 2U}) {
    for (const auto& [parts, hosts] : {std::pair{1U, 2U}, {2U, 1U}, {2U, 2U}, {3U, 1U}, {3U, 2U}}) {
      for (const char* const budget : {"0", "10%", "100%"}) {
        for (const std::uint32_t in_flight : {1U, 16U}) {
          for (const bool killed : {false, true}) {
            cells.push_back({devices, budget, "device", in_flight, killed, parts, hosts});
          }
        }
      }
    }
  }
  return cells;
}

/// Four ranks on the small heterogeneous graph.
class DeviceRunTiers : public ::testing::Test {
 protected:
  using Settings = std::vector<std::string>;

  void SetUp() override { ASSERT_OK(write_heterogeneous_store(scratch_.path() / "graph")); }

  Result<Job> job(const Settings& settings) const {
    Settings all = {"cluster.hosts=1", "partition.parts=1",       "cluster.trainers_per_host=4",
                    "train.epochs=2",  "sample.batch_size=8",     "digest=full",
                    "eval.mode=exact", "checkpoint.every.steps=1"};
    all.insert(all.end(), settings.begin(), settings.end());
    return heterogeneous_job(scratch_.path() / "graph", scratch_.path() / "out", all);
  }
  static Settings settings_of(const TierCell& cell) {
    return {fmt::format("cluster.device=emulated:{}", cell.devices),
            cell.whole() ? "sample.on=device" : "sample.on=auto",
            "features.cache.device_budget=" + cell.budget,
            "sample.device_lists=" + cell.lists,
            fmt::format("cluster.batches_in_flight={}", cell.in_flight),
            fmt::format("partition.parts={}", cell.parts),
            fmt::format("cluster.hosts={}", cell.hosts),
            fmt::format("cluster.trainers_per_host={}", 4 / cell.hosts)};
  }
  Result<RunRecord> run(const Settings& settings) const {
    TROUPE_ASSIGN_OR_RETURN(auto made, job(settings));
    return run_job(std::move(made));
  }

  /// Everything is gone at once when rank 0 has made some steps; a new cluster continues.
  Result<RunRecord> run_killed(const Settings& settings) const {
    TROUPE_ASSIGN_OR_RETURN(auto made, job(settings));
    TROUPE_ASSIGN_OR_RETURN(const auto store, prepare_store(made, [](const std::string&) {}));
    EXPECT_TRUE(fit_to_graph_or_print(made, store.info()));
    const auto checkpoints = scratch_.path() / "checkpoints";
    std::filesystem::remove_all(checkpoints);
    {
      VirtualRuntime runtime({});
      std::uint64_t reached = 0;
      ClusterHooks hooks;
      hooks.on_step = [&](const StepReport& report) { reached = report.global_step; };
      TROUPE_ASSIGN_OR_RETURN(const auto cluster,
                              SimulatedCluster::create(made, store, hooks, runtime));
      bool ended = false;
      cluster->start(setup_with_checkpoints(*cluster, checkpoints, false),
                     [&](const Result<RunResult>& /*result*/) { ended = true; });
      EXPECT_TRUE(runtime.wait_until([&] { return ended || reached >= 4; }));
      EXPECT_FALSE(ended) << "the run was to be killed";
    }
    VirtualRuntime runtime({});
    TROUPE_ASSIGN_OR_RETURN(const auto cluster, SimulatedCluster::create(made, store, {}, runtime));
    std::optional<Result<RunResult>> result;
    cluster->start(setup_with_checkpoints(*cluster, checkpoints, true),
                   [&](Result<RunResult> ended) { result = std::move(ended); });
    EXPECT_TRUE(runtime.wait_until([&] { return result.has_value(); }));
    TROUPE_ASSIGN_OR_RETURN(auto whole, *std::move(result));
    return std::move(whole.record);
  }

  void expect_the_digests_of(const RunRecord& expected, const TierCell& cell) const {
    SCOPED_TRACE(cell.name());
    const auto settings = settings_of(cell);
    ASSERT_OK_AND_ASSIGN(const auto record, cell.killed ? run_killed(settings) : run(settings));
    EXPECT_EQ(record.batches, expected.batches);
    EXPECT_EQ(record.parameters, expected.parameters);
    EXPECT_EQ(record.best_parameters, expected.best_parameters);
    EXPECT_EQ(record.outputs, expected.outputs);
    const auto& counters = record.epochs.back().counters;
    EXPECT_EQ(counters.rows_device == 0, cell.budget == "0");
    EXPECT_EQ(counters.rows_pinned == 0, cell.budget == "100%");
    EXPECT_EQ(counters.rows_device + counters.rows_pinned + counters.rows_remote, counters.rows);
    EXPECT_EQ(counters.rows_remote == 0, cell.hosts == 1);
    EXPECT_EQ(counters.rows, expected.epochs.back().counters.rows);
  }

  ScratchFolder scratch_;
};

}  // namespace troupe::testing
