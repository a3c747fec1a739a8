#pragma once
/// \file rmat_edges.hpp
/// The edges of an R-MAT graph as a function of their number. Used by rmat.cpp only.
#include "runtime/base/executor.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/data/rmat.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::rmat {

/// Names of the generator's streams (StreamName::hop).
enum class Stream : std::uint8_t { quadrants = 1, ids = 2, features = 3, labels = 4, train = 5 };
StreamKey stream(std::uint64_t seed, Stream which) noexcept;

/// Edges drawn at once.
inline constexpr std::size_t lanes = 16;
using Lane = std::array<std::uint32_t, lanes>;
/// The ends of edges first, first + 1, …
struct EdgeGroup {
  alignas(64) Lane sources;
  alignas(64) Lane destinations;
};

/// Threads: immutable; any number at once.
class Edges {
 public:
  /// \requires the options were checked
  /// \cost builds the permutation of ids: 4 bytes per node
  Edges(const RmatOptions& options, Executor& executor);

  unsigned scale() const noexcept { return scale_; }
  /// Cells of the adjacency matrix of 2^scale ids, before ids are folded and permuted.
  /// \requires first is a multiple of `lanes`
  EdgeGroup cells(std::uint64_t first) const noexcept;
  /// The edges themselves.
  EdgeGroup edges(std::uint64_t first) const noexcept;

 private:
  PhiloxKey key_;
  std::uint64_t nodes_;
  unsigned scale_;
  /// A word below the first of them takes quadrant (0,0), below the second (0,1), …
  std::array<std::uint32_t, 3> bounds_;
  std::vector<std::uint32_t> place_;  ///< of folded ids, in the keyed permutation
};

}  // namespace troupe::rmat
