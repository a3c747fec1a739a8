#pragma once
/// \file edge_draw.hpp
/// Edges as a function of their number, and the way from there into an import.
#include "runtime/base/executor.hpp"
#include "runtime/data/graph_source.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace troupe::generate {

/// Threads: immutable; any number at once
class EdgeDraw {
 public:
  virtual ~EdgeDraw() = default;
  /// The ends of edges first, first + 1, … as node ids; both spans are of one size.
  virtual void draw(std::uint64_t first, std::span<std::uint64_t> sources,
                    std::span<std::uint64_t> destinations) const = 0;
};

/// Makes the tables that drawing needs: called when it begins.
using MakeEdgeDraw = std::function<std::unique_ptr<const EdgeDraw>(Executor&)>;

struct DrawnEdgesOptions {
  std::uint64_t count = 0;
  std::uint64_t piece = std::uint64_t{1} << 20;  ///< edges in memory at once; 32 bytes each at most
  bool weights = false;                          ///< uniform in (0, 1]
  bool times = false;                            ///< uniform in [0, 2^30)
  std::uint64_t seed = 0;
  std::uint16_t type = 0;  ///< number of the edge type
};
/// Draws the edges on all threads, piece by piece.
std::unique_ptr<graph_source::EdgeRows> drawn_edges(const DrawnEdgesOptions& options,
                                                    MakeEdgeDraw draw);

}  // namespace troupe::generate
