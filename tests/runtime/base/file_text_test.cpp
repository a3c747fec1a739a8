#include "tests/support/file_text.hpp"

#include "tests/support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace troupe::testing {
namespace {

TEST(FileText, IsAllBytes) {
  const ScratchFolder scratch;
  const std::string bytes("a\r\n\0\xff", 5);
  std::ofstream(scratch.path() / "file", std::ios::binary) << bytes;

  EXPECT_EQ(file_text(scratch.path() / "file"), bytes);
}

/// As reading /proc/PID/cmdline fails when that process has ended since it was opened.
TEST(FileText, IsEmptyOfWhatCannotBeRead) {
  const ScratchFolder scratch;

  EXPECT_EQ(file_text(scratch.path()), "");
  EXPECT_EQ(file_text(scratch.path() / "none"), "");
  EXPECT_EQ(file_text("/proc/self/mem"), "");
}

}  // namespace
}  // namespace troupe::testing
