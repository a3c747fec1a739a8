#pragma once
/// \file other_build.hpp
/// Copies of the troupe program that report another build.
#include "tests/support/file_text.hpp"
#include "tests/support/process.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace troupe::testing {

/// A copy of `troupe` with the build "0123456789abcdef", in a folder.
inline std::string program_of_other_build(const std::string& troupe, const std::string& folder) {
  const auto version = run_process({troupe, "--version"}, folder).out;
  const std::string before = "build ";
  const auto id = version.substr(version.find(before) + before.size(), 16);
  std::string bytes = testing::file_text(troupe);
  const auto at = bytes.find(id);
  EXPECT_NE(at, std::string::npos) << version;
  bytes.replace(at, id.size(), "0123456789abcdef");
  const auto program = folder + "/troupe-of-other-build";
  std::ofstream(program, std::ios::binary) << bytes;
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  return program;
}

}  // namespace troupe::testing
