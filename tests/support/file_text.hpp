#pragma once
/// \file file_text.hpp
/// A file's bytes for tests that read reports, logs, stores and /proc.
#include <filesystem>
#include <fstream>
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

}  // namespace troupe::testing
