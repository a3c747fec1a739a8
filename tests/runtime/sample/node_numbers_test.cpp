#include "runtime/sample/node_numbers.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>

namespace troupe {
namespace {

constexpr std::uint64_t narrow_end = 4'000'000'000;
constexpr std::uint64_t wide_end = std::uint64_t{1} << 40;

std::vector<std::uint64_t> some_ids(std::size_t count, std::uint64_t salt, std::uint64_t end) {
  std::vector<std::uint64_t> ids(count);
  std::uint64_t state = salt;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    ids[i] = i % 2 == 0 ? (state >> 20U) % end : (state >> 33U) % 5000;
  }
  return ids;
}

/// Numbers `ids` in runs of `run`, and compares with a map.
void expect_numbered(NodeNumbers& numbers, PooledVector<NodeId>& nodes,
                     std::map<std::uint64_t, std::uint32_t>& known,
                     const std::vector<std::uint64_t>& ids, std::size_t run) {
  std::vector<std::uint32_t> out(ids.size(), 77);
  for (std::size_t first = 0; first < ids.size(); first += run) {
    numbers.number<std::uint64_t>(ids, first, std::min(run, ids.size() - first), nodes,
                                  out.data() + first);
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto next = static_cast<std::uint32_t>(known.size());
    ASSERT_EQ(out[i], known.try_emplace(ids[i], next).first->second) << "id " << ids[i];
    ASSERT_EQ(raw(nodes[out[i]]), ids[i]);
  }
  ASSERT_EQ(nodes.size(), known.size());
}

TEST(NodeNumbers, AreThoseOfFirstAppearanceWhateverTheRunsAndTheWidth) {
  for (const std::uint64_t end : {narrow_end, wide_end}) {
    for (const std::size_t run : {1U, 7U, 1023U, 1024U, 1025U, 50'000U}) {
      NodeNumbers numbers(end);
      numbers.begin();
      PooledVector<NodeId> nodes;
      std::map<std::uint64_t, std::uint32_t> known;
      expect_numbered(numbers, nodes, known, some_ids(20'000, run, end), run);
      expect_numbered(numbers, nodes, known, some_ids(20'000, run + 1, end), run);
    }
  }
}

TEST(NodeNumbers, OfOneBatchSayNothingInTheNext) {
  NodeNumbers numbers(narrow_end);
  for (std::uint64_t batch = 0; batch < 6; ++batch) {
    numbers.begin();
    PooledVector<NodeId> nodes;
    std::map<std::uint64_t, std::uint32_t> known;
    expect_numbered(numbers, nodes, known, some_ids(batch % 2 == 0 ? 30'000 : 50, batch, 100'000),
                    64);
    numbers.end(nodes.size());
  }
}

TEST(NodeNumbers, TakeIdsUpToTheirEnd) {
  constexpr std::uint64_t most_narrow = std::numeric_limits<std::uint32_t>::max();
  for (const std::uint64_t end : {most_narrow, most_narrow + 1, most_narrow + 2}) {
    NodeNumbers numbers(end);
    numbers.begin();
    const std::vector<std::uint64_t> ids{end - 1, 0, end - 2, end - 1, 0};
    PooledVector<NodeId> nodes;
    std::vector<std::uint32_t> out(ids.size());
    numbers.number<std::uint64_t>(ids, 0, ids.size(), nodes, out.data());
    EXPECT_EQ(out, (std::vector<std::uint32_t>{0, 1, 2, 0, 1})) << "end " << end;
  }
}

TEST(NodeNumbers, ReadNarrowIdsToo) {
  NodeNumbers numbers(wide_end);
  numbers.begin();
  const std::vector<std::uint32_t> ids{9, 8, 9};
  PooledVector<NodeId> nodes;
  std::vector<std::uint32_t> out(3);
  numbers.number<std::uint32_t>(ids, 0, 3, nodes, out.data());
  EXPECT_EQ(out, (std::vector<std::uint32_t>{0, 1, 0}));
}

TEST(NodeNumbers, KeepTheMemoryOfTheLargestBatchAndExpectOneLikeTheLast) {
  NodeNumbers numbers(narrow_end);
  EXPECT_EQ(numbers.bytes(), 0U) << "a type that no batch reaches takes none";
  numbers.begin();
  EXPECT_EQ(numbers.bytes(), 0U);
  PooledVector<NodeId> nodes;
  std::map<std::uint64_t, std::uint32_t> known;
  expect_numbered(numbers, nodes, known, some_ids(100'000, 1, narrow_end), 1000);
  const auto largest = numbers.bytes();
  EXPECT_GE(largest, 2 * nodes.size() * 8);
  EXPECT_LE(largest, 8 * nodes.size() * 8);
  numbers.end(nodes.size());
  EXPECT_EQ(numbers.expected(), nodes.size());
  for (int batch = 0; batch < 50; ++batch) {
    numbers.begin();
    numbers.end(10);
  }
  EXPECT_LT(numbers.expected(), nodes.size() / 100) << "small batches do not clear a large table";
  EXPECT_EQ(numbers.bytes(), largest);
}

}  // namespace
}  // namespace troupe
