// Hosts and connections cut, and processes orphaned, at every moment; prints lines of the table in
// docs/failure.md. Hosts are network namespaces.
#include "tests/support/cut_test.hpp"

namespace troupe {
namespace {

class CutLinks : public testing::CutTest {};

TEST_P(CutLinks, AreNoticedAndTheRunGoesOnToTheSameDigests) {
  run();
}

INSTANTIATE_TEST_SUITE_P(Matrix, CutLinks, ::testing::ValuesIn(testing::all_cut_cells()),
                         [](const auto& cell) { return testing::test_name(cell.param); });

}  // namespace
}  // namespace troupe
