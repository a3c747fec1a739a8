#pragma once
/// \file part_loads.hpp
/// How full the parts are while vertices are assigned.
#include "runtime/partition/constraints.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// What each part holds of every constraint, against its limits. Copies are cheap: parts x
/// constraints numbers.
/// Threads: one at a time
class PartLoads {
 public:
  PartLoads(const Constraints& constraints, std::uint32_t parts, double slack = 1)
      : constraints_(constraints.size()), parts_(parts), loads_(parts * constraints_, 0) {
    for (std::size_t c = 0; c < constraints_; ++c) {
      limits_.push_back(constraints.limit(c, parts, slack));
      per_average_.push_back(static_cast<double>(parts) /
                             static_cast<double>(constraints.total(c)));
      per_limit_.push_back(1 / static_cast<double>(limits_.back()));
    }
  }

  std::uint32_t parts() const { return parts_; }
  std::size_t constraints() const { return constraints_; }
  std::uint64_t load(std::uint32_t part, std::size_t c) const {
    return loads_[part * constraints_ + c];
  }
  std::uint64_t limit(std::size_t c) const { return limits_[c]; }

  void add(std::uint32_t part, std::span<const std::uint64_t> weights) {
    for (std::size_t c = 0; c < constraints_; ++c) {
      loads_[part * constraints_ + c] += weights[c];
    }
  }
  void remove(std::uint32_t part, std::span<const std::uint64_t> weights) {
    for (std::size_t c = 0; c < constraints_; ++c) {
      loads_[part * constraints_ + c] -= weights[c];
    }
  }

  /// Whether the part stays within the limits of what the vertex weighs.
  bool fits(std::uint32_t part, std::span<const std::uint64_t> weights) const {
    for (std::size_t c = 0; c < constraints_; ++c) {
      if (weights[c] != 0 && load(part, c) + weights[c] > limits_[c]) {
        return false;
      }
    }
    return true;
  }
  /// Whether the part is past a limit of what the vertex weighs.
  bool exceeds(std::uint32_t part, std::span<const std::uint64_t> weights) const {
    for (std::size_t c = 0; c < constraints_; ++c) {
      if (weights[c] != 0 && load(part, c) > limits_[c]) {
        return true;
      }
    }
    return false;
  }
  /// Whether all parts are within all limits.
  bool within_limits() const {
    for (std::size_t i = 0; i < loads_.size(); ++i) {
      if (loads_[i] > limits_[i % constraints_]) {
        return false;
      }
    }
    return true;
  }
  /// Load over average load, the largest among the constraints under which the vertex weighs
  /// something.
  double over_average(std::uint32_t part, std::span<const std::uint64_t> weights) const {
    return largest(part, weights, per_average_);
  }
  /// The same over the limit.
  double over_limit(std::uint32_t part, std::span<const std::uint64_t> weights) const {
    return largest(part, weights, per_limit_);
  }
  /// By how many averages the part would be past its limits with the vertex, all constraints.
  double excess_with(std::uint32_t part, std::span<const std::uint64_t> weights) const {
    double sum = 0;
    for (std::size_t c = 0; c < constraints_; ++c) {
      sum += excess(load(part, c) + weights[c], c);
    }
    return sum;
  }
  /// By how many averages all excess together grows if the vertex moves.
  double excess_of_move(std::uint32_t from, std::uint32_t to,
                        std::span<const std::uint64_t> weights) const {
    double sum = 0;
    for (std::size_t c = 0; c < constraints_; ++c) {
      sum += excess(load(to, c) + weights[c], c) - excess(load(to, c), c) +
             excess(load(from, c) - weights[c], c) - excess(load(from, c), c);
    }
    return sum;
  }

 private:
  double excess(std::uint64_t load, std::size_t c) const {
    return load > limits_[c] ? static_cast<double>(load - limits_[c]) * per_average_[c] : 0;
  }
  double largest(std::uint32_t part, std::span<const std::uint64_t> weights,
                 const std::vector<double>& scale) const {
    double most = 0;
    for (std::size_t c = 0; c < constraints_; ++c) {
      if (weights[c] != 0) {
        most = std::max(most, static_cast<double>(load(part, c)) * scale[c]);
      }
    }
    return most;
  }

  std::size_t constraints_;
  std::uint32_t parts_;
  std::vector<std::uint64_t> loads_;  ///< [part][constraint]
  std::vector<std::uint64_t> limits_;
  std::vector<double> per_average_;  ///< 1 / average load
  std::vector<double> per_limit_;    ///< 1 / limit
};

/// The loads of a whole assignment.
inline PartLoads loads_of(const Constraints& constraints, std::span<const std::uint32_t> part_of,
                          std::uint32_t parts, double slack = 1) {
  PartLoads loads(constraints, parts, slack);
  std::vector<std::uint64_t> weights(constraints.size());
  for (std::uint64_t v = 0; v < part_of.size(); ++v) {
    constraints.weights(v, weights);
    loads.add(part_of[v], weights);
  }
  return loads;
}

}  // namespace troupe
