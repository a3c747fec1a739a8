#include "launcher/processes/process_logs.hpp"

#include "runtime/base/files.hpp"
#include "runtime/base/open_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace troupe {
namespace {

bool fits_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == ' ' ||
         c == '-' || c == '_';
}

struct NamedLine {
  std::string file;
  std::string_view text;
};

/// What a user program prints has its process's name before it, so it cannot choose a file.
NamedLine split(std::string_view line) {
  constexpr std::size_t longest_name = 100;
  const auto end = line.find("] ");
  const auto name = line.starts_with('[') && end != std::string_view::npos ? line.substr(1, end - 1)
                                                                           : std::string_view();
  if (name.empty() || name.size() > longest_name || !std::ranges::all_of(name, fits_a_name)) {
    return {"agents.log", line};
  }
  std::string file(name);
  std::ranges::replace(file, ' ', '-');
  return {file + ".log", line.substr(end + 2)};
}

Status append_line(const std::filesystem::path& path, std::string_view text) {
  TROUPE_RETURN_IF_ERROR(make_folders(path.parent_path()));
  const OpenFile file(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0644);
  if (file.fd() < 0) {
    return file_error(path, "cannot open", errno);
  }
  const auto line = std::string(text) + "\n";
  if (::write(file.fd(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return file_error(path, "cannot write", errno);
  }
  return ok_status();
}

}  // namespace

void ProcessLogs::add(std::string_view line) {
  const auto [file, text] = split(line);
  const std::lock_guard guard(mutex_);
  if (failed_) {
    return;
  }
  if (const auto written = append_line(dir_ / file, text); !written) {
    failed_ = true;
    std::fprintf(stderr, "troupe: %s; no more process logs are written\n",
                 written.error().what().c_str());
  }
}

}  // namespace troupe
