#include "runtime/nn/knowledge/row_touches.hpp"

namespace troupe::nn {

/// A counting sort: ends_[row + 1] is where the row's elements begin, until they are all placed.
void RowTouches::assign(std::size_t rows, std::span<const std::span<const std::uint32_t>> lists) {
  ends_.assign(rows + 2, 0);
  std::size_t elements = 0;
  for (const auto& list : lists) {
    for (const std::uint32_t row : list) {
      ++ends_[row + 2];
    }
    elements += list.size();
  }
  for (std::size_t row = 2; row < ends_.size(); ++row) {
    ends_[row] += ends_[row - 1];
  }
  order_.resize(elements);
  std::uint32_t number = 0;
  for (const auto& list : lists) {
    for (const std::uint32_t row : list) {
      order_[ends_[row + 1]++] = number++;
    }
  }
}

}  // namespace troupe::nn
