#include "runtime/sample/choice/weighted.hpp"

#include "runtime/base/pooled_vector.hpp"
#include "runtime/base/prefetch.hpp"
#include "runtime/sample/choice/draws_by_sums.hpp"
#include "runtime/sample/choice/stretch_draws.hpp"
#include "runtime/sample/choice/taken_positions.hpp"
#include "runtime/sample/choice/weighted_lanes.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace troupe {
namespace {

constexpr std::uint32_t draws_ahead = 64;  // of one list, at most, whose slots are loaded early

struct WeightedDraw {
  std::uint32_t slot;
  std::uint32_t coin;
};

WeightedDraw next_draw(DrawStream& stream, std::size_t entries) {
  const std::uint32_t slot = stream.below(static_cast<std::uint32_t>(entries));
  return {slot, stream.next()};
}

/// Draws from one list after the other by their tables: the definition. Keeps its scratch.
class TableDraws {
 public:
  explicit TableDraws(const ChoiceOptions& options) : options_(options), positions_(options) {}

  /// \param out  [fanout] positions, of which the first `taken` are there already
  /// \param made  draws that gave them
  /// \returns positions taken in all, ascending: fewer than the fanout if no others have weight
  std::uint32_t draw(DrawStream stream, const Stretch& stretch, std::uint32_t made,
                     std::uint32_t taken, std::uint32_t* out) {
    const std::span aliases(stretch.aliases, stretch.entries);
    if (options_.fanout == 0 || aliases.front().alias == no_alias) {
      return 0;
    }
    for (std::uint32_t word = 0; word < 2 * made; ++word) {  // of draws none of which was rejected
      stream.next();
    }
    const bool all_count = options_.replace && stretch.excluded.empty();
    const std::uint64_t most = all_count ? options_.fanout : weighted_draws(options_.fanout);
    make_ahead(stream, aliases, options_.fanout - taken);
    positions_.begin(stretch.excluded, out, taken);
    for (std::uint64_t k = 0; positions_.count() < options_.fanout && made + k < most; ++k) {
      const auto draw = k < ahead_.size() ? ahead_[k] : next_draw(stream, aliases.size());
      positions_.offer(alias_entry(aliases, draw.slot, draw.coin));
    }
    taken = positions_.count();
    if (taken < options_.fanout) {
      left_.begin(aliases, stretch.excluded);
      taken = left_.complete(stream, options_, taken, out);
    }
    std::sort(out, out + taken);
    return taken;
  }

 private:
  /// The first draws, so that their slots are loaded together. \requires no fewer draws follow
  void make_ahead(DrawStream& stream, std::span<const AliasSlot> aliases, std::uint32_t draws) {
    ahead_.clear();
    for (std::uint32_t k = 0; k < std::min(draws, draws_ahead); ++k) {
      ahead_.push_back(next_draw(stream, aliases.size()));
      prefetch(&aliases[ahead_.back().slot]);
    }
  }

  ChoiceOptions options_;
  std::vector<WeightedDraw> ahead_;
  TakenPositions positions_;
  DrawsBySums left_;
};

using WeightLanes = WeightedLanes<vector_bytes>;

class Weighted : public Choice {
 public:
  explicit Weighted(const ChoiceOptions& options)
      : options_(options), tables_(options), sums_(options) {
    if (options.fanout >= 1 && options.fanout <= WeightLanes::most_fanout) {
      lanes_.emplace(options.fanout, options.replace);
    }
  }

  void plan(StreamKey /*key*/, std::span<Stretch> group) override {
    for (auto& stretch : group) {
      const bool few = !options_.replace && stretch.entries <= options_.fanout;
      stretch.whole =
          stretch.entries == 0 || (few && !stretch.zero_weights && stretch.excluded.empty());
      stretch.taken = few ? stretch.entries : options_.fanout;
      stretch.taken = stretch.whole ? stretch.entries : stretch.taken;
    }
  }

  void choose(StreamKey key, std::span<Stretch> group,
              std::span<std::uint32_t> positions) override {
    begin(key, group);
    auto* out = positions.data();
    const std::uint32_t* by_sums = positions_by_sums_.data();
    for (auto& stretch : group) {
      switch (way_of(stretch)) {
        case Way::whole:
          stretch.taken = take_all(stretch, out);
          break;
        case Way::sums:
          std::copy_n(by_sums, stretch.taken, out);
          by_sums += options_.fanout;
          break;
        case Way::lanes: {
          const auto drawn = lanes_->take(out);
          stretch.taken = drawn.complete
                              ? drawn.positions
                              : by_table(key, stretch, drawn.draws, drawn.positions, out);
          break;
        }
        case Way::table:
          stretch.taken = by_table(key, stretch, 0, 0, out);
          break;
      }
      out += stretch.taken;
    }
  }

 private:
  /// How the positions of a stretch are found.
  enum class Way : std::uint8_t { whole, sums, lanes, table };

  Way way_of(const Stretch& stretch) const {
    if (!options_.replace && stretch.entries <= options_.fanout) {
      return Way::whole;
    }
    if (stretch.weight_sums != nullptr) {
      return Way::sums;
    }
    return lanes_ && stretch.excluded.empty() ? Way::lanes : Way::table;
  }

  /// Starts what is done for many stretches at once.
  void begin(StreamKey key, std::span<Stretch> group) {
    of_lanes_.clear();
    of_sums_.clear();
    for (auto& stretch : group) {
      const auto way = way_of(stretch);
      if (way == Way::lanes) {
        of_lanes_.push_back(&stretch);
      } else if (way == Way::sums) {
        of_sums_.push_back(&stretch);
      } else {
        prefetch(stretch.aliases);
      }
    }
    if (!of_lanes_.empty()) {
      lanes_->begin(key, of_lanes_);
    }
    positions_by_sums_.resize(of_sums_.size() * options_.fanout);
    sums_.draw(key, of_sums_, positions_by_sums_.data());
  }

  static bool has_weight(const Stretch& stretch, std::uint32_t entry) {
    if (stretch.weight_sums == nullptr) {
      return stretch.aliases[entry].threshold > 0;
    }
    const auto before = entry == 0 ? stretch.sum_before : stretch.weight_sums[entry - 1];
    return stretch.weight_sums[entry] != before;
  }

  static std::uint32_t take_all(const Stretch& stretch, std::uint32_t* out) {
    std::uint32_t taken = 0;
    for (std::uint32_t i = 0; i < stretch.entries; ++i) {
      out[taken] = i;
      const bool takes = has_weight(stretch, i) && !std::ranges::binary_search(stretch.excluded, i);
      taken += takes ? 1U : 0U;
    }
    return taken;
  }

  std::uint32_t by_table(StreamKey key, const Stretch& stretch, std::uint32_t made,
                         std::uint32_t taken, std::uint32_t* out) {
    const DrawStream stream(key, stretch.original_id, stretch.tree);
    return tables_.draw(stream, stretch, made, taken, out);
  }

  ChoiceOptions options_;
  std::optional<WeightLanes> lanes_;  ///< Nothing: fanouts that it is not made for
  TableDraws tables_;
  StretchDraws sums_;
  std::vector<const Stretch*> of_lanes_;
  std::vector<Stretch*> of_sums_;
  PooledVector<std::uint32_t> positions_by_sums_;  ///< [of_sums_, fanout]
};

}  // namespace

std::unique_ptr<Choice> make_weighted(const ChoiceOptions& options) {
  return std::make_unique<Weighted>(options);
}

}  // namespace troupe
