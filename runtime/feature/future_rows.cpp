#include "runtime/feature/future_rows.hpp"

#include "runtime/base/assert.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>
#include <vector>

namespace troupe {
namespace {

constexpr std::uint32_t word_bits = 64;

}  // namespace

FutureRows::FutureRows(FutureRowsOptions options)
    : options_(options),
      window_(std::max(word_bits, std::bit_ceil(2 * options.lookahead))),
      words_(window_ / word_bits),
      reads_(window_),
      heads_(levels + window_, none) {
  TROUPE_ASSERT(options.room < none, "rows of a cache", options.room);
}

// ---- what is known of the future ----

void FutureRows::expect(Turn turn, std::span<const NodeId> ids) {
  if (knows(turn)) {
    return;
  }
  std::vector<Turn> outside;
  std::ranges::copy_if(turns_, std::back_inserter(outside), [&](Turn other) {
    return other + window_ <= turn || turn + window_ <= other;
  });
  std::ranges::for_each(outside, [this](Turn other) { forget(other); });
  turns_.insert(turn);
  const auto bit = turn % window_;
  auto& reads = reads_[bit];
  for (const NodeId id : ids) {
    const auto entry = find_or_add(id);
    auto& word = readers(entry)[bit / word_bits];
    const auto mask = std::uint64_t{1} << (bit % word_bits);
    if ((word & mask) != 0) {
      continue;
    }
    word |= mask;
    reads.push_back(entry);
    if (entries_[entry].place != none && is_better(list_of_turn(turn), entries_[entry].list)) {
      unlink(entry);
      link(entry, list_of_turn(turn));
    }
  }
}

void FutureRows::forget(Turn turn) {
  if (turns_.erase(turn) == 0) {
    return;
  }
  const auto bit = turn % window_;
  for (const auto entry : reads_[bit]) {
    readers(entry)[bit / word_bits] &= ~(std::uint64_t{1} << (bit % word_bits));
    const auto list = list_for(entry);
    if (entries_[entry].place == none) {
      drop_if_idle(entry);
    } else if (entries_[entry].list != list) {
      unlink(entry);
      link(entry, list);
    }
  }
  reads_[bit].clear();
}

std::uint32_t FutureRows::find_or_add(NodeId id) {
  if (const auto found = numbers_.find(raw(id))) {
    return *found;
  }
  std::uint32_t entry = 0;
  if (free_entries_.empty()) {
    entry = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
    readers_.resize(readers_.size() + words_);
  } else {
    entry = free_entries_.back();
    free_entries_.pop_back();
  }
  entries_[entry] = {};
  entries_[entry].id = id;
  numbers_.find_or_insert(raw(id), entry);
  return entry;
}

/// Of a row that is not kept: forgets it unless a known batch reads it.
void FutureRows::drop_if_idle(std::uint32_t entry) {
  if (std::ranges::all_of(readers(entry), [](std::uint64_t word) { return word == 0; })) {
    numbers_.erase(raw(entries_[entry].id));
    free_entries_.push_back(entry);
  }
}

/// The list of the first known turn that reads a row.
std::optional<std::uint32_t> FutureRows::next_reader(std::uint32_t entry) {
  if (turns_.empty()) {
    return std::nullopt;
  }
  const auto words = readers(entry);
  const auto first = *turns_.begin() % window_;  // where the circle of turns begins
  const auto low = ~std::uint64_t{0} << (first % word_bits);
  for (std::size_t i = 0; i <= words_; ++i) {
    const auto at = (first / word_bits + i) % words_;
    auto word = words[at];
    if (i == 0) {
      word &= low;
    } else if (i == words_) {
      word &= ~low;
    }
    if (word != 0) {
      const auto bit = at * word_bits + static_cast<std::size_t>(std::countr_zero(word));
      return static_cast<std::uint32_t>(levels + bit);
    }
  }
  return std::nullopt;
}

// ---- lists of equally good rows ----

std::uint32_t FutureRows::list_for(std::uint32_t entry) {
  return next_reader(entry).value_or(entries_[entry].level);
}

/// Larger is better: levels, then known turns, the next one last.
std::uint64_t FutureRows::worth(std::uint32_t list) const {
  if (list < levels) {
    return list;
  }
  const auto first = turns_.empty() ? 0 : *turns_.begin() % window_;
  const auto ahead = (list - levels + window_ - first) % window_;
  return levels + window_ - ahead;
}

bool FutureRows::is_better(std::uint32_t list, std::uint32_t than) const {
  return worth(list) > worth(than);
}

void FutureRows::link(std::uint32_t entry, std::uint32_t list) {
  auto& of = entries_[entry];
  of.list = list;
  of.before = none;
  of.after = heads_[list];
  if (of.after != none) {
    entries_[of.after].before = entry;
  }
  heads_[list] = entry;
  if (list < levels) {
    coldest_ = std::min(coldest_, list);
    return;
  }
  const auto first = *turns_.begin();
  farthest_ = std::max(farthest_, first + (list - levels + window_ - first % window_) % window_);
}

void FutureRows::unlink(std::uint32_t entry) {
  const auto& of = entries_[entry];
  (of.before == none ? heads_[of.list] : entries_[of.before].after) = of.after;
  if (of.after != none) {
    entries_[of.after].before = of.before;
  }
}

/// The list of the worst rows that are kept.
/// \requires some are
std::uint32_t FutureRows::worst_list() {
  while (coldest_ < levels && heads_[coldest_] == none) {
    ++coldest_;
  }
  if (coldest_ < levels) {
    return coldest_;
  }
  TROUPE_ASSERT(!turns_.empty(), "rows that are kept are in a list", kept_);
  farthest_ = std::min(farthest_, *turns_.rbegin());
  while (heads_[list_of_turn(farthest_)] == none) {
    TROUPE_ASSERT(farthest_ > *turns_.begin(), "rows that are kept are in a list", kept_);
    --farthest_;
  }
  return list_of_turn(farthest_);
}

// ---- rows ----

std::optional<std::uint32_t> FutureRows::find(NodeId id) const {
  const auto entry = numbers_.find(raw(id));
  if (!entry || entries_[*entry].place == none) {
    return std::nullopt;
  }
  return entries_[*entry].place;
}

std::span<const std::byte> FutureRows::row(std::uint32_t at) const {
  return std::span(rows_).subspan(at * options_.row_bytes, options_.row_bytes);
}

/// A place without a row, while there is one.
std::uint32_t FutureRows::free_place() {
  if (!free_places_.empty()) {
    const auto place = free_places_.back();
    free_places_.pop_back();
    return place;
  }
  if (original_ids_.size() == options_.room) {
    return none;
  }
  if (original_ids_.empty()) {
    rows_.reserve(options_.room * options_.row_bytes);
    original_ids_.reserve(options_.room);
  }
  rows_.resize(rows_.size() + options_.row_bytes);
  original_ids_.emplace_back();
  return static_cast<std::uint32_t>(original_ids_.size() - 1);
}

bool FutureRows::insert(NodeId id, std::uint8_t level, std::span<const std::byte> row,
                        OriginalId original) {
  if (options_.room == 0) {
    return false;
  }
  const auto known = numbers_.find(raw(id));
  if (known && entries_[*known].place != none) {
    return false;
  }
  const auto reader = known ? next_reader(*known) : std::nullopt;
  const auto list = reader.value_or(level);
  auto place = free_place();
  if (place == none) {
    const auto worst = worst_list();
    if (!is_better(list, worst)) {
      return false;
    }
    const auto leaves = heads_[worst];
    unlink(leaves);
    place = std::exchange(entries_[leaves].place, none);
    drop_if_idle(leaves);
    --kept_;
  }
  const auto entry = find_or_add(id);
  entries_[entry].place = place;
  entries_[entry].level = level;
  link(entry, list);
  std::ranges::copy(row, rows_.begin() + static_cast<std::ptrdiff_t>(place * options_.row_bytes));
  original_ids_[place] = original;
  ++kept_;
  return true;
}

}  // namespace troupe
