#include "runtime/partition/rebalance.hpp"

#include "runtime/partition/part_loads.hpp"

namespace troupe {
namespace {

class Rebalancer {
 public:
  Rebalancer(const Adjacency& graph, const Constraints& constraints,
             std::span<std::uint32_t> part_of, std::uint32_t parts, double slack)
      : graph_(graph),
        constraints_(constraints),
        part_of_(part_of),
        loads_(loads_of(constraints, part_of, parts, slack)),
        weights_(constraints.size()),
        neighbours_(parts) {}

  void run() {
    for (int round = 0; round < most_rounds && !loads_.within_limits(); ++round) {
      bool moved = false;
      for (std::uint64_t v = 0; v < part_of_.size(); ++v) {
        constraints_.weights(v, weights_);
        if (loads_.exceeds(part_of_[v], weights_)) {
          moved = move(v, /*loss=*/round > 0) || moved;
        }
      }
      if (!moved && round > 0) {
        return;
      }
    }
  }

 private:
  static constexpr int most_rounds = 8;
  static constexpr double least_gain = 1e-12;  ///< of excess, in averages: no moves in circles

  bool move(std::uint64_t v, bool loss) {
    std::ranges::fill(neighbours_, 0U);
    graph_.for_each_neighbour(v, [&](std::uint64_t u) { ++neighbours_[part_of_[u]]; });
    const auto from = part_of_[v];
    auto best = from;
    double best_growth = 0;
    for (std::uint32_t part = 0; part < loads_.parts(); ++part) {
      if (part == from || (!loss && neighbours_[part] < neighbours_[from])) {
        continue;
      }
      const auto growth = loads_.excess_of_move(from, part, weights_);
      if (growth >= -least_gain) {
        continue;
      }
      if (best == from || neighbours_[part] > neighbours_[best] ||
          (neighbours_[part] == neighbours_[best] && growth < best_growth)) {
        best = part;
        best_growth = growth;
      }
    }
    if (best == from) {
      return false;
    }
    loads_.remove(from, weights_);
    loads_.add(best, weights_);
    part_of_[v] = best;
    return true;
  }

  const Adjacency& graph_;
  const Constraints& constraints_;
  std::span<std::uint32_t> part_of_;
  PartLoads loads_;
  std::vector<std::uint64_t> weights_;
  std::vector<std::uint32_t> neighbours_;
};

}  // namespace

void rebalance(const Adjacency& graph, const Constraints& constraints,
               std::span<std::uint32_t> part_of, std::uint32_t parts, double slack) {
  Rebalancer(graph, constraints, part_of, parts, slack).run();
}

}  // namespace troupe
