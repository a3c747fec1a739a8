#include "runtime/nn/clip.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace troupe::nn {
namespace {

/// Sum of squares in running sums, added in order.
double sum_of_squares(std::span<const float> values) {
  std::array<double, clip_lanes> sums{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    sums[i % clip_lanes] += value * value;
  }
  double total = 0;
  for (const double sum : sums) {
    total += sum;
  }
  return total;
}

}  // namespace

double gradient_length(std::span<const float> gradient) {
  double sum = 0;
  for (std::size_t first = 0; first < gradient.size(); first += clip_chunk) {
    sum += sum_of_squares(gradient.subspan(first, std::min(clip_chunk, gradient.size() - first)));
  }
  return std::sqrt(sum);
}

}  // namespace troupe::nn
