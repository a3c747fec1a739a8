#include "runtime/generate/edge_draw.hpp"

#include "runtime/generate/streams.hpp"

#include <algorithm>
#include <vector>

namespace troupe::generate {
namespace {

constexpr std::uint64_t edges_per_task = std::uint64_t{1} << 13;
constexpr std::uint32_t times_end = std::uint32_t{1} << 30;

/// Arrays of one piece.
struct Piece {
  std::vector<std::uint64_t> sources;
  std::vector<std::uint64_t> destinations;
  std::vector<float> weights;
  std::vector<std::int64_t> times;
};

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

class DrawnEdges final : public graph_source::EdgeRows {
 public:
  DrawnEdges(const DrawnEdgesOptions& options, MakeEdgeDraw make)
      : options_(options),
        make_(std::move(make)),
        attributes_(stream(options.seed, Stream::attributes, options.type)) {}
  std::uint64_t count() const override { return options_.count; }
  bool weights() const override { return options_.weights; }
  bool times() const override { return options_.times; }

  Status read(Executor& executor, const graph_source::TakeEdges& take) const override {
    if (options_.count == 0) {
      return ok_status();
    }
    const auto draw = make_(executor);
    const auto most = std::min(options_.count, std::max<std::uint64_t>(1, options_.piece));
    Piece piece;
    piece.sources.resize(most);
    piece.destinations.resize(most);
    piece.weights.resize(options_.weights ? most : 0);
    piece.times.resize(options_.times ? most : 0);
    for (std::uint64_t first = 0; first < options_.count; first += most) {
      const auto count = std::min(most, options_.count - first);
      executor.parallel_for((count + edges_per_task - 1) / edges_per_task, [&](std::size_t task) {
        const auto begin = task * edges_per_task;
        fill(*draw, first, {begin, std::min(count - begin, edges_per_task)}, piece);
      });
      TROUPE_RETURN_IF_ERROR(
          take({std::span(piece.sources).first(count), std::span(piece.destinations).first(count),
                std::span(piece.weights).first(options_.weights ? count : 0),
                std::span(piece.times).first(options_.times ? count : 0)}));
    }
    return ok_status();
  }

 private:
  /// A range of a piece whose first edge is `first`.
  void fill(const EdgeDraw& draw, std::uint64_t first, Range range, Piece& piece) const {
    const auto [begin, count] = range;
    draw.draw(first + begin, std::span(piece.sources).subspan(begin, count),
              std::span(piece.destinations).subspan(begin, count));
    if (!options_.weights && !options_.times) {
      return;
    }
    for (auto i = begin; i < begin + count; ++i) {
      DrawStream words(attributes_, first + i);
      const auto weight = unit_float(words.next()) + 0x1p-24F;
      const auto time = words.below(times_end);
      if (options_.weights) {
        piece.weights[i] = weight;
      }
      if (options_.times) {
        piece.times[i] = time;
      }
    }
  }

  DrawnEdgesOptions options_;
  MakeEdgeDraw make_;
  StreamKey attributes_;
};

}  // namespace

std::unique_ptr<graph_source::EdgeRows> drawn_edges(const DrawnEdgesOptions& options,
                                                    MakeEdgeDraw draw) {
  return std::make_unique<DrawnEdges>(options, std::move(draw));
}

}  // namespace troupe::generate
