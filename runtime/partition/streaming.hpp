#pragma once
/// \file streaming.hpp
/// Assigners that read the vertices one after the other and give each to the part that scores best:
/// LDG (Stanton, Kliot: "Streaming graph partitioning for large distributed graphs", KDD 2012) and
/// Fennel (Tsourakakis, Gkantsidis, Radunovic, Vojnovic: "FENNEL", WSDM 2014), in several passes
/// (Nishimura, Ugander: "Restreaming graph partitioning", KDD 2013). For graphs of any size; METIS
/// cuts better where it fits.
#include "runtime/base/executor.hpp"
#include "runtime/partition/adjacency.hpp"
#include "runtime/partition/constraints.hpp"

#include <cstdint>
#include <vector>

namespace troupe {

struct StreamingOptions {
  enum class Score : std::uint8_t { ldg, fennel };
  Score score = Score::fennel;
  std::uint32_t parts = 1;
  std::uint32_t passes = 3;
};

/// Part of every vertex.
///
/// A vertex with n neighbours in a part scores it n * (1 - load / limit) with LDG and
/// n - a * sqrt(load / average) with Fennel, where load is that of the constraint which is fullest
/// and a = 1.5 * edges / vertices, the paper's penalty (gamma 1.5) written for relative loads. From
/// pass to pass, ten times at most, a grows by half: without it parts stick to their limits and
/// cuts are up to twice as large. A part that the vertex would take over a limit takes none; where
/// all are full, the one that it exceeds least. Ties go to the emptier part, then to the lower
/// number. Later passes start from the loads and parts that the last one left.
///
/// Order of vertices: by original id, in 8 ranges side by side, because ids have locality.
/// Each pass takes chunks of vertices of fixed size, one of each range, scores them in parallel
/// against what stood before (a chunk sees its own choices) and then commits them in order against
/// the exact loads, so the result does not depend on the number of threads.
/// \cost 4 bytes per vertex; a pass reads all lists once
std::vector<std::uint32_t> assign_streaming(const Adjacency& graph, const Constraints& constraints,
                                            const StreamingOptions& options, Executor& executor);

}  // namespace troupe
