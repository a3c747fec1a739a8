#pragma once
/// \file request_table.hpp
/// What an end of a link knows of each open request, by its number.
#include "runtime/base/assert.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::net {

/// Numbers ascend and are given back soon, so a number's low bits are its place: requests under way
/// lie beside each other, without an allocation for each. One that stays open for long is stepped
/// over (open addressing, linear probing).
/// Threads:    one at a time
/// Guarantees: room for at most eight times as many as lie in it, from 64 on
/// \cost constant time each, amortized. Pointers hold until the next insert() or take()
template <class T>
class RequestTable {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  /// Null: there is none.
  T* find(std::uint64_t id) {
    const auto at = place_of(id);
    return at < slots_.size() && slots_[at].id == id ? &*slots_[at].value : nullptr;
  }
  /// \requires an id from 1 that is not in the table
  T& insert(std::uint64_t id, T&& value) {
    TROUPE_ASSERT(id > 0 && find(id) == nullptr, "an open request has a number of its own", id);
    if (2 * (size_ + 1) > slots_.size()) {
      rebuild(std::max<std::size_t>(smallest, 2 * slots_.size()));
    }
    ++size_;
    return place(id, std::move(value));
  }
  /// Takes one out. \requires that it is in the table
  T take(std::uint64_t id) {
    auto hole = place_of(id);
    TROUPE_ASSERT(hole < slots_.size() && slots_[hole].id == id, "a request that is open", id);
    T taken = *std::move(slots_[hole].value);
    slots_[hole].value.reset();
    // What was pushed past the hole moves back, so that nothing is searched past an empty slot.
    for (auto next = after(hole); slots_[next].id != 0; next = after(next)) {
      const auto home = home_of(slots_[next].id);
      if (((next - home) & mask()) >= ((next - hole) & mask())) {
        slots_[hole].id = slots_[next].id;
        slots_[hole].value = std::move(slots_[next].value);
        slots_[next].value.reset();
        hole = next;
      }
    }
    slots_[hole].id = 0;
    --size_;
    if (slots_.size() > smallest && 8 * size_ < slots_.size()) {
      rebuild(slots_.size() / 2);
    }
    return taken;
  }

  /// Calls `f(id, value)` for each, in no order that may be relied on.
  template <class F>
  void for_each(F f) const {
    for (const auto& slot : slots_) {
      if (slot.id != 0) {
        f(slot.id, *slot.value);
      }
    }
  }
  /// The numbers in ascending order.
  std::vector<std::uint64_t> ids() const {
    std::vector<std::uint64_t> all;
    for_each([&](std::uint64_t id, const T&) { all.push_back(id); });
    std::ranges::sort(all);
    return all;
  }

 private:
  static constexpr std::size_t smallest = 64;
  struct Slot {
    std::uint64_t id = 0;  ///< 0: empty
    std::optional<T> value;
  };

  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t home_of(std::uint64_t id) const { return static_cast<std::size_t>(id) & mask(); }
  std::size_t after(std::size_t place) const { return (place + 1) & mask(); }
  /// Where it lies, or the empty slot where it would; without slots, past them.
  std::size_t place_of(std::uint64_t id) const {
    if (slots_.empty()) {
      return 0;
    }
    auto at = home_of(id);
    while (slots_[at].id != id && slots_[at].id != 0) {
      at = after(at);
    }
    return at;
  }
  T& place(std::uint64_t id, T&& value) {
    auto& slot = slots_[place_of(id)];
    slot.id = id;
    return slot.value.emplace(std::move(value));
  }
  void rebuild(std::size_t slots) {
    std::vector<Slot> old(slots);
    old.swap(slots_);
    for (auto& slot : old) {
      if (slot.id != 0) {
        place(slot.id, *std::move(slot.value));
      }
    }
  }

  std::vector<Slot> slots_;  ///< A power of two of them, at most half of them taken
  std::size_t size_ = 0;
};

}  // namespace troupe::net
