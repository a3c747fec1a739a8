#pragma once
/// \file power.hpp
/// Powers with the same bits on every machine. std::pow has those of its library; these use only
/// operations that IEEE 754 rounds in one way, in one order.

namespace troupe::generate {

/// The natural logarithm, to a few units in the last place. \requires x >= 1, finite
double natural_log(double x) noexcept;
/// e^x, to a few units in the last place. \requires -700 <= x <= 0
double exponential(double x) noexcept;

}  // namespace troupe::generate
