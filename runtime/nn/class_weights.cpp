#include "runtime/nn/class_weights.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace troupe::nn {
namespace {

constexpr int most_bits = 40;  ///< Of the largest weight
constexpr int sum_bits = 63;   ///< Of sums

}  // namespace

Result<ClassWeights> whole_class_weights(std::span<const double> weights, std::uint64_t terms) {
  double largest = 0;
  for (const double weight : weights) {
    if (!(weight >= 0) || !std::isfinite(weight)) {
      return Error(Errc::invalid_argument,
                   fmt::format("class weights: expected finite numbers from 0, found {}", weight));
    }
    largest = std::max(largest, weight);
  }
  if (largest == 0) {
    return Error(Errc::invalid_argument,
                 fmt::format("class weights: expected one above 0, found {} of 0", weights.size()));
  }
  // Weights below 1 take no larger power, so that sums of units have room, too.
  const int above_one = std::max(0, static_cast<int>(std::ceil(std::log2(largest))));
  const int room = std::min(most_bits, sum_bits - 1 - static_cast<int>(std::bit_width(terms)));
  const int power = room - above_one;
  if (power < 0) {
    return Error(Errc::invalid_argument,
                 fmt::format("class weights: expected terms whose weights add up to less than "
                             "2^{}, found {} terms of weights up to {}\ntry: smaller weights",
                             sum_bits, terms, largest));
  }
  ClassWeights whole{.of_class = {}, .unit = std::uint64_t{1} << power};
  for (const double weight : weights) {
    const auto rounded = static_cast<std::uint64_t>(std::llround(std::ldexp(weight, power)));
    whole.of_class.push_back(weight > 0 ? std::max<std::uint64_t>(1, rounded) : 0);
  }
  return whole;
}

std::vector<double> balanced_class_weights(std::span<const std::uint64_t> counts) {
  const auto all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  std::vector<double> weights;
  for (const auto count : counts) {
    const double share = static_cast<double>(counts.size()) * static_cast<double>(count);
    weights.push_back(count == 0 ? 0 : static_cast<double>(all) / share);
  }
  return weights;
}

std::vector<double> relative_weights(std::vector<double> weights) {
  const double largest = *std::ranges::max_element(weights);
  for (double& weight : weights) {
    weight /= largest;
  }
  return weights;
}

}  // namespace troupe::nn
