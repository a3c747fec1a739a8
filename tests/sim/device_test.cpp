// Ranks whose batches are computed on emulated devices: the bits of the CPU, and errors of a device.
#include "tests/sim/heterogeneous_run.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>
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

TEST_F(DeviceRun, EndsWithTheErrorOfADeviceWithoutMemory) {
  // From too little for one array up to less than a batch's rows.
  for (const char* const memory : {"1B", "64KiB", "1MiB"}) {
    for (const char* const layout : {"cluster.hosts=1", "cluster.hosts=2"}) {
      SCOPED_TRACE(fmt::format("{}, {}", memory, layout));
      EXPECT_ERROR(run({layout}, fmt::format("emulated:1,{}", memory)), Errc::out_of_memory,
                   "emulated device: expected room for");
    }
  }
}

class DeviceRunHeterogeneous : public testing::HeterogeneousRun {};

TEST_F(DeviceRunHeterogeneous, HasTheSameBits) {
  for (const char* const device : {"emulated:1", "emulated:2"}) {
    ASSERT_OK_AND_ASSIGN(const auto record, run({fmt::format("cluster.device={}", device)}));
    expect_same_bits(record, device);
  }
}

}  // namespace
}  // namespace troupe
