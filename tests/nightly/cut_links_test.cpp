// Hosts and connections cut, and processes orphaned, at every moment; prints lines of the table in
// docs/failure.md. Hosts are network namespaces.
#include "tests/support/cut_cell.hpp"
#include "tests/support/network_hosts.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

class CutLinks : public ::testing::TestWithParam<testing::CutCell> {
 protected:
  void SetUp() override {
    if (const auto why = testing::NetworkHosts::unavailable(); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }
};

TEST_P(CutLinks, AreNoticedAndTheRunGoesOnToTheSameDigests) {
  const auto outcome = testing::run_cell(GetParam());

  for (const auto& problem : outcome.problems) {
    ADD_FAILURE() << problem;
  }
  std::printf("%s", testing::table_line(GetParam(), outcome).c_str());
  std::fflush(stdout);
}

INSTANTIATE_TEST_SUITE_P(Matrix, CutLinks, ::testing::ValuesIn(testing::all_cut_cells()),
                         [](const auto& cell) { return testing::test_name(cell.param); });

}  // namespace
}  // namespace troupe
