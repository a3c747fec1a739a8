#include "runtime/sample/choice/weighted.hpp"

#include "runtime/sample/id_index.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace troupe {
namespace {

constexpr std::uint32_t few_positions = 64;  // up to here a loop over them beats a hash set
constexpr std::uint32_t draws_ahead = 64;    // of one list, at most, whose slots are loaded early

struct WeightedDraw {
  std::uint32_t slot;
  std::uint32_t coin;
};

WeightedDraw next_draw(DrawStream& stream, std::size_t entries) {
  const std::uint32_t slot = stream.below(static_cast<std::uint32_t>(entries));
  return {slot, stream.next()};
}

/// Draws from a list by sums of the weights that are left, where too many draws by its table were in
/// vain; keeps its scratch.
class DrawsBySums {
 public:
  /// Everything is left but the positions of `excluded`.
  void begin(std::span<const AliasSlot> aliases, std::span<const std::uint32_t> excluded) {
    alias_units(aliases, units_);
    leave_out(excluded);
  }
  void begin(const Stretch& stretch) {
    units_.assign(stretch.weight_sums, stretch.weight_sums + stretch.entries);
    std::adjacent_difference(units_.begin(), units_.end(), units_.begin());
    units_.front() -= stretch.sum_before;
    leave_out(stretch.excluded);
  }
  /// Adds positions to the first `taken` of `out` until there are as many as the fanout, or nothing is left.
  /// \returns how many there are
  std::uint32_t complete(DrawStream& stream, const ChoiceOptions& options, std::uint32_t taken,
                         std::uint32_t* out) {
    if (!options.replace) {
      std::ranges::for_each(std::span(out, taken), [this](auto entry) { take_out(entry); });
    }
    for (; taken < options.fanout && left_ > 0; ++taken) {
      out[taken] = draw(stream);
      if (!options.replace) {
        take_out(out[taken]);
      }
    }
    return taken;
  }

 private:
  void leave_out(std::span<const std::uint32_t> excluded) {
    left_ = std::accumulate(units_.begin(), units_.end(), std::uint64_t{0});
    std::ranges::for_each(excluded, [this](auto entry) { take_out(entry); });
  }
  void take_out(std::uint32_t entry) { left_ -= std::exchange(units_[entry], 0); }
  /// \requires something is left
  std::uint32_t draw(DrawStream& stream) const {
    std::uint64_t below = stream.below64(left_);
    std::uint32_t entry = 0;
    for (; below >= units_[entry]; ++entry) {
      below -= units_[entry];
    }
    return entry;
  }

  std::vector<std::uint64_t> units_;
  std::uint64_t left_ = 0;
};

/// Takes distinct positions of one list after the other; keeps its scratch.
class DistinctDrawer {
 public:
  explicit DistinctDrawer(std::uint32_t fanout) : fanout_(fanout) {}

  /// Fills `out` with distinct positions, ascending.
  /// \param excluded  positions that are not taken, ascending
  /// \param first  the first draws; `stream` gives those that follow
  /// \returns positions taken: fewer than fanout if no others have weight
  /// \requires the list has a weight above 0
  std::uint32_t draw(DrawStream& stream, std::span<const AliasSlot> aliases,
                     std::span<const std::uint32_t> excluded, std::span<const WeightedDraw> first,
                     std::uint32_t* out) {
    std::uint32_t taken = 0;
    known_.clear();
    const auto take = [&](const WeightedDraw& draw) {
      const auto entry = alias_entry(aliases, draw.slot, draw.coin);
      if (!is_taken(entry, {out, taken}) && !std::ranges::binary_search(excluded, entry)) {
        out[taken++] = entry;
        if (fanout_ > few_positions) {
          known_.find_or_insert(entry, 0);
        }
      }
    };
    std::ranges::for_each(first, take);
    for (auto draws = first.size(); taken < fanout_ && draws < weighted_draws(fanout_); ++draws) {
      take(next_draw(stream, aliases.size()));
    }
    if (taken < fanout_) {
      left_.begin(aliases, excluded);
      taken = left_.complete(stream, {.fanout = fanout_}, taken, out);
    }
    std::sort(out, out + taken);
    return taken;
  }

 private:
  bool is_taken(std::uint32_t entry, std::span<const std::uint32_t> taken) const {
    return fanout_ > few_positions ? known_.find(entry).has_value()
                                   : std::ranges::find(taken, entry) != taken.end();
  }

  std::uint32_t fanout_;
  IdIndex known_;
  DrawsBySums left_;
};

/// Draws from stretches of lists by their running sums; keeps its scratch.
class StretchDrawer {
 public:
  explicit StretchDrawer(const ChoiceOptions& options) : options_(options) {}

  /// \param out  [fanout]
  /// \returns positions written, ascending
  std::uint32_t draw(DrawStream stream, const Stretch& stretch, std::uint32_t* out) {
    const std::span sums(stretch.weight_sums, stretch.entries);
    const std::uint64_t all = sums.back() - stretch.sum_before;
    std::uint32_t taken = 0;
    known_.clear();
    const bool may_fail = !options_.replace || !stretch.excluded.empty();
    const auto most = may_fail ? weighted_draws(options_.fanout) : options_.fanout;
    for (std::uint32_t k = 0; k < most && taken < options_.fanout && all > 0; ++k) {
      const std::uint64_t at = stream.below64(all);
      const auto found = std::ranges::upper_bound(
          sums, at, {}, [&](std::uint64_t sum) { return sum - stretch.sum_before; });
      const auto entry = static_cast<std::uint32_t>(found - sums.begin());
      const bool known = !options_.replace && known_.find(entry);
      if (!known && !std::ranges::binary_search(stretch.excluded, entry)) {
        known_.find_or_insert(entry, 0);
        out[taken++] = entry;
      }
    }
    if (taken < options_.fanout && all > 0) {
      left_.begin(stretch);
      taken = left_.complete(stream, options_, taken, out);
    }
    std::sort(out, out + taken);
    return taken;
  }

 private:
  ChoiceOptions options_;
  IdIndex known_;
  DrawsBySums left_;
};

class Weighted : public Choice {
 public:
  explicit Weighted(const ChoiceOptions& options)
      : options_(options),
        ahead_(std::min(options.fanout, draws_ahead)),
        distinct_(options.fanout),
        stretches_(options) {}

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
    fetch(key, group);
    auto* out = positions.data();
    const WeightedDraw* drawn = draws_.data();
    for (std::size_t i = 0; i < group.size(); ++i) {
      auto& stretch = group[i];
      if (takes_all(stretch)) {
        stretch.taken = take_all(stretch, out);
      } else if (stretch.weight_sums != nullptr) {
        stretch.taken = stretches_.draw(streams_[i], stretch, out);
      } else {
        const std::span first(drawn, ahead_);
        drawn += ahead_;
        stretch.taken = take(streams_[i], stretch, first, out);
      }
      out += stretch.taken;
    }
  }

 private:
  bool takes_all(const Stretch& stretch) const {
    return !options_.replace && stretch.entries <= options_.fanout;
  }

  /// Makes the first draws of all stretches, so that their slots are loaded together.
  void fetch(StreamKey key, std::span<const Stretch> group) {
    draws_.clear();
    streams_.clear();
    for (const auto& stretch : group) {
      auto& stream = streams_.emplace_back(key, stretch.original_id, stretch.tree);
      if (takes_all(stretch) || stretch.weight_sums != nullptr) {
        __builtin_prefetch(stretch.aliases);
        continue;
      }
      for (std::uint32_t k = 0; k < ahead_; ++k) {
        const auto draw = next_draw(stream, stretch.entries);
        __builtin_prefetch(stretch.aliases + draw.slot);
        draws_.push_back(draw);
      }
    }
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

  std::uint32_t take(DrawStream& stream, const Stretch& stretch,
                     std::span<const WeightedDraw> first, std::uint32_t* out) {
    const std::span aliases(stretch.aliases, stretch.entries);
    if (options_.fanout == 0 || aliases.front().alias == no_alias) {
      return 0;
    }
    if (!options_.replace) {
      return distinct_.draw(stream, aliases, stretch.excluded, first, out);
    }
    if (!stretch.excluded.empty()) {
      return take_others(stream, stretch, first, out);
    }
    for (std::uint32_t k = 0; k < options_.fanout; ++k) {
      const auto draw = k < first.size() ? first[k] : next_draw(stream, aliases.size());
      out[k] = alias_entry(aliases, draw.slot, draw.coin);
    }
    std::sort(out, out + options_.fanout);
    return options_.fanout;
  }

  /// With replacement, where some entries are excluded.
  std::uint32_t take_others(DrawStream& stream, const Stretch& stretch,
                            std::span<const WeightedDraw> first, std::uint32_t* out) {
    const std::span aliases(stretch.aliases, stretch.entries);
    std::uint32_t taken = 0;
    for (std::uint32_t k = 0; taken < options_.fanout && k < weighted_draws(options_.fanout); ++k) {
      const auto draw = k < first.size() ? first[k] : next_draw(stream, aliases.size());
      out[taken] = alias_entry(aliases, draw.slot, draw.coin);
      taken += std::ranges::binary_search(stretch.excluded, out[taken]) ? 0U : 1U;
    }
    if (taken < options_.fanout) {
      left_.begin(aliases, stretch.excluded);
      taken = left_.complete(stream, options_, taken, out);
    }
    std::sort(out, out + taken);
    return taken;
  }

  ChoiceOptions options_;
  std::uint32_t ahead_;
  DistinctDrawer distinct_;
  StretchDrawer stretches_;
  DrawsBySums left_;
  std::vector<WeightedDraw> draws_;  ///< `ahead_` for each stretch that is not taken whole
  std::vector<DrawStream> streams_;
};

}  // namespace

std::unique_ptr<Choice> make_weighted(const ChoiceOptions& options) {
  return std::make_unique<Weighted>(options);
}

}  // namespace troupe
