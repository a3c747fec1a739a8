#pragma once
/// \file statistics.hpp
/// p-values for tests of distributions: chi-square and Kolmogorov-Smirnov. Plain numerics, no
/// randomness.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::testing {

/// The regularised upper incomplete gamma function Q(a, x): series below a + 1, continued fraction
/// (Lentz) above.
inline double gamma_q(double a, double x) {
  if (x <= 0) {
    return 1;
  }
  const double front = std::exp(-x + a * std::log(x) - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a;
    double sum = term;
    for (double n = a + 1; term > sum * 1e-16; n += 1) {
      term *= x / n;
      sum += term;
    }
    return 1 - front * sum;
  }
  double b = x + 1 - a;
  double c = 1e300;
  double d = 1 / b;
  double h = d;
  for (int i = 1; i < 10000; ++i) {
    const double an = -i * (i - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    h *= d * c;
    if (std::abs(d * c - 1) < 1e-15) {
      break;
    }
  }
  return front * h;
}

/// P(X >= statistic) for X of the chi-square distribution.
inline double chi_square_survival(double statistic, double degrees_of_freedom) {
  return gamma_q(degrees_of_freedom / 2, statistic / 2);
}

/// p-value of counts that should all be equal, of a multinomial.
inline double uniform_p_value(std::span<const std::uint64_t> counts) {
  double total = 0;
  for (const auto count : counts) {
    total += static_cast<double>(count);
  }
  const double expected = total / static_cast<double>(counts.size());
  double statistic = 0;
  for (const auto count : counts) {
    const double off = static_cast<double>(count) - expected;
    statistic += off * off / expected;
  }
  return chi_square_survival(statistic, static_cast<double>(counts.size() - 1));
}

/// p-value of how often each position was in a sample of `taken` without replacement, over `trials`
/// samples. Positions of one sample exclude each other, so the variance is that of the
/// hypergeometric distribution.
inline double inclusion_p_value(std::span<const std::uint64_t> counts, double taken,
                                double trials) {
  const auto n = static_cast<double>(counts.size());
  const double p = taken / n;
  const double variance = trials * p * (1 - p) * n / (n - 1);
  double statistic = 0;
  for (const auto count : counts) {
    const double off = static_cast<double>(count) - trials * p;
    statistic += off * off / variance;
  }
  return chi_square_survival(statistic, n - 1);
}

/// p-value of the Kolmogorov-Smirnov test that `values` are uniform in [0, 1] (asymptotic, for 50
/// values and more).
inline double kolmogorov_smirnov_p_value(std::vector<double> values) {
  std::ranges::sort(values);
  const auto n = static_cast<double>(values.size());
  double distance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto rank = static_cast<double>(i);
    distance = std::max({distance, (rank + 1) / n - values[i], values[i] - rank / n});
  }
  const double scaled = (std::sqrt(n) + 0.12 + 0.11 / std::sqrt(n)) * distance;
  if (scaled < 0.2) {
    return 1;
  }
  double sum = 0;
  for (int k = 1; k <= 100; ++k) {
    sum += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * scaled * scaled);
  }
  return std::clamp(sum, 0.0, 1.0);
}

}  // namespace troupe::testing
