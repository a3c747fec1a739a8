#include "runtime/generate/power.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace troupe::generate {
namespace {

constexpr double log_2 = 0x1.62e42fefa39efp-1;
// log 2 as a sum of which the first part, times a whole number below 2^20, is exact.
constexpr double log_2_high = 0x1.62e42fefap-1;
constexpr double log_2_low = 0x1.cf79abc9e3b39p-40;

}  // namespace

double natural_log(double x) noexcept {
  constexpr int mantissa_bits = 52;
  constexpr int bias = 1023;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> mantissa_bits) - bias;
  auto m = std::bit_cast<double>((bits & ((std::uint64_t{1} << mantissa_bits) - 1)) |
                                 std::uint64_t{bias} << mantissa_bits);
  if (m > 0x1.6a09e667f3bcdp0) {  // the root of 2
    m /= 2;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1);  // log m = 2 atanh s, |s| < 0.172
  const double z = s * s;
  double sum = 0;
  for (int k = 25; k >= 1; k -= 2) {
    sum = sum * z + 1.0 / k;
  }
  return static_cast<double>(exponent) * log_2 + 2 * s * sum;
}

double exponential(double x) noexcept {
  const double k = std::floor(x / log_2 + 0.5);
  const double r = x - k * log_2_high - k * log_2_low;  // |r| < 0.347
  double sum = 1;
  for (int n = 14; n >= 1; --n) {
    sum = 1 + sum * r / n;
  }
  return std::ldexp(sum, static_cast<int>(k));
}

}  // namespace troupe::generate
