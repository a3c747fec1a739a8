#include "runtime/graph/store_watch.hpp"

#include <fmt/format.h>
#include <system_error>

namespace troupe {

namespace fs = std::filesystem;

Result<StoreWatch::Marks> StoreWatch::look(const fs::path& folder) {
  Marks marks;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  while (!error && at != fs::recursive_directory_iterator()) {
    std::error_code gone;  // a file that goes while we look is missing: that is a change
    if (at->is_regular_file(gone)) {
      const auto bytes = at->file_size(gone);
      const auto changed = at->last_write_time(gone);
      if (!gone) {
        marks[at->path().lexically_relative(folder).string()] = {
            bytes, changed.time_since_epoch().count()};
      }
    }
    at.increment(error);
  }
  if (error) {
    return Error(Errc::not_found,
                 fmt::format("{}: cannot be read: {}", folder.string(), error.message()));
  }
  return marks;
}

Result<StoreWatch> StoreWatch::begin(const fs::path& folder) {
  StoreWatch watch;
  watch.folder_ = folder;
  TROUPE_ASSIGN_OR_RETURN(watch.marks_, look(folder));
  return watch;
}

Status StoreWatch::check() const {
  TROUPE_ASSIGN_OR_RETURN(const auto now, look(folder_));
  const auto changed = [this](const std::string& file, const char* how) {
    return Error(
        Errc::data_corruption,
        fmt::format("{}: {} while the run reads it, so its results cannot be trusted; try: "
                    "partition again, and leave the store alone until the run has ended",
                    (folder_ / file).string(), how));
  };
  for (const auto& [file, mark] : marks_) {
    const auto found = now.find(file);
    if (found == now.end()) {
      return changed(file, "was removed");
    }
    if (found->second != mark) {
      return changed(file, "was changed");
    }
  }
  for (const auto& [file, mark] : now) {
    if (!marks_.contains(file)) {
      return changed(file, "was added");
    }
  }
  return ok_status();
}

}  // namespace troupe
