#pragma once
/// \file weighted_places.hpp
/// Draws places with given whole-number weights, among all or in a range, in constant time on average.
#include "runtime/generate/node_classes.hpp"

#include <cstdint>
#include <vector>

namespace troupe::generate {

/// The exact cumulative weights, with a guide to where a search begins (Chen and Asau: "On generating
/// random variates from an empirical distribution", AIIE Transactions 1974). Whole numbers: the same
/// draws on every machine.
/// Threads: immutable; any number at once
/// \cost 8 bytes per place, and 4 to 8 for the guide
class WeightedPlaces {
 public:
  /// \requires every weight >= 1, their sum below 2^63; 1 to 2^32 of them
  explicit WeightedPlaces(std::vector<std::uint64_t> weights);

  std::uint64_t total() const noexcept { return ends_.back(); }
  /// The sum of the weights of all places before one, or of all.
  std::uint64_t before(std::uint64_t place) const noexcept {
    return place == 0 ? 0 : ends_[place - 1];
  }
  /// The place p with before(p) <= x < before(p + 1). \requires x < total()
  std::uint64_t at(std::uint64_t x) const noexcept;

  /// A place of a class, by weight. \param word  64 random bits
  std::uint64_t inside(const NodeClasses& classes, std::uint64_t of_class,
                       std::uint64_t word) const noexcept;
  /// A place of the other classes, by weight. \requires there are others
  std::uint64_t outside(const NodeClasses& classes, std::uint64_t of_class,
                        std::uint64_t word) const noexcept;

 private:
  std::vector<std::uint64_t> ends_;
  unsigned shift_ = 0;
  std::vector<std::uint32_t> guide_;  ///< entry b: the place at b << shift_
};

}  // namespace troupe::generate
