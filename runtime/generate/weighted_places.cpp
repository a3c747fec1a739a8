#include "runtime/generate/weighted_places.hpp"

#include "runtime/generate/streams.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace troupe::generate {

WeightedPlaces::WeightedPlaces(std::vector<std::uint64_t> weights) : ends_(std::move(weights)) {
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
  const auto range_bits = static_cast<int>(std::bit_width(total() - 1));
  const auto place_bits = static_cast<int>(std::bit_width(ends_.size()));
  shift_ = static_cast<unsigned>(std::max(0, range_bits - place_bits));
  guide_.resize(((total() - 1) >> shift_) + 1);
  std::uint32_t place = 0;
  for (std::uint64_t b = 0; b < guide_.size(); ++b) {
    while (ends_[place] <= b << shift_) {
      ++place;
    }
    guide_[b] = place;
  }
}

std::uint64_t WeightedPlaces::at(std::uint64_t x) const noexcept {
  const auto bucket = x >> shift_;
  const auto first = ends_.begin() + guide_[bucket];
  const auto last =
      bucket + 1 < guide_.size() ? ends_.begin() + guide_[bucket + 1] : ends_.end() - 1;
  return static_cast<std::uint64_t>(std::upper_bound(first, last, x) - ends_.begin());
}

std::uint64_t WeightedPlaces::inside(const NodeClasses& classes, std::uint64_t of_class,
                                     std::uint64_t word) const noexcept {
  const auto begin = before(classes.begin(of_class));
  const auto end = before(classes.begin(of_class + 1));
  return at(begin + scaled(word, end - begin));
}

std::uint64_t WeightedPlaces::outside(const NodeClasses& classes, std::uint64_t of_class,
                                      std::uint64_t word) const noexcept {
  const auto begin = before(classes.begin(of_class));
  const auto size = before(classes.begin(of_class + 1)) - begin;
  const auto x = scaled(word, total() - size);
  return at(x < begin ? x : x + size);
}

}  // namespace troupe::generate
