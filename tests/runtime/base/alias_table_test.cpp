#include "runtime/base/alias_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace troupe {
namespace {

using Weights = std::vector<float>;

std::vector<AliasSlot> table_of(const Weights& weights) {
  std::vector<AliasSlot> table(weights.size(), AliasSlot{77, 77});
  AliasTableMaker().make(weights, table);
  return table;
}

std::vector<std::uint64_t> units_of(const Weights& weights) {
  std::vector<std::uint64_t> units = {99};
  alias_units(table_of(weights), units);
  return units;
}

struct Case {
  std::string name;
  Weights weights;
};

/// Lists of many lengths and kinds of weights.
std::vector<Case> cases() {
  std::vector<Case> all;
  std::uint64_t state = 7;
  const auto next = [&state] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  const auto add = [&](const std::string& name, std::size_t size, const auto& weight) {
    auto& weights = all.emplace_back(Case{name + " of " + std::to_string(size), {}}).weights;
    std::generate_n(std::back_inserter(weights), size,
                    [&] { return static_cast<float>(weight()); });
  };
  for (const std::size_t size : {1U, 2U, 3U, 5U, 8U, 30U, 200U, 5000U}) {
    add("uniform", size, [&] { return next(); });
    add("equal", size, [&] { return 0.1; });
    add("half of them zero", size, [&] { return next() < 0.5 ? 0.0 : 1.0; });
    add("over all of float", size, [&] { return std::pow(10.0, 76 * next() - 38); });
    add("denormal", size, [&] { return next() * 1e-40; });
    add("few heavy", size, [&] { return next() < 0.1 ? 1e6 : next(); });
    add("smallest", size, [&] { return FLT_TRUE_MIN; });
    add("largest", size, [&] { return FLT_MAX; });
    auto one = all.back();
    one.name = "smallest beside one largest of " + std::to_string(size);
    std::fill(one.weights.begin(), one.weights.end() - 1, FLT_TRUE_MIN);
    all.push_back(std::move(one));
  }
  return all;
}

TEST(AliasTable, DrawsEntriesInTheSharesOfTheirWeights) {
  for (const auto& [name, weights] : cases()) {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (sum == 0) {
      continue;
    }
    const auto units = units_of(weights);
    const auto all = static_cast<double>(weights.size()) * 0x1p32;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double share = static_cast<double>(weights[i]) / sum;
      ASSERT_NEAR(static_cast<double>(units[i]) / all, share, 0x1.1p-32) << name << ", entry " << i;
    }
  }
}

TEST(AliasTable, UnitsAddUpToWholeSlots) {
  for (const auto& [name, weights] : cases()) {
    const auto units = units_of(weights);
    const auto sum = std::accumulate(units.begin(), units.end(), std::uint64_t{0});
    const bool empty = std::ranges::all_of(weights, [](float weight) { return weight == 0; });
    EXPECT_EQ(sum, empty ? 0 : weights.size() * alias_unit) << name;
  }
}

TEST(AliasTable, EntriesHaveAThresholdWhereTheyHaveAWeight) {
  for (const auto& [name, weights] : cases()) {
    const auto table = table_of(weights);
    const auto units = units_of(weights);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      ASSERT_EQ(table[i].threshold == 0, weights[i] == 0) << name << ", entry " << i;
      ASSERT_EQ(units[i] == 0, weights[i] == 0) << name << ", entry " << i;
    }
  }
}

TEST(AliasTable, AListWithoutWeightsIsMarked) {
  for (const std::size_t size : {1U, 2U, 9U}) {
    for (const auto& slot : table_of(Weights(size, 0.0F))) {
      EXPECT_EQ(slot.threshold, 0U);
      EXPECT_EQ(slot.alias, no_alias);
    }
  }
  EXPECT_TRUE(table_of({}).empty());
}

TEST(AliasTable, ASmallTableIsThatOfTheDefinition) {
  // Mean 1: 2 fills what 0.5 and 0.5 miss, and has one slot left.
  const auto table = table_of({0.5F, 2.0F, 0.5F});
  EXPECT_EQ(table[0].threshold, 0x80000000U);
  EXPECT_EQ(table[0].alias, 1U);
  EXPECT_EQ(table[1].alias, 1U);
  EXPECT_EQ(table[2].threshold, 0x80000000U);
  EXPECT_EQ(table[2].alias, 1U);
}

TEST(AliasTable, ASlotGivesItsEntryBelowTheThresholdAndElseItsAlias) {
  const auto table = table_of({0.5F, 2.0F, 0.5F});
  EXPECT_EQ(alias_entry(table, 0, 0), 0U);
  EXPECT_EQ(alias_entry(table, 0, 0x7FFFFFFF), 0U);
  EXPECT_EQ(alias_entry(table, 0, 0x80000000), 1U);
  EXPECT_EQ(alias_entry(table, 1, 0xFFFFFFFF), 1U) << "a slot of its own whatever the coin";
}

TEST(AliasTable, AMakerKeepsNothingOfEarlierLists) {
  AliasTableMaker maker;
  for (const auto& [name, weights] : cases()) {
    std::vector<AliasSlot> table(weights.size());
    maker.make(weights, table);
    const auto alone = table_of(weights);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      ASSERT_EQ(table[i].threshold, alone[i].threshold) << name;
      ASSERT_EQ(table[i].alias, alone[i].alias) << name;
    }
  }
}

}  // namespace
}  // namespace troupe
