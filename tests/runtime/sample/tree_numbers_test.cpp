#include "runtime/sample/tree_numbers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace troupe {
namespace {

constexpr std::uint64_t narrow_trees = 4'000'000'000;
constexpr std::uint64_t wide_trees = std::uint64_t{1} << 40;

/// The slow twin: one map of (tree, id).
class TreeTwin {
 public:
  std::uint32_t number(std::uint32_t tree, std::uint64_t id) {
    const auto [at, is_new] = known_.try_emplace({tree, id}, nodes_.size());
    if (is_new) {
      nodes_.push_back(id);
    }
    return at->second;
  }
  const std::vector<std::uint64_t>& nodes() const { return nodes_; }

 private:
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> known_;
  std::vector<std::uint64_t> nodes_;
};

std::vector<std::uint64_t> ids_of_tree(std::size_t count, std::uint64_t salt, std::uint64_t end) {
  std::vector<std::uint64_t> ids(count);
  std::uint64_t state = salt;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    ids[i] = i % 2 == 0 ? (state >> 20U) % end : (state >> 33U) % 50;
  }
  return ids;
}

void expect_numbered_in_tree(TreeNumbers& numbers, TreeTwin& twin, PooledVector<NodeId>& nodes,
                             std::uint32_t tree, const std::vector<std::uint64_t>& ids) {
  std::vector<std::uint32_t> out(ids.size(), 77);
  numbers.number<std::uint64_t>(tree, ids, nodes, out.data());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ASSERT_EQ(out[i], twin.number(tree, ids[i])) << "tree " << tree << ", id " << ids[i];
  }
  ASSERT_TRUE(std::ranges::equal(nodes, twin.nodes(), {}, [](NodeId id) { return raw(id); }));
}

TEST(TreeNumbers, AreThoseOfFirstAppearanceInTheTree) {
  for (const std::uint64_t end : {narrow_trees, wide_trees}) {
    TreeNumbers numbers(end);
    for (std::uint64_t batch = 0; batch < 3; ++batch) {
      numbers.begin();
      TreeTwin twin;
      PooledVector<NodeId> nodes;
      for (std::uint32_t hop = 0; hop < 4; ++hop) {
        for (std::uint32_t tree = 0; tree < 20; ++tree) {
          const auto count = hop == 0 ? 1U : (tree * 37 + hop) % 5 * 300 + tree % 3;
          expect_numbered_in_tree(numbers, twin, nodes, tree,
                                  ids_of_tree(count, batch + tree % 4, end));
        }
      }
    }
  }
}

TEST(TreeNumbers, TakeTreesInAnyOrderAndRunsOfAnyLength) {
  TreeNumbers numbers(narrow_trees);
  numbers.begin();
  TreeTwin twin;
  PooledVector<NodeId> nodes;
  for (const std::size_t count : {1U, 1023U, 0U, 1024U, 1025U, 2048U, 30'000U, 2U}) {
    for (const std::uint32_t tree : {7U, 0U, 1000U, 7U, 3U}) {
      expect_numbered_in_tree(numbers, twin, nodes, tree,
                              ids_of_tree(count, count + tree % 2, 100'000));
    }
  }
}

TEST(TreeNumbers, TakeManyShortRunsOfATreeInARow) {
  for (const std::uint64_t end : {narrow_trees, wide_trees}) {
    TreeNumbers numbers(end);
    numbers.begin();
    TreeTwin twin;
    PooledVector<NodeId> nodes;
    for (const std::uint32_t tree : {2U, 0U, 1U, 0U, 2U}) {
      for (std::uint64_t run = 0; run < 60; ++run) {
        expect_numbered_in_tree(numbers, twin, nodes, tree,
                                ids_of_tree(run % 4 * (run % 7), run + tree % 2, end));
      }
    }
  }
}

TEST(TreeNumbers, KeepNothingOfRunsOfATreeInARow) {
  std::vector<std::uint64_t> ids(5000);
  std::iota(ids.begin(), ids.end(), 7);
  std::vector<std::uint32_t> out(ids.size());
  TreeNumbers at_once(narrow_trees);
  TreeNumbers one_by_one(narrow_trees);
  PooledVector<NodeId> nodes;
  at_once.number<std::uint64_t>(0, ids, nodes, out.data());
  const std::vector<std::uint32_t> expected = out;
  nodes.clear();

  for (std::size_t i = 0; i < ids.size(); ++i) {
    one_by_one.number<std::uint64_t>(0, std::span(ids).subspan(i, 1), nodes, &out[i]);
  }

  EXPECT_EQ(out, expected);
  EXPECT_EQ(one_by_one.bytes(), at_once.bytes());
}

TEST(TreeNumbers, OfOneBatchSayNothingInTheNext) {
  TreeNumbers numbers(narrow_trees);
  for (int batch = 0; batch < 3; ++batch) {
    numbers.begin();
    TreeTwin twin;
    PooledVector<NodeId> nodes;
    expect_numbered_in_tree(numbers, twin, nodes, 1, {5, 6, 5});
    expect_numbered_in_tree(numbers, twin, nodes, 0, {6, 5});
    expect_numbered_in_tree(numbers, twin, nodes, 1, {7, 6});
    numbers.end(nodes.size());
    EXPECT_EQ(numbers.expected(), 5U);
  }
}

TEST(TreeNumbers, TakeIdsUpToTheirEnd) {
  constexpr std::uint64_t narrowest = std::numeric_limits<std::uint32_t>::max();
  for (const std::uint64_t end : {narrowest, narrowest + 1, narrowest + 2}) {
    TreeNumbers numbers(end);
    numbers.begin();
    TreeTwin twin;
    PooledVector<NodeId> nodes;
    expect_numbered_in_tree(numbers, twin, nodes, 0, {end - 1, 0, end - 2, end - 1, 0});
    expect_numbered_in_tree(numbers, twin, nodes, 0, {end - 2, end - 1, 1});
  }
}

TEST(TreeNumbers, ReadNarrowIdsToo) {
  TreeNumbers numbers(wide_trees);
  numbers.begin();
  PooledVector<NodeId> nodes;
  const std::vector<std::uint32_t> ids{9, 8, 9};
  std::vector<std::uint32_t> out(3);
  numbers.number<std::uint32_t>(4, ids, nodes, out.data());
  EXPECT_EQ(out, (std::vector<std::uint32_t>{0, 1, 0}));
}

TEST(TreeNumbers, KeepTheMemoryOfTheLargestTreeNotOfTheBatch) {
  TreeNumbers numbers(narrow_trees);
  std::size_t kept = 0;
  for (int batch = 0; batch < 3; ++batch) {
    numbers.begin();
    PooledVector<NodeId> nodes;
    std::vector<std::uint32_t> out(500);
    for (std::uint32_t tree = 0; tree < 1000; ++tree) {
      numbers.number<std::uint64_t>(tree, ids_of_tree(500, tree, narrow_trees), nodes, out.data());
    }
    EXPECT_GT(nodes.size(), 200'000U);
    EXPECT_GT(numbers.bytes(), 0U);
    EXPECT_LT(numbers.bytes(), 100'000U);
    EXPECT_TRUE(kept == 0 || kept == numbers.bytes());
    kept = numbers.bytes();
  }
}

}  // namespace
}  // namespace troupe
