#pragma once
/// \file run_merge.hpp
/// Merges sorted runs of records that lie in a scratch file. Used by external_sort.hpp.
#include "runtime/base/radix_sort.hpp"
#include "runtime/base/result.hpp"
#include "runtime/base/scratch_file.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// Sorted records in a scratch file.
struct SortedRun {
  std::uint64_t offset_bytes = 0;
  std::uint64_t records = 0;
};

/// Reads a run from begin to end, a block at a time.
template <KeyedRecord Record>
class RunReader {
 public:
  RunReader(const ScratchFile& file, SortedRun run, std::size_t block_records)
      : file_(&file), run_(run), block_(std::min<std::uint64_t>(block_records, run.records)) {}

  /// Makes front() the first record, or the one after it; false at the end.
  Result<bool> advance() {
    if (++at_ < filled_) {
      return true;
    }
    if (run_.records == 0) {
      return false;
    }
    filled_ = std::min<std::uint64_t>(block_.size(), run_.records);
    at_ = 0;
    const auto part = std::as_writable_bytes(std::span(block_).first(filled_));
    TROUPE_RETURN_IF_ERROR(file_->read(run_.offset_bytes, part));
    run_.offset_bytes += part.size();
    run_.records -= filled_;
    return true;
  }
  const Record& front() const { return block_[at_]; }

 private:
  const ScratchFile* file_;
  SortedRun run_;  ///< what is not read yet
  std::vector<Record> block_;
  std::size_t filled_ = 0;
  std::size_t at_ = 0;
};

/// The runs that are not at their end, as a heap by (key, run): the first has the next record.
template <KeyedRecord Record>
class RunHeap {
 public:
  using Key = decltype(std::declval<const Record&>().key());
  struct Entry {
    Key key;
    std::size_t run;
    bool operator<(const Entry& other) const {
      return key < other.key || (key == other.key && run < other.run);
    }
  };

  void push(Entry entry) {
    entries_.push_back(entry);
    std::push_heap(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return b < a; });
  }
  bool empty() const { return entries_.empty(); }
  std::size_t first() const { return entries_.front().run; }
  /// The first run's next record has this key.
  void replace_first(const Key& key) { sink({key, first()}); }
  void remove_first() {
    const auto last = entries_.back();
    entries_.pop_back();
    if (!entries_.empty()) {
      sink(last);
    }
  }

 private:
  void sink(const Entry& entry) {
    std::size_t at = 0;
    for (auto child = std::size_t{1}; child < entries_.size(); child = 2 * at + 1) {
      if (child + 1 < entries_.size() && entries_[child + 1] < entries_[child]) {
        ++child;
      }
      if (!(entries_[child] < entry)) {
        break;
      }
      entries_[at] = entries_[child];
      at = child;
    }
    entries_[at] = entry;
  }

  std::vector<Entry> entries_;
};

/// Hands out the records of all runs in order of their keys; equal keys in order of the runs.
/// \param memory_bytes  for the blocks that are read and handed out; one record each at least
template <KeyedRecord Record>
Status merge_runs(const ScratchFile& file, std::span<const SortedRun> runs,
                  std::uint64_t memory_bytes,
                  const std::function<Status(std::span<const Record>)>& take) {
  constexpr std::uint64_t largest_block = std::uint64_t{1} << 20;
  const auto block = static_cast<std::size_t>(std::clamp<std::uint64_t>(
      memory_bytes / sizeof(Record) / (runs.size() + 1), 1, largest_block));
  std::vector<RunReader<Record>> readers;
  RunHeap<Record> heap;
  for (const auto& run : runs) {
    auto& reader = readers.emplace_back(file, run, block);
    TROUPE_ASSIGN_OR_RETURN(const bool any, reader.advance());
    if (any) {
      heap.push({reader.front().key(), readers.size() - 1});
    }
  }
  std::vector<Record> out;
  out.reserve(block);
  while (!heap.empty()) {
    auto& reader = readers[heap.first()];
    out.push_back(reader.front());
    TROUPE_ASSIGN_OR_RETURN(const bool more, reader.advance());
    more ? heap.replace_first(reader.front().key()) : heap.remove_first();
    if (out.size() == block) {
      TROUPE_RETURN_IF_ERROR(take(out));
      out.clear();
    }
  }
  return out.empty() ? ok_status() : take(out);
}

}  // namespace troupe
