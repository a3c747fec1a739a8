#include "runtime/run/output_folder.hpp"

#include "runtime/base/files.hpp"
#include "runtime/base/json_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr const char* lock_name = "run.lock";
constexpr const char* output_key = "output";
constexpr std::uint64_t largest_report = std::uint64_t{1} << 30;
/// Left by a run, or by `submit` for one. The checkpoints' folder is not removed itself: it may be a
/// mount.
constexpr std::array run_files = {"report.json",     "metrics.jsonl", "model.safetensors",
                                  "predictions.npy", "node_ids.npy",  "trace.json"};

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool has_entries(const fs::path& dir) {
  std::error_code error;
  return !fs::is_empty(dir, error) && !error;
}

bool has_finished_run(const fs::path& dir) {
  const auto text = read_text_file(dir / "report.json", largest_report);
  if (!text) {
    return false;
  }
  const auto report = json_of_text(*text);
  return report.is_object() && report.contains("status") && report["status"] == "done";
}

/// Learned rows of a part, or the trace of a process: runs differ in how many they leave.
bool is_of_part_or_process(const std::string& name) {
  const auto is_between = [&name](std::string_view begin, std::string_view end) {
    return name.size() > begin.size() + end.size() && name.starts_with(begin) &&
           name.ends_with(end);
  };
  return is_between("learned-", ".bin") || is_between("trace-", ".json");
}

fs::path numbered(const fs::path& first, std::uint64_t number) {
  return number < 2 ? first : fs::path(fmt::format("{}-{}", first.string(), number));
}

/// 1 for `first` itself, n for its name with "-n"; else nothing.
std::optional<std::uint64_t> number_of_folder(const fs::path& dir, const fs::path& first) {
  const auto name = dir.filename().string();
  const auto begin = first.filename().string();
  if (name == begin) {
    return 1;
  }
  if (!name.starts_with(begin + "-")) {
    return std::nullopt;
  }
  const char* const digits = name.data() + begin.size() + 1;
  const char* const end = name.data() + name.size();
  std::uint64_t number = 0;
  const auto [rest, problem] = std::from_chars(digits, end, number);
  const bool plain = problem == std::errc{} && rest == end && *digits != '0' && number > 1;
  return plain ? std::optional(number) : std::nullopt;
}

fs::path last_to_resume(const fs::path& first) {
  std::error_code error;
  std::vector<std::uint64_t> numbers;
  for (fs::directory_iterator entry(parent_directory(first), error), end; !error && entry != end;
       entry.increment(error)) {
    const auto number = number_of_folder(entry->path(), first);
    if (number && has_run(entry->path())) {
      numbers.push_back(*number);
    }
  }
  std::ranges::sort(numbers, std::ranges::greater());
  const auto is_unfinished = [&](std::uint64_t number) {
    return !has_finished_run(numbered(first, number));
  };
  // A run that is submitted, or ended before its first checkpoint, does not hide those before it.
  auto unfinished = std::ranges::find_if(numbers, [&](std::uint64_t number) {
    return is_unfinished(number) && has_entries(numbered(first, number) / "checkpoints");
  });
  if (unfinished == numbers.end()) {
    unfinished = std::ranges::find_if(numbers, is_unfinished);
  }
  const auto last = numbers.empty() ? 1 : numbers.front();
  return numbered(first, unfinished == numbers.end() ? last : *unfinished);
}

Error finished_error(const fs::path& output) {
  return Error(Errc::failed_precondition,
               fmt::format("output: expected a folder without a finished run, found one in {}\n"
                           "try: --overwrite to replace it, or another folder (--set output=…)",
                           output.string()));
}

std::string own_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) {
    host[0] = '?';
  }
  return fmt::format("pid {} on {}", ::getpid(), host.data());
}

/// Whether an open file still has its name.
bool is_at(const OpenFile& file, const fs::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(file.fd(), &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/// \param key  that names the folder
/// \returns the lock; nothing if another process has it
Result<std::optional<OpenFile>> lock_folder(const fs::path& dir, const char* key) {
  if (const auto made = make_folders(dir); !made) {
    return Error(made.error()).with(key);
  }
  OpenFile file(dir / lock_name, O_RDWR | O_CREAT | O_NOFOLLOW, 0644);
  if (file.fd() < 0) {
    return file_error(dir / lock_name, "cannot open", errno);
  }
  if (::flock(file.fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return std::optional<OpenFile>();
  }
  if (!is_at(file, dir / lock_name)) {  // its holder has removed it together with the folder
    return std::optional<OpenFile>();
  }
  // Without a lock (a file system that has none) the run goes on as if it were alone.
  const auto name = own_name() + "\n";
  if (::ftruncate(file.fd(), 0) != 0 ||
      ::pwrite(file.fd(), name.data(), name.size(), 0) != static_cast<ssize_t>(name.size())) {
    return file_error(dir / lock_name, "cannot write", errno);
  }
  return std::optional(std::move(file));
}

/// \param key     that names the folder
/// \param option  that names another one
Error in_use_error(const fs::path& dir, const char* key, const char* option) {
  constexpr std::uint64_t longest_name = 1024;
  const auto text = read_text_file(dir / lock_name, longest_name);
  const auto owner = text ? text->substr(0, text->find('\n')) : "";
  return Error(Errc::failed_precondition,
               fmt::format("{}: {} is in use by {}\ntry: wait until it ends, or another folder "
                           "({})",
                           key, dir.string(), owner.empty() ? "another process" : owner, option));
}

}  // namespace

bool has_run(const fs::path& dir) {
  return has_entries(dir / "checkpoints") || is_there(dir / "submit.sbatch") ||
         std::ranges::any_of(run_files, [&](const char* name) { return is_there(dir / name); });
}

Result<fs::path> choose_output(const OutputRequest& request) {
  const auto& output = request.output;
  if (request.given) {
    if (!request.resume && !request.overwrite && has_finished_run(output)) {
      return finished_error(output);
    }
    return output;
  }
  if (request.resume) {
    return last_to_resume(output);
  }
  std::uint64_t number = 1;
  while (!request.overwrite && has_run(numbered(output, number))) {
    ++number;
  }
  return numbered(output, number);
}

fs::path shared_folder(const fs::path& output, const fs::path& first) {
  const auto plain = output.lexically_normal();
  const bool in_row = !first.empty() &&
                      plain.parent_path() == first.lexically_normal().parent_path() &&
                      number_of_folder(plain, first).has_value();
  return in_row ? first : output;
}

Result<OutputClaim> OutputClaim::take(const OutputRequest& request) {
  if (request.given || request.resume || request.overwrite) {
    TROUPE_ASSIGN_OR_RETURN(auto dir, choose_output(request));
    TROUPE_ASSIGN_OR_RETURN(auto lock, lock_folder(dir, output_key));
    return lock ? Result<OutputClaim>(OutputClaim(std::move(dir), *std::move(lock)))
                : Result<OutputClaim>(in_use_error(dir, output_key, "--set output=…"));
  }
  for (std::uint64_t number = 1;; ++number) {
    auto dir = numbered(request.output, number);
    if (has_run(dir)) {
      continue;
    }
    TROUPE_ASSIGN_OR_RETURN(auto lock, lock_folder(dir, output_key));
    if (lock && !has_run(dir)) {  // else a run has begun since
      return OutputClaim(std::move(dir), *std::move(lock));
    }
  }
}

Result<OutputClaim> OutputClaim::take_for_predictions(fs::path dir) {
  constexpr const char* option = "--out";
  TROUPE_ASSIGN_OR_RETURN(auto lock, lock_folder(dir, option));
  return lock ? Result<OutputClaim>(OutputClaim(std::move(dir), *std::move(lock)))
              : Result<OutputClaim>(in_use_error(dir, option, "--out DIR"));
}

void OutputClaim::remove_lock() && {
  std::error_code ignored;
  fs::remove(dir_ / lock_name, ignored);
  fs::remove(dir_, ignored);  // leaves a folder with files
  lock_.close();
}

Status clear_output(const fs::path& dir) {
  std::vector<fs::path> found(run_files.begin(), run_files.end());
  std::ranges::transform(found, found.begin(), [&](const auto& name) { return dir / name; });
  found.push_back(dir / "logs");
  std::error_code error;
  for (fs::directory_iterator entry(dir, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_of_part_or_process(entry->path().filename().string())) {
      found.push_back(entry->path());
    }
  }
  for (fs::directory_iterator entry(dir / "checkpoints", error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with("step-")) {
      found.push_back(entry->path());
    }
  }
  for (const auto& path : found) {
    fs::remove_all(path, error);
    if (error) {
      return file_error(path, "cannot remove it", error.value());
    }
  }
  return ok_status();
}

}  // namespace troupe
