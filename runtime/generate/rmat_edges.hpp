#pragma once
/// \file rmat_edges.hpp
/// The cells of an R-MAT graph's adjacency matrix as a function of the edge's number. Used by
/// rmat.cpp.
#include "runtime/base/philox.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace troupe::rmat {

/// Edges drawn at once.
inline constexpr std::size_t lanes = 16;
using Lane = std::array<std::uint32_t, lanes>;
/// The ends of edges first, first + 1, …
struct EdgeGroup {
  alignas(64) Lane sources;
  alignas(64) Lane destinations;
};

struct Quadrants {
  double a = 0.57;
  double b = 0.19;
  double c = 0.19;
};

/// Threads: immutable; any number at once.
class Cells {
 public:
  /// \requires the options were checked
  Cells(std::uint64_t nodes, const Quadrants& quadrants, std::uint64_t seed);

  /// ceil(log2 nodes)
  unsigned scale() const noexcept { return scale_; }
  /// Cells of the adjacency matrix of 2^scale ids.
  /// \requires first is a multiple of `lanes`
  EdgeGroup unfolded(std::uint64_t first) const noexcept;
  /// The same, folded to [0, nodes).
  EdgeGroup folded(std::uint64_t first) const noexcept;

 private:
  PhiloxKey key_;
  std::uint64_t nodes_;
  unsigned scale_;
  /// A word below the first of them takes quadrant (0,0), below the second (0,1), …
  std::array<std::uint32_t, 3> bounds_;
};

}  // namespace troupe::rmat
