// Processes that sample for ranks elsewhere, on devices of their own: the bits of the CPU, for ranks on CPUs and
// on devices, and what is said and refused.
#include "gpu/run/devices.hpp"
#include "launcher/cluster_plan.hpp"
#include "launcher/device_plan.hpp"
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "launcher/simulation.hpp"
#include "runtime/job/collect_options.hpp"
#include "runtime/job/plan.hpp"
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

Settings both(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

/// Placements in which each process that samples has the whole graph.
std::vector<Settings> whole_placements() {
  return {{"cluster.placement=worker", "partition.parts=1", "cluster.replicas=2"},
          {"cluster.placement=worker", "cluster.samplers_per_trainer=2", "partition.parts=1",
           "cluster.replicas=2"},
          {"cluster.placement=server_client", "cluster.servers=1", "partition.parts=1"},
          {"cluster.placement=server_client", "cluster.servers=2", "partition.parts=1",
           "cluster.replicas=2"}};
}
/// And those in which it has some of it.
std::vector<Settings> cut_placements() {
  return {{"cluster.placement=worker"},
          {"cluster.placement=worker", "cluster.samplers_per_trainer=2"},
          {"cluster.placement=server_client", "cluster.servers=2"}};
}

class SamplerDeviceRun : public testing::HeterogeneousRun {
 protected:
  /// Every row was read somewhere: none by the collector alone where devices have the whole graph.
  static void expect_counts(const RunRecord& record, bool whole) {
    for (const auto& epoch : record.epochs) {
      const auto& counters = epoch.counters;
      EXPECT_EQ(
          counters.rows_device + counters.rows_pinned + counters.rows_remote + counters.rows_cached,
          counters.rows);
      EXPECT_GT(counters.rows_device, 0U);
      EXPECT_EQ(counters.rows_remote == 0, whole);
    }
  }
  /// \param way  of sampling or training
  void expect_same(const Settings& way, const Settings& placement, const Settings& devices,
                   bool whole) {
    SCOPED_TRACE(fmt::format("{}; {}; {}", fmt::join(way, " "), fmt::join(placement, " "),
                             fmt::join(devices, " ")));
    ASSERT_OK_AND_ASSIGN(const auto record, run(both(way, both(placement, devices))));
    expect_same_bits(record);
    expect_counts(record, whole);
  }
};

TEST_F(SamplerDeviceRun, HasTheBitsOfTheCpuInEveryPlacement) {
  for (const char* const device : {"cpu", "emulated:2"}) {
    for (const char* const samplers : {"emulated:1", "emulated:2"}) {
      const Settings devices = {fmt::format("cluster.device={}", device),
                                fmt::format("cluster.sampler_devices={}", samplers)};
      for (const auto& placement : whole_placements()) {
        expect_same({}, placement, both(devices, {"sample.on=device"}), true);
      }
      for (const auto& placement : cut_placements()) {
        expect_same({}, placement, devices, false);
      }
    }
  }
}

TEST_F(SamplerDeviceRun, HasTheBitsOfTheCpuWhateverIsSampled) {
  const Settings devices = {"cluster.sampler_devices=emulated:1"};
  for (const Settings& way : std::vector<Settings>{
           {"sample.choice=weighted", R"(sample.fanout={"*": [-1, -1], "writes": [4, 3]})",
            R"(sample.edge_data=["weights"])", "digest=full"},
           {R"(sample.edge_data=["features"])", "model.kind=rgat", "model.edge_features=true"},
           {"sample.replace=true", "sample.frontier=all", "digest=ids"},
           {"sample.disjoint=true", "digest=full"},
           {"sample.choice=labor", "eval.mode=sampled"},
           {"features.normalize=row", "model.dropout=0.5", "digest=off"}}) {
    ASSERT_OK_AND_ASSIGN(plain_, run(way));
    expect_same(way, whole_placements().front(), devices, true);
    expect_same(way, cut_placements().back(), devices, false);
  }
}

TEST_F(SamplerDeviceRun, RowsAndListsMayBePinned) {
  for (const char* const budget : {"0", "30%", "100%"}) {
    ASSERT_OK_AND_ASSIGN(
        const auto record,
        run(both(whole_placements().front(),
                 {"cluster.sampler_devices=emulated:1", "sample.device_lists=pinned",
                  fmt::format("features.cache.device_budget={}", budget)})));
    expect_same_bits(record, budget);
    const auto& counters = record.epochs.back().counters;
    EXPECT_EQ(counters.rows_device == 0, std::string(budget) == "0");
    EXPECT_EQ(counters.rows_pinned == 0, std::string(budget) == "100%");
  }
}

/// This host has no GPUs, or some: the bits are the same.
TEST_F(SamplerDeviceRun, AutoIsWhatEachHostHas) {
  std::vector<std::string> said;
  ASSERT_OK_AND_ASSIGN(auto made,
                       job(both(whole_placements().front(), {"cluster.sampler_devices=auto"})));
  ClusterHooks hooks;
  hooks.say = [&](const std::string& text) { said.push_back(text); };
  ASSERT_OK_AND_ASSIGN(const auto record, testing::run_job(std::move(made), std::move(hooks)));
  expect_same_bits(record);
  const auto cuda = gpu::open_devices({.kind = DeviceKind::cuda}).ok();
  const auto line = std::ranges::find_if(said, [&](const std::string& text) {
    return text.find(cuda ? "makes batches on auto:cuda (" : "makes batches on auto:cpu (") !=
           text.npos;
  });
  EXPECT_NE(line, said.end()) << fmt::format("{}", fmt::join(said, "\n"));
}

/// What a plan says of a job, and the first line of its run.
class SamplerDevicePlan : public SamplerDeviceRun {
 protected:
  Result<std::shared_ptr<const ClusterPlan>> plan(const Settings& settings) {
    TROUPE_ASSIGN_OR_RETURN(auto made, job(settings));
    TROUPE_ASSIGN_OR_RETURN(const auto store, prepare_store(made, [](const std::string&) {}));
    EXPECT_TRUE(fit_to_graph_or_print(made, store.info()));
    return ClusterPlan::make(made, store, {});
  }
  std::string text(const Settings& settings) {
    const auto made = plan(settings);
    EXPECT_OK(made);
    return made ? (*made)->device_text() : "";
  }
};

TEST_F(SamplerDevicePlan, TheFirstLineSaysWhoDoesWhat) {
  const Settings devices = {"cluster.sampler_devices=emulated:1"};
  EXPECT_EQ(text(both(whole_placements().front(), devices)),
            "sampler devices emulated:1: make batches");
  EXPECT_EQ(text(both(cut_placements().front(), devices)),
            "sampler devices emulated:1: gather rows; their hosts sample batches (sampling on a "
            "device: a graph of 4 parts is not built yet)");
  EXPECT_EQ(text(both(cut_placements().front(), both(devices, {"sample.on=host"}))),
            "sampler devices emulated:1: not used (sample.on is \"host\")");
  EXPECT_EQ(
      text(both(whole_placements().front(),
                both(devices, {"cluster.device=emulated:2", "cluster.hosts=2"}))),
      "device emulated:2: trains; gradients between devices; sampler devices emulated:1: make "
      "batches");
  EXPECT_EQ(text(whole_placements().front()), "");
}

TEST_F(SamplerDevicePlan, RefusesWhatDevicesCannotDo) {
  EXPECT_ERROR(plan(both(cut_placements().front(),
                         {"cluster.sampler_devices=emulated:1", "sample.on=device"})),
               Errc::invalid_argument, "a graph of 4 parts is not built yet");
  EXPECT_ERROR(plan(both(whole_placements().front(), {"cluster.sampler_devices=emulated:1",
                                                      "sample.on=device", "sample.choice=labor"})),
               Errc::invalid_argument, "not built yet");
  EXPECT_ERROR(plan(both(cut_placements().front(),
                         {"cluster.sampler_devices=emulated:1", "sample.device_lists=pinned"})),
               Errc::invalid_argument, "sample.device_lists: expected batches that devices sample");
  EXPECT_ERROR(run(both(whole_placements().front(), {"cluster.sampler_devices=emulated:1,8KiB"})),
               Errc::out_of_memory, "memory of a device: neighbor lists");
}

/// Batches of a user program without rows.
TEST_F(SamplerDevicePlan, HostsMakeBatchesWithoutRows) {
  for (const char* const on : {"auto", "device"}) {
    ASSERT_OK_AND_ASSIGN(auto made,
                         job(both(whole_placements().front(),
                                  {"cluster.sampler_devices=emulated:1", "features.collect=false",
                                   fmt::format("sample.on={}", on)})));
    ASSERT_OK_AND_ASSIGN(const auto store, prepare_store(made, [](const std::string&) {}));
    ASSERT_TRUE(fit_to_graph_or_print(made, store.info(), JobTrainer::own));
    ASSERT_OK_AND_ASSIGN(const auto collect,
                         collect_options(made, store.info(), BatchReader::user));
    const auto plan =
        sampler_plan(made, make_layout(made), sample_options(made, store.info()), collect);
    if (std::string(on) == "device") {
      EXPECT_ERROR(plan, Errc::invalid_argument, "features.collect is false");
    } else {
      ASSERT_OK(plan);
      EXPECT_FALSE(plan->rows || plan->batches);
    }
  }
}

TEST_F(SamplerDevicePlan, MemoryIsThatOfBatchesAlone) {
  ASSERT_OK_AND_ASSIGN(const auto made, plan(both(whole_placements().front(),
                                                  {"cluster.sampler_devices=emulated:1"})));
  const auto& job = made->job;
  const auto memory = memory_of_samplers(made->sampler_devices, job, *made->graph,
                                         make_plan(job, *made->graph), nullptr);
  EXPECT_EQ(memory.ranks, 1U);
  EXPECT_GT(memory.lists, 0U);
  EXPECT_GT(memory.rows, 0U);
  EXPECT_GT(memory.batches, 0U);
  EXPECT_EQ(memory.reserved(), memory.batches);
  EXPECT_EQ(memory.reserved(), made->sampler_devices.reserved_per_rank);
  const auto printed = to_string(memory);
  EXPECT_TRUE(printed.starts_with("memory of a sampler's device for 1 rank, at most: ")) << printed;
  EXPECT_EQ(printed.find("activations"), printed.npos) << printed;
}

/// Samplers, servers, holders, ranks and links are lost while devices make batches for others.
TEST(SamplerDeviceFaults, ComeToWhatTheyMust) {
  const testing::ScratchFolder scratch;
  ASSERT_OK_AND_ASSIGN(auto simulation, Simulation::create(scratch.path()));
  const auto tally = testing::run_seeds(simulation, 0, 160, [](FaultPlan& plan) {
    plan.sampler_devices = plan.seed % 2 == 0 ? "emulated:1" : "emulated:2";
    plan.device = plan.seed % 3 == 0 ? "emulated:1" : "cpu";
    return plan.placement == "worker" || plan.placement == "server_client";
  });
  EXPECT_GT(tally.runs, 10U);
  EXPECT_GT(tally.restarts, 0U);
}

}  // namespace
}  // namespace troupe
