// The weighted choice for whole groups of stretches, where draws are made side by side, against the
// definition.
#include "runtime/sample/choice/weighted.hpp"
#include "runtime/sample/choice/weighted_lanes.hpp"
#include "tests/runtime/sample/weighted_reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sys/mman.h>

namespace troupe {
namespace {

using testing::alias_table;
using testing::reference_by_sums;
using testing::reference_weighted;
using testing::Weights;

/// Numbers in [0, 1), the same in every run.
class Units {
 public:
  explicit Units(std::uint64_t seed) : state_(seed) {}
  float next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<float>(state_ >> 40U) * 0x1p-24F;
  }
  std::uint32_t below(std::uint32_t end) {
    return static_cast<std::uint32_t>(next() * static_cast<float>(end));
  }

 private:
  std::uint64_t state_;
};

constexpr std::uint32_t weight_kinds = 6;

float weight_of_kind(std::uint32_t kind, std::size_t i, std::size_t size, Units& units) {
  const float u = units.next();
  switch (kind) {
    case 0:
      return 1;
    case 1:
      return u + 0.01F;
    case 2:
      return u < 0.7F ? 0 : u;
    case 3:
      return i == size / 2 ? 1e6F : u;  // one entry has nearly all
    case 4:
      return i % 5 == 1 ? 1 : 1e-30F;  // most are hardly ever drawn
    default:
      return 0;
  }
}

/// A list with its table and running sums.
struct WeightedList {
  WeightedList(std::uint32_t kind, std::size_t size, Units& units) {
    for (std::size_t i = 0; i < size; ++i) {
      weights.push_back(weight_of_kind(kind, i, size, units));
    }
    table = alias_table(weights);
  }
  Weights weights;
  std::vector<AliasSlot> table;
};

/// Lists around the fanout and longer, of all kinds of weights.
std::vector<WeightedList> lists_around(std::uint32_t fanout) {
  Units units(fanout);
  std::vector<WeightedList> all;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{fanout}, fanout + std::size_t{1},
        fanout + std::size_t{2}, 2 * std::size_t{fanout} + 5, std::size_t{700}}) {
    for (std::uint32_t kind = 0; kind < weight_kinds; ++kind) {
      all.emplace_back(kind, size, units);
    }
  }
  return all;
}

/// What is expected of each stretch that is chosen from.
struct Expected {
  std::vector<Stretch> group;
  std::vector<std::vector<std::uint32_t>> positions;
};

void expect_chosen(Choice& choice, StreamKey key, Expected expected, std::uint32_t fanout) {
  std::vector<std::uint32_t> positions(expected.group.size() * fanout);
  choice.choose(key, expected.group, positions);
  const auto* at = positions.data();
  for (std::size_t i = 0; i < expected.group.size(); ++i) {
    const auto& stretch = expected.group[i];
    ASSERT_EQ(std::vector<std::uint32_t>(at, at + stretch.taken), expected.positions[i])
        << "fanout " << fanout << ", stretch " << i << " of " << expected.group.size() << " with "
        << stretch.entries << " entries";
    at += stretch.taken;
  }
}

/// Plans a stretch; if there is a choice to make, it is expected to be `positions`.
void add(Choice& choice, Stretch stretch, std::vector<std::uint32_t> positions,
         Expected& expected) {
  choice.plan({}, std::span(&stretch, 1));
  if (!stretch.whole) {
    expected.group.push_back(stretch);
    expected.positions.push_back(std::move(positions));
  }
}

TEST(WeightedGroups, TakeThePositionsOfTheDefinition) {
  for (std::uint32_t fanout = 1; fanout <= 70; ++fanout) {
    const auto lists = lists_around(fanout);
    for (const bool replace : {false, true}) {
      const auto choice = make_weighted({.fanout = fanout, .replace = replace});
      for (const std::size_t size : {1U, 2U, 15U, 16U, 17U, 64U}) {
        const StreamKey key{{fanout, static_cast<std::uint32_t>(size)}};
        Expected expected;
        for (std::size_t i = 0; i < size; ++i) {
          const auto& list = lists[(i * 11 + size + fanout) % lists.size()];
          const Stretch stretch{.original_id = i * 0x100000007U,
                                .aliases = list.table.data(),
                                .tree = static_cast<std::uint32_t>(i % 3),
                                .entries = static_cast<std::uint32_t>(list.table.size()),
                                .zero_weights = true};
          add(*choice, stretch,
              reference_weighted(DrawStream(key, stretch.original_id, stretch.tree), list.table,
                                 fanout, replace),
              expected);
        }
        expect_chosen(*choice, key, std::move(expected), fanout);
      }
    }
  }
}

std::vector<std::uint32_t> some_positions(std::uint32_t entries, Units& units) {
  std::set<std::uint32_t> some;
  for (std::uint32_t k = 0; k < 1 + entries / 8 && entries > 0; ++k) {
    some.insert(units.below(entries));
  }
  return {some.begin(), some.end()};
}

TEST(WeightedGroups, StretchesWithExcludedPositionsStandAmongOthers) {
  Units units(8);
  for (const std::uint32_t fanout : {1U, 4U, 15U, 64U, 65U}) {
    const auto lists = lists_around(fanout);
    for (const bool replace : {false, true}) {
      const auto choice = make_weighted({.fanout = fanout, .replace = replace});
      const StreamKey key{{fanout, 3}};
      std::vector<std::vector<std::uint32_t>> excluded;
      for (const auto& list : lists) {
        excluded.push_back(some_positions(static_cast<std::uint32_t>(list.table.size()), units));
      }
      Expected expected;
      for (std::size_t i = 0; i < 2 * lists.size(); ++i) {
        const auto at = i % lists.size();
        Stretch stretch{.original_id = i,
                        .aliases = lists[at].table.data(),
                        .entries = static_cast<std::uint32_t>(lists[at].table.size()),
                        .zero_weights = true};
        std::set<std::uint32_t> left_out;
        if (i % 2 == 0) {
          stretch.excluded = excluded[at];
          left_out.insert(excluded[at].begin(), excluded[at].end());
        }
        add(*choice, stretch,
            reference_weighted(DrawStream(key, i), lists[at].table, fanout, replace, left_out),
            expected);
      }
      expect_chosen(*choice, key, std::move(expected), fanout);
    }
  }
}

template <std::size_t Bytes>
std::size_t compare_weighted_lanes(std::uint32_t fanout, bool replace) {
  WeightedLanes<Bytes> lanes(fanout, replace);
  const auto lists = lists_around(fanout);
  std::size_t complete = 0;
  for (std::uint32_t round = 0; round < 20; ++round) {
    const StreamKey key{{round, fanout}};
    std::vector<Stretch> group;
    std::vector<const WeightedList*> of_group;
    for (std::size_t i = 0; i < 1 + round * 3; ++i) {
      const auto& list = lists[(i * 5 + round) % lists.size()];
      const auto entries = static_cast<std::uint32_t>(list.table.size());
      if (entries > (replace ? 0 : fanout)) {
        group.push_back(
            {.original_id = i + round, .aliases = list.table.data(), .entries = entries});
        of_group.push_back(&list);
      }
    }
    std::vector<const Stretch*> stretches;
    for (const auto& stretch : group) {
      stretches.push_back(&stretch);
    }
    lanes.begin(key, stretches);
    for (std::size_t i = 0; i < group.size(); ++i) {
      std::vector<std::uint32_t> out(fanout);
      const auto taken = lanes.take(out.data());
      out.resize(taken.positions);
      const auto expected = reference_weighted(DrawStream(key, group[i].original_id),
                                               of_group[i]->table, fanout, replace);
      if (taken.complete) {
        EXPECT_EQ(out, expected) << Bytes << " bytes, entries " << group[i].entries;
        complete += expected.empty() ? 0U : 1U;
      } else {
        EXPECT_LT(taken.positions, fanout);
        EXPECT_TRUE(std::ranges::includes(expected, out));
      }
    }
  }
  return complete;
}

TEST(WeightedLanes, OfEveryWidthGiveThePositionsOfTheDefinition) {
  for (const bool replace : {false, true}) {
    for (const std::uint32_t fanout : {1U, 2U, 3U, 4U, 5U, 8U, 15U, 16U, 31U, 64U}) {
      EXPECT_GT(compare_weighted_lanes<16>(fanout, replace), 50U);
      EXPECT_GT(compare_weighted_lanes<32>(fanout, replace), 50U);
      EXPECT_GT(compare_weighted_lanes<64>(fanout, replace), 50U);
    }
  }
}

TEST(WeightedLanes, LeaveOutLanesWhoseWordMayBeRejected) {
  constexpr std::uint32_t entries = 0xFFFFFFFE;
  constexpr std::size_t bytes = std::size_t{entries} * sizeof(AliasSlot);
  void* const zeros =
      ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (zeros == MAP_FAILED) {
    GTEST_SKIP() << "no address space for a list of 2^32 entries";
  }
  const auto table = alias_table({1, 2, 3, 4, 5, 6});
  const Stretch large{.aliases = static_cast<const AliasSlot*>(zeros), .entries = entries};
  const Stretch small{.original_id = 5, .aliases = table.data(), .entries = 6};
  WeightedLanes<vector_bytes> lanes(4, true);
  const std::vector<const Stretch*> stretches{&large, &small, &large};
  lanes.begin(StreamKey{{1, 2}}, stretches);
  std::vector<std::uint32_t> out(4);
  for (const auto* stretch : stretches) {
    const auto taken = lanes.take(out.data());
    EXPECT_EQ(taken.complete, stretch == &small);
    EXPECT_EQ(taken.draws == 0, stretch == &large) << "scalar code begins with the first draw";
    EXPECT_EQ(taken.positions, stretch == &small ? 4U : 0U);
  }
  ::munmap(zeros, bytes);
}

/// Units of weight of a stretch, and its running sums, which begin anywhere and wrap.
struct SumList {
  SumList(std::vector<std::uint64_t> of_entries, std::uint64_t before)
      : units(std::move(of_entries)), sum_before(before) {
    for (const auto of_entry : units) {
      before += of_entry;
      sums.push_back(before);
    }
  }
  std::vector<std::uint64_t> units;
  std::uint64_t sum_before;
  std::vector<std::uint64_t> sums;
};

std::vector<SumList> sum_lists(std::uint32_t fanout) {
  Units random(fanout + 77);
  std::vector<SumList> all;
  for (const std::size_t size : {std::size_t{1}, std::size_t{fanout}, fanout + std::size_t{1},
                                 2 * std::size_t{fanout} + 5, std::size_t{1000}}) {
    for (std::uint32_t kind = 0; kind < weight_kinds + 1 && size > 0; ++kind) {
      std::vector<std::uint64_t> units(size);
      for (std::size_t i = 0; i < size; ++i) {
        const float weight = weight_of_kind(kind, i, size, random);
        units[i] = kind == weight_kinds ? ~std::uint64_t{0} / size - i % 2  // many are rejected
                                        : static_cast<std::uint64_t>(weight * 1e6F);
      }
      all.emplace_back(std::move(units), all.size() % 2 == 0 ? all.size() : ~std::uint64_t{5});
    }
  }
  return all;
}

void compare_sums(std::uint32_t fanout, bool replace, bool with_excluded, std::size_t size) {
  Units random(size);
  const auto lists = sum_lists(fanout);
  const auto choice = make_weighted({.fanout = fanout, .replace = replace});
  const StreamKey key{{fanout, static_cast<std::uint32_t>(size)}};
  std::vector<std::vector<std::uint32_t>> excluded(size);
  Expected expected;
  for (std::size_t i = 0; i < size; ++i) {
    const auto& list = lists[(i * 3 + size) % lists.size()];
    const auto entries = static_cast<std::uint32_t>(list.units.size());
    if (with_excluded && i % 3 != 0) {
      excluded[i] = some_positions(entries, random);
    }
    const Stretch stretch{.original_id = i,
                          .weight_sums = list.sums.data(),
                          .sum_before = list.sum_before,
                          .excluded = excluded[i],
                          .tree = static_cast<std::uint32_t>(i % 5),
                          .entries = entries,
                          .zero_weights = true};
    add(*choice, stretch,
        reference_by_sums(DrawStream(key, i, stretch.tree), list.units, fanout, replace,
                          {excluded[i].begin(), excluded[i].end()}),
        expected);
  }
  expect_chosen(*choice, key, std::move(expected), fanout);
}

TEST(WeightedGroups, BySumsTakeThePositionsOfTheDefinition) {
  for (const std::uint32_t fanout : {0U, 1U, 2U, 5U, 15U, 63U, 64U, 65U, 200U}) {
    for (const bool replace : {false, true}) {
      for (const bool with_excluded : {false, true}) {
        for (const std::size_t size : {1U, 2U, 34U, 35U, 64U}) {
          compare_sums(fanout, replace, with_excluded, size);
        }
      }
    }
  }
}

TEST(WeightedGroups, StretchesByTableAndBySumsMayLieInOneGroup) {
  const auto choice = make_weighted({.fanout = 3});
  const StreamKey key{{4, 4}};
  const auto table = alias_table({1, 2, 3, 4, 5});
  const SumList list({4, 0, 3, 9, 1}, 7);
  Expected expected;
  for (std::uint64_t id = 0; id < 40; ++id) {
    if (id % 3 == 1) {
      add(*choice, {.original_id = id, .aliases = table.data(), .entries = 5},
          reference_weighted(DrawStream(key, id), table, 3, false), expected);
    } else {
      add(*choice,
          {.original_id = id,
           .weight_sums = list.sums.data(),
           .sum_before = list.sum_before,
           .entries = 5},
          reference_by_sums(DrawStream(key, id), list.units, 3, false, {}), expected);
    }
  }
  expect_chosen(*choice, key, std::move(expected), 3);
}

}  // namespace
}  // namespace troupe
