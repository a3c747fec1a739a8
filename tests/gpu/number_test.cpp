#include "gpu/base/emulated_device.hpp"
#include "gpu/sample/number_bodies.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace troupe::gpu {
namespace {

/// Keeps the value that was put last in the place of the smallest.
struct LastWriterTable : NodeTable<std::uint64_t> {
  std::uint32_t insert(std::uint64_t id, std::uint32_t value) const {
    const auto slot = NodeTable<std::uint64_t>::insert(id, ~std::uint32_t{0});
    AtomicRef<std::uint32_t>(values[slot]).store(value, relaxed);
    return slot;
  }
};

struct Numbered {
  std::vector<std::uint32_t> index;
  std::vector<std::uint64_t> ids;
  friend bool operator==(const Numbered&, const Numbered&) = default;
};

Numbered numbered_by_host(const std::vector<std::vector<std::uint64_t>>& rounds) {
  std::map<std::uint64_t, std::uint32_t> known;
  Numbered result;
  for (const auto& round : rounds) {
    for (const auto id : round) {
      const auto [at, is_new] = known.try_emplace(id, static_cast<std::uint32_t>(known.size()));
      if (is_new) {
        result.ids.push_back(id);
      }
      result.index.push_back(at->second);
    }
  }
  return result;
}

/// \param bits  of the table
template <class Table>
Numbered numbered_by_device(const std::vector<std::vector<std::uint64_t>>& rounds,
                            std::uint32_t bits, const EmulatedOptions& options) {
  EmulatedStream on(std::make_shared<EmulatedDevice>(options));
  const auto words = on.array<std::uint64_t>(std::size_t{1} << bits);
  const auto values = on.array<std::uint32_t>(std::size_t{1} << bits);
  Table table{};
  table.words = words.data();
  table.values = values.data();
  table.bits = bits;
  on.for_each(words.size(), EmptySlot<Table>{table});
  const auto known = on.array<std::uint64_t>(words.size());
  const auto end = on.array<std::uint32_t>(1);
  on.zero(end.data(), sizeof(std::uint32_t));
  Numbered result;
  for (const auto& round : rounds) {
    const auto ids = on.array<std::uint64_t>(round.size());
    const auto slots = on.array<std::uint32_t>(round.size());
    if (!round.empty()) {
      on.upload(round.data(), ids.data(), ids.size_bytes());
    }
    on.for_each(round.size(), InsertCandidate<Table>{table, ids.data(), slots.data()});
    // In two pieces, as those of two edge types.
    const auto half = static_cast<std::uint32_t>(round.size() / 2);
    const auto rest = static_cast<std::uint32_t>(round.size() - half);
    const std::array slices{CandidateSlice{slots.data(), 0, half},
                            CandidateSlice{slots.data() + half, half, rest}};
    number_candidates(on, table, slices, round.size(), known.data(), end.data());
    std::vector<std::uint32_t> index(round.size());
    if (!round.empty()) {
      on.download(slots.data(), index.data(), slots.size_bytes());
    }
    EXPECT_TRUE(on.finish());
    result.index.insert(result.index.end(), index.begin(), index.end());
  }
  result.ids.resize(on.read(end.data()));
  on.download(known.data(), result.ids.data(), result.ids.size() * sizeof(std::uint64_t));
  EXPECT_TRUE(on.finish());
  return result;
}

std::vector<std::vector<std::uint64_t>> random_rounds(std::uint64_t seed, std::uint64_t end) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<std::uint64_t>> rounds;
  for (const std::size_t size : {0U, 1U, 31U, 32U, 33U, 1023U}) {
    auto& round = rounds.emplace_back(size);
    // A quarter of the ids again and again, the others from the end of the range.
    for (auto& id : round) {
      id = random() % 4 == 0 ? random() % 5 : end - 1 - random() % 700;
    }
  }
  return rounds;
}

class NumberCandidates : public ::testing::TestWithParam<unsigned> {};

INSTANTIATE_TEST_SUITE_P(Threads, NumberCandidates, ::testing::Values(1, 4));

TEST_P(NumberCandidates, ByFirstAppearanceInAnyOrderOfThreads) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const EmulatedOptions options{.seed = seed, .threads = GetParam()};
    const auto narrow = random_rounds(seed, std::uint64_t{1} << 32);
    EXPECT_EQ(numbered_by_device<NodeTable<std::uint32_t>>(narrow, 11, options),
              numbered_by_host(narrow))
        << "seed " << seed;
    const auto wide = random_rounds(seed, ~std::uint64_t{0});
    EXPECT_EQ(numbered_by_device<NodeTable<std::uint64_t>>(wide, 11, options),
              numbered_by_host(wide))
        << "seed " << seed;
  }
}

TEST_P(NumberCandidates, InATableWithoutAFreeSlot) {
  std::vector<std::uint64_t> all(256);
  std::iota(all.begin(), all.end(), 0xFFFFFF00U);
  const std::vector<std::vector<std::uint64_t>> rounds{all, all};
  const EmulatedOptions options{.threads = GetParam()};
  EXPECT_EQ(numbered_by_device<NodeTable<std::uint32_t>>(rounds, 8, options),
            numbered_by_host(rounds));
  EXPECT_EQ(numbered_by_device<NodeTable<std::uint64_t>>(rounds, 8, options),
            numbered_by_host(rounds));
}

TEST_P(NumberCandidates, TheLastWriterInThePlaceOfTheSmallestIsNoticed) {
  int noticed = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const EmulatedOptions options{.seed = seed, .threads = GetParam()};
    const auto rounds = random_rounds(seed, 5000);
    noticed += numbered_by_device<LastWriterTable>(rounds, 11, options) != numbered_by_host(rounds);
  }
  EXPECT_EQ(noticed, 20);
}

}  // namespace
}  // namespace troupe::gpu
