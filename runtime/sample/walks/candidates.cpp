#include "runtime/sample/walks/candidates.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {

CandidateThresholds candidate_thresholds(double p, double q) {
  const double largest = std::max({1 / p, 1.0, 1 / q});
  const auto of = [largest](double weight) {
    return static_cast<std::uint64_t>(std::floor(weight / largest * 0x1p32));
  };
  return {.back = of(1 / p), .near = of(1.0), .far = of(1 / q)};
}

void CandidateChoice::add(NodeId node, std::uint32_t coin, NodeId before,
                          const CandidateThresholds& thresholds) {
  Candidate candidate{node};
  if (node == before) {
    candidate.taken = coin < thresholds.back ? Taken::yes : Taken::no;
  } else if (const bool near = coin < thresholds.near; near == (coin < thresholds.far)) {
    candidate.taken = near ? Taken::yes : Taken::no;
  } else {
    candidate.taken = near ? Taken::if_near : Taken::if_far;
  }
  candidates_.push_back(candidate);
}

std::vector<std::size_t> CandidateChoice::open() const {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < candidates_.size() && candidates_[i].taken != Taken::yes; ++i) {
    if (candidates_[i].taken != Taken::no) {
      open.push_back(i);
    }
  }
  return open;
}

void CandidateChoice::decide(std::size_t candidate, bool is_near) {
  auto& taken = candidates_[candidate].taken;
  taken = is_near == (taken == Taken::if_near) ? Taken::yes : Taken::no;
}

std::optional<NodeId> CandidateChoice::taken() const {
  const auto found = std::ranges::find(candidates_, Taken::yes, &Candidate::taken);
  return found == candidates_.end() ? std::nullopt : std::optional(found->node);
}

}  // namespace troupe
