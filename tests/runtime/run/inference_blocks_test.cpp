#include "runtime/run/inference_blocks.hpp"

#include "tests/support/expect.hpp"

namespace troupe {
namespace {

/// Degrees 3, 0, 1, 10, 2.
const std::vector<std::uint64_t> offsets = {0, 3, 3, 4, 14, 16};
const NeighbourLists lists = [] {
  NeighbourLists made;
  made.offsets = offsets;
  return made;
}();

/// Of a graph of one type.
BlockInputs inputs_of(const NeighbourLists& all, std::uint64_t nodes, std::uint64_t row_bytes) {
  return {.rows = {{nodes, row_bytes}}, .along = {{&all, NodeTypeId{0}}}, .own = NodeTypeId{0}};
}

std::uint64_t total(const std::vector<InferenceBlock>& blocks) {
  std::uint64_t next = 0;
  for (const auto& block : blocks) {
    EXPECT_EQ(block.first, next);
    EXPECT_GE(block.count, 1U);
    next += block.count;
  }
  return next;
}

TEST(InferenceBlocks, CoverAllNodesOnceForAnyBudget) {
  for (const std::uint64_t bytes : {0U, 8U, 40U, 80U, 1000U}) {
    EXPECT_EQ(total(inference_blocks(inputs_of(lists, 100, 8), 5, bytes)), 5U);
  }
}

TEST(InferenceBlocks, StayWithinTheBudgetUnlessOneNodeNeedsMore) {
  // 8 bytes a row, 40 bytes: five rows. Needs are 4, 1, 2, 11, 3 rows.
  const auto blocks = inference_blocks(inputs_of(lists, 100, 8), 5, 40);

  ASSERT_EQ(blocks.size(), 4U);
  EXPECT_EQ(blocks[0].count, 2U);  // 4 + 1
  EXPECT_EQ(blocks[1].count, 1U);  // 2; with 11 more it would not fit
  EXPECT_EQ(blocks[2].count, 1U);  // 11 alone
  EXPECT_EQ(blocks[3].count, 1U);
}

TEST(InferenceBlocks, NeverCountMoreRowsThanTheGraphHasNodes) {
  EXPECT_EQ(inference_blocks(inputs_of(lists, 5, 8), 5, 40).size(), 1U);
}

TEST(InferenceBlocks, CountRowsOfEachTypeAgainstThoseOfTheGraph) {
  // Own rows of 8 bytes; neighbors of another type that has 2 nodes of 100 bytes: from the first
  // node with two neighbors on all of them are counted.
  BlockInputs inputs{
      .rows = {{5, 8}, {2, 100}}, .along = {{&lists, NodeTypeId{1}}}, .own = NodeTypeId{0}};

  EXPECT_EQ(inference_blocks(inputs, 5, 240).size(), 1U);  // 5 * 8 + 2 * 100
  EXPECT_EQ(inference_blocks(inputs, 5, 232).size(), 2U);  // one node less
  inputs.rows[1].bytes = 0;                                // not read
  EXPECT_EQ(inference_blocks(inputs, 5, 40).size(), 1U);
}

TEST(InferenceBlocks, CountEdgesAndDestinationsOfDevices) {
  auto inputs = inputs_of(lists, 100, 8);
  inputs.along[0].bytes = 2;
  inputs.own_bytes = 5;
  // 8 bytes a row, 2 an edge, 5 a node: 43, 13, 23, 113, 33.
  EXPECT_EQ(largest_node_bytes(inputs, 5), 113U);
  EXPECT_EQ(largest_node_bytes(inputs, 3), 43U);
  EXPECT_EQ(largest_node_bytes(inputs, 0), 0U);
  EXPECT_EQ(inference_blocks(inputs, 3, 43 + 13 + 23).size(), 1U);
  EXPECT_EQ(inference_blocks(inputs, 3, 43 + 13 + 22).size(), 2U);
}

TEST(InferenceBlocks, AreNoneForAPartWithoutNodes) {
  EXPECT_TRUE(inference_blocks(inputs_of(lists, 5, 8), 0, 40).empty());
}

TEST(OwnedPositions, ArePositionsOfSeedsInThePartsRange) {
  PartNodes nodes;
  nodes.first = NodeId{10};
  nodes.count = 5;
  const std::vector<NodeId> seeds = {NodeId{9}, NodeId{14}, NodeId{10}, NodeId{15}, NodeId{14}};

  EXPECT_EQ(owned_positions(seeds, nodes), (std::vector<std::uint64_t>{1, 2, 4}));
}

}  // namespace
}  // namespace troupe
