#pragma once
/// \file file_text.hpp
/// A file's bytes for tests that read reports, logs, stores and /proc.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace troupe::testing {

/// All that can be read; nothing of a file that does not exist, of a folder, or of a process that
/// ends meanwhile (where istreambuf_iterator throws).
inline std::string file_text(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

/// Of all regular files below a folder, by path from there.
/// \param extension  of those that count; empty: all
inline std::map<std::string, std::string> texts_below(const std::filesystem::path& folder,
                                                      const std::string& extension = "") {
  std::map<std::string, std::string> texts;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && (extension.empty() || entry.path().extension() == extension)) {
      texts[std::filesystem::relative(entry.path(), folder).string()] = file_text(entry.path());
    }
  }
  return texts;
}

}  // namespace troupe::testing
