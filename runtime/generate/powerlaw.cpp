#include "runtime/generate/powerlaw.hpp"

#include "runtime/generate/power.hpp"
#include "runtime/generate/streams.hpp"
#include "runtime/generate/weighted_places.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>

namespace troupe {

using namespace generate;

namespace {

constexpr std::uint64_t per_task = std::uint64_t{1} << 14;

/// Weights by place. A class holds every classes-th rank.
std::vector<std::uint64_t> by_place(const std::vector<std::uint64_t>& weights,
                                    const NodeClasses& classes, Executor& executor) {
  std::vector<std::uint64_t> placed(weights.size());
  const auto n = placed.size();
  executor.parallel_for((n + per_task - 1) / per_task, [&](std::size_t task) {
    const auto end = std::min<std::uint64_t>(n, (task + 1) * per_task);
    for (std::uint64_t place = task * per_task; place < end; ++place) {
      const auto c = classes.class_of_place(place);
      placed[place] = weights[(place - classes.begin(c)) * classes.classes() + c];
    }
  });
  return placed;
}

class ChungLuDraw final : public EdgeDraw {
 public:
  ChungLuDraw(const PowerlawOptions& options, std::shared_ptr<const NodeClasses> classes,
              Executor& executor)
      : classes_(std::move(classes)),
        places_(by_place(power_weights(options.nodes, options.exponent, executor), *classes_,
                         executor)),
        ids_(permutation_table(classes_->ids(), executor)),
        key_(stream(options.seed, Stream::ends)),
        inside_below_(word_bound(options.homophily)) {}

  void draw(std::uint64_t first, std::span<std::uint64_t> sources,
            std::span<std::uint64_t> destinations) const override {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      DrawStream words(key_, first + i);
      const auto source = places_.at(scaled(next_64(words), places_.total()));
      sources[i] = ids_[source];
      destinations[i] = ids_[destination_of(source, words)];
    }
  }

 private:
  std::uint64_t destination_of(std::uint64_t source, DrawStream& words) const {
    const auto word = next_64(words);
    if (classes_->classes() == 1) {
      return places_.at(scaled(word, places_.total()));
    }
    const auto of_class = classes_->class_of_place(source);
    return words.next() < inside_below_ ? places_.inside(*classes_, of_class, word)
                                        : places_.outside(*classes_, of_class, word);
  }

  std::shared_ptr<const NodeClasses> classes_;
  WeightedPlaces places_;
  std::vector<std::uint32_t> ids_;
  StreamKey key_;
  std::uint64_t inside_below_;
};

}  // namespace

std::vector<std::uint64_t> generate::power_weights(std::uint64_t ranks, double exponent,
                                                   Executor& executor) {
  const double power = -1 / (exponent - 1);
  const double scale = std::ldexp(1.0, 62 - static_cast<int>(std::bit_width(ranks)));
  std::vector<std::uint64_t> weights(ranks);
  executor.parallel_for((ranks + per_task - 1) / per_task, [&](std::size_t task) {
    const auto end = std::min(ranks, (task + 1) * per_task);
    for (std::uint64_t rank = task * per_task; rank < end; ++rank) {
      const double weight = exponential(power * natural_log(static_cast<double>(rank + 1)));
      weights[rank] = 1 + static_cast<std::uint64_t>(weight * scale);
    }
  });
  return weights;
}

Result<OneTypeGraph> powerlaw_graph(const PowerlawOptions& options) {
  TROUPE_RETURN_IF_ERROR(check_count("nodes", options.nodes, 1, most_nodes));
  TROUPE_RETURN_IF_ERROR(check_between("exponent", options.exponent, 2, 10));
  TROUPE_RETURN_IF_ERROR(check_options(options, options.nodes, options.edges));
  OneTypeGraph graph;
  graph.kind = "powerlaw";
  graph.parameters = fmt::format("\"exponent\": {}, ", options.exponent);
  graph.nodes = options.nodes;
  graph.edges = options.edges;
  const auto classes = std::make_shared<const NodeClasses>(
      stream(options.seed, Stream::ids), options.nodes, options.learnable() ? options.classes : 1);
  graph.classes = options.learnable() ? classes : nullptr;
  graph.draw = [options, classes](Executor& executor) -> std::unique_ptr<const EdgeDraw> {
    return std::make_unique<ChungLuDraw>(options, classes, executor);
  };
  graph.table_bytes = 24 * options.nodes;  // weights twice while they are placed, ids, the guide
  return graph;
}

}  // namespace troupe
