#pragma once
/// \file external_sort.hpp
/// Sorts more records than memory holds. For what fits into memory alone, radix_sort.hpp.
#include "runtime/base/large_memory.hpp"
#include "runtime/base/radix_sort.hpp"
#include "runtime/base/result.hpp"
#include "runtime/base/run_merge.hpp"
#include "runtime/base/scratch_file.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

/// Sorts records by their key: as many as fit are sorted in memory (a run), appended to a scratch
/// file, and all runs are merged at the end, at most 256 at once, else in several rounds.
/// Lifecycle:  add() or next() any number of times, then finish() once
/// Threads:    one at a time; sorting uses the executor's
/// Guarantees: stable: equal keys come in the order in which they were given. Nothing is written
///   where all records fit. The scratch file has no name, so nothing is left however it ends
/// Memory:     at most `memory_bytes`, but room for 8 records at least
/// Borrows:    the executor
template <KeyedRecord Record>
class ExternalSort {
 public:
  using Take = std::function<Status(std::span<const Record>)>;
  struct Options {
    std::filesystem::path scratch;  ///< folder for the scratch file
    std::uint64_t memory_bytes = std::uint64_t{1} << 30;
  };
  ExternalSort(Options options, Executor& executor)
      : options_(std::move(options)),
        executor_(executor),
        run_records_(std::max<std::size_t>(
            8, static_cast<std::size_t>(options_.memory_bytes / (2 * sizeof(Record))))) {}

  /// Records given so far.
  std::uint64_t size() const { return written_ + used_; }

  /// Room for at most `most` further records, at least one, which the caller fills before the next
  /// call. \requires most > 0
  Result<std::span<Record>> next(std::size_t most) {
    if (used_ == run_records_) {
      TROUPE_RETURN_IF_ERROR(write_run());
    }
    grow(std::min(run_records_, used_ + most));
    const auto room = std::span(records_.get() + used_, std::min(most, capacity_ - used_));
    used_ += room.size();
    return room;
  }

  Status add(std::span<const Record> records) {
    while (!records.empty()) {
      TROUPE_ASSIGN_OR_RETURN(const auto room, next(records.size()));
      std::copy_n(records.begin(), room.size(), room.begin());
      records = records.subspan(room.size());
    }
    return ok_status();
  }

  /// Hands out all records in order of their keys, a block at a time.
  /// \errors failed_precondition: the scratch file has no space; the first of `take`, which ends it
  Status finish(const Take& take) {
    if (runs_.empty()) {
      const auto sorted = sort();
      auto done = used_ == 0 ? ok_status() : take(sorted);
      release();
      return done;
    }
    TROUPE_RETURN_IF_ERROR(write_run());
    release();
    while (runs_.size() > most_runs) {
      TROUPE_RETURN_IF_ERROR(merge_round());
    }
    return merge_runs<Record>(*file_, runs_, options_.memory_bytes, take);
  }

 private:
  static constexpr std::size_t most_runs = 256;
  static constexpr std::size_t small_bytes = std::size_t{32} << 20;

  void grow(std::size_t needed) {
    if (needed <= capacity_) {
      return;
    }
    auto larger = std::min(run_records_, std::max({needed, 2 * capacity_, std::size_t{1} << 12}));
    std::shared_ptr<Record[]> moved;
    if (larger * sizeof(Record) > small_bytes) {  // untouched memory costs nothing: take it all
      moved = try_large_array<Record>(run_records_);
      larger = moved ? run_records_ : larger;
    }
    moved = moved ? std::move(moved) : large_array<Record>(larger);
    std::copy_n(records_.get(), used_, moved.get());
    records_ = std::move(moved);
    capacity_ = larger;
  }

  std::span<const Record> sort() {
    if (used_ > 0 && scratch_records_ < used_) {
      scratch_ = large_array<Record>(used_);
      scratch_records_ = used_;
    }
    return radix_sort(std::span(records_.get(), used_), std::span(scratch_.get(), used_),
                      executor_);
  }

  Status write_run() {
    if (used_ == 0) {
      return ok_status();
    }
    if (!file_) {
      TROUPE_ASSIGN_OR_RETURN(file_, ScratchFile::create(options_.scratch));
    }
    runs_.push_back({file_->size(), used_});
    TROUPE_RETURN_IF_ERROR(file_->append(std::as_bytes(sort())));
    written_ += std::exchange(used_, 0);
    return ok_status();
  }

  /// Merges neighbouring runs, so that at most one in 256 is left.
  Status merge_round() {
    TROUPE_ASSIGN_OR_RETURN(auto file, ScratchFile::create(options_.scratch));
    std::vector<SortedRun> merged;
    for (std::size_t first = 0; first < runs_.size(); first += most_runs) {
      const auto group = std::span<const SortedRun>(runs_).subspan(
          first, std::min(most_runs, runs_.size() - first));
      const auto begin = file.size();
      TROUPE_RETURN_IF_ERROR(merge_runs<Record>(
          *file_, group, options_.memory_bytes,
          [&](std::span<const Record> block) { return file.append(std::as_bytes(block)); }));
      merged.push_back({begin, (file.size() - begin) / sizeof(Record)});
    }
    file_ = std::move(file);
    runs_ = std::move(merged);
    return ok_status();
  }

  void release() {
    records_.reset();
    scratch_.reset();
    capacity_ = scratch_records_ = 0;
  }

  Options options_;
  Executor& executor_;
  std::size_t run_records_;
  std::shared_ptr<Record[]> records_;
  std::shared_ptr<Record[]> scratch_;
  std::size_t capacity_ = 0;
  std::size_t scratch_records_ = 0;
  std::size_t used_ = 0;
  std::uint64_t written_ = 0;  ///< records in runs
  std::optional<ScratchFile> file_;
  std::vector<SortedRun> runs_;
};

}  // namespace troupe
