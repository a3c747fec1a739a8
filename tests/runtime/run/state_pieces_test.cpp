#include "runtime/run/state_pieces.hpp"

#include "tests/support/expect.hpp"

namespace troupe {
namespace {

std::vector<std::byte> bytes_of(std::size_t count, int first) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < count; ++i) {
    bytes.push_back(static_cast<std::byte>(first + static_cast<int>(i)));
  }
  return bytes;
}

net::TrainingState state_of_two_ranks() {
  net::TrainingState state;
  state.epoch = 2;
  state.step = 3;
  state.global_step = 11;
  state.batches = {5, 6};
  state.blobs[rank_blob(Rank{0})] = bytes_of(10, 0);
  state.blobs[rank_blob(Rank{1})] = {};
  state.blobs[tensor_blob("seen")] = bytes_of(7, 100);
  return state;
}

TEST(StatePieces, GiveTheStateAgainWhateverTheirSize) {
  const auto state = state_of_two_ranks();
  for (const std::uint64_t size : {1U, 3U, 7U, 10U, 17U, 18U, 1000U}) {
    SCOPED_TRACE(size);
    PieceCollector collector;
    const auto count = count_pieces(state, size);
    for (std::uint64_t i = 0; i < count; ++i) {
      ASSERT_OK(collector.add(i, piece_of(state, i, size)));
    }
    const auto whole = collector.take();

    EXPECT_EQ(whole.blobs, state.blobs);
    EXPECT_EQ(whole.global_step, 11U);
    EXPECT_EQ(whole.batches, state.batches);
    EXPECT_TRUE(piece_of(state, count, size).blobs.empty());
  }
}

TEST(StatePieces, AStateWithoutBlobsIsOnePiece) {
  EXPECT_EQ(count_pieces({}, state_piece_bytes), 1U);
}

TEST(StatePieces, AProcessGetsItsOwnRanksAndTheNamesOfTensors) {
  auto state = state_of_two_ranks();
  state.blobs[tensor_blob("seen")].clear();
  const std::vector first{Rank{0}};
  const std::vector second{Rank{1}};

  const auto at_first = piece_for(first, state, 0, 1000);
  const auto at_second = piece_for(second, state, 0, 1000);

  EXPECT_EQ(at_first.blobs.size(), 2U);
  EXPECT_TRUE(at_first.blobs.contains("rank 0"));
  EXPECT_TRUE(at_first.blobs.at("tensor seen").empty());
  EXPECT_EQ(at_second.blobs.size(), 2U);
  EXPECT_TRUE(at_second.blobs.contains("rank 1"));
  EXPECT_TRUE(at_second.blobs.at("tensor seen").empty());
  EXPECT_EQ(at_second.step, 3U);
}

std::shared_ptr<const SeedList> nodes_of(std::uint16_t type, std::vector<std::uint64_t> ids) {
  SeedList nodes{.node_type = NodeTypeId{type}, .original = {}, .global = {}};
  for (const auto id : ids) {
    nodes.global.push_back(NodeId{id});
  }
  return std::make_shared<const SeedList>(std::move(nodes));
}

TEST(StatePieces, EveryProcessGetsTheNodesToInfer) {
  std::vector lists = {nodes_of(3, {7, 0, 1, std::uint64_t{1} << 40}), nodes_of(1, {})};
  while (lists.size() < 12) {  // names of which one is the beginning of another
    lists.push_back(nodes_of(0, {lists.size()}));
  }
  const auto state = state_of_nodes(lists);
  for (const std::uint64_t size : {3U, 8U, 1000U}) {
    PieceCollector collector;
    for (std::uint64_t i = 0; i < count_pieces(state, size); ++i) {
      ASSERT_OK(collector.add(i, piece_for({}, state, i, size)));
    }
    ASSERT_OK_AND_ASSIGN(const auto found, lists_of_state(collector.take()));
    ASSERT_EQ(found.size(), lists.size());
    for (std::size_t i = 0; i < lists.size(); ++i) {
      EXPECT_EQ(found[i]->node_type, lists[i]->node_type);
      EXPECT_EQ(found[i]->global, lists[i]->global);
    }
  }
  ASSERT_OK_AND_ASSIGN(const auto none, lists_of_state(state_of_two_ranks()));
  EXPECT_TRUE(none.empty());
}

TEST(StatePieces, NodesToInferAreNumbersOf8Bytes) {
  auto state = state_of_nodes(std::vector{nodes_of(0, {5})});
  auto& bytes = state.blobs.begin()->second;
  bytes.pop_back();
  EXPECT_ERROR(lists_of_state(state), Errc::data_corruption,
               "nodes to infer: expected 8 bytes for their type and 8 for each, found 15");
  bytes.clear();
  EXPECT_ERROR(lists_of_state(state), Errc::data_corruption, "found 0");
}

TEST(PieceCollector, RefusesAPieceThatIsNotTheNext) {
  const auto state = state_of_two_ranks();
  PieceCollector collector;
  ASSERT_OK(collector.add(0, piece_of(state, 0, 5)));

  EXPECT_ERROR(collector.add(2, piece_of(state, 2, 5)), Errc::failed_precondition,
               "expected piece 1 of step 11, found piece 2 of step 11");
  ASSERT_OK(collector.add(0, piece_of(state, 0, 5)));
}

TEST(PieceCollector, APieceWhoseAnswerWasLostMayComeAgain) {
  const auto state = state_of_two_ranks();
  PieceCollector collector;
  const auto count = count_pieces(state, 5);
  ASSERT_GE(count, 3U);
  ASSERT_OK(collector.add(0, piece_of(state, 0, 5)));
  for (std::uint64_t i = 1; i < count; ++i) {
    ASSERT_OK_AND_ASSIGN(const bool first, collector.add(i, piece_of(state, i, 5)));
    ASSERT_OK_AND_ASSIGN(const bool again, collector.add(i, piece_of(state, i, 5)));
    EXPECT_TRUE(first);
    EXPECT_FALSE(again);
  }

  EXPECT_EQ(collector.take().blobs, state.blobs);

  ASSERT_OK_AND_ASSIGN(const bool after, collector.add(count - 1, piece_of(state, count - 1, 5)));
  EXPECT_FALSE(after) << "nor is it part of a next state";
}

}  // namespace
}  // namespace troupe
