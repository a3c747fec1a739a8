#include "tests/support/shared_memory.hpp"

#include "tests/support/process.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace troupe::testing {
namespace {

struct statvfs usage_of(const std::string& folder) {
  struct statvfs found {};
  ::statvfs(folder.c_str(), &found);
  return found;
}

}  // namespace

SharedMemory::SharedMemory(const std::string& folder) : folder_(folder + "/shm") {
  if (geteuid() != 0) {
    problem_ = "a /dev/shm of one's own needs root";
  } else if (!is_installed("unshare")) {
    problem_ = "there is no unshare (util-linux)";
  } else {
    std::filesystem::create_directories(folder_);
    if (mount("troupe-test", folder_.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0) {
      problem_ = "no tmpfs here: " + std::string(std::strerror(errno));
    }
  }
}

SharedMemory::~SharedMemory() {
  if (problem_.empty()) {
    umount2(folder_.c_str(), MNT_DETACH);
  }
}

std::vector<std::string> SharedMemory::words() const {
  const auto script = "mount --bind '" + folder_ + "' /dev/shm && exec \"$@\"";
  return {"unshare", "--mount", "sh", "-c", script, "sh"};
}

std::uint64_t SharedMemory::bytes() const {
  const auto found = usage_of(folder_);
  return (found.f_blocks - found.f_bfree) * found.f_frsize;
}

std::uint64_t SharedMemory::files() const {
  const auto found = usage_of(folder_);
  return found.f_files - found.f_ffree - 1;  // the folder itself
}

bool maps_system_v(pid_t process) {
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/SYSV") != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace troupe::testing
