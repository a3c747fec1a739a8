#include "runtime/sample/choice/uniform.hpp"

#include "runtime/sample/choice/uniform_lanes.hpp"
#include "runtime/sample/id_index.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>

namespace troupe {
namespace {

using FanoutLanes = UniformLanes<vector_bytes>;

constexpr std::uint32_t short_fanout = 64;  // up to here a sorted array beats a hash set

/// Draws for one node after another; keeps its scratch.
class PositionDrawer {
 public:
  explicit PositionDrawer(bool replace) : replace_(replace) {}

  /// Fills `out` with positions in [0, degree). \requires degree > 0; without replacement degree >
  /// out.size()
  void draw(DrawStream stream, std::uint32_t degree, std::span<std::uint32_t> out) {
    if (replace_) {
      draw_with_replacement(stream, degree, out);
    } else if (out.size() <= short_fanout) {
      draw_few(stream, degree, out);
    } else {
      draw_many(stream, degree, out);
    }
  }

 private:
  static void draw_with_replacement(DrawStream& stream, std::uint32_t degree,
                                    std::span<std::uint32_t> out) {
    for (auto& position : out) {
      position = stream.below(degree);
    }
    std::ranges::sort(out);
  }

  /// Floyd: j runs over the last out.size() positions and t over [0, j]; j is above all that were
  /// taken before it.
  static void draw_few(DrawStream& stream, std::uint32_t degree, std::span<std::uint32_t> out) {
    std::uint32_t j = degree - static_cast<std::uint32_t>(out.size());
    for (std::size_t taken = 0; taken < out.size(); ++taken, ++j) {
      const std::uint32_t t = stream.below(j + 1);
      std::size_t at = taken;
      while (at > 0 && out[at - 1] > t) {
        --at;
      }
      if (at > 0 && out[at - 1] == t) {
        out[taken] = j;
      } else {
        std::copy_backward(out.data() + at, out.data() + taken, out.data() + taken + 1);
        out[at] = t;
      }
    }
  }

  void draw_many(DrawStream& stream, std::uint32_t degree, std::span<std::uint32_t> out) {
    taken_.clear();
    taken_.reserve(out.size());
    std::uint32_t j = degree - static_cast<std::uint32_t>(out.size());
    for (auto& position : out) {
      const std::uint32_t t = stream.below(j + 1);
      position = taken_.find(t) ? j : t;
      taken_.find_or_insert(position, 0);
      ++j;
    }
    std::ranges::sort(out);
  }

  bool replace_;
  IdIndex taken_;
};

class Uniform : public Choice {
 public:
  explicit Uniform(const ChoiceOptions& options) : options_(options), drawer_(options.replace) {
    if (options.fanout >= 1 && options.fanout <= FanoutLanes::most_fanout) {
      lanes_.emplace(options.fanout, options.replace);
    }
  }

  std::uint32_t whole_up_to() const override { return options_.replace ? 0 : options_.fanout; }

  void plan(StreamKey /*key*/, std::span<Stretch> group) override {
    for (auto& stretch : group) {
      stretch.whole = stretch.entries <= whole_up_to();
      stretch.taken = stretch.whole ? stretch.entries : options_.fanout;
    }
  }

  void choose(StreamKey key, std::span<Stretch> group,
              std::span<std::uint32_t> positions) override {
    const std::size_t side_by_side = lanes_ ? FanoutLanes::lanes : 1;
    for (std::size_t first = 0; first < group.size(); first += side_by_side) {
      const auto stretches = group.subspan(first, std::min(side_by_side, group.size() - first));
      auto* out = positions.data() + first * options_.fanout;
      std::uint32_t by_scalar = lanes_ ? lanes_->draw(key, stretches, out) : 1;
      for (; by_scalar != 0; by_scalar &= by_scalar - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(by_scalar));
        drawer_.draw(DrawStream(key, stretches[i].original_id, stretches[i].tree),
                     stretches[i].entries, {out + i * options_.fanout, options_.fanout});
      }
    }
  }

 private:
  ChoiceOptions options_;
  std::optional<FanoutLanes> lanes_;  ///< Nothing: fanouts that it is not made for
  PositionDrawer drawer_;
};

}  // namespace

std::unique_ptr<Choice> make_uniform(const ChoiceOptions& options) {
  return std::make_unique<Uniform>(options);
}

void draw_positions(DrawStream stream, std::uint32_t degree, std::uint32_t fanout, bool replace,
                    std::vector<std::uint32_t>& out) {
  out.clear();
  if (!replace && degree <= fanout) {
    for (std::uint32_t i = 0; i < degree; ++i) {
      out.push_back(i);
    }
  } else if (degree > 0) {
    out.resize(fanout);
    PositionDrawer(replace).draw(stream, degree, out);
  }
}

}  // namespace troupe
