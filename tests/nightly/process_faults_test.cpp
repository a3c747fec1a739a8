// Every process of a run killed and stopped at every moment; prints the table of docs/failure.md.
#include "tests/support/fault_cell.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace troupe {
namespace {

void expect_all(const std::vector<testing::FaultCell>& cells) {
  const auto began = std::chrono::steady_clock::now();
  double slowest = 0;
  std::printf("%s", testing::table_head().c_str());
  for (const auto& cell : cells) {
    const auto outcome = testing::run_cell(cell);
    for (const auto& problem : outcome.problems) {
      ADD_FAILURE() << cell << ": " << problem;
    }
    std::printf("%s", testing::table_line(cell, outcome).c_str());
    std::fflush(stdout);
    slowest = std::max(slowest, outcome.detected_s);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  std::printf("slowest detection %.2f s; %zu cells in %.0f s\n", slowest, cells.size(),
              seconds.count());
}

TEST(ProcessFaults, TheWholeMatrixEndsWithTheSameDigestsAndLeavesNothing) {
  expect_all(testing::all_fault_cells());
}

TEST(ProcessFaults, AtTheDefaultsSilentProcessesAreNoticedAndReplaced) {
  expect_all(testing::slow_fault_cells());
}

}  // namespace
}  // namespace troupe
