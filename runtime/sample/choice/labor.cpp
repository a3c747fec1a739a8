#include "runtime/sample/choice/labor.hpp"

#include "runtime/base/lanes.hpp"
#include "runtime/sample/choice/positions_ahead.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace troupe {
namespace {

using Words = Lanes<vector_bytes>::Words;
constexpr std::size_t labor_lanes = Lanes<vector_bytes>::count;
constexpr std::size_t labor_vectors = 2;  // at once: they hide each other's latency
constexpr std::size_t labor_block = labor_vectors * labor_lanes;

/// Words below it are taken. \requires entries > fanout
std::uint32_t labor_threshold(std::uint32_t fanout, std::uint64_t entries) {
  return static_cast<std::uint32_t>((std::uint64_t{fanout} << 32) / entries);
}

/// The words of the neighbors originals[0 … count); those behind are any.
template <class IdT>
std::array<Words, labor_vectors> labor_words(StreamKey key, std::uint32_t tree,
                                             const IdT* originals, std::size_t count) {
  std::array<BlockLanes<vector_bytes>, labor_vectors> blocks{};
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t id = originals[i];
    auto& block = blocks[i / labor_lanes];
    block[0][i % labor_lanes] = static_cast<std::uint32_t>(id);
    block[1][i % labor_lanes] = static_cast<std::uint32_t>(id >> 32);
  }
  for (auto& block : blocks) {
    block[3] += tree;
  }
  philox_lanes<vector_bytes>(key.words, blocks);
  std::array<Words, labor_vectors> words;
  for (std::size_t v = 0; v < labor_vectors; ++v) {
    words[v] = blocks[v][0];
  }
  return words;
}

class Labor : public PositionsAhead {
 public:
  explicit Labor(const ChoiceOptions& options)
      : fanout_(options.fanout), originals_(options.neighbour_originals) {}

 private:
  bool takes_all(const Stretch& stretch) const override {
    return stretch.entries <= fanout_ && stretch.excluded.empty();
  }

  void find(StreamKey key, const Stretch& stretch,
            PooledVector<std::uint32_t>& positions) override {
    const std::uint64_t left = stretch.entries - stretch.excluded.size();
    if (fanout_ == 0) {
      return;
    }
    if (left <= fanout_) {
      add_all(stretch, positions);
    } else {
      originals_.visit([&](auto originals) {
        add_below(key, stretch, originals.data() + stretch.first_entry,
                  labor_threshold(fanout_, left), positions);
      });
    }
  }

  static void add_all(const Stretch& stretch, PooledVector<std::uint32_t>& positions) {
    for (std::uint32_t i = 0; i < stretch.entries; ++i) {
      if (!std::ranges::binary_search(stretch.excluded, i)) {
        positions.push_back(i);
      }
    }
  }

  /// A position is written before its word is compared: no branch is guessed wrong.
  template <class IdT>
  static void add_below(StreamKey key, const Stretch& stretch, const IdT* originals,
                        std::uint32_t threshold, PooledVector<std::uint32_t>& positions) {
    const auto begin = positions.size();
    auto end = begin;
    for (std::uint32_t first = 0; first < stretch.entries; first += labor_block) {
      const auto count = std::min<std::size_t>(labor_block, stretch.entries - first);
      const auto words = labor_words(key, stretch.tree, originals + first, count);
      positions.resize(std::max(positions.size(), end + labor_block));
      for (std::uint32_t i = 0; i < count; ++i) {
        positions[end] = first + i;
        end += words[i / labor_lanes][i % labor_lanes] < threshold ? 1U : 0U;
      }
    }
    positions.resize(end);
    if (!stretch.excluded.empty()) {
      const auto of_stretch = positions.begin() + static_cast<std::ptrdiff_t>(begin);
      positions.erase(std::remove_if(of_stretch, positions.end(),
                                     [&](std::uint32_t position) {
                                       return std::ranges::binary_search(stretch.excluded,
                                                                         position);
                                     }),
                      positions.end());
    }
  }

  std::uint32_t fanout_;
  IdSpan originals_;
};

}  // namespace

std::unique_ptr<Choice> make_labor(const ChoiceOptions& options) {
  return std::make_unique<Labor>(options);
}

void labor_positions(StreamKey key, std::span<const std::uint64_t> originals, std::uint32_t tree,
                     std::uint32_t fanout, std::vector<std::uint32_t>& out) {
  out.clear();
  for (std::uint32_t i = 0; i < originals.size(); ++i) {
    if (originals.size() <= fanout ||
        DrawStream(key, originals[i], tree).next() < labor_threshold(fanout, originals.size())) {
      out.push_back(i);
    }
  }
}

}  // namespace troupe
