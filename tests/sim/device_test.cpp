// Ranks whose batches are computed on emulated devices: the bits of the CPU, and errors of a device.
#include "gpu/run/devices.hpp"
#include "tests/sim/heterogeneous_run.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

namespace troupe {
namespace {

void expect_same_record(const RunRecord& actual, const RunRecord& expected) {
  ASSERT_TRUE(actual.batches && expected.batches);
  EXPECT_EQ(to_string(*actual.batches), to_string(*expected.batches));
  EXPECT_EQ(to_string(actual.parameters), to_string(expected.parameters));
  EXPECT_EQ(to_string(actual.best_parameters), to_string(expected.best_parameters));
  EXPECT_EQ(to_string(actual.outputs), to_string(expected.outputs));
  EXPECT_EQ(actual.valid->accuracy, expected.valid->accuracy);
}

class DeviceRun : public ::testing::Test {
 protected:
  Result<RunRecord> run(testing::Settings settings, const std::string& device) {
    settings.push_back(fmt::format("cluster.device={}", device));
    return testing::run_cora(scratch_.path(), settings);
  }
  testing::ScratchFolder scratch_;
};

TEST_F(DeviceRun, HasTheDigestsOfTheCpu) {
  const std::vector<testing::Settings> models = {
      {"model.kind=graphsage", "model.norm=layer"},
      {"model.kind=gat", "model.heads=2"},
  };
  for (const testing::Settings& model : models) {
    for (const char* const layout : {"cluster.hosts=2", "cluster.trainers_per_host=2"}) {
      testing::Settings settings = model;
      settings.push_back(layout);
      ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(settings, "cpu"));
      for (const char* const device : {"emulated:1", "emulated:2"}) {
        SCOPED_TRACE(fmt::format("{}, {}, {}", model.front(), layout, device));
        ASSERT_OK_AND_ASSIGN(const auto record, run(settings, device));
        expect_same_record(record, on_cpu);
      }
    }
  }
}

/// Losses, clipping, optimizers, schedules and the best epoch, all where the parameters are.
TEST_F(DeviceRun, LearnsWithTheBitsOfTheCpuWhateverItLearnsWith) {
  const std::vector<testing::Settings> ways = {
      {"train.optimizer.kind=sgd", "train.optimizer.momentum=0.9", "train.optimizer.nesterov=true",
       "train.clip=0.1"},
      {"train.optimizer.kind=adamw", "train.optimizer.weight_decay=0.1", "train.clip=0.5",
       "train.schedule.kind=cosine"},
      {"train.optimizer.kind=adagrad", "train.optimizer.lr=0.05"},
      {"model.norm=batch", "train.clip=0.1", "eval.mode=sampled", "train.epochs=3"},
      {"cluster.trainers_per_host=4", "train.clip=1"},
  };
  for (const testing::Settings& way : ways) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(way, " ")));
    ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(way, "cpu"));
    for (const char* const device : {"emulated:1", "emulated:2", "emulated:4"}) {
      SCOPED_TRACE(device);
      ASSERT_OK_AND_ASSIGN(const auto record, run(way, device));
      expect_same_record(record, on_cpu);
      ASSERT_EQ(record.epochs.size(), on_cpu.epochs.size());
      for (std::size_t e = 0; e < record.epochs.size(); ++e) {
        EXPECT_EQ(record.epochs[e].loss, on_cpu.epochs[e].loss) << e;
      }
    }
  }
}

/// The graph is whole in every process, so that devices can make batches.
const testing::Settings whole_graph = {"partition.parts=1", "cluster.hosts=2",
                                       "cluster.replicas=2"};

TEST_F(DeviceRun, BatchesOfDevicesHaveTheDigestsOfTheHosts) {
  const std::vector<testing::Settings> ways = {
      {"digest=full"},
      {"digest=ids", "sample.frontier=all"},
      {"digest=off", "sample.replace=true"},
      {"sample.edge_dir=out", "features.normalize=row"},
      {"features.normalize=column", "model.kind=gcn", "sample.edge_data=[\"ids\"]"},
      {"eval.mode=sampled", "model.dropout=0.5", "model.input_dropout=0.2"},
  };
  for (const testing::Settings& way : ways) {
    SCOPED_TRACE(way.front());
    testing::Settings settings = whole_graph;
    settings.insert(settings.end(), way.begin(), way.end());
    ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(settings, "cpu"));
    for (const char* const on : {"host", "device"}) {
      testing::Settings there = settings;
      there.push_back(fmt::format("sample.on={}", on));
      ASSERT_OK_AND_ASSIGN(const auto record, run(there, "emulated:1"));
      EXPECT_EQ(record.batches, on_cpu.batches) << on;
      EXPECT_EQ(record.parameters, on_cpu.parameters) << on;
      EXPECT_EQ(record.outputs, on_cpu.outputs) << on;
    }
  }
}

TEST_F(DeviceRun, BatchesThatDevicesCannotMakeAreRefusedOrMadeByTheHost) {
  struct Refused {
    testing::Settings settings;
    const char* device;
    const char* reason;
  };
  const testing::Settings one_host = {"partition.parts=1", "cluster.hosts=1"};
  const auto with = [&](const char* setting) {
    testing::Settings settings = one_host;
    settings.emplace_back(setting);
    return settings;
  };
  const std::vector<Refused> all = {
      {one_host, "cpu", "cluster.device is \"cpu\""},
      {{"partition.parts=2", "cluster.hosts=1"}, "emulated:1", "a graph of 2 parts"},
      {{"partition.parts=1", "cluster.hosts=2"}, "emulated:1", "which has no part"},
      {with("cluster.placement=worker"), "emulated:1", "other processes make those of rank 0"},
      {with("sample.disjoint=true"), "emulated:1", "not built yet"},
      {with("sample.choice=labor"), "emulated:1", "not built yet"},
  };
  for (const auto& [settings, device, reason] : all) {
    SCOPED_TRACE(fmt::format("{}, {}", fmt::join(settings, " "), device));
    testing::Settings there = settings;
    there.emplace_back("sample.on=device");
    EXPECT_ERROR(run(there, device), Errc::invalid_argument, reason);
    ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(settings, "cpu"));
    ASSERT_OK_AND_ASSIGN(const auto by_host, run(settings, device));
    expect_same_record(by_host, on_cpu);
  }
}

/// No command read this job.
TEST_F(DeviceRun, ProductsThatWhatAutoBecameDoesNotHaveEndTheRunAtItsStart) {
  if (gpu::find_devices().kind == DeviceKind::cuda) {
    GTEST_SKIP() << "this host has a GPU: cluster.device \"auto\" becomes \"cuda\"";
  }
  EXPECT_ERROR(
      run({"train.precision=tf32"}, "auto"), Errc::unimplemented,
      "train.precision: expected \"float32\" or \"bf16\" with cluster.device \"auto:cpu\"");
  EXPECT_OK(run({"train.precision=float32", "train.epochs=1"}, "auto"));
}

TEST_F(DeviceRun, ADeviceTooSmallForTheGraphEndsTheRunAtItsStart) {
  testing::Settings settings = whole_graph;
  settings.emplace_back("sample.on=device");
  EXPECT_ERROR(run(settings, "emulated:1,64KiB"), Errc::out_of_memory,
               "emulated device: expected room for");
}

TEST_F(DeviceRun, EndsWithTheErrorOfADeviceWithoutMemory) {
  // From too little for one array up to less than a batch's rows.
  for (const char* const memory : {"1B", "64KiB", "1MiB"}) {
    for (const char* const layout : {"cluster.hosts=1", "cluster.hosts=2"}) {
      SCOPED_TRACE(fmt::format("{}, {}", memory, layout));
      const auto ended = run({layout, testing::whole_cora}, fmt::format("emulated:1,{}", memory));
      EXPECT_ERROR(ended, Errc::out_of_memory, "emulated device: expected room for");
      EXPECT_ERROR(ended, Errc::out_of_memory, "parameters");
      EXPECT_ERROR(ended, Errc::out_of_memory, "\ntry: a smaller ");
    }
  }
}

/// Parameters, batches and activations, at the start and while it trains.
TEST_F(DeviceRun, ErrorsOfADeviceWithoutMemoryHaveTheFiguresOfCheck) {
  const testing::Settings settings = {"sample.on=host", "cluster.hosts=1",
                                      "cluster.trainers_per_host=2"};
  for (const char* const memory : {"10", "100", "400"}) {
    const auto ended = run(settings, fmt::format("emulated:1,{}KiB", memory));
    EXPECT_ERROR(ended, Errc::out_of_memory, "in use; planned for a device with 2 ranks: at most ");
    EXPECT_ERROR(ended, Errc::out_of_memory, fmt::format(" of {}.0 KiB: copy of a batch ", memory));
    EXPECT_ERROR(ended, Errc::out_of_memory,
                 "\ntry: a smaller sample.batch_size, sample.fanout, model.hidden, or fewer ranks "
                 "per device");
  }
}

TEST_F(DeviceRun, OfADeviceThatTheHostChoosesIsOneOnTheCpuWithoutGpus) {
  if (gpu::find_devices().kind != DeviceKind::cpu) {
    GTEST_SKIP() << "this host has GPUs";
  }
  ASSERT_OK_AND_ASSIGN(const auto on_cpu, run({}, "cpu"));
  for (const char* const device : {"auto", "auto:cpu"}) {
    ASSERT_OK_AND_ASSIGN(const auto record, run({}, device));
    expect_same_record(record, on_cpu);
  }
  EXPECT_ERROR(run({}, "auto:cuda"), Errc::failed_precondition, "devices of one kind");
}

/// Exact inference wants 31 MB here, half of the memory.
TEST_F(DeviceRun, ExactInferenceLeavesRowsTheRoomThatCheckSays) {
  const testing::Settings settings = {testing::whole_cora, "partition.parts=1", "cluster.hosts=1",
                                      "cluster.trainers_per_host=2", "sample.batch_size=16"};
  ASSERT_OK_AND_ASSIGN(const auto there, run(settings, "emulated:1,64MiB"));
  EXPECT_GT(there.epochs.back().counters.rows_device, 0U);
  EXPECT_EQ(there.epochs.back().counters.rows_pinned, 0U);
}

class DeviceRunHeterogeneous : public testing::HeterogeneousRun {};

TEST_F(DeviceRunHeterogeneous, HasTheSameBits) {
  for (const char* const device : {"emulated:1", "emulated:2"}) {
    ASSERT_OK_AND_ASSIGN(const auto record, run({fmt::format("cluster.device={}", device)}));
    expect_same_bits(record, device);
  }
}

TEST_F(DeviceRunHeterogeneous, BatchesOfDevicesHaveTheSameBits) {
  for (const testing::Settings& way : std::vector<testing::Settings>{
           {"sample.choice=uniform"},
           {"sample.choice=weighted", R"(sample.fanout={"*": [-1, -1], "writes": [4, 3]})",
            R"(sample.edge_data=["weights"])"},
           {"model.kind=hgt", "model.heads=2"},
           {"model.kind=rgat", "model.heads=2"},
           {"model.kind=gatv2", "model.heads=2", "model.loops=false"},
           {"model.kind=rgcn", "model.norm=batch"}}) {
    SCOPED_TRACE(way.front());
    testing::Settings settings = {"partition.parts=1", "train.epochs=2", "cluster.hosts=1",
                                  "cluster.trainers_per_host=2"};
    settings.insert(settings.end(), way.begin(), way.end());
    ASSERT_OK_AND_ASSIGN(const auto on_cpu, run(settings));
    settings.insert(settings.end(), {"cluster.device=emulated:2", "sample.on=device"});
    ASSERT_OK_AND_ASSIGN(const auto record, run(settings));
    EXPECT_EQ(record.batches, on_cpu.batches);
    EXPECT_EQ(record.parameters, on_cpu.parameters);
  }
}

}  // namespace
}  // namespace troupe
