#include "runtime/base/free_memory.hpp"

#include "tests/support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace troupe {
namespace {

class FreeMemory : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_.path() / path).parent_path());
    std::ofstream(root_.path() / path) << text;
  }
  void limit(const std::string& group, const std::string& most, std::uint64_t used,
             std::uint64_t files) {
    write("sys/fs/cgroup" + group + "/memory.max", most + "\n");
    write("sys/fs/cgroup" + group + "/memory.current", std::to_string(used) + "\n");
    write("sys/fs/cgroup" + group + "/memory.stat",
          "anon 5\nactive_file 7\ninactive_file " + std::to_string(files) + "\n");
  }
  void limit_v1(const std::string& group, const std::string& most, std::uint64_t used,
                std::uint64_t files) {
    const auto folder = "sys/fs/cgroup/memory" + group;
    write(folder + "/memory.limit_in_bytes", most + "\n");
    write(folder + "/memory.usage_in_bytes", std::to_string(used) + "\n");
    write(folder + "/memory.stat",
          "cache 8\ninactive_file 7\ntotal_inactive_file " + std::to_string(files) + "\n");
  }
  std::uint64_t found() const { return free_memory_bytes(root_.path()); }

  testing::ScratchFolder root_;
};

TEST_F(FreeMemory, IsWhatTheSystemSaysIsAvailable) {
  write("proc/meminfo", "MemTotal:  9000 kB\nMemFree:  10 kB\nMemAvailable:    4000 kB\n");
  EXPECT_EQ(found(), 4000U << 10U);
}

TEST_F(FreeMemory, IsAtMostWhatTheNearestLimitOfTheControlGroupsLeaves) {
  write("proc/meminfo", "MemAvailable: 4000 kB\n");
  write("proc/self/cgroup", "12:cpu:/old\n0::/job/step\n");
  limit("/job/step", "max", 900, 0);
  EXPECT_EQ(found(), 4000U << 10U) << "no limit";
  limit("/job", "1000000", 300000, 100000);
  EXPECT_EQ(found(), 800000U) << "files can be dropped";
  limit("/job/step", "400000", 300000, 0);
  EXPECT_EQ(found(), 100000U);
  limit("", "50000", 60000, 0);
  EXPECT_EQ(found(), 0U) << "over its limit";
}

TEST_F(FreeMemory, IsAtMostWhatControlGroupsOfVersion1Leave) {
  write("proc/meminfo", "MemAvailable: 4000 kB\n");
  write("proc/self/cgroup", "9:cpu:/job\n4:hugetlb,memory:/job/step\n1:memory_not:/job\n0::/\n");
  limit_v1("/job/step", "9223372036854771712", 900, 0);
  EXPECT_EQ(found(), 4000U << 10U) << "no limit";
  limit_v1("/job", "1000000", 300000, 100000);
  EXPECT_EQ(found(), 800000U) << "files of the groups in it, too, can be dropped";
  limit_v1("/job/step", "400000", 300000, 0);
  EXPECT_EQ(found(), 100000U);
  limit_v1("", "50000", 20000, 0);
  EXPECT_EQ(found(), 30000U) << "the container's own group, mounted as the root";
}

TEST_F(FreeMemory, IsNoneWhereNothingIsKnown) {
  EXPECT_EQ(found(), 0U);
  write("proc/meminfo", "MemAvailable: many\n");
  EXPECT_EQ(found(), 0U);
}

TEST(FreeMemoryHere, IsKnownOnLinux) {
  EXPECT_GT(free_memory_bytes(), std::uint64_t{1} << 20);
}

}  // namespace
}  // namespace troupe
