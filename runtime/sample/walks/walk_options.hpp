#pragma once
/// \file walk_options.hpp
/// Random walks from seeds: what a batch of them is made of (decision 0030).
#include "runtime/base/ids.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

/// Words of 32 bits below which a candidate of node2vec (Grover and Leskovec, "node2vec: Scalable Feature
/// Learning for Networks", KDD 2016) is taken; 2^32: always. The largest of the three is 2^32.
struct CandidateThresholds {
  std::uint64_t back = 0;  ///< It is the node before the last step: in proportion to 1/p
  std::uint64_t near = 0;  ///< It is a neighbor of that node: to 1
  std::uint64_t far = 0;   ///< Any other: to 1/q
  friend bool operator==(const CandidateThresholds&, const CandidateThresholds&) = default;
};

/// \param p, q  above 0
CandidateThresholds candidate_thresholds(double p, double q);

struct WalkOptions {
  static constexpr std::uint32_t most_steps = 254;

  std::uint32_t length = 0;         ///< Steps of a walk, 1 to most_steps
  std::uint32_t per_seed = 1;       ///< Walks from each seed
  std::uint32_t restart_below = 0;  ///< A walk returns to its seed where a word is below it
  /// Edge types of the steps, repeated; the first begins at the seeds' type.
  std::vector<EdgeTypeId> along;
  /// Second-order walks, along one type that joins nodes of one type.
  std::optional<CandidateThresholds> second_order = std::nullopt;
  std::uint32_t window = 0;  ///< Of walk_pairs(), for readers of batches
};

}  // namespace troupe
