#pragma once
/// \file cut_test.hpp
/// Fixture of tests that run one cut cell each (cut_cell.hpp).
#include "tests/support/cut_cell.hpp"
#include "tests/support/network_hosts.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace troupe::testing {

/// Skipped where hosts cannot be network namespaces.
class CutTest : public ::testing::TestWithParam<CutCell> {
 protected:
  void SetUp() override {
    if (const auto why = NetworkHosts::unavailable(); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }
  /// Fails with the cell's problems, and prints its line of the table.
  static void run() {
    const auto outcome = run_cell(GetParam());
    for (const auto& problem : outcome.problems) {
      ADD_FAILURE() << problem;
    }
    std::printf("%s", table_line(GetParam(), outcome).c_str());
    std::fflush(stdout);
  }
};

}  // namespace troupe::testing
