// Messages whose parts contradict each other or ask for absurd amounts. Flipped bits and truncated
// messages are in corpus_test.cpp and tests/runtime/net.
#include "runtime/net/piece.hpp"
#include "runtime/sample/batch_builder.hpp"
#include "runtime/wire/codec.hpp"
#include "tests/hostile/mutations.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/one_section.hpp"

#include "fuzz/small_graph.hpp"

namespace troupe {
namespace {

using namespace net;

HopRequest whole_part_request() {
  const auto& nodes = fuzz::small_graph().parts[0]->nodes[0];
  HopRequest request = testing::one_hop_request();
  request.sections[0].fanout = 2;
  for (std::uint64_t i = 0; i < nodes.count; ++i) {
    request.frontiers[0].nodes.push_back(advance(nodes.first, i));
  }
  return request;
}

Frame frame_with_room(const HopRequest& request, std::uint64_t bytes) {
  Frame frame = to_frame(request);
  frame.head.max_reply_bytes = bytes;
  return frame;
}

TEST(HostileMessages, IdsOutOfRangeAreRefusedByTheirOwner) {
  const auto& cut = fuzz::small_graph();
  const auto& part = *cut.parts[1];
  testing::InputCount count("ids");
  const auto end = raw(part.nodes[0].first) + part.nodes[0].count;
  for (const std::uint64_t id :
       {std::uint64_t{0}, raw(part.nodes[0].first) - 1, end, end + 1, std::uint64_t{1} << 32,
        std::uint64_t{1'000'000'000'000}, std::uint64_t{1} << 63, ~std::uint64_t{0},
        static_cast<std::uint64_t>(-2)}) {
    const std::vector<NodeId> nodes{part.nodes[0].first, static_cast<NodeId>(id)};
    const HopRequest hop = testing::one_hop_request(nodes);
    ASSERT_OK_AND_ASSIGN(const auto hop_back, Wire<HopRequest>::decode(to_frame(hop)));
    EXPECT_ERROR(sample_one_hop(part, hop_back), Errc::invalid_argument, std::to_string(id));
    const RowRequest rows = testing::one_row_request(nodes);
    ASSERT_OK_AND_ASSIGN(const auto rows_back, Wire<RowRequest>::decode(to_frame(rows)));
    EXPECT_ERROR(read_part_rows(part, rows_back), Errc::invalid_argument, std::to_string(id));
    count.add(true);
  }
}

TEST(HostileMessages, TypesOutOfRangeAreRefused) {
  const auto& part = *fuzz::small_graph().parts[0];
  for (const unsigned type : {1U, 2U, 255U, 65535U}) {
    HopRequest request = whole_part_request();
    request.sections[0].edge_type = static_cast<EdgeTypeId>(type);
    EXPECT_ERROR(sample_one_hop(part, request), Errc::invalid_argument, std::to_string(type));
    request = whole_part_request();
    request.frontiers[0].node_type = static_cast<NodeTypeId>(type);
    EXPECT_ERROR(sample_one_hop(part, request), Errc::invalid_argument, std::to_string(type));
  }
}

TEST(HostileMessages, FanoutsThatNoJobHasAreRefused) {
  for (const std::int32_t fanout : {-2, -5, (1 << 20) + 1, std::numeric_limits<std::int32_t>::max(),
                                    std::numeric_limits<std::int32_t>::min()}) {
    HopRequest request = whole_part_request();
    request.sections[0].fanout = fanout;
    EXPECT_ERROR(Wire<HopRequest>::decode(to_frame(request)), Errc::data_corruption,
                 std::to_string(fanout));
  }
  for (const std::int32_t fanout : {-1, 0, 1 << 20}) {
    HopRequest request = whole_part_request();
    request.sections[0].fanout = fanout;
    EXPECT_OK(Wire<HopRequest>::decode(to_frame(request)));
  }
}

TEST(HostileMessages, ASmallRequestCannotMakeALargeReplyThatItHasNoRoomFor) {
  HopRequest request = whole_part_request();
  request.sections[0].fanout = 1 << 20;
  request.replace = true;  // 2^20 entries for every node, whatever its degree
  const auto honest = Wire<HopRequest>::reply_bytes(request);

  EXPECT_OK(Wire<HopRequest>::decode(frame_with_room(request, honest)));
  EXPECT_ERROR(Wire<HopRequest>::decode(frame_with_room(request, honest - 1)),
               Errc::data_corruption, "largest answer");
  request.replace = false;  // at most the degree
  EXPECT_OK(Wire<HopRequest>::decode(frame_with_room(request, 1)));
}

TEST(HostileMessages, AbsurdPositionsAndLimitsOfEdgesAreHarmless) {
  const auto& part = *fuzz::small_graph().parts[0];
  testing::InputCount count("positions and limits");
  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 31, std::uint64_t{1} << 32,
        std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    HopRequest request = whole_part_request();
    request.sections[0].fanout = all_neighbours;
    request.max_edges = number;
    const auto limited = sample_one_hop(part, request);
    ASSERT_OK(limited);
    EXPECT_LE(testing::neighbors_of(*limited).size(), std::max<std::uint64_t>(number, 1));
    count.add(false);
    request.sections[0].first_position = number;
    const auto resumed = sample_one_hop(part, request);
    count.add(!resumed.ok());
    EXPECT_EQ(resumed.ok(), number == 0 || number == 1) << number;
  }
}

TEST(HostileMessages, LengthsOfFramesAreRefusedBeforeMemoryIsTaken) {
  testing::InputCount count("lengths of frames");
  const FrameLimits limits{.max_meta_bytes = 1 << 16, .max_frame_bytes = 1 << 20};
  for (const std::uint64_t bytes : {std::uint64_t{1} << 21, std::uint64_t{1} << 40,
                                    std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    for (std::size_t segment = 0; segment < max_segments; ++segment) {
      Frame frame = to_frame(whole_part_request());
      frame.segments.clear();
      seal(frame);
      frame.head.segment_bytes[segment] = bytes;
      frame.head.segment_bytes[(segment + 1) % max_segments] = bytes;
      EXPECT_FALSE(check_header(frame.head, limits).ok());
      count.add(true);
    }
  }
  EXPECT_GT(count.refused(), 10U);
}

}  // namespace
}  // namespace troupe
