#include "runtime/sample/choice/weighted.hpp"

#include "tests/runtime/sample/weighted_reference.hpp"
#include "tests/support/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

namespace troupe {
namespace {

using testing::alias_table;
using testing::reference_weighted;
using testing::Weights;

/// A list and the stretch of all of it.
struct List {
  List(std::uint64_t id, Weights of_entries)
      : original_id(id), weights(std::move(of_entries)), table(alias_table(weights)) {}
  Stretch stretch() const {
    return {.original_id = original_id,
            .aliases = table.data(),
            .entries = static_cast<std::uint32_t>(table.size()),
            .zero_weights = std::ranges::find(weights, 0.0F) != weights.end()};
  }
  std::uint64_t original_id;
  Weights weights;
  std::vector<AliasSlot> table;
};

/// What one node's choice takes, planned and chosen alone.
std::vector<std::uint32_t> chosen(Choice& choice, StreamKey key, const List& list) {
  std::array group = {list.stretch()};
  choice.plan({}, group);
  std::vector<std::uint32_t> positions(group[0].taken);
  if (group[0].whole) {
    std::iota(positions.begin(), positions.end(), 0U);
  } else {
    choice.choose(key, group, positions);
  }
  positions.resize(group[0].taken);
  return positions;
}

/// Lists of 0 to 3000 entries with even, skewed, zero and extreme weights.
std::vector<List> lists() {
  std::vector<List> all;
  std::uint64_t state = 3;
  const auto next = [&state] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<float>(state >> 40) * 0x1p-24F;
  };
  for (const std::size_t size : {0U, 1U, 2U, 3U, 7U, 15U, 16U, 40U, 71U, 3000U}) {
    for (int kind = 0; kind < 6; ++kind) {
      Weights weights(size);
      for (std::size_t i = 0; i < size; ++i) {
        const float u = next();
        weights[i] = kind == 0   ? 1.0F
                     : kind == 1 ? u + 0.01F
                     : kind == 2 ? (u < 0.7F ? 0.0F : u)
                     : kind == 3 ? (i == size / 2 ? 1e6F : u)    // one entry has nearly all
                     : kind == 4 ? (i % 5 == 1 ? 1.0F : 1e-30F)  // most are hardly ever drawn
                                 : 0.0F;
      }
      all.emplace_back(all.size() * 0x100000007U, std::move(weights));
    }
  }
  return all;
}

TEST(Weighted, TakesThePositionsOfTheDefinition) {
  for (const bool replace : {false, true}) {
    for (const std::uint32_t fanout : {0U, 1U, 2U, 5U, 15U, 63U, 64U, 65U, 200U}) {
      const auto choice = make_weighted({.fanout = fanout, .replace = replace});
      const StreamKey key{{fanout, 5}};
      for (const auto& list : lists()) {
        ASSERT_EQ(chosen(*choice, key, list), reference_weighted(DrawStream(key, list.original_id),
                                                                 list.table, fanout, replace))
            << "fanout " << fanout << ", replace " << replace << ", node " << list.original_id;
      }
    }
  }
}

TEST(Weighted, StretchesOfAGroupDoNotChangeEachOther) {
  const auto all = lists();
  for (const bool replace : {false, true}) {
    const auto choice = make_weighted({.fanout = 6, .replace = replace});
    const StreamKey key{{1, 2}};
    std::vector<Stretch> group;
    std::vector<std::uint32_t> expected;
    for (const auto& list : all) {
      std::array one = {list.stretch()};
      choice->plan({}, one);
      if (!one[0].whole) {
        group.push_back(one[0]);
        const auto alone = chosen(*choice, key, list);
        expected.insert(expected.end(), alone.begin(), alone.end());
      }
    }
    std::vector<std::uint32_t> positions(group.size() * 6);
    choice->choose(key, group, positions);
    std::size_t taken = 0;
    for (const auto& stretch : group) {
      taken += stretch.taken;
    }
    positions.resize(taken);
    EXPECT_EQ(positions, expected);
  }
}

TEST(Weighted, EntriesWithoutWeightAreNeverTaken) {
  const List list(9, {0, 3, 0, 0, 1e-38F, 0, 2, 0});
  for (const bool replace : {false, true}) {
    for (const std::uint32_t fanout : {1U, 2U, 3U, 5U, 8U, 20U}) {
      const auto choice = make_weighted({.fanout = fanout, .replace = replace});
      for (std::uint32_t k = 0; k < 500; ++k) {
        const auto positions = chosen(*choice, {{k, 0}}, list);
        ASSERT_EQ(positions.size(), replace ? fanout : std::min(fanout, 3U));
        for (const auto position : positions) {
          ASSERT_GT(list.weights[position], 0) << position;
        }
      }
    }
  }
}

TEST(Weighted, AListWithoutAnyWeightGivesNothing) {
  for (const std::size_t size : {0U, 1U, 5U, 100U}) {
    const List list(4, Weights(size, 0.0F));
    for (const bool replace : {false, true}) {
      for (const std::uint32_t fanout : {1U, 5U, 70U}) {
        const auto choice = make_weighted({.fanout = fanout, .replace = replace});
        EXPECT_TRUE(chosen(*choice, {{1, 1}}, list).empty());
      }
    }
  }
}

TEST(Weighted, AHubWithFewWeightsGivesAllOfThem) {
  Weights weights(1'000'000, 0.0F);
  weights[3] = 1;
  weights[500'000] = 1e-6F;
  weights[999'999] = 1e6F;
  const List list(1, weights);
  const auto choice = make_weighted({.fanout = 10});
  EXPECT_EQ(chosen(*choice, {{1, 1}}, list), (std::vector<std::uint32_t>{3, 500'000, 999'999}));
}

TEST(Weighted, ListsWithoutZerosUpToTheFanoutAreTakenWhole) {
  const auto choice = make_weighted({.fanout = 4});
  std::array group = {List(1, {1, 2, 3, 4}).stretch(), List(2, {1, 2, 3, 4, 5}).stretch(),
                      List(3, {1, 0}).stretch()};
  choice->plan({}, group);
  EXPECT_TRUE(group[0].whole);
  EXPECT_FALSE(group[1].whole);
  EXPECT_FALSE(group[2].whole);
}

/// p-values of the tests of a distribution.
class WeightedDistribution : public ::testing::Test {
 protected:
  void TearDown() override {
    ASSERT_GE(p_values_.size(), 100U);
    EXPECT_GT(*std::ranges::min_element(p_values_), 1e-6);
    EXPECT_GT(testing::kolmogorov_smirnov_p_value(p_values_), 1e-3);
  }

  /// Compares counts with expected shares; rare outcomes are counted together.
  void add(const std::map<std::vector<std::uint32_t>, std::uint64_t>& counts,
           const std::map<std::vector<std::uint32_t>, double>& shares, std::uint32_t trials) {
    struct Cell {
      double expected;
      double found;
    };
    std::vector<Cell> cells;
    for (const auto& [taken, share] : shares) {
      const auto at = counts.find(taken);
      cells.push_back({share * trials, at == counts.end() ? 0.0 : static_cast<double>(at->second)});
    }
    std::ranges::sort(cells, std::greater<>(), &Cell::expected);
    while (cells.size() > 1 && cells.back().expected < 10) {
      const Cell rare = cells.back();
      cells.pop_back();
      cells.back().expected += rare.expected;
      cells.back().found += rare.found;
    }
    ASSERT_GE(cells.size(), 2U);
    double statistic = 0;
    for (const Cell& cell : cells) {
      statistic += (cell.found - cell.expected) * (cell.found - cell.expected) / cell.expected;
    }
    p_values_.push_back(
        testing::chi_square_survival(statistic, static_cast<double>(cells.size() - 1)));
  }

  static StreamKey fresh_key(std::uint64_t seed, std::uint32_t trial) {
    return stream_key(seed, {.domain = Domain::neighbours, .batch = trial});
  }

 private:
  std::vector<double> p_values_;
};

/// Chances of what successive sampling without replacement takes, ascending.
void successive(const Weights& weights, double left, double chance, std::uint32_t fanout,
                std::vector<std::uint32_t>& taken,
                std::map<std::vector<std::uint32_t>, double>& shares) {
  if (taken.size() == fanout) {
    auto sorted = taken;
    std::ranges::sort(sorted);
    shares[sorted] += chance;
    return;
  }
  for (std::uint32_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0 && std::ranges::find(taken, i) == taken.end()) {
      taken.push_back(i);
      const double weight = weights[i];
      successive(weights, left - weight, chance * weight / left, fanout, taken, shares);
      taken.pop_back();
    }
  }
}

/// Few entries have nearly all of the weight in the last ones, so that sums find what draws do not.
const std::vector<Weights>& weight_lists() {
  static const std::vector<Weights> lists = {
      {1, 2, 3, 4},      {1, 1, 1, 1, 1},          {0.5F, 0, 2, 8, 0, 1},
      {100, 1, 1, 2, 3}, {1e-3F, 1, 2e-3F, 3e-3F}, {2e4F, 50, 1, 2, 3, 4}};
  return lists;
}

TEST_F(WeightedDistribution, DrawsWithReplacementHaveTheSharesOfTheWeights) {
  constexpr std::uint32_t trials = 3000;
  for (std::size_t l = 0; l < weight_lists().size(); ++l) {
    const List list(l, weight_lists()[l]);
    const double sum = std::accumulate(list.weights.begin(), list.weights.end(), 0.0);
    std::map<std::vector<std::uint32_t>, double> shares;
    for (std::uint32_t i = 0; i < list.weights.size(); ++i) {
      shares[{i}] = list.weights[i] / sum;
    }
    const auto choice = make_weighted({.fanout = 4, .replace = true});
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      std::map<std::vector<std::uint32_t>, std::uint64_t> counts;
      for (std::uint32_t trial = 0; trial < trials; ++trial) {
        for (const auto position : chosen(*choice, fresh_key(100 * l + seed, trial), list)) {
          ++counts[{position}];
        }
      }
      add(counts, shares, 4 * trials);
    }
  }
}

TEST_F(WeightedDistribution, WithoutReplacementSetsAreThoseOfSuccessiveSampling) {
  constexpr std::uint32_t trials = 4000;
  for (std::size_t l = 0; l < weight_lists().size(); ++l) {
    const List list(l, weight_lists()[l]);
    const double sum = std::accumulate(list.weights.begin(), list.weights.end(), 0.0);
    for (const std::uint32_t fanout : {2U, 3U}) {
      std::map<std::vector<std::uint32_t>, double> shares;
      std::vector<std::uint32_t> taken;
      successive(list.weights, sum, 1, fanout, taken, shares);
      const auto choice = make_weighted({.fanout = fanout});
      for (std::uint64_t seed = 0; seed < 12; ++seed) {
        std::map<std::vector<std::uint32_t>, std::uint64_t> counts;
        for (std::uint32_t trial = 0; trial < trials; ++trial) {
          ++counts[chosen(*choice, fresh_key(1000 * (l + 1) + 50 * fanout + seed, trial), list)];
        }
        add(counts, shares, trials);
      }
    }
  }
}

}  // namespace
}  // namespace troupe
