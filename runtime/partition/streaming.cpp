#include "runtime/partition/streaming.hpp"

#include "runtime/partition/part_loads.hpp"
#include "runtime/partition/rebalance.hpp"
#include "runtime/partition/vertex_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe {
namespace {

using Parts = std::vector<std::uint32_t>;
constexpr std::uint32_t unassigned = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t most_growth = 10;  ///< passes after which Fennel's penalty stays

/// What one thread needs to score a vertex.
struct Scratch {
  std::vector<std::uint32_t> counts;   ///< [parts] neighbours of the vertex
  std::vector<std::uint64_t> weights;  ///< [constraints]
};

/// One range's chunk of the block at hand.
struct NodeStream {
  PartLoads loads;
  Scratch scratch;
  std::vector<std::uint32_t> choices;
};

class StreamingAssigner {
 public:
  StreamingAssigner(const Adjacency& graph, const Constraints& constraints,
                    const StreamingOptions& options, Executor& executor)
      : graph_(graph),
        constraints_(constraints),
        options_(options),
        executor_(executor),
        blocks_(graph.vertices()),
        part_of_(graph.vertices(), unassigned),
        loads_(constraints, options.parts),
        scratch_(make_scratch()),
        edges_per_vertex_(static_cast<double>(graph.entries()) / 2 /
                          static_cast<double>(std::max<std::uint64_t>(graph.vertices(), 1))) {
    for (std::uint64_t s = 0; s < VertexBlocks::streams; ++s) {
      streams_.push_back({loads_, make_scratch(), std::vector<std::uint32_t>(blocks_.chunk)});
    }
  }

  Parts run() && {
    for (std::uint32_t pass = 0; pass < options_.passes; ++pass) {
      penalty_ = pass == 0            ? 1.5 * edges_per_vertex_
                 : pass < most_growth ? 1.5 * penalty_
                                      : penalty_;
      for (std::uint64_t block = 0; block < blocks_.count; ++block) {
        executor_.parallel_for(VertexBlocks::streams,
                               [&](std::size_t stream) { score_chunk(block, stream); });
        commit(block);
      }
      make_room(/*last=*/pass + 1 == options_.passes);
    }
    return std::move(part_of_);
  }

 private:
  Scratch make_scratch() const {
    return {std::vector<std::uint32_t>(options_.parts, 0),
            std::vector<std::uint64_t>(constraints_.size())};
  }

  /// With several constraints vertices get stuck between parts that are full of one or the other:
  /// between passes the parts give up half of what they may exceed the average by, in the end only
  /// what is past the limits.
  void make_room(bool last) {
    if (loads_.within_limits() && (last || constraints_.size() == 1)) {
      return;
    }
    rebalance(graph_, constraints_, part_of_, options_.parts, last ? 1 : 0.5);
    loads_ = loads_of(constraints_, part_of_, options_.parts);
  }

  void score_chunk(std::uint64_t block, std::uint64_t stream) {
    auto& own = streams_[stream];
    own.loads = loads_;
    graph_.lists().visit([&](auto ids) {
      const auto begin = blocks_.begin(block, stream);
      const auto end = blocks_.end(block, stream);
      for (auto v = begin; v < end; ++v) {
        count_neighbours(v, ids, own.scratch.counts, [&](std::uint64_t u) {
          return u - begin < v - begin ? own.choices[u - begin] : part_of_[u];
        });
        constraints_.weights(v, own.scratch.weights);
        const auto old = part_of_[v];
        if (old != unassigned) {
          own.loads.remove(old, own.scratch.weights);
        }
        const auto part = choose(own.scratch, own.loads);
        own.loads.add(part, own.scratch.weights);
        own.choices[v - begin] = part;
      }
    });
  }

  template <class Ids, class PartOf>
  void count_neighbours(std::uint64_t v, Ids ids, std::vector<std::uint32_t>& counts,
                        PartOf&& part_of) const {
    std::ranges::fill(counts, 0U);
    const auto end = graph_.offsets()[v + 1];
    for (auto i = graph_.offsets()[v]; i < end; ++i) {
      const std::uint64_t u = ids[i];
      const auto part = part_of(u);
      if (part != unassigned && u != v) {
        ++counts[part];
      }
    }
  }

  double score(std::uint32_t part, const Scratch& scratch, const PartLoads& loads) const {
    const auto neighbours = static_cast<double>(scratch.counts[part]);
    if (options_.score == StreamingOptions::Score::fennel) {
      return neighbours - penalty_ * std::sqrt(loads.over_average(part, scratch.weights));
    }
    return neighbours * (1 - loads.over_limit(part, scratch.weights));
  }

  /// The best part for a vertex whose neighbours are counted and weights known.
  std::uint32_t choose(const Scratch& scratch, const PartLoads& loads) const {
    std::uint32_t best = unassigned;
    double best_score = 0;
    double best_full = 0;
    for (std::uint32_t part = 0; part < options_.parts; ++part) {
      if (!loads.fits(part, scratch.weights)) {
        continue;
      }
      const auto full = loads.over_average(part, scratch.weights);
      const auto value = score(part, scratch, loads);
      if (best == unassigned || value > best_score || (value == best_score && full < best_full)) {
        best = part;
        best_score = value;
        best_full = full;
      }
    }
    return best != unassigned ? best : least_over(scratch, loads);
  }

  /// Where no part has room: the one that exceeds least.
  std::uint32_t least_over(const Scratch& scratch, const PartLoads& loads) const {
    std::uint32_t best = 0;
    for (std::uint32_t part = 1; part < options_.parts; ++part) {
      if (loads.excess_with(part, scratch.weights) < loads.excess_with(best, scratch.weights)) {
        best = part;
      }
    }
    return best;
  }

  void commit(std::uint64_t block) {
    for (std::uint64_t stream = 0; stream < VertexBlocks::streams; ++stream) {
      const auto begin = blocks_.begin(block, stream);
      for (auto v = begin; v < blocks_.end(block, stream); ++v) {
        place(v, streams_[stream].choices[v - begin]);
      }
    }
  }

  void place(std::uint64_t v, std::uint32_t part) {
    const auto old = part_of_[v];
    if (part == old) {
      return;
    }
    constraints_.weights(v, scratch_.weights);
    if (old != unassigned) {
      loads_.remove(old, scratch_.weights);
    }
    if (!loads_.fits(part, scratch_.weights)) {
      graph_.lists().visit([&](auto ids) {
        count_neighbours(v, ids, scratch_.counts, [&](std::uint64_t u) { return part_of_[u]; });
      });
      part = choose(scratch_, loads_);
    }
    loads_.add(part, scratch_.weights);
    part_of_[v] = part;
  }

  const Adjacency& graph_;
  const Constraints& constraints_;
  const StreamingOptions options_;
  Executor& executor_;
  const VertexBlocks blocks_;
  Parts part_of_;
  PartLoads loads_;
  Scratch scratch_;
  double edges_per_vertex_;
  double penalty_ = 0;  ///< of Fennel
  std::vector<NodeStream> streams_;
};

}  // namespace

std::vector<std::uint32_t> assign_streaming(const Adjacency& graph, const Constraints& constraints,
                                            const StreamingOptions& options, Executor& executor) {
  return StreamingAssigner(graph, constraints, options, executor).run();
}

}  // namespace troupe
