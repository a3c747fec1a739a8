#include "runtime/base/free_memory.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

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

/// What one control group leaves: its files can be written back and dropped.
std::optional<std::uint64_t> left_in(const fs::path& group) {
  const auto most = number_in(group / "memory.max", "");  // not a number: "max", no limit
  const auto used = number_in(group / "memory.current", "");
  if (!most || !used) {
    return std::nullopt;
  }
  const auto files = number_in(group / "memory.stat", "inactive_file").value_or(0);
  const auto held = *used - std::min(files, *used);
  return *most - std::min(held, *most);
}

}  // namespace

std::uint64_t free_memory_bytes(const fs::path& root) {
  std::uint64_t bytes = number_in(root / "proc/meminfo", "MemAvailable:").value_or(0) << 10U;
  // Version 2 of control groups: "0::/group/of/this/process".
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::/")) {
      continue;
    }
    for (fs::path group = line.substr(4);; group = group.parent_path()) {
      if (const auto left = left_in(root / "sys/fs/cgroup" / group)) {
        bytes = std::min(bytes, *left);
      }
      if (group.empty()) {
        break;
      }
    }
  }
  return bytes;
}

}  // namespace troupe
