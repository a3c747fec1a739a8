#pragma once
/// \file node_classes.hpp
/// Which class each node is of. Generators draw ends of edges as places, where a class is a range,
/// and a permutation gives each place its id, so that ids say nothing.
#include "runtime/base/executor.hpp"
#include "runtime/base/permutation.hpp"

#include <cstdint>
#include <vector>

namespace troupe::generate {

/// A permutation as a table of 4 bytes per entry: for the many look-ups of drawing edges.
/// \requires permutation.size() <= 2^32
std::vector<std::uint32_t> permutation_table(const Permutation& permutation, Executor& executor);

/// Places 0..n-1, class after class; sizes of classes differ by one at most, larger ones first.
/// Threads: immutable; any number at once
class NodeClasses {
 public:
  /// \requires 1 <= classes <= nodes < 2^32
  NodeClasses(StreamKey ids, std::uint64_t nodes, std::uint64_t classes)
      : ids_(ids, nodes), classes_(classes), size_(nodes / classes), larger_(nodes % classes) {}

  std::uint64_t nodes() const noexcept { return ids_.size(); }
  std::uint64_t classes() const noexcept { return classes_; }
  /// The first place of a class, or the end of the last one.
  std::uint64_t begin(std::uint64_t of_class) const noexcept {
    return of_class * size_ + (of_class < larger_ ? of_class : larger_);
  }
  std::uint64_t class_of_place(std::uint64_t place) const noexcept {
    const auto end_of_larger = larger_ * (size_ + 1);
    return place < end_of_larger ? place / (size_ + 1) : larger_ + (place - end_of_larger) / size_;
  }
  std::uint64_t class_of_id(std::uint64_t id) const noexcept {
    return classes_ == 1 ? 0 : class_of_place(ids_.inverse(id));
  }
  /// From places to ids.
  const Permutation& ids() const noexcept { return ids_; }

 private:
  Permutation ids_;
  std::uint64_t classes_;
  std::uint64_t size_;
  std::uint64_t larger_;  ///< classes with one node more
};

}  // namespace troupe::generate
