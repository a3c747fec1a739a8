#include "runtime/run/checkpoint.hpp"

#include "runtime/base/files.hpp"
#include "runtime/run/checkpoint_shards.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace troupe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view step_prefix = "step-";
constexpr std::string_view old_suffix = ".old";  // replaced, and not yet removed
constexpr std::string_view new_suffix = ".new";  // complete, about to replace
constexpr std::string_view gone_suffix = ".tmp-gone";

std::string name_of(std::uint64_t step) {
  return fmt::format("{}{}", step_prefix, step);
}

/// An entry of the folder: `step-N` and what follows it.
struct Entry {
  std::uint64_t step = 0;
  std::string suffix;
  std::string name() const { return name_of(step) + suffix; }
};

/// Nothing for what this program did not make.
std::optional<Entry> parse_entry(const std::string& name) {
  if (!name.starts_with(step_prefix)) {
    return std::nullopt;
  }
  Entry entry;
  const auto* end = name.data() + name.size();
  const auto [rest, failed] = std::from_chars(name.data() + step_prefix.size(), end, entry.step);
  entry.suffix = std::string(rest, end);
  constexpr std::string_view staged = ".tmp-";
  const auto base = entry.suffix.starts_with(new_suffix) ? new_suffix.size() : 0;
  const bool ours = entry.suffix.empty() || entry.suffix == old_suffix ||
                    entry.suffix == new_suffix ||
                    std::string_view(entry.suffix).substr(base).starts_with(staged);
  return failed == std::errc{} && ours && entry.name() == name ? std::optional(entry)
                                                               : std::nullopt;
}

/// Newest first, `step-N` before its `.old`.
Result<std::vector<Entry>> list(const fs::path& dir) {
  std::vector<Entry> entries;
  std::error_code error;
  fs::directory_iterator it(dir, error);
  while (!error && it != fs::directory_iterator()) {
    if (auto entry = parse_entry(it->path().filename().string())) {
      entries.push_back(*std::move(entry));
    }
    it.increment(error);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return file_error(dir, "cannot list the folder", error.value());
  }
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return a.step != b.step ? a.step > b.step : a.suffix < b.suffix;
  });
  return entries;
}

Status move_to(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return error ? Status(file_error(from, "cannot rename the folder", error.value())) : ok_status();
}

/// Removes a folder so that a crash leaves it whole or under a name that is never read. What cannot
/// be removed now is tried again by the next write.
void retire(const fs::path& dir, const Entry& entry) {
  const auto gone = dir / (name_of(entry.step) + std::string(gone_suffix));
  std::error_code ignored;
  fs::remove_all(gone, ignored);
  if (move_to(dir / entry.name(), gone).ok()) {
    fs::remove_all(gone, ignored);
  }
}

/// Removes what a crash has left, and puts an old checkpoint back whose successor never came.
Status tidy(const fs::path& dir) {
  TROUPE_ASSIGN_OR_RETURN(const auto entries, list(dir));
  for (const auto& entry : entries) {
    if (entry.suffix.empty()) {
      continue;
    }
    std::error_code error;
    if (entry.suffix != old_suffix) {
      fs::remove_all(dir / entry.name(), error);
    } else if (fs::exists(dir / name_of(entry.step), error)) {
      retire(dir, entry);
    } else {
      TROUPE_RETURN_IF_ERROR(move_to(dir / entry.name(), dir / name_of(entry.step)));
    }
  }
  return ok_status();
}

Status check_sizes(const CheckpointFolderOptions& options, const TrainingState& training) {
  const auto expected = nn::num_parameters(options.layout);
  if (training.parameters.size() != expected ||
      (!training.best.empty() && training.best.size() != expected)) {
    return Error(Errc::invalid_argument,
                 fmt::format("checkpoint of step {}: expected {} parameters, got {} and {} of the "
                             "best epoch",
                             training.global_step, expected, training.parameters.size(),
                             training.best.size()));
  }
  std::set<std::string_view> names;
  for (const auto& array : training.optimizer.arrays) {
    if (!names.insert(array.first).second) {
      return Error(Errc::invalid_argument,
                   fmt::format("checkpoint of step {}: expected each array of the optimizer once, "
                               "got \"{}\" twice",
                               training.global_step, array.first));
    }
  }
  return ok_status();
}

/// Puts a complete `step-N.new` in the place of `step-N`. At every moment one of the two can be read.
Status replace(const fs::path& dir, std::uint64_t step) {
  const auto name = name_of(step);
  const Entry old{step, std::string(old_suffix)};
  TROUPE_RETURN_IF_ERROR(move_to(dir / name, dir / old.name()));
  auto placed = move_to(dir / (name + std::string(new_suffix)), dir / name);
  if (!placed.ok()) {
    const auto restored = move_to(dir / old.name(), dir / name);  // else `.old` is read
    return placed;
  }
  retire(dir, old);
  return ok_status();
}

}  // namespace

Status CheckpointFolder::write(const Checkpoint& checkpoint) {
  const auto step = checkpoint.training.global_step;
  TROUPE_RETURN_IF_ERROR(check_sizes(options_, checkpoint.training));
  TROUPE_RETURN_IF_ERROR(tidy(options_.dir));
  const auto target = options_.dir / name_of(step);
  const bool replaces = has_name(target);
  TROUPE_ASSIGN_OR_RETURN(
      auto staged, StagedDirectory::create(
                       replaces ? fs::path(target.string() + std::string(new_suffix)) : target));
  TROUPE_RETURN_IF_ERROR(write_shards(options_, staged.path(), checkpoint));
  TROUPE_RETURN_IF_ERROR(staged.commit(options_.flush));
  if (replaces) {
    TROUPE_RETURN_IF_ERROR(replace(options_.dir, step));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto entries, list(options_.dir));
  std::uint32_t kept = 0;
  for (const auto& entry : entries) {
    const bool stays =
        entry.step == step || (entry.step < step && kept < std::max(options_.keep, 1U));
    kept += stays ? 1U : 0U;
    if (!stays) {
      retire(options_.dir, entry);
    }
  }
  return ok_status();
}

Result<LoadedCheckpoint> CheckpointFolder::latest(std::vector<SkippedCheckpoint>& skipped) const {
  TROUPE_ASSIGN_OR_RETURN(const auto entries, list(options_.dir));
  std::string reasons;
  for (const auto& entry : entries) {
    if (!entry.suffix.empty() && entry.suffix != old_suffix) {
      continue;
    }
    const auto dir = options_.dir / entry.name();
    auto checkpoint = read_shards(options_, dir, entry.step);
    if (checkpoint.ok()) {
      return LoadedCheckpoint{*std::move(checkpoint), dir};
    }
    reasons += fmt::format("\n{} is skipped: {}", entry.name(), checkpoint.error().what());
    skipped.push_back({entry.name(), std::move(checkpoint).error()});
  }
  return Error(Errc::not_found, fmt::format("{}: expected a checkpoint that is whole, found none{}",
                                            options_.dir.string(), reasons));
}

Result<std::string> CheckpointFolder::newest_job() const {
  TROUPE_ASSIGN_OR_RETURN(const auto entries, list(options_.dir));
  for (const auto& entry : entries) {
    if (entry.suffix.empty() || entry.suffix == old_suffix) {
      if (auto job = read_job(options_.dir / entry.name())) {
        return job;
      }
    }
  }
  return Error(Errc::not_found, fmt::format("{}: expected a checkpoint with a manifest, found none",
                                            options_.dir.string()));
}

Status check_finite(const TrainingState& state) {
  const auto found =
      std::ranges::find_if(state.parameters, [](float value) { return !std::isfinite(value); });
  if (found == state.parameters.end()) {
    return ok_status();
  }
  return Error(Errc::failed_precondition,
               fmt::format("expected finite parameters, found {} at {} of {}",
                           std::isnan(*found) ? "not a number" : "infinity",
                           found - state.parameters.begin(), state.parameters.size()));
}

}  // namespace troupe
