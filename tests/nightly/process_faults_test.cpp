// Every process of a run killed and stopped at every moment; prints the table of docs/failure.md.
#include "tests/support/fault_cell.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

namespace troupe {
namespace {

TEST(ProcessFaults, TheWholeMatrixEndsWithTheSameDigestsAndLeavesNothing) {
  const auto began = std::chrono::steady_clock::now();
  double slowest = 0;
  std::string table = testing::table_head();
  for (const auto& cell : testing::all_fault_cells()) {
    const auto outcome = testing::run_cell(cell);
    for (const auto& problem : outcome.problems) {
      ADD_FAILURE() << cell << ": " << problem;
    }
    const auto line = testing::table_line(cell, outcome);
    std::printf("%s", line.c_str());
    std::fflush(stdout);
    table += line;
    slowest = std::max(slowest, outcome.detected_s);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  std::printf("\n%s\nslowest detection %.2f s, all in %.0f s\n", table.c_str(), slowest,
              seconds.count());
}

}  // namespace
}  // namespace troupe
