#pragma once
/// \file median.hpp
#include <algorithm>
#include <optional>
#include <vector>

namespace troupe {

/// The mean of the middle two where their number is even; nothing of no values.
template <typename T>
std::optional<double> median(std::vector<T> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  std::ranges::sort(values);
  const auto half = values.size() / 2;
  const double upper = values[half];
  return values.size() % 2 == 1 ? upper : (static_cast<double>(values[half - 1]) + upper) / 2;
}

}  // namespace troupe
