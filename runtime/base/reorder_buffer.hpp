#pragma once
/// \file reorder_buffer.hpp
/// Takes numbered items in any order and gives them back in number order.
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace troupe {

/// Bounded by its user: at most as many items wait here as were asked for and not taken.
/// Threads: one at a time.
template <class T>
class ReorderBuffer {
 public:
  /// Starts with item `first`.
  explicit ReorderBuffer(std::uint64_t first = 0) : next_(first) {}

  /// Keeps an item. Returns false, and drops it, if that number was taken or is waiting.
  bool put(std::uint64_t number, T item) {
    return number >= next_ && items_.emplace(number, std::move(item)).second;
  }
  /// The next item in order, if it is here.
  std::optional<T> take() {
    const auto first = items_.begin();
    if (first == items_.end() || first->first != next_) {
      return std::nullopt;
    }
    ++next_;
    std::optional<T> item(std::move(first->second));
    items_.erase(first);
    return item;
  }
  /// The item `ahead` places after the next one, if it is here.
  const T* find(std::uint64_t ahead) const {
    const auto found = items_.find(next_ + ahead);
    return found == items_.end() ? nullptr : &found->second;
  }
  std::uint64_t next() const { return next_; }
  std::size_t waiting() const { return items_.size(); }

 private:
  std::uint64_t next_;
  std::map<std::uint64_t, T> items_;
};

}  // namespace troupe
