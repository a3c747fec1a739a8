#include "runtime/nn/ops/dropout.hpp"

#include "runtime/base/hot.hpp"
#include "runtime/base/lanes.hpp"
#include "runtime/base/zeros.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace troupe::nn {
namespace {

constexpr std::size_t block_lanes = Lanes<vector_bytes>::count;
using DrawnWords = std::array<std::uint32_t, 8 * block_lanes>;

/// The words of two vectors of blocks of one id.
void draw_words(PhiloxKey key, std::uint64_t id, std::uint32_t first_block, DrawnWords& words) {
  using Words = Lanes<vector_bytes>::Words;
  Words blocks = {};
  for (std::size_t lane = 0; lane < block_lanes; ++lane) {
    blocks[lane] = first_block + static_cast<std::uint32_t>(lane);
  }
  const Words low = Words{} + static_cast<std::uint32_t>(id);
  const Words high = Words{} + static_cast<std::uint32_t>(id >> 32);
  std::array<BlockLanes<vector_bytes>, 2> drawn{
      {{low, high, blocks, Words{}},
       {low, high, blocks + static_cast<std::uint32_t>(block_lanes), Words{}}}};
  philox_lanes<vector_bytes>(key, drawn);
  std::array<std::array<std::array<std::uint32_t, block_lanes>, 4>, 2> by_word;
  std::memcpy(by_word.data(), drawn.data(), sizeof by_word);
  for (std::size_t v = 0; v < 2; ++v) {
    std::uint32_t* const out = words.data() + 4 * block_lanes * v;
    for (std::size_t lane = 0; lane < block_lanes; ++lane) {
      out[4 * lane] = by_word[v][0][lane];
      out[4 * lane + 1] = by_word[v][1][lane];
      out[4 * lane + 2] = by_word[v][2][lane];
      out[4 * lane + 3] = by_word[v][3][lane];
    }
  }
}

}  // namespace

DropoutMask dropout_mask(const DropoutContext& context, std::uint32_t layer, float p) {
  if (!context.training || p <= 0) {
    return {};
  }
  return {.key = stream_key(context.job_seed, {.domain = Domain::dropout,
                                               .type = context.node_type,
                                               .hop = static_cast<std::uint8_t>(layer),
                                               .epoch = context.stream_epoch,
                                               .batch = context.batch}),
          .p = p,
          .scale = 1.0F / (1.0F - p)};
}

TROUPE_HOT void dropout_rows(const DropoutMask& mask, std::span<const OriginalId> ids,
                             MutMatrix x) {
  if (!mask.active()) {
    return;
  }
  TROUPE_ASSERT(ids.size() == x.rows, "dropout: ids for rows", ids.size(), x.rows);
  DrawnWords words;
  for (std::size_t r = 0; r < x.rows; ++r) {
    for (std::size_t first = 0; first < x.cols; first += words.size()) {
      const std::size_t count = std::min(words.size(), x.cols - first);
      if (are_all_zeros(x.row(r).subspan(first, count))) {
        continue;  // They stay so, dropped or not
      }
      draw_words(mask.key.words, raw(ids[r]), static_cast<std::uint32_t>(first / 4), words);
      float* __restrict row = x.row(r).data() + first;
      for (std::size_t c = 0; c < count; ++c) {
        const float kept = row[c] * mask.scale;
        row[c] = unit_float(words[c]) >= mask.p ? kept : 0.0F;
      }
    }
  }
}

}  // namespace troupe::nn
