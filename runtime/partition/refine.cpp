#include "runtime/partition/refine.hpp"

#include "runtime/partition/part_loads.hpp"
#include "runtime/partition/vertex_blocks.hpp"

#include <algorithm>
#include <vector>

namespace troupe {
namespace {

class Refiner {
 public:
  Refiner(const Adjacency& graph, const Constraints& constraints, std::span<std::uint32_t> part_of,
          std::uint32_t parts)
      : graph_(graph),
        constraints_(constraints),
        part_of_(part_of),
        blocks_(graph.vertices()),
        loads_(loads_of(constraints, part_of, parts)),
        scratch_(VertexBlocks::streams) {
    for (auto& scratch : scratch_) {
      scratch.neighbours.resize(parts);
      scratch.weights.resize(constraints.size());
    }
  }

  /// \returns how many vertices moved
  std::uint64_t pass(Executor& executor) {
    std::uint64_t moved = 0;
    for (std::uint64_t block = 0; block < blocks_.count; ++block) {
      executor.parallel_for(VertexBlocks::streams,
                            [&](std::size_t stream) { find_moves(block, stream); });
      for (std::uint64_t stream = 0; stream < VertexBlocks::streams; ++stream) {
        for (const auto v : scratch_[stream].wanted) {
          moved += move(v, scratch_[stream]) ? 1U : 0U;
        }
      }
    }
    return moved;
  }

 private:
  struct Scratch {
    std::vector<std::uint64_t> neighbours;  ///< [parts]
    std::vector<std::uint64_t> weights;
    std::vector<std::uint64_t> wanted;  ///< vertices that would move
  };

  void find_moves(std::uint64_t block, std::uint64_t stream) {
    auto& scratch = scratch_[stream];
    scratch.wanted.clear();
    for (auto v = blocks_.begin(block, stream); v < blocks_.end(block, stream); ++v) {
      if (best_part(v, scratch) != part_of_[v]) {
        scratch.wanted.push_back(v);
      }
    }
  }

  /// Looks again: neighbours in the same block may have moved.
  bool move(std::uint64_t v, Scratch& scratch) {
    const auto to = best_part(v, scratch);
    if (to == part_of_[v]) {
      return false;
    }
    loads_.remove(part_of_[v], scratch.weights);
    loads_.add(to, scratch.weights);
    part_of_[v] = to;
    return true;
  }

  /// The part with most neighbours that has room; its own unless another has more.
  std::uint32_t best_part(std::uint64_t v, Scratch& scratch) const {
    auto& neighbours = scratch.neighbours;
    std::ranges::fill(neighbours, 0U);
    graph_.for_each_neighbour(v, [&](std::uint64_t u) { ++neighbours[part_of_[u]]; });
    auto best = part_of_[v];
    const auto most = std::ranges::max(neighbours);
    if (neighbours[best] == most) {
      return best;
    }
    constraints_.weights(v, scratch.weights);
    for (std::uint32_t part = 0; part < loads_.parts(); ++part) {
      if (neighbours[part] > neighbours[best] && loads_.fits(part, scratch.weights)) {
        best = part;
      }
    }
    return best;
  }

  const Adjacency& graph_;
  const Constraints& constraints_;
  std::span<std::uint32_t> part_of_;
  const VertexBlocks blocks_;
  PartLoads loads_;
  std::vector<Scratch> scratch_;
};

}  // namespace

void refine(const Adjacency& graph, const Constraints& constraints,
            std::span<std::uint32_t> part_of, std::uint32_t parts, std::uint32_t most_passes,
            Executor& executor) {
  Refiner refiner(graph, constraints, part_of, parts);
  for (std::uint32_t pass = 0; pass < most_passes; ++pass) {
    if (refiner.pass(executor) <= part_of.size() / 1000) {
      return;
    }
  }
}

}  // namespace troupe
