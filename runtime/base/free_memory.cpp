#include "runtime/base/free_memory.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {
namespace {

namespace fs = std::filesystem;

/// The number behind a word of a file, e.g. "MemAvailable:"; with no word the first of the file.
std::optional<std::uint64_t> number_in(const fs::path& file, const std::string& word) {
  std::ifstream in(file);
  std::string found;
  while (!word.empty() && in >> found && found != word) {
  }
  std::uint64_t number = 0;
  return in >> number ? std::optional(number) : std::nullopt;
}

/// Where a version of control groups has what.
struct GroupFiles {
  const char* folder;
  const char* most;
  const char* used;
  /// Word of memory.stat; in version 1 those with "total" count the groups in a group, too.
  const char* droppable;
};
constexpr GroupFiles version_1{"sys/fs/cgroup/memory", "memory.limit_in_bytes",
                               "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles version_2{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};

/// What one control group leaves: its files can be written back and dropped.
std::optional<std::uint64_t> left_in(const fs::path& group, const GroupFiles& files) {
  const auto most = number_in(group / files.most, "");  // not a number: "max", no limit
  const auto used = number_in(group / files.used, "");
  if (!most || !used) {
    return std::nullopt;
  }
  const auto dropped = number_in(group / "memory.stat", files.droppable).value_or(0);
  const auto held = *used - std::min(dropped, *used);
  return *most - std::min(held, *most);
}

/// The least that a group and those around it leave.
std::uint64_t least_left(const fs::path& root, fs::path group, const GroupFiles& files) {
  auto bytes = std::numeric_limits<std::uint64_t>::max();
  for (;; group = group.parent_path()) {
    if (const auto left = left_in(root / files.folder / group, files)) {
      bytes = std::min(bytes, *left);
    }
    if (group.empty()) {
      return bytes;
    }
  }
}

/// Whether a list such as "hugetlb,memory" has the memory's control groups.
bool limits_memory(std::string_view controllers) {
  return fmt::format(",{},", controllers).find(",memory,") != std::string::npos;
}

}  // namespace

std::uint64_t free_memory_bytes(const fs::path& root) {
  std::uint64_t bytes = number_in(root / "proc/meminfo", "MemAvailable:").value_or(0) << 10U;
  // Lines "0::/group/of/this/process" of version 2, "4:memory:/group/of/this/process" of version 1.
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto slash = line.find(":/", std::min(first + 1, line.size()));
    if (first == std::string::npos || slash == std::string::npos) {
      continue;
    }
    const auto group = line.substr(slash + 2);
    if (line.starts_with("0::")) {
      bytes = std::min(bytes, least_left(root, group, version_2));
    } else if (limits_memory(std::string_view(line).substr(first + 1, slash - first - 1))) {
      bytes = std::min(bytes, least_left(root, group, version_1));
    }
  }
  return bytes;
}

}  // namespace troupe
