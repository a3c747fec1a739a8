#include "runtime/nn/knowledge/float_lanes.hpp"

#include "runtime/nn/knowledge/lane_math.hpp"
#include "tests/runtime/nn/nn_support.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace troupe::nn {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

using LaneNumbers = std::array<float, floats>;

/// \param numbers  of any number; each is tried in every lane
template <class Lanes, class Scalar>
void expect_scalar_bits(std::span<const float> numbers, const Lanes& lanes, const Scalar& scalar) {
  for (std::size_t first = 0; first < numbers.size(); ++first) {
    LaneNumbers at{};
    LaneNumbers expected{};
    for (std::size_t lane = 0; lane < floats; ++lane) {
      at[lane] = numbers[(first + lane) % numbers.size()];
      expected[lane] = scalar(at[lane]);
    }
    Floats x;
    std::memcpy(&x, at.data(), sizeof x);
    lanes(x);
    std::memcpy(at.data(), &x, sizeof x);
    for (std::size_t lane = 0; lane < floats; ++lane) {
      if (!std::isnan(expected[lane]) || !std::isnan(at[lane])) {
        ASSERT_TRUE(same_bits({&at[lane], 1}, {&expected[lane], 1}))
            << numbers[(first + lane) % numbers.size()] << ": " << at[lane] << " for "
            << expected[lane];
      }
    }
  }
}

TEST(FloatLanes, ExponentialsHaveTheBitsOfTheScalarFunction) {
  std::vector<float> numbers{
      0,      -0.0F,   -1,         -87.3F,       std::nextafter(-87.3F, -88.0F),
      -1e30F, -1e-30F, -HUGE_VALF, std::nanf("")};
  for (float x = -90; x < 0; x += 0.0371F) {
    numbers.push_back(x);
  }
  expect_scalar_bits(
      numbers, [](Floats& x) { exp_below_zero_lanes(x); },
      [](float x) { return exp_below_zero(x); });
}

TEST(FloatLanes, LogarithmsHaveTheBitsOfTheScalarFunction) {
  std::vector<float> numbers{0, 1, std::numeric_limits<float>::min(), std::nanf("")};
  for (float e = 1; e > 1e-20F; e *= 0.97F) {
    numbers.push_back(e);
  }
  expect_scalar_bits(
      numbers, [](Floats& e) { log_of_one_and_lanes(e); },
      [](float e) { return log_of_one_and(e); });
}

TEST(FloatLanes, ChoiceTakesEachLaneFromItsSide) {
  LaneNumbers left{};
  LaneNumbers right{};
  for (std::size_t lane = 0; lane < floats; ++lane) {
    left[lane] = static_cast<float>(lane);
    right[lane] = lane % 3 == 0 ? std::nanf("") : -static_cast<float>(lane);
  }
  Floats a;
  Floats b;
  std::memcpy(&a, left.data(), sizeof a);
  std::memcpy(&b, right.data(), sizeof b);
  Floats x;
  choose(a > 7.0F, a, b, x);
  for (std::size_t lane = 0; lane < floats; ++lane) {
    const float expected = lane > 7 ? left[lane] : right[lane];
    const float found = x[lane];
    EXPECT_TRUE(same_bits({&found, 1}, {&expected, 1})) << lane;
  }
}

}  // namespace
}  // namespace troupe::nn
