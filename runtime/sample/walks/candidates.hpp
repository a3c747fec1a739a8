#pragma once
/// \file candidates.hpp
/// Candidates for the next node of second-order walks: which are requested, and the first that is taken.
/// For walk_builder*.cpp only.
#include "runtime/base/ids.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/sample/walks/walk_options.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

/// Candidates of a walker and step. They are drawn in rounds, each twice as large as the one before.
struct CandidateRounds {
  static constexpr std::uint32_t first_size = 4;
  static constexpr std::uint32_t count = 6;
  /// Of all rounds; trees have 8 bits for the number of a candidate.
  static constexpr std::uint32_t most = first_size * ((1U << count) - 1);
  static_assert(most <= 256);

  static constexpr std::uint32_t begin(std::uint32_t round) {
    return first_size * ((1U << round) - 1);
  }
  static constexpr std::uint32_t end(std::uint32_t round) { return begin(round + 1); }
};

/// The candidates of one walker in one round.
class CandidateChoice {
 public:
  /// Whether a candidate is taken, as far as it is known.
  enum class Taken : std::uint8_t { no, yes, if_near, if_far };

  struct Candidate {
    NodeId node{};
    Taken taken = Taken::no;
  };

  /// Adds the next candidate. \param coin  its word of 32 bits
  void add(NodeId node, std::uint32_t coin, NodeId before, const CandidateThresholds& thresholds);
  /// Candidates for which it must be known whether they are neighbors of the node before: none behind one
  /// that is taken in any case.
  std::vector<std::size_t> open() const;
  void decide(std::size_t candidate, bool is_near);
  /// The first that is taken. \requires nothing is open
  std::optional<NodeId> taken() const;
  const std::vector<Candidate>& candidates() const { return candidates_; }

 private:
  std::vector<Candidate> candidates_;
};

}  // namespace troupe
