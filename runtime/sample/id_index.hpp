#pragma once
/// \file id_index.hpp
/// Numbers of ids: by first appearance in the dedup table of a batch, and of rows that come and go.
#include "runtime/base/assert.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/base/prefetch.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace troupe {

/// Open addressing with linear probing on a power of two of slots, at most half full;
/// multiplicative hash. A slot that is freed is filled from behind, so that no marks of erased ids
/// remain. What it answers does not depend on its layout, so growing never changes a
/// batch.
/// Threads: one at a time.
/// \cost one random read per call when it was prefetched long enough before
class IdIndex {
 public:
  /// The index of `id`; a new id gets `next`.
  /// \requires id < 2^64 - 1
  std::uint32_t find_or_insert(std::uint64_t id, std::uint32_t next) {
    TROUPE_ASSERT(id != empty_slot, "the highest id marks empty slots");
    if (2 * (size_ + 1) > slots_.size()) {
      resize(std::max<std::size_t>(16, 2 * slots_.size()));
    }
    Slot& slot = slots_[place(id)];
    if (slot.id != id) {
      slot = {id, next};
      ++size_;
    }
    return slot.index;
  }

  std::optional<std::uint32_t> find(std::uint64_t id) const {
    if (size_ == 0 || id == empty_slot) {
      return std::nullopt;
    }
    const Slot& slot = slots_[place(id)];
    return slot.id == id ? std::optional(slot.index) : std::nullopt;
  }

  /// \requires the id is in the table
  void erase(std::uint64_t id) {
    TROUPE_ASSERT(find(id).has_value(), "the id is not in the table", id);
    const std::size_t mask = slots_.size() - 1;
    std::size_t hole = place(id);
    for (std::size_t i = (hole + 1) & mask; slots_[i].id != empty_slot; i = (i + 1) & mask) {
      // A slot may be moved to the hole unless its search begins behind the hole.
      const std::size_t steps = (i - home(slots_[i].id)) & mask;
      if (steps >= ((i - hole) & mask)) {
        slots_[hole] = slots_[i];
        hole = i;
      }
    }
    slots_[hole] = Slot{};
    --size_;
  }

  /// Starts to load the slot of `id`.
  void prefetch(std::uint64_t id) const {
    if (!slots_.empty()) {
      prefetch_to_write(&slots_[home(id)]);
    }
  }

  /// Makes room for `n` ids in all without growing.
  void reserve(std::size_t n) {
    const std::size_t slots = std::bit_ceil(std::max<std::size_t>(16, 2 * n));
    if (slots > slots_.size()) {
      resize(slots);
    }
  }

  /// Forgets the ids, keeps the memory.
  void clear() {
    std::ranges::fill(slots_, Slot{});
    size_ = 0;
  }

  std::size_t size() const noexcept { return size_; }

 private:
  static constexpr std::uint64_t empty_slot = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t id = empty_slot;
    std::uint32_t index = 0;
  };

  std::size_t home(std::uint64_t id) const { return (id * 0x9E3779B97F4A7C15U) >> shift_; }

  /// The slot that holds `id`, or the empty one where it belongs.
  std::size_t place(std::uint64_t id) const {
    std::size_t i = home(id);
    while (slots_[i].id != id && slots_[i].id != empty_slot) {
      i = (i + 1) & (slots_.size() - 1);
    }
    return i;
  }

  void resize(std::size_t slots) {
    PooledVector<Slot> old(slots);
    old.swap(slots_);
    shift_ = 64 - std::countr_zero(slots);
    for (const Slot& slot : old) {
      if (slot.id != empty_slot) {
        slots_[place(slot.id)] = slot;
      }
    }
  }

  PooledVector<Slot> slots_;
  std::size_t size_ = 0;
  int shift_ = 64;
};

}  // namespace troupe
