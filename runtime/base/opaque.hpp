#pragma once
/// \file opaque.hpp
/// Keeps choices between two values free of branches.

namespace troupe {

/// The value, of which the compiler knows nothing: it cannot turn arithmetic on it into a branch. For
/// conditions that are guessed wrong every other time, each time at the price of some twenty steps.
/// \requires T is an integer that fits a register
template <class T>
[[gnu::always_inline]] inline T opaque(T value) {
  asm("" : "+r"(value));
  return value;
}

}  // namespace troupe
