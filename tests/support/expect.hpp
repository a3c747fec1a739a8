#pragma once
/// \file expect.hpp
/// Checks for Result and Status that print the error.
#include "runtime/base/result.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe::testing {

template <class T>
std::string error_text(const Result<T>& result) {
  return result.ok() ? "ok"
                     : std::string(to_string(result.error().code())) + ": " + result.error().what();
}

/// The error's sentence.
/// \requires it failed
template <class T>
std::string what_of(const Result<T>& result) {
  return result.ok() ? "" : result.error().what();
}

}  // namespace troupe::testing

#define EXPECT_OK(expr) EXPECT_EQ(::troupe::testing::error_text(expr), "ok")
#define ASSERT_OK(expr) ASSERT_EQ(::troupe::testing::error_text(expr), "ok")
/// Assigns the value, or fails the test with the error.
#define ASSERT_OK_AND_ASSIGN(lhs, expr)                                                    \
  auto TROUPE_CONCAT(troupe_result_, __LINE__) = (expr);                                   \
  ASSERT_EQ(::troupe::testing::error_text(TROUPE_CONCAT(troupe_result_, __LINE__)), "ok"); \
  lhs = *std::move(TROUPE_CONCAT(troupe_result_, __LINE__))
/// The expression failed with this code and its sentence contains `text`.
#define EXPECT_ERROR(expr, expected_code, text)                                     \
  do {                                                                              \
    const auto& troupe_failed = (expr);                                             \
    EXPECT_FALSE(troupe_failed.ok());                                               \
    if (!troupe_failed.ok()) {                                                      \
      EXPECT_EQ(to_string(troupe_failed.error().code()), to_string(expected_code)); \
      EXPECT_NE(troupe_failed.error().what().find(text), std::string::npos)         \
          << "the error was: " << troupe_failed.error().what();                     \
    }                                                                               \
  } while (false)
