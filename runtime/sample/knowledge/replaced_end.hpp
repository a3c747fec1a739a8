#pragma once
/// \file replaced_end.hpp
/// The end of triples (head, relation, tail) that negative candidates replace.
#include <cstdint>

namespace troupe {

enum class ReplacedEnd : std::uint8_t { tail, head };

/// Ends of links, or of triples, that are ranked among all nodes: heads are sources, tails destinations.
enum class RankedEnds : std::uint8_t { both, source, destination };

constexpr bool is_ranked(RankedEnds ends, ReplacedEnd end) {
  return ends == RankedEnds::both ||
         (end == ReplacedEnd::tail ? ends == RankedEnds::destination : ends == RankedEnds::source);
}

}  // namespace troupe
