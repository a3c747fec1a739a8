#pragma once
/// \file assert.hpp
/// `TROUPE_ASSERT(cond, values…)` stops the program on our own bugs and prints the values. Never
/// for data from a user, the network or a disk: those get an Error. Checked in every build.
#include <sstream>
#include <string>

namespace troupe {

/// Prints the condition, its place and `values` to standard error, then aborts.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line,
                                   const std::string& values);

/// The arguments written one after the other, separated by spaces.
template <class... Values>
std::string assertion_values(const Values&... values) {
  std::ostringstream out;
  ((out << values << ' '), ...);
  return out.str();
}

}  // namespace troupe

#define TROUPE_ASSERT(condition, ...)                               \
  (static_cast<bool>(condition)                                     \
       ? static_cast<void>(0)                                       \
       : ::troupe::assertion_failed(#condition, __FILE__, __LINE__, \
                                    ::troupe::assertion_values(__VA_ARGS__)))
