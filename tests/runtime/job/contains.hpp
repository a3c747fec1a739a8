#pragma once
/// \file contains.hpp
/// What the tests of jobs ask of problems.
#include <gtest/gtest.h>

#include <string>

#define EXPECT_CONTAINS(text, part) \
  EXPECT_NE((text).find(part), std::string::npos) << "the text was: " << (text)
