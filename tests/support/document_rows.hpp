#pragma once
/// \file document_rows.hpp
/// Rows of tables in docs/, for tests that hold them against the tables of the program.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace troupe::testing {

/// The rows below the header that begins with `head`; none where there is no such table.
inline std::vector<std::string> document_rows(const std::string& file, const std::string& head) {
  std::ifstream in(std::filesystem::path(TROUPE_SOURCE_DIR) / "docs" / file);
  std::vector<std::string> rows;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    const bool begins = line.starts_with(head);
    inside = line.starts_with("|") && (inside || begins);
    if (inside && !begins && !line.starts_with("|--")) {
      rows.push_back(line);
    }
  }
  return rows;
}

/// "`a`, `b`"
template <class Names>
std::string code_list(const Names& names) {
  std::string list;
  for (const auto& name : names) {
    list += (list.empty() ? "`" : ", `") + std::string(name) + "`";
  }
  return list;
}

}  // namespace troupe::testing
