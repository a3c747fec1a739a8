#include "runtime/nn/ops/dropout.hpp"

#include "runtime/base/hot.hpp"

#include <algorithm>
#include <array>

namespace troupe::nn {
namespace {

/// Blocks computed side by side. With 16, g++ 12 unrolls the inner loop instead of vectorising it:
/// six times slower.
constexpr std::size_t block_lanes = 32;
using Lanes = std::array<std::uint32_t, block_lanes>;

/// Words of blocks first_block … first_block + 31 of one id: philox4x32_10 with the lanes side by
/// side, so that the compiler uses vector multiplications.
void philox_lanes(PhiloxKey key, std::uint64_t id, std::uint32_t first_block,
                  std::array<std::uint32_t, 4 * block_lanes>& words) {
  Lanes c0;
  Lanes c1;
  Lanes c2;
  Lanes c3;
  for (std::size_t i = 0; i < block_lanes; ++i) {
    c0[i] = static_cast<std::uint32_t>(id);
    c1[i] = static_cast<std::uint32_t>(id >> 32);
    c2[i] = first_block + static_cast<std::uint32_t>(i);
    c3[i] = 0;
  }
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < block_lanes; ++i) {
      const std::uint64_t a = std::uint64_t{0xD2511F53} * c0[i];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57} * c2[i];
      c0[i] = static_cast<std::uint32_t>(b >> 32) ^ c1[i] ^ key[0];
      c1[i] = static_cast<std::uint32_t>(b);
      c2[i] = static_cast<std::uint32_t>(a >> 32) ^ c3[i] ^ key[1];
      c3[i] = static_cast<std::uint32_t>(a);
    }
    key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
  }
  for (std::size_t i = 0; i < block_lanes; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
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
  std::array<std::uint32_t, 4 * block_lanes> words;
  for (std::size_t r = 0; r < x.rows; ++r) {
    for (std::size_t first = 0; first < x.cols; first += words.size()) {
      philox_lanes(mask.key.words, raw(ids[r]), static_cast<std::uint32_t>(first / 4), words);
      const std::size_t count = std::min(words.size(), x.cols - first);
      float* __restrict row = x.row(r).data() + first;
      for (std::size_t c = 0; c < count; ++c) {
        const float kept = row[c] * mask.scale;
        row[c] = unit_float(words[c]) >= mask.p ? kept : 0.0F;
      }
    }
  }
}

}  // namespace troupe::nn
