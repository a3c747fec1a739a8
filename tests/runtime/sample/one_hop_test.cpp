#include "runtime/sample/one_hop.hpp"

#include "tests/runtime/sample/drive.hpp"

namespace troupe {
namespace {

using testing::cut_graph;
using testing::reference_positions;

constexpr StreamKey hop_key{{0x12345678, 0x9ABCDEF0}};

std::vector<std::uint32_t> drawn(std::uint64_t id, std::uint32_t degree, std::uint32_t fanout,
                                 bool replace) {
  std::vector<std::uint32_t> out = {77};
  draw_positions(DrawStream(hop_key, id), degree, fanout, replace, out);
  return out;
}

std::vector<std::uint64_t> numbers(const HopReply& reply) {
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < reply.neighbours.size(); ++i) {
    ids.push_back(raw(reply.neighbours.ids()[i]));
  }
  return ids;
}

TEST(DrawPositions, FollowFloydsAlgorithmForShortAndLongFanouts) {
  for (const bool replace : {false, true}) {
    for (const std::uint32_t fanout : {0U, 1U, 2U, 15U, 63U, 64U, 65U, 200U}) {
      for (const std::uint32_t degree : {0U, 1U, 2U, 15U, 16U, 66U, 201U, 5000U, 0xFFFFFFFFU}) {
        if (degree == 0xFFFFFFFFU && fanout == 0) {
          continue;
        }
        EXPECT_EQ(
            drawn(degree + fanout, degree, fanout, replace),
            reference_positions(DrawStream(hop_key, degree + fanout), degree, fanout, replace))
            << "degree " << degree << ", fanout " << fanout << ", replace " << replace;
      }
    }
  }
}

TEST(DrawPositions, AreAscendingDistinctAndInRangeWithoutReplacement) {
  for (std::uint64_t id = 0; id < 300; ++id) {
    const auto positions = drawn(id, 100, 80, false);
    ASSERT_EQ(positions.size(), 80U);
    EXPECT_LT(positions.back(), 100U);
    EXPECT_EQ(std::ranges::adjacent_find(positions, std::greater_equal<>{}), positions.end());
  }
}

TEST(DrawPositions, WithReplacementRepeatAndNeedOnlyOneNeighbour) {
  EXPECT_EQ(drawn(5, 1, 4, true), (std::vector<std::uint32_t>{0, 0, 0, 0}));
  EXPECT_TRUE(drawn(5, 0, 4, true).empty());
}

class SampleOneHop : public ::testing::Test {
 protected:
  SampleOneHop()
      : graph_(testing::skewed_graph(300, 20)), cut_(cut_graph(graph_, 1)), part_(*cut_.parts[0]) {}

  HopRequest request(std::int32_t fanout, std::uint64_t nodes = 300) const {
    HopRequest request;
    request.fanout = fanout;
    request.key = hop_key;
    for (std::uint64_t i = 0; i < nodes; ++i) {
      request.frontier.push_back(NodeId{i});
    }
    return request;
  }

  testing::TestGraph graph_;
  testing::CutGraph cut_;
  const Part& part_;
};

TEST_F(SampleOneHop, TakesTheDrawnPositionsOfEachList) {
  for (const bool replace : {false, true}) {
    for (const std::int32_t fanout : {all_neighbours, 0, 1, 7, 30, 100}) {
      HopRequest ask = request(fanout);
      ask.replace = replace;
      ask.with_edge_ids = true;

      ASSERT_OK_AND_ASSIGN(const HopReply reply, sample_one_hop(part_, ask));

      std::size_t at = 0;
      const auto& lists = part_.edges[0].in;
      const auto edge_ids = reply.edge_ids.as<std::uint64_t>();
      ASSERT_EQ(reply.counts.size(), ask.frontier.size());
      for (std::size_t i = 0; i < ask.frontier.size(); ++i) {
        const DrawStream stream(hop_key, part_.nodes[0].original_ids[i]);
        const auto degree = static_cast<std::uint32_t>(lists.degree(i));
        const auto expected = reference_positions(stream, degree, fanout, replace);
        ASSERT_EQ(reply.counts[i], expected.size());
        for (const auto position : expected) {
          EXPECT_EQ(reply.neighbours.ids()[at], lists.neighbours[lists.offsets[i] + position]);
          EXPECT_EQ(edge_ids[at], lists.edge_ids[lists.offsets[i] + position]);
          ++at;
        }
      }
      EXPECT_EQ(at, reply.neighbours.size());
      EXPECT_EQ(reply.resume_position, 0U);
    }
  }
}

TEST_F(SampleOneHop, GivesANodeTheSameNeighboursWhereverItStands) {
  HopRequest ask = request(5);
  ask.frontier = {NodeId{9}, NodeId{4}, NodeId{9}};

  ASSERT_OK_AND_ASSIGN(const HopReply reply, sample_one_hop(part_, ask));

  const auto ids = numbers(reply);
  const auto second = ids.begin() + reply.counts[0] + reply.counts[1];
  EXPECT_EQ(reply.counts[0], reply.counts[2]);
  EXPECT_TRUE(std::equal(ids.begin(), ids.begin() + reply.counts[0], second, ids.end()));
}

TEST_F(SampleOneHop, NarrowAndWideIdsGiveTheSame) {
  const auto wide = cut_graph(graph_, 1, true);

  ASSERT_OK_AND_ASSIGN(const HopReply narrow_reply, sample_one_hop(part_, request(6)));
  ASSERT_OK_AND_ASSIGN(const HopReply wide_reply, sample_one_hop(*wide.parts[0], request(6)));

  EXPECT_EQ(narrow_reply.neighbours.width_bytes, 4);
  EXPECT_EQ(wide_reply.neighbours.width_bytes, 8);
  EXPECT_EQ(numbers(narrow_reply), numbers(wide_reply));
}

TEST_F(SampleOneHop, AnEmptyFrontierAndAFanoutOfZeroWork) {
  ASSERT_OK_AND_ASSIGN(const HopReply nobody, sample_one_hop(part_, request(3, 0)));
  ASSERT_OK_AND_ASSIGN(const HopReply nothing, sample_one_hop(part_, request(0, 3)));

  EXPECT_TRUE(nobody.counts.empty());
  EXPECT_EQ(nothing.counts, (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_EQ(nothing.neighbours.size(), 0U);
}

/// All of a request, asked for piece by piece.
std::vector<std::uint64_t> in_pieces(const Part& part, HopRequest ask, std::uint64_t most,
                                     std::uint64_t& largest) {
  std::vector<std::uint64_t> all;
  ask.max_edges = most;
  while (!ask.frontier.empty()) {
    const auto reply = sample_one_hop(part, ask);
    EXPECT_OK(reply);
    EXPECT_FALSE(reply->counts.empty());
    const auto ids = numbers(*reply);
    largest = std::max<std::uint64_t>(largest, ids.size());
    all.insert(all.end(), ids.begin(), ids.end());
    const std::size_t covered = reply->counts.size() - (reply->resume_position != 0 ? 1 : 0);
    ask.frontier.erase(ask.frontier.begin(),
                       ask.frontier.begin() + static_cast<std::ptrdiff_t>(covered));
    ask.first_position = reply->resume_position;
  }
  return all;
}

TEST_F(SampleOneHop, WholeListsAreCutExactlyAtTheLimit) {
  ASSERT_OK_AND_ASSIGN(const HopReply whole, sample_one_hop(part_, request(all_neighbours)));
  for (const std::uint64_t most : {0U, 1U, 7U, 100U, 100000U}) {
    std::uint64_t largest = 0;
    EXPECT_EQ(in_pieces(part_, request(all_neighbours), most, largest), numbers(whole));
    EXPECT_LE(largest, std::max<std::uint64_t>(most, 1));
  }
}

TEST_F(SampleOneHop, DrawnListsAreCutBetweenNodes) {
  ASSERT_OK_AND_ASSIGN(const HopReply whole, sample_one_hop(part_, request(6)));
  for (const std::uint64_t most : {0U, 1U, 7U, 100U}) {
    std::uint64_t largest = 0;
    EXPECT_EQ(in_pieces(part_, request(6), most, largest), numbers(whole));
    EXPECT_LE(largest, std::max<std::uint64_t>(most, 6)) << "one node passes alone";
  }
}

TEST_F(SampleOneHop, BadRequestsAreRefusedWithTheirValues) {
  const auto refuse = [&](const char* text, const auto& spoil) {
    HopRequest ask = request(3, 2);
    spoil(ask);
    EXPECT_ERROR(sample_one_hop(part_, ask), Errc::invalid_argument, text);
  };
  refuse("frontier node 300 is not in [0, 300)", [](auto& ask) { ask.frontier[1] = NodeId{300}; });
  refuse("got -2", [](auto& ask) { ask.fanout = -2; });
  refuse("edge type < 1 and node type < 1, got 1 and 0",
         [](auto& ask) { ask.edge_type = EdgeTypeId{1}; });
  refuse("got 0 and 7", [](auto& ask) { ask.node_type = NodeTypeId{7}; });
  refuse("first position 2 needs fanout -1", [](auto& ask) { ask.first_position = 2; });
  refuse("first position 9999 of node 0", [](auto& ask) {
    ask.fanout = all_neighbours;
    ask.first_position = 9999;
  });
}

TEST_F(SampleOneHop, NodesOfOtherPartsAreRefused) {
  const auto cut = cut_graph(graph_, 2);
  HopRequest ask = request(3, 0);
  ask.frontier = {cut.parts[1]->nodes[0].first};

  EXPECT_ERROR(sample_one_hop(*cut.parts[0], ask), Errc::invalid_argument, "part 0");
  EXPECT_OK(sample_one_hop(*cut.parts[1], ask));
}

/// A part that owns the first nodes of another one and has the lists of all others in its halo.
Part with_halo(const Part& whole, std::uint64_t owned) {
  Part part = whole;
  auto& nodes = part.nodes[0];
  const auto count = nodes.count;
  nodes.count = owned;
  nodes.halo_original_ids = nodes.original_ids.subspan(owned);
  nodes.original_ids = nodes.original_ids.first(owned);
  std::vector<std::uint64_t> others;
  for (auto local = owned; local < count; ++local) {
    others.push_back(raw(nodes.first) + local);
  }
  nodes.halo = nodes.halo_listed = RankedSet(others, raw(nodes.first) + count);
  auto& edges = part.edges[0];
  const auto begin = edges.in.offsets[owned];
  std::vector<std::uint64_t> offsets;
  for (auto row = owned; row <= count; ++row) {
    offsets.push_back(edges.in.offsets[row] - begin);
  }
  const auto segment = Segment::of(std::move(offsets));
  part.owners.push_back(segment.owner);
  edges.halo_in = edges.in;
  edges.halo_in.offsets = segment.as<std::uint64_t>();
  edges.halo_in.neighbours.visit([&](auto ids) { edges.halo_in.neighbours = ids.subspan(begin); });
  edges.halo_in.edge_ids = edges.in.edge_ids.subspan(begin);
  edges.in.offsets = edges.in.offsets.first(owned + 1);
  return part;
}

TEST_F(SampleOneHop, AHaloGivesWhatTheOwnerGives) {
  const auto first = raw(part_.nodes[0].first);
  const auto count = part_.nodes[0].count;
  ASSERT_GT(count, 4U);
  const auto part = with_halo(part_, 2);
  for (const std::int32_t fanout : {all_neighbours, 1, 3}) {
    for (const bool replace : {false, true}) {
      HopRequest wanted = request(fanout, 1);
      wanted.replace = replace;
      wanted.with_edge_ids = true;
      wanted.frontier.clear();
      for (auto local = count; local > 2; --local) {
        wanted.frontier.push_back(static_cast<NodeId>(first + local - 1));
      }
      ASSERT_OK_AND_ASSIGN(const auto owner, sample_one_hop(part_, wanted));
      ASSERT_OK_AND_ASSIGN(const auto halo, sample_one_hop(part, wanted, ListsOf::halo));
      EXPECT_EQ(halo.counts, owner.counts);
      EXPECT_TRUE(
          std::ranges::equal(halo.neighbours.segment.bytes, owner.neighbours.segment.bytes));
      EXPECT_TRUE(std::ranges::equal(halo.edge_ids.bytes, owner.edge_ids.bytes));
    }
  }
}

TEST_F(SampleOneHop, NodesWhoseListsAHaloDoesNotKeepAreRefused) {
  HopRequest wanted = request(3, 1);
  wanted.frontier = {part_.nodes[0].first};  // its own
  EXPECT_ERROR(sample_one_hop(with_halo(part_, 2), wanted, ListsOf::halo), Errc::invalid_argument,
               "whose lists its halo keeps");
  EXPECT_ERROR(sample_one_hop(part_, wanted, ListsOf::halo), Errc::failed_precondition,
               "no whole lists");
}

TEST_F(SampleOneHop, MissingListsAndEdgeIdsAreFailedPreconditions) {
  Part part = part_;
  part.complete_for = CompleteFor::in;
  part.edges[0].in.edge_ids = {};
  HopRequest outwards = request(3, 1);
  outwards.dir = EdgeDir::out;
  HopRequest with_ids = request(3, 1);
  with_ids.with_edge_ids = true;

  EXPECT_ERROR(sample_one_hop(part, outwards), Errc::failed_precondition, "direction out");
  EXPECT_ERROR(sample_one_hop(part, with_ids), Errc::failed_precondition, "no edge ids");
  part.edges[0].in = {};
  EXPECT_ERROR(sample_one_hop(part, request(3, 1)), Errc::failed_precondition, "direction in");
}

TEST_F(SampleOneHop, ListsOfTwoToTheThirtyTwoAreRefused) {
  Part part = part_;
  std::vector<std::uint64_t> offsets(301, std::uint64_t{1} << 32);
  offsets[0] = 0;
  part.edges[0].in.offsets = offsets;

  EXPECT_ERROR(sample_one_hop(part, request(3, 1)), Errc::unimplemented, "4294967296");
}

}  // namespace
}  // namespace troupe
