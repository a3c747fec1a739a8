#include "runtime/nn/clip.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace troupe::nn {
namespace {

constexpr std::size_t chunk = 16384;

/// Sum of squares in 8 running sums, added in order.
double sum_of_squares(std::span<const float> values) {
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    sums[i % lanes] += value * value;
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
  for (std::size_t first = 0; first < gradient.size(); first += chunk) {
    sum += sum_of_squares(gradient.subspan(first, std::min(chunk, gradient.size() - first)));
  }
  return std::sqrt(sum);
}

double clip_factor(double length, double limit) {
  const double factor = limit / (length + 1e-6);
  return factor > 1 ? 1 : factor;
}

}  // namespace troupe::nn
