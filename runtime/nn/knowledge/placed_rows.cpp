#include "runtime/nn/knowledge/placed_rows.hpp"

#include <algorithm>

namespace troupe::nn {

void gather_rows(const PlacedRows& from, MutMatrix to) {
  TROUPE_ASSERT(to.rows == from.rows() && to.cols == from.cols(), "rows to gather", to.rows,
                to.cols, from.rows(), from.cols());
  for (std::size_t i = 0; i < to.rows; ++i) {
    std::ranges::copy(from.row(i), to.row(i).begin());
  }
}

}  // namespace troupe::nn
