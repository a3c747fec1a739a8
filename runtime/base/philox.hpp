#pragma once
/// \file philox.hpp
/// All randomness of Troupe: Philox4x32-10, a counter-based generator (Salmon, Moraes, Dror, Shaw:
/// "Parallel random numbers: as easy as 1, 2, 3", SC 2011). There is no generator state: a draw is
/// a pure function of the job seed and of what it is for, so threads, processes, retries and order
/// of arrival cannot change it (design, section 4).
#include "runtime/base/ids.hpp"

#include <array>
#include <cstdint>

namespace troupe {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// One block: four words from a counter and a key. Word 0 first, as in Random123.
constexpr PhiloxCounter philox4x32_10(PhiloxCounter counter, PhiloxKey key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9E3779B9U, key[1] + 0xBB67AE85U};
  }
  return counter;
}

/// What a stream of draws is for. The numbers are part of `sampling_version`.
enum class Domain : std::uint8_t {
  seed_order = 1,
  neighbours = 2,
  negatives = 3,
  walks = 4,
  dropout = 5,
  initial_weights = 6,
  labor = 7,
  generators = 8,
  initial_rows = 9,
  attention_dropout = 10,
};

/// Names one stream; everything is 0 unless it matters.
struct StreamName {
  Domain domain;
  std::uint16_t type =
      0;  ///< edge type for neighbours and attention, node type otherwise; parameter number for initial weights
  std::uint8_t hop = 0;  ///< hop of sampling, or layer for dropout
  std::uint32_t epoch = 0;
  std::uint64_t batch = 0;  ///< global batch number
};

/// The key of a stream: 64 bits.
struct StreamKey {
  PhiloxKey words{};
  friend bool operator==(const StreamKey&, const StreamKey&) = default;
};

/// K = the first 64 bits of Philox(key = job seed, counter = (domain:8 | type:16 | hop:8, epoch, batch low, batch high)),
/// domain in the highest bits of word 0.
constexpr StreamKey stream_key(std::uint64_t job_seed, const StreamName& name) noexcept {
  const std::uint32_t head = static_cast<std::uint32_t>(name.domain) << 24 |
                             static_cast<std::uint32_t>(name.type) << 8 | name.hop;
  const auto block = philox4x32_10(
      {head, name.epoch, static_cast<std::uint32_t>(name.batch),
       static_cast<std::uint32_t>(name.batch >> 32)},
      {static_cast<std::uint32_t>(job_seed), static_cast<std::uint32_t>(job_seed >> 32)});
  return {{block[0], block[1]}};
}

/// The words that one stream gives for one id: word i is word i mod 4 of block i div 4 of
/// Philox(key = K, counter = (id low, id high, block, tree)).
/// Threads: one thread at a time; copies are independent.
class DrawStream {
 public:
  constexpr DrawStream(StreamKey key, std::uint64_t id, std::uint32_t tree = 0) noexcept
      : key_(key.words),
        counter_{static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32), 0, tree} {}

  /// The next word.
  constexpr std::uint32_t next() noexcept {
    if (used_ == 4) {
      block_ = philox4x32_10(counter_, key_);
      ++counter_[2];
      used_ = 0;
    }
    return block_[used_++];
  }

  /// A number in [0, bound), uniform; `bound` >= 1. Lemire's multiply-shift ("Fast random integer
  /// generation in an interval", 2019); a rejected word is followed by the next of the same stream.
  constexpr std::uint32_t below(std::uint32_t bound) noexcept {
    std::uint64_t product = std::uint64_t{next()} * bound;
    if (static_cast<std::uint32_t>(product) < bound) {
      const std::uint32_t threshold = (0U - bound) % bound;
      while (static_cast<std::uint32_t>(product) < threshold) {
        product = std::uint64_t{next()} * bound;
      }
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

  /// The same of 64 bits: two words, the high one first; a rejected pair is followed by the next pair.
  constexpr std::uint64_t below64(std::uint64_t bound) noexcept {
    Wide product = next64() * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t threshold = (0U - bound) % bound;
      while (static_cast<std::uint64_t>(product) < threshold) {
        product = next64() * bound;
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

 private:
  __extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): nvcc takes no other

  constexpr Wide next64() noexcept {
    const std::uint64_t high = next();
    return high << 32 | next();
  }

  PhiloxKey key_;
  PhiloxCounter counter_;
  PhiloxCounter block_{};
  std::uint32_t used_ = 4;
};

/// A uniform number in [0, 1) from the 24 highest bits of a word: exactly representable in float32.
constexpr float unit_float(std::uint32_t word) noexcept {
  return static_cast<float>(word >> 8) * 0x1p-24F;
}

}  // namespace troupe
