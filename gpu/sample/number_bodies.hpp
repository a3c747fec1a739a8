#pragma once
/// \file number_bodies.hpp
/// Kernel bodies that number nodes by first appearance. Candidates, in their order, are put into a hash
/// table, where the smallest place of each node stays; a running sum over those that are the first of
/// their node gives the indices. No order of threads changes them.
#include "gpu/base/shared.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::gpu {

/// Set in values of a table that are places among candidates; the others are batch-local indices, which
/// are thereby the smaller ones.
inline constexpr std::uint32_t candidate_bit = 0x80000000U;
/// Most candidates that are numbered at a time, and most nodes of a type in a batch.
inline constexpr std::uint64_t most_candidates = candidate_bit - 1;

/// Where the search for an id begins in a table of 2^bits slots, bits >= 1.
TROUPE_HD inline std::uint32_t home_slot(std::uint64_t id, std::uint32_t bits) {
  return static_cast<std::uint32_t>(id * 0x9E3779B97F4A7C15U >> (64 - bits));
}

/// An open-addressing table from global ids of 4 or 8 bytes to values. At most half full.
template <class Id>
struct NodeTable;

/// Id and value in one word: an insertion reads one place of memory, and the smallest value of an id is
/// the smallest word.
template <>
struct NodeTable<std::uint32_t> {
  static constexpr std::uint64_t empty = ~std::uint64_t{0};
  static constexpr bool has_values = false;  ///< Beside the words

  std::uint64_t* words;   ///< [2^bits]
  std::uint32_t* values;  ///< Not read
  std::uint32_t bits;

  /// Keeps the smallest of all values of an id. \returns its slot
  TROUPE_HD std::uint32_t insert(std::uint64_t id, std::uint32_t value) const {
    const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
    const std::uint64_t mine = id << 32 | value;
    for (std::uint32_t slot = home_slot(id, bits);; slot = (slot + 1) & mask) {
      std::uint64_t there = AtomicRef<std::uint64_t>(words[slot]).load(relaxed);
      if (there == empty) {
        there = compare_and_put(words[slot], empty, mine);
      }
      if (there == empty) {
        return slot;
      }
      if (there >> 32 == id) {
        if (mine < there) {
          put_min(words[slot], mine);
        }
        return slot;
      }
    }
  }
  TROUPE_HD std::uint64_t id(std::uint32_t slot) const { return words[slot] >> 32; }
  TROUPE_HD std::uint32_t value(std::uint32_t slot) const {
    return static_cast<std::uint32_t>(words[slot]);
  }
  TROUPE_HD void set_value(std::uint32_t slot, std::uint32_t value) const {
    words[slot] = id(slot) << 32 | value;
  }
  /// The same while others set and read values.
  TROUPE_HD std::uint32_t load_value(std::uint32_t slot) const {
    return static_cast<std::uint32_t>(AtomicRef<std::uint64_t>(words[slot]).load(relaxed));
  }
  TROUPE_HD void store_value(std::uint32_t slot, std::uint32_t value) const {
    AtomicRef<std::uint64_t>(words[slot]).store(id(slot) << 32 | value, relaxed);
  }
};

template <>
struct NodeTable<std::uint64_t> {
  static constexpr std::uint64_t empty = ~std::uint64_t{0};
  static constexpr bool has_values = true;

  std::uint64_t* words;   ///< [2^bits] ids
  std::uint32_t* values;  ///< [2^bits]
  std::uint32_t bits;

  TROUPE_HD std::uint32_t insert(std::uint64_t id, std::uint32_t value) const {
    const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
    for (std::uint32_t slot = home_slot(id, bits);; slot = (slot + 1) & mask) {
      std::uint64_t there = AtomicRef<std::uint64_t>(words[slot]).load(relaxed);
      if (there == empty) {
        there = compare_and_put(words[slot], empty, id);
      }
      if (there == empty || there == id) {
        put_min(values[slot], value);
        return slot;
      }
    }
  }
  TROUPE_HD std::uint64_t id(std::uint32_t slot) const { return words[slot]; }
  TROUPE_HD std::uint32_t value(std::uint32_t slot) const { return values[slot]; }
  TROUPE_HD void set_value(std::uint32_t slot, std::uint32_t value) const { values[slot] = value; }
  TROUPE_HD std::uint32_t load_value(std::uint32_t slot) const {
    return AtomicRef<std::uint32_t>(values[slot]).load(relaxed);
  }
  TROUPE_HD void store_value(std::uint32_t slot, std::uint32_t value) const {
    AtomicRef<std::uint32_t>(values[slot]).store(value, relaxed);
  }
};

/// Empties a slot.
template <class Table>
struct EmptySlot {
  Table table;

  TROUPE_HD void operator()(std::size_t i) const {
    table.words[i] = Table::empty;
    if constexpr (Table::has_values) {
      table.values[i] = ~std::uint32_t{0};
    }
  }
};

/// Puts a node that has its index into a new table.
template <class Table>
struct InsertKnown {
  Table table;
  const std::uint64_t* ids;
  const std::uint32_t* end;  ///< Nodes that there are

  TROUPE_HD void operator()(std::size_t i) const {
    if (i < *end) {
      table.insert(ids[i], static_cast<std::uint32_t>(i));
    }
  }
};

/// Puts a candidate into the table.
template <class Table>
struct InsertCandidate {
  Table table;
  const std::uint64_t* ids;  ///< Of the candidates
  std::uint32_t* slots;

  TROUPE_HD void operator()(std::size_t i) const {
    slots[i] = table.insert(ids[i], candidate_bit | static_cast<std::uint32_t>(i));
  }
};

/// Candidates that are numbered together may lie in several arrays of slots.
struct CandidateSlice {
  std::uint32_t* slots;  ///< [count]; indices in the end
  std::uint32_t first;   ///< Place of its first candidate among all
  std::uint32_t count;
};

/// first[i] = 1 where a candidate is the first one of its node, else 0.
template <class Table>
struct MarkFirst {
  Table table;
  CandidateSlice slice;
  std::uint32_t* first;  ///< [all candidates]

  TROUPE_HD void operator()(std::size_t i) const {
    const std::uint32_t place = slice.first + static_cast<std::uint32_t>(i);
    first[place] = table.value(slice.slots[i]) == (candidate_bit | place) ? 1U : 0U;
  }
};

/// First candidates become nodes, behind those that there are.
template <class Table>
struct NumberFirst {
  Table table;
  CandidateSlice slice;
  const std::uint32_t* ranks;  ///< [all candidates + 1] running sum of `first`
  const std::uint32_t* end;    ///< Nodes that there are
  std::uint64_t* ids;          ///< [nodes]

  TROUPE_HD void operator()(std::size_t i) const {
    const std::size_t place = slice.first + i;
    if (ranks[place] != ranks[place + 1]) {
      const std::uint32_t index = *end + ranks[place];
      ids[index] = table.id(slice.slots[i]);
      table.set_value(slice.slots[i], index);
    }
  }
};

/// Puts the index of its node in the place of a candidate's slot.
template <class Table>
struct ReadIndex {
  Table table;
  std::uint32_t* slots;

  TROUPE_HD void operator()(std::size_t i) const { slots[i] = table.value(slots[i]); }
};

/// *to += *more, for one element.
struct AddNumber {
  const std::uint32_t* more;
  std::uint32_t* to;

  TROUPE_HD void operator()(std::size_t /*i*/) const { *to += *more; }
};

/// Numbers the nodes of candidates that are in the table.
/// \param on     a stream (gpu/base)
/// \param total  candidates of all slices
/// \param ids    has room for all nodes
/// \param end    on the device: nodes that there are; is raised
template <class Stream, class Table, class Slices>
void number_candidates(Stream& on, const Table& table, const Slices& slices, std::size_t total,
                       std::uint64_t* ids, std::uint32_t* end) {
  const auto first = on.template array<std::uint32_t>(total);
  const auto ranks = on.template array<std::uint32_t>(total + 1);
  if (on.failed()) {
    return;
  }
  for (const CandidateSlice& slice : slices) {
    on.for_each(slice.count, MarkFirst<Table>{table, slice, first.data()});
  }
  on.running_sum(first.data(), total, ranks.data());
  for (const CandidateSlice& slice : slices) {
    on.for_each(slice.count, NumberFirst<Table>{table, slice, ranks.data(), end, ids});
  }
  for (const CandidateSlice& slice : slices) {
    on.for_each(slice.count, ReadIndex<Table>{table, slice.slots});
  }
  on.for_each(1, AddNumber{ranks.data() + total, end});
}

}  // namespace troupe::gpu
