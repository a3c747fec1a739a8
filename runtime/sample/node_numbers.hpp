#pragma once
/// \file node_numbers.hpp
/// Numbers the nodes of a batch by first appearance: its largest table, kept from batch to batch.
#include "runtime/base/assert.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/large_memory.hpp"
#include "runtime/base/opaque.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/base/prefetch.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

/// Ids that a table makes room for at once.
inline constexpr std::size_t numbered_at_once = 1024;

/// Open addressing with linear probing, multiplicative hash. Slots are as narrow as the ids allow: what
/// costs is memory that is not in the cache.
/// Threads: one at a time
template <class IdT>
class NodeTable {
 public:
  /// Forgets all nodes; room for so many without growing.
  void begin(std::size_t nodes) {
    size_ = 0;
    used_ = 0;
    if (nodes > 0) {
      take(slots_for(nodes));
      forget();
    }
  }

  /// Whether so many ids more can be numbered without growing.
  bool has_room(std::size_t ids) const { return ids == 0 || slots_for(used_ + ids) <= size_; }

  /// Adds a node that has a number. \requires it is not known, and begin() made room for it
  void add(NodeId node, std::uint32_t number) {
    const auto id = static_cast<IdT>(raw(node));
    slots_.get()[place(id)] = {id, number};
    ++used_;
  }

  /// As NodeNumbers::number(). Grows only where it knows all of `nodes`.
  template <class From>
  void number(std::span<const From> ids, std::size_t first, std::size_t count,
              PooledVector<NodeId>& nodes, std::uint32_t* out) {
    for (const std::size_t end = first + count; first < end;) {
      const std::size_t block = std::min(end - first, numbered_at_once);
      if (slots_for(used_ + block) > size_) {
        grow(nodes, block);
      }
      const std::size_t before = nodes.size();
      nodes.resize(before + block);
      const auto added = number_block(ids, first, block, nodes.data() + before, before, out);
      nodes.resize(before + added);
      used_ += added;
      first += block;
      out += block;
    }
  }

  std::size_t bytes() const { return capacity_ * sizeof(Slot); }

 private:
  static constexpr IdT empty = std::numeric_limits<IdT>::max();
  static constexpr std::size_t ahead = 16;
  struct Slot {
    IdT id;
    std::uint32_t index;
  };

  /// A power of two, at most half of which is used.
  static std::size_t slots_for(std::size_t nodes) { return std::bit_ceil(2 * nodes); }
  std::size_t home(IdT id) const { return (std::uint64_t{id} * 0x9E3779B97F4A7C15U) >> shift_; }

  void take(std::size_t slots) {
    if (slots > capacity_) {
      slots_.reset();
      slots_ = large_array<Slot>(slots);
      capacity_ = slots;
    }
    size_ = slots;
    shift_ = 64 - std::countr_zero(slots);
  }
  void forget() { std::memset(slots_.get(), 0xFF, size_ * sizeof(Slot)); }

  void grow(const PooledVector<NodeId>& nodes, std::size_t more) {
    TROUPE_ASSERT(used_ == nodes.size(), "a table of all nodes grows", used_, nodes.size());
    take(std::max(2 * size_, slots_for(nodes.size() + more)));
    forget();
    used_ = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      add(nodes[i], static_cast<std::uint32_t>(i));
    }
  }

  /// The slot that holds `id`, or the empty one where it belongs.
  std::size_t place(IdT id) const {
    const Slot* const slots = slots_.get();
    std::size_t i = home(id);
    // One branch for both reasons to stop: which of them it is cannot be guessed.
    while (opaque(std::min<IdT>(slots[i].id ^ id, slots[i].id ^ empty)) != 0) {
      i = (i + 1) & (size_ - 1);
    }
    return i;
  }

  /// No branch asks whether a node is known: that would be guessed wrong every other time.
  /// \returns how many were new
  template <class From>
  std::size_t number_block(std::span<const From> ids, std::size_t first, std::size_t count,
                           NodeId* added, std::size_t before, std::uint32_t* out) {
    Slot* const slots = slots_.get();
    std::size_t news = 0;
    const std::size_t last = ids.size() - 1;
    for (std::size_t k = 0; k < count; ++k) {
      prefetch_to_write(&slots[home(static_cast<IdT>(ids[std::min(first + k + ahead, last)]))]);
      const auto id = static_cast<IdT>(ids[first + k]);
      Slot& slot = slots[place(id)];
      const auto is_new = opaque(static_cast<std::uint32_t>(slot.id != id));
      const std::uint32_t all_if_new = 0 - is_new;
      const auto next = static_cast<std::uint32_t>(before + news);
      const std::uint32_t index = (next & all_if_new) | (slot.index & ~all_if_new);
      slot = {id, index};
      added[news] = static_cast<NodeId>(id);
      out[k] = index;
      news += is_new;
    }
    return news;
  }

  std::shared_ptr<Slot[]> slots_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;  ///< Slots that serve
  std::size_t used_ = 0;  ///< Of them, by nodes
  int shift_ = 64;
};

/// The nodes of one type.
/// Lifecycle: begin() for each batch; keeps its memory, as much as the largest batch needed
/// Threads:   one at a time
class NodeNumbers {
 public:
  /// \param end  every id is below it, and below 2^64 - 1
  explicit NodeNumbers(std::uint64_t end) {
    if (end > std::numeric_limits<std::uint32_t>::max()) {
      table_.emplace<NodeTable<std::uint64_t>>();
    }
  }

  /// Forgets all nodes. Room for as many as a batch of late had.
  void begin() {
    const auto room = expected_ == 0 ? 0 : expected_ + numbered_at_once;
    std::visit([room](auto& table) { table.begin(room); }, table_);
  }
  /// Says how many nodes a batch had.
  void end(std::size_t nodes) { expected_ = std::max(nodes, expected_ - expected_ / 8); }

  /// Gives ids[first … first + count) their numbers, in order. A new id is added to `nodes` and has its
  /// place there as number.
  /// \param nodes  those that were added since begin(), nothing else
  /// \param out    [count]
  /// \requires nodes.size() + count < 2^32
  /// \cost one random read per id, asked for 16 ids before
  template <class From>
  void number(std::span<const From> ids, std::size_t first, std::size_t count,
              PooledVector<NodeId>& nodes, std::uint32_t* out) {
    std::visit([&](auto& table) { table.number(ids, first, count, nodes, out); }, table_);
  }

  /// Memory that is kept.
  std::size_t bytes() const {
    return std::visit([](const auto& table) { return table.bytes(); }, table_);
  }
  std::size_t expected() const { return expected_; }

 private:
  std::variant<NodeTable<std::uint32_t>, NodeTable<std::uint64_t>> table_;
  std::size_t expected_ = 0;
};

}  // namespace troupe
