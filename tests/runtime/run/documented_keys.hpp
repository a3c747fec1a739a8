#pragma once
/// \file documented_keys.hpp
/// The keys that a section of docs/outputs.md lists: the code in the first column of its table.
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace troupe::testing {

/// \param section  text of its heading
inline std::set<std::string> documented_keys(const std::string& section) {
  std::ifstream in(std::filesystem::path(TROUPE_SOURCE_DIR) / "docs" / "outputs.md");
  std::set<std::string> keys;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#")) {
      inside = line.substr(line.find_first_not_of("# ")) == section;
    }
    if (!inside || !line.starts_with("| `")) {
      continue;
    }
    const auto cell = line.substr(2, line.find(" |", 2) - 2);
    for (std::size_t begin = cell.find('`'); begin != std::string::npos;) {
      const auto end = cell.find('`', begin + 1);
      keys.insert(cell.substr(begin + 1, end - begin - 1));
      begin = cell.find('`', end + 1);
    }
  }
  return keys;
}

}  // namespace troupe::testing
