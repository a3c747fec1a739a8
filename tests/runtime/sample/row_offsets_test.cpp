#include "runtime/sample/row_offsets.hpp"

#include "runtime/sample/listed_rows_of_hops.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>

namespace troupe {
namespace {

ListedRows some_rows() {
  ListedRows listed;
  listed.add(1, 2);
  listed.add(4, 1);
  listed.add(4, 3);  // the rest of a list that was cut
  return listed;
}

TEST(RowOffsets, OfListedRowsReadLikeThoseOfAll) {
  const RowOffsets offsets(6, some_rows());
  ASSERT_NE(offsets.listed(), nullptr);
  EXPECT_TRUE(std::ranges::equal(offsets.listed()->rows, std::vector<std::uint32_t>{1, 4}));
  EXPECT_TRUE(std::ranges::equal(offsets.listed()->offsets, std::vector<std::uint32_t>{0, 2, 6}));
  EXPECT_EQ(offsets.size(), 7U);
  EXPECT_EQ(offsets.front(), 0U);
  EXPECT_EQ(offsets.back(), 6U);
  EXPECT_EQ(offsets.kept_bytes(), 20U);
  const std::vector<std::uint32_t> all = {0, 0, 2, 2, 2, 6, 6};
  for (std::uint32_t row = 0; row < all.size(); ++row) {
    EXPECT_EQ(offsets.before(row), all[row]) << row;
  }
  EXPECT_EQ(offsets, all);
  EXPECT_EQ(offsets, RowOffsets(all));
  EXPECT_EQ(offsets.kept_bytes(), 20U);
  EXPECT_EQ(RowOffsets(all).kept_bytes(), 28U);
}

TEST(ListedRowsOfHops, HaveTheRowsOfEachEdgeTypeOneAfterTheOther) {
  ListedRowsOfHops hops;
  const std::vector<std::uint32_t> places = {0, 2};
  const std::vector<std::uint32_t> counts = {3, 1};
  hops.begin(2);
  hops.add(0, places, counts);
  hops.begin(0);
  hops.add(5, 2);
  hops.begin(2);
  hops.add(3, 4);
  hops.add(3, 1);  // the rest of a list that was cut
  hops.add(9, 1);
  hops.begin(0);
  hops.begin(3);
  hops.add(3, 7);  // another edge type's row of the same number
  auto taken = hops.take(4);
  const auto offsets_of = [&taken](std::size_t type) {
    return RowOffsets(12, taken.first[type], taken.second);
  };
  const auto of_rows = [](std::initializer_list<std::pair<std::uint32_t, std::uint32_t>> listed) {
    ListedRows added;
    for (const auto& [row, count] : listed) {
      added.add(row, count);
    }
    return RowOffsets(12, std::move(added));
  };
  EXPECT_EQ(offsets_of(0), of_rows({{5, 2}}));
  EXPECT_EQ(offsets_of(1), of_rows({}));
  EXPECT_EQ(offsets_of(2), of_rows({{0, 3}, {2, 1}, {3, 5}, {9, 1}}));
  EXPECT_EQ(offsets_of(3), of_rows({{3, 7}}));
  EXPECT_EQ(offsets_of(2).kept_bytes(), 36U);
  const std::weak_ptr<const void> memory = taken.second;
  {
    const auto kept = offsets_of(2);
    taken.second.reset();
    EXPECT_FALSE(memory.expired()) << "offsets keep the memory of their arrays";
    EXPECT_EQ(kept.back(), 10U);
  }
  EXPECT_TRUE(memory.expired());
  EXPECT_TRUE(hops.take(1).first[0].rows.empty()) << "nothing is left";
}

TEST(RowOffsets, OfNoRowsAndOfNoEdges) {
  EXPECT_EQ(RowOffsets(0, {}), std::vector<std::uint32_t>{0});
  EXPECT_EQ(RowOffsets(3, {}), (std::vector<std::uint32_t>{0, 0, 0, 0}));
  EXPECT_TRUE(RowOffsets().empty());
}

TEST(RowOffsets, CopiesShareTheArray) {
  const RowOffsets offsets(6, some_rows());
  const RowOffsets copy = offsets;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(offsets.data(), copy.data());
}

TEST(RowOffsets, AreMadeOnceHoweverManyThreadsRead) {
  const RowOffsets offsets(100000, some_rows());
  std::vector<const std::uint32_t*> seen(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&, i] { seen[i] = offsets.data(); });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  for (const auto* data : seen) {
    EXPECT_EQ(data, seen[0]);
  }
}

// A batch of two hops with all nodes asked in each: rows of the second begin behind those of the first.
TEST(ListedBlock, HasTheRowsOfItsLayer) {
  for (const auto frontier : {Frontier::fresh, Frontier::all}) {
    SampledBatch batch;
    batch.hops = 2;
    batch.frontier = frontier;
    batch.nodes.resize(1);
    batch.nodes[0].hop_end = {2, 5, 6};
    auto& edges = batch.edges.emplace_back();
    edges.row_begin = {0, 2, frontier == Frontier::fresh ? 5U : 7U};
    edges.sources = {3, 2, 4, 0, 1, 5};
    edges.offsets = RowOffsets(edges.row_begin.back(), some_rows());
    for (std::uint32_t layer = 0; layer < 2; ++layer) {
      const auto block = listed_block(batch, EdgeTypeId{0}, layer, 2);
      const auto all = edge_block(batch, EdgeTypeId{0}, layer, 2);
      ASSERT_TRUE(block.listed.has_value());
      EXPECT_TRUE(block.offsets.empty());
      EXPECT_FALSE(all.listed.has_value());
      EXPECT_EQ(block.num_dst, all.num_dst);
      EXPECT_EQ(block.num_src, all.num_src);
      EXPECT_EQ(block.first_edge(), all.first_edge());
      EXPECT_EQ(block.num_edges(), all.num_edges());
      std::vector<std::uint32_t> offsets(block.num_dst + 1, block.first_edge());
      for (std::size_t i = 0; i < block.listed->rows.size(); ++i) {
        for (auto d = block.listed->destination(i) + 1; d < offsets.size(); ++d) {
          offsets[d] = block.listed->offsets[i + 1];
        }
      }
      EXPECT_TRUE(std::ranges::equal(offsets, all.offsets)) << layer;
      EXPECT_TRUE(std::ranges::equal(with_offsets(block).offsets, all.offsets));
      EXPECT_FALSE(with_offsets(block).listed.has_value());
    }
    std::vector<std::uint32_t> nodes;
    batch.each_row(edges, [&](std::uint32_t node, std::uint32_t first, std::uint32_t end) {
      nodes.insert(nodes.end(), {node, first, end});
    });
    const std::uint32_t second = frontier == Frontier::fresh ? 4 : 2;
    EXPECT_EQ(nodes, (std::vector<std::uint32_t>{1, 0, 2, second, 2, 6}));
  }
}

}  // namespace
}  // namespace troupe
