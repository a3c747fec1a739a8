#include "runtime/generate/rmat.hpp"

#include "runtime/generate/rmat_edges.hpp"
#include "runtime/generate/streams.hpp"
#include "runtime/generate/weighted_places.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fmt/format.h>

namespace troupe {

using namespace generate;

namespace {

constexpr std::uint64_t most_rmat_nodes = std::uint64_t{1} << 32;

Status check_probability(const char* name, double value) {
  if (value >= 0 && value < 1) {  // false for NaN
    return ok_status();
  }
  return Error(Errc::invalid_argument,
               fmt::format("{}: expected a probability in [0, 1), got {}", name, value));
}

Status check(const RmatOptions& options) {
  TROUPE_RETURN_IF_ERROR(check_count("nodes", options.nodes, 1, most_rmat_nodes));
  TROUPE_RETURN_IF_ERROR(check_probability("a", options.a));
  TROUPE_RETURN_IF_ERROR(check_probability("b", options.b));
  TROUPE_RETURN_IF_ERROR(check_probability("c", options.c));
  if (!(options.a + options.b + options.c < 1)) {
    return Error(
        Errc::invalid_argument,
        fmt::format("a + b + c: expected less than 1, which leaves the rest for the fourth "
                    "quadrant, got {} + {} + {}",
                    options.a, options.b, options.c));
  }
  return check_options(options, options.nodes, options.edges);
}

rmat::Cells cells_of(const RmatOptions& options) {
  return {options.nodes, {options.a, options.b, options.c}, options.seed};
}

/// Calls `take(i, source cell, destination cell)` for the i-th edge from `first` on.
template <class Take>
void for_each_edge(const rmat::Cells& cells, std::uint64_t first, std::uint64_t count,
                   const Take& take) {
  const auto begin = first - first % rmat::lanes;
  for (auto group_first = begin; group_first < first + count; group_first += rmat::lanes) {
    const auto group = cells.folded(group_first);
    for (std::size_t l = 0; l < rmat::lanes; ++l) {
      const auto edge = group_first + l;
      if (edge >= first && edge < first + count) {
        take(edge - first, group.sources[l], group.destinations[l]);
      }
    }
  }
}

class RmatDraw final : public EdgeDraw {
 public:
  RmatDraw(const RmatOptions& options, Executor& executor)
      : cells_(cells_of(options)),
        ids_(permutation_table(Permutation(stream(options.seed, Stream::ids), options.nodes),
                               executor)) {}

  void draw(std::uint64_t first, std::span<std::uint64_t> sources,
            std::span<std::uint64_t> destinations) const override {
    for_each_edge(cells_, first, sources.size(),
                  [&](std::size_t i, std::uint32_t source, std::uint32_t destination) {
                    sources[i] = ids_[source];
                    destinations[i] = ids_[destination];
                  });
  }

 private:
  rmat::Cells cells_;
  std::vector<std::uint32_t> ids_;
};

/// The share of edges that end in an unfolded cell, by the number of its one bits. Only products:
/// the same bits on every machine.
std::array<double, 33> shares_by_ones(const RmatOptions& options, unsigned scale) {
  const double zero = options.a + options.c;
  std::array<double, 33> shares{};
  for (unsigned ones = 0; ones <= scale; ++ones) {
    double share = 1;
    for (unsigned bit = 0; bit < scale; ++bit) {
      share *= bit < ones ? 1 - zero : zero;
    }
    shares.at(ones) = share;
  }
  return shares;
}

/// Weights of places as destinations, as whole numbers: 2^61 for all of them, and one each.
std::vector<std::uint64_t> destination_weights(const RmatOptions& options, unsigned scale,
                                               const std::vector<std::uint32_t>& places) {
  const auto shares = shares_by_ones(options, scale);
  std::vector<std::uint64_t> weights(options.nodes, 1);
  for (std::uint64_t cell = 0; cell < std::uint64_t{1} << scale; ++cell) {
    const auto share = shares.at(static_cast<std::size_t>(std::popcount(cell)));
    weights[places[cell * options.nodes >> scale]] += static_cast<std::uint64_t>(share * 0x1p61);
  }
  return weights;
}

class RmatClassDraw final : public EdgeDraw {
 public:
  RmatClassDraw(const RmatOptions& options, std::shared_ptr<const NodeClasses> classes,
                Executor& executor)
      : cells_(cells_of(options)),
        classes_(std::move(classes)),
        places_(permutation_table(Permutation(stream(options.seed, Stream::cells), options.nodes),
                                  executor)),
        ids_(permutation_table(classes_->ids(), executor)),
        weighted_(destination_weights(options, cells_.scale(), places_)),
        key_(stream(options.seed, Stream::ends)),
        inside_below_(word_bound(options.homophily)) {}

  void draw(std::uint64_t first, std::span<std::uint64_t> sources,
            std::span<std::uint64_t> destinations) const override {
    for_each_edge(cells_, first, sources.size(),
                  [&](std::size_t i, std::uint32_t source_cell, std::uint32_t destination_cell) {
                    const auto source = places_[source_cell];
                    DrawStream words(key_, first + i);
                    const auto destination =
                        destination_of(source, places_[destination_cell], words);
                    sources[i] = ids_[source];
                    destinations[i] = ids_[destination];
                  });
  }

 private:
  std::uint64_t destination_of(std::uint64_t source, std::uint64_t drawn, DrawStream& words) const {
    const auto of_class = classes_->class_of_place(source);
    const auto word = next_64(words);
    if (words.next() < inside_below_) {
      return weighted_.inside(*classes_, of_class, word);
    }
    return classes_->class_of_place(drawn) != of_class
               ? drawn
               : weighted_.outside(*classes_, of_class, word);
  }

  rmat::Cells cells_;
  std::shared_ptr<const NodeClasses> classes_;
  std::vector<std::uint32_t> places_;  ///< of folded cells
  std::vector<std::uint32_t> ids_;     ///< of places
  WeightedPlaces weighted_;
  StreamKey key_;
  std::uint64_t inside_below_;
};

}  // namespace

Result<OneTypeGraph> rmat_graph(const RmatOptions& options) {
  TROUPE_RETURN_IF_ERROR(check(options));
  OneTypeGraph graph;
  graph.kind = "rmat";
  graph.parameters =
      fmt::format("\"a\": {}, \"b\": {}, \"c\": {}, ", options.a, options.b, options.c);
  graph.nodes = options.nodes;
  graph.edges = options.edges;
  if (!options.learnable()) {
    graph.draw = [options](Executor& executor) -> std::unique_ptr<const EdgeDraw> {
      return std::make_unique<RmatDraw>(options, executor);
    };
    graph.table_bytes = 4 * options.nodes;
    return graph;
  }
  graph.classes = std::make_shared<const NodeClasses>(stream(options.seed, Stream::ids),
                                                      options.nodes, options.classes);
  graph.draw = [options,
                classes = graph.classes](Executor& executor) -> std::unique_ptr<const EdgeDraw> {
    return std::make_unique<RmatClassDraw>(options, classes, executor);
  };
  graph.table_bytes = 24 * options.nodes;  // places, ids, weights, the guide
  return graph;
}

}  // namespace troupe
