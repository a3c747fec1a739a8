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

constexpr std::size_t lanes_drawn = 2 * block_lanes;

/// Numbers of so many blocks: id, and block of the id's words.
struct BlockNumbers {
  std::array<std::uint32_t, lanes_drawn> low;
  std::array<std::uint32_t, lanes_drawn> high;
  std::array<std::uint32_t, lanes_drawn> block;

  void set(std::size_t lane, std::uint64_t id, std::uint32_t number) {
    low[lane] = static_cast<std::uint32_t>(id);
    high[lane] = static_cast<std::uint32_t>(id >> 32);
    block[lane] = number;
  }
};

/// Writes the words of blocks in their order.
void write_words(const std::array<BlockLanes<vector_bytes>, 2>& drawn, DrawnWords& words) {
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
  write_words(drawn, words);
}

/// The words of blocks of any ids.
void draw_words(PhiloxKey key, const BlockNumbers& numbers, DrawnWords& words) {
  std::array<BlockLanes<vector_bytes>, 2> drawn{};
  for (std::size_t v = 0; v < 2; ++v) {
    const std::size_t first = v * block_lanes;
    std::memcpy(drawn[v].data(), numbers.low.data() + first, sizeof drawn[v][0]);
    std::memcpy(drawn[v].data() + 1, numbers.high.data() + first, sizeof drawn[v][1]);
    std::memcpy(drawn[v].data() + 2, numbers.block.data() + first, sizeof drawn[v][2]);
  }
  philox_lanes<vector_bytes>(key, drawn);
  write_words(drawn, words);
}

/// Drops or scales `count` elements by their words.
void drop_elements(const DropoutMask& mask, const std::uint32_t* words, std::size_t count,
                   float* __restrict row) {
  for (std::size_t c = 0; c < count; ++c) {
    const float kept = row[c] * mask.scale;
    row[c] = unit_float(words[c]) >= mask.p ? kept : 0.0F;
  }
}

/// \param name  of the stream, without epoch and batch
DropoutMask mask_of(const DropoutContext& context, StreamName name, float p) {
  if (!context.training || p <= 0) {
    return {};
  }
  name.epoch = context.stream_epoch;
  name.batch = context.batch;
  return {.key = stream_key(context.job_seed, name), .p = p, .scale = 1.0F / (1.0F - p)};
}

}  // namespace

DropoutMask dropout_mask(const DropoutContext& context, std::uint32_t layer, float p) {
  return mask_of(context,
                 {.domain = Domain::dropout,
                  .type = context.node_type,
                  .hop = static_cast<std::uint8_t>(layer)},
                 p);
}

DropoutMask attention_mask(const DropoutContext& context, std::uint16_t edge_type,
                           std::uint32_t layer, float p) {
  return mask_of(context,
                 {.domain = Domain::attention_dropout,
                  .type = edge_type,
                  .hop = static_cast<std::uint8_t>(layer)},
                 p);
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
      drop_elements(mask, words.data(), count, x.row(r).data() + first);
    }
  }
}

TROUPE_HOT void dropout_rows_from(const DropoutMask& mask, std::uint64_t first, MutMatrix x) {
  if (!mask.active() || x.cols == 0) {
    return;
  }
  const auto blocks = static_cast<std::uint32_t>((x.cols + 3) / 4);
  BlockNumbers numbers{};
  DrawnWords words;
  std::size_t row = 0;
  std::uint32_t block = 0;
  while (row < x.rows) {
    const std::size_t first_row = row;
    const std::uint32_t first_block = block;
    std::size_t lanes = 0;
    for (; lanes < lanes_drawn && row < x.rows; ++lanes) {
      numbers.set(lanes, first + row, block);
      if (++block == blocks) {
        block = 0;
        ++row;
      }
    }
    draw_words(mask.key.words, numbers, words);
    std::size_t to_row = first_row;
    std::uint32_t to_block = first_block;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::size_t column = std::size_t{to_block} * 4;
      drop_elements(mask, words.data() + 4 * lane, std::min<std::size_t>(4, x.cols - column),
                    x.row(to_row).data() + column);
      if (++to_block == blocks) {
        to_block = 0;
        ++to_row;
      }
    }
  }
}

}  // namespace troupe::nn
