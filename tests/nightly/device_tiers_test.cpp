// All cells of the tables of docs/gpu.md: one digest with any number of devices, parts and hosts, any budget
// of rows, lists in either memory, batches in flight, kill and resume.
#include "tests/sim/device_tiers.hpp"

namespace troupe {
namespace {

using testing::DeviceRunTiers;

TEST_F(DeviceRunTiers, AllCellsHaveTheDigestsOfTheCpu) {
  ASSERT_OK_AND_ASSIGN(const auto on_cpu, run({}));
  for (const auto& cell : testing::all_tier_cells()) {
    expect_the_digests_of(on_cpu, cell);
  }
}

TEST_F(DeviceRunTiers, AllCellsOfSeveralPartsHaveTheDigestsOfTheCpu) {
  ASSERT_OK_AND_ASSIGN(const auto on_cpu, run({}));
  for (const auto& cell : testing::all_part_cells()) {
    expect_the_digests_of(on_cpu, cell);
  }
}

}  // namespace
}  // namespace troupe
