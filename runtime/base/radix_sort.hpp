#pragma once
/// \file radix_sort.hpp
/// Sorts many small records in memory by an integer key, on all cores. Stable, so the result does
/// not depend on the number of threads. For more than memory holds, see external_sort.hpp.
#include "runtime/base/executor.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace troupe {

/// A record with a key of 64-bit words, the most significant first.
template <class Record>
concept KeyedRecord = std::is_trivially_copyable_v<Record> && requires(const Record& record) {
  record.key().size();
  { record.key()[0] } -> std::convertible_to<std::uint64_t>;
};

namespace radix {

inline constexpr unsigned digit_bits = 8;
inline constexpr std::size_t buckets = std::size_t{1} << digit_bits;
inline constexpr std::size_t least_chunk = std::size_t{1} << 15;

/// Bits [shift, shift + digit_bits) of a word of the key.
struct Digit {
  std::size_t word = 0;
  unsigned shift = 0;

  template <class Record>
  std::size_t of(const Record& record) const {
    return static_cast<std::size_t>(record.key()[word] >> shift) & (buckets - 1);
  }
};

/// Records cut into one chunk per thread.
struct Chunks {
  std::size_t records = 0;
  std::size_t count = 1;

  Chunks(std::size_t n, const Executor& executor)
      : records(n), count(std::clamp<std::size_t>(n / least_chunk, 1, executor.concurrency())) {}
  std::size_t begin(std::size_t chunk) const {
    return records / count * chunk + std::min(chunk, records % count);
  }
};

/// What one pass over the keys says.
template <std::size_t Words>
struct KeySurvey {
  std::array<std::uint64_t, Words> varying{};  ///< bits that are not the same in all keys
  bool sorted = true;
};

template <KeyedRecord Record>
auto survey(std::span<const Record> records, const Chunks& chunks, Executor& executor) {
  constexpr auto words = std::tuple_size_v<decltype(records[0].key())>;
  std::vector<KeySurvey<words>> parts(chunks.count);
  const auto first = records[0].key();
  executor.parallel_for(chunks.count, [&](std::size_t chunk) {
    auto part = KeySurvey<words>{};
    auto before = records[chunks.begin(chunk) - (chunk == 0 ? 0 : 1)].key();
    for (auto i = chunks.begin(chunk); i < chunks.begin(chunk + 1); ++i) {
      const auto key = records[i].key();
      for (std::size_t word = 0; word < words; ++word) {
        part.varying[word] |= key[word] ^ first[word];
      }
      part.sorted = part.sorted && before <= key;
      before = key;
    }
    parts[chunk] = part;
  });
  auto all = parts.front();
  for (const auto& part : parts) {
    for (std::size_t word = 0; word < words; ++word) {
      all.varying[word] |= part.varying[word];
    }
    all.sorted = all.sorted && part.sorted;
  }
  return all;
}

/// Digits that cover the bits that vary, the least significant first.
template <std::size_t Words>
std::vector<Digit> digits_of(const std::array<std::uint64_t, Words>& varying) {
  std::vector<Digit> digits;
  for (std::size_t word = Words; word-- > 0;) {
    for (auto left = varying[word]; left != 0;) {
      const auto shift = static_cast<unsigned>(std::countr_zero(left));
      digits.push_back({word, shift});
      left = shift + digit_bits >= 64 ? 0 : left >> (shift + digit_bits) << (shift + digit_bits);
    }
  }
  return digits;
}

using Positions = std::vector<std::array<std::size_t, buckets>>;  ///< [chunk][bucket]

/// Where each chunk's records of each bucket begin.
inline void begin_positions(Positions& counts) {
  std::size_t at = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    for (auto& of_chunk : counts) {
      const auto count = of_chunk[bucket];
      of_chunk[bucket] = at;
      at += count;
    }
  }
}

template <KeyedRecord Record>
void pass(std::span<const Record> from, std::span<Record> to, Digit digit, const Chunks& chunks,
          Executor& executor) {
  Positions positions(chunks.count);
  executor.parallel_for(chunks.count, [&](std::size_t chunk) {
    std::array<std::size_t, buckets> counts{};
    for (auto i = chunks.begin(chunk); i < chunks.begin(chunk + 1); ++i) {
      ++counts[digit.of(from[i])];
    }
    positions[chunk] = counts;
  });
  begin_positions(positions);
  executor.parallel_for(chunks.count, [&](std::size_t chunk) {
    auto next = positions[chunk];
    for (auto i = chunks.begin(chunk); i < chunks.begin(chunk + 1); ++i) {
      to[next[digit.of(from[i])]++] = from[i];
    }
  });
}

}  // namespace radix

/// Sorts `records`, with `scratch` as a second place for them.
/// \returns  where the sorted records lie: `records`, or the front of `scratch`
/// \requires scratch is at least as long
/// \cost     one pass over the keys, then one pass of reading and one of moving per digit whose bits
///   vary; nothing more where they are in order already
template <KeyedRecord Record>
std::span<Record> radix_sort(std::span<Record> records, std::span<Record> scratch,
                             Executor& executor) {
  if (records.empty()) {
    return records;
  }
  const radix::Chunks chunks(records.size(), executor);
  const auto keys = radix::survey(std::span<const Record>(records), chunks, executor);
  if (keys.sorted) {
    return records;
  }
  auto from = records;
  auto to = scratch.first(records.size());
  for (const auto digit : radix::digits_of(keys.varying)) {
    radix::pass(std::span<const Record>(from), to, digit, chunks, executor);
    std::swap(from, to);
  }
  return from;
}

}  // namespace troupe
