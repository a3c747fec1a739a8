#include "runtime/base/staged_directory.hpp"

#include "runtime/base/files.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <mutex>
#include <stdlib.h>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view infix = ".tmp-";
constexpr std::string_view suffix = "XXXXXX";  // as many letters as mkdtemp(3) draws

/// Of all directories under construction in this process.
struct Registry {
  std::mutex mutex;
  std::vector<fs::path> paths;
};

Registry& registry() {
  static Registry all;
  return all;
}

void remove_folder(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

Error exists_error(const fs::path& path) {
  return Error(Errc::failed_precondition,
               fmt::format("{}: expected a name that is free, but it exists\n"
                           "try: another name, or remove it",
                           path.string()));
}

/// rename(2) replaces an empty directory; this does not, where the file system can tell.
int rename_to_free_name(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
    return 0;
  }
  if (errno == EINVAL || errno == ENOSYS) {
    return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
  }
  return errno;
}

/// Moves a directory away from the threads that write into it, so that none adds files while they are
/// removed; then removes it, also what a thread that was opening a file has added to it since an earlier
/// call. A name of as many letters, so that the next process finds what is left.
/// \returns whether nothing is left
bool remove_folder_in_use(const fs::path& path) {
  auto aside = path.string();
  aside.replace(aside.size() - suffix.size(), suffix.size(), suffix.size(), '0');
  rename_to_free_name(path, aside);
  remove_folder(aside);
  remove_folder(path);
  std::error_code ignored;
  return !fs::exists(aside, ignored) && !fs::exists(path, ignored);
}

/// Makes a directory whose last letters it draws and registers it, in one step for remove_staged_directories().
/// \returns 0 or errno
int make_registered(std::string& name) {
  const std::lock_guard guard(registry().mutex);
  if (::mkdtemp(name.data()) == nullptr) {
    return errno;
  }
  registry().paths.emplace_back(name);
  return 0;
}

bool take_lock(const OpenFile& file) {
  return file.fd() >= 0 && ::flock(file.fd(), LOCK_EX | LOCK_NB) == 0;
}

/// Waits until nobody else makes or looks for directories in `parent`, which `file` has open; no
/// where the file system has no locks.
/// \errors deadline_exceeded
Result<bool> take_turn(const fs::path& parent, const OpenFile& file) {
  constexpr auto longest = std::chrono::seconds(10);
  const auto end = std::chrono::steady_clock::now() + longest;
  while (!take_lock(file)) {
    if (file.fd() < 0 || errno != EWOULDBLOCK) {
      return false;
    }
    if (std::chrono::steady_clock::now() > end) {
      return Error(Errc::deadline_exceeded,
                   fmt::format("{}: another process has had it locked for {} s\n"
                               "try: see with `fuser` which one, and end it",
                               parent.string(), longest.count()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// The final name of a temporary directory; empty: the name is that of something else.
std::string_view final_name_of(std::string_view name) {
  constexpr auto drawn = infix.size() + suffix.size();
  const bool temporary =
      name.size() > drawn && name.substr(name.size() - drawn, infix.size()) == infix;
  return temporary ? name.substr(0, name.size() - drawn) : std::string_view();
}

/// Removes the temporary directories in `folder` that nobody holds.
/// \param wanted  whether those of a final name are to be removed
/// \requires nobody makes one at the same time
template <class Wanted>
void remove_unheld(const fs::path& folder, const Wanted& wanted) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto name = entry->path().filename().string();
    if (const auto final_name = final_name_of(name); !final_name.empty() && wanted(final_name)) {
      found.push_back(entry->path());
    }
  }
  for (const auto& path : found) {
    if (take_lock(OpenFile(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW))) {
      remove_folder(path);
    }
  }
}

}  // namespace

StagedDirectory::StagedDirectory(fs::path path, fs::path final_path)
    : path_(std::move(path)), final_path_(std::move(final_path)) {}

StagedDirectory::StagedDirectory(StagedDirectory&& other) noexcept
    : path_(std::exchange(other.path_, fs::path())),
      final_path_(std::move(other.final_path_)),
      lock_(std::move(other.lock_)) {}

StagedDirectory::~StagedDirectory() {
  if (!path_.empty()) {
    const std::lock_guard guard(registry().mutex);
    std::erase(registry().paths, path_);
    remove_folder(path_);
  }
}

Result<StagedDirectory> StagedDirectory::create(const fs::path& final_path) {
  const auto target = final_path.has_filename() ? final_path : final_path.parent_path();
  if (target.empty()) {
    return Error(Errc::invalid_argument, "expected the name of a folder to make, found \"\"");
  }
  if (has_name(target)) {
    return exists_error(target);
  }
  std::error_code error;
  fs::create_directories(parent_directory(target), error);
  if (error) {
    return file_error(parent_directory(target), "cannot create the directory", error.value());
  }
  // Others wait, so that they do not take the new directory for one that was left behind.
  const OpenFile parent(parent_directory(target), O_RDONLY | O_DIRECTORY);
  TROUPE_ASSIGN_OR_RETURN(const bool alone, take_turn(parent_directory(target), parent));
  if (alone) {
    remove_unheld(parent_directory(target), [name = target.filename().string()](
                                                std::string_view other) { return other == name; });
  }
  auto name = fmt::format("{}{}{}", target.string(), infix, suffix);
  if (const int failed = make_registered(name); failed != 0) {
    return file_error(target, "cannot create a temporary directory beside it", failed);
  }
  StagedDirectory staged(name, target);
  if (::chmod(name.c_str(), 0755) != 0) {
    return file_error(name, "cannot set the mode", errno);
  }
  staged.lock_ = OpenFile(name, O_RDONLY | O_DIRECTORY);
  // Nobody else has it; where the file system has no locks, nobody looks for one.
  take_lock(staged.lock_);
  return staged;
}

Status StagedDirectory::commit(Flush flush) {
  if (flush == Flush::yes && (lock_.fd() < 0 || ::syncfs(lock_.fd()) != 0)) {
    return file_error(path_, "cannot flush the file system", errno);
  }
  {
    const std::lock_guard guard(registry().mutex);
    const int failed = rename_to_free_name(path_, final_path_);
    if (failed == EEXIST || failed == ENOTEMPTY) {
      return exists_error(final_path_);
    }
    if (failed != 0) {
      return file_error(final_path_, "cannot rename the finished directory", failed);
    }
    std::erase(registry().paths, path_);
  }
  path_.clear();
  lock_.close();
  return flush == Flush::yes ? flush_directory(parent_directory(final_path_)) : ok_status();
}

void remove_left_behind(const fs::path& folder, std::string_view begin) {
  const OpenFile file(folder, O_RDONLY | O_DIRECTORY);
  const auto alone = take_turn(folder, file);
  if (alone && *alone) {
    remove_unheld(folder, [begin](std::string_view name) { return name.starts_with(begin); });
  }
}

void remove_staged_directories() {
  constexpr int tries = 100;  // other threads may still add files
  registry().mutex.lock();    // for good
  for (const auto& path : registry().paths) {
    for (int i = 0; i < tries && !remove_folder_in_use(path); ++i) {
    }
  }
}

}  // namespace troupe
