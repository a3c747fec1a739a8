// Hosts, and the connections of single processes, cut at every moment; prints the table of
// docs/failure.md. Hosts are network namespaces.
#include "tests/support/cut_cell.hpp"
#include "tests/support/network_hosts.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

TEST(CutLinks, AreNoticedAndTheRunGoesOnToTheSameDigests) {
  if (const auto why = testing::NetworkHosts::unavailable(); !why.empty()) {
    GTEST_SKIP() << why;
  }
  std::printf("%s", testing::table_head().c_str());
  for (const auto& cell : testing::all_cut_cells()) {
    const auto outcome = testing::run_cell(cell);

    for (const auto& problem : outcome.problems) {
      ADD_FAILURE() << cell << ": " << problem;
    }
    std::printf("%s", testing::table_line(cell, outcome).c_str());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace troupe
