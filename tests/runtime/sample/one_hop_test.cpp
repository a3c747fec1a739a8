#include "runtime/sample/one_hop.hpp"

#include "runtime/sample/choice/uniform.hpp"
#include "tests/runtime/sample/drive.hpp"
#include "tests/support/one_section.hpp"

#include <random>

namespace troupe {
namespace {

using testing::cut_graph;
using testing::neighbors_of;
using testing::one_hop_request;
using testing::reference_positions;

constexpr StreamKey hop_key{{0x12345678, 0x9ABCDEF0}};

std::vector<std::uint32_t> drawn(std::uint64_t id, std::uint32_t degree, std::uint32_t fanout,
                                 bool replace) {
  std::vector<std::uint32_t> out = {77};
  draw_positions(DrawStream(hop_key, id), degree, fanout, replace, out);
  return out;
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
    HopRequest request = one_hop_request();
    request.sections[0].fanout = fanout;
    request.sections[0].key = hop_key;
    for (std::uint64_t i = 0; i < nodes; ++i) {
      request.frontiers[0].nodes.push_back(NodeId{i});
    }
    return request;
  }

  testing::TestGraph graph_;
  testing::CutGraph cut_;
  const Part& part_;
};

/// Compares a reply along one edge type with draws of one node after the other.
void expect_drawn_positions(const Part& part, HopRequest ask) {
  ask.sections[0].edge_data.edge_ids = true;
  ASSERT_OK_AND_ASSIGN(const HopReply reply, sample_one_hop(part, ask));

  std::size_t at = 0;
  const auto ids = neighbors_of(reply);
  const auto& lists = part.edges[0].in;
  const auto edge_ids = testing::data_of(reply).edge_ids;
  const auto& nodes = ask.frontiers[0].nodes;
  ASSERT_EQ(reply.counts.size(), nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto row = raw(nodes[i]);
    const DrawStream stream(hop_key, part.nodes[0].original_ids[row]);
    const auto degree = static_cast<std::uint32_t>(lists.degree(row));
    const auto expected = reference_positions(stream, degree, ask.sections[0].fanout, ask.replace);
    ASSERT_EQ(reply.counts[i], expected.size()) << "place " << i << ", degree " << degree;
    for (const auto position : expected) {
      EXPECT_EQ(static_cast<NodeId>(ids[at]), lists.neighbours[lists.offsets[row] + position]);
      EXPECT_EQ(edge_ids[at], lists.edge_ids[lists.offsets[row] + position]);
      ++at;
    }
  }
  EXPECT_EQ(at, ids.size());
  EXPECT_EQ(reply.sections[0].resume_position, 0U);
}

TEST_F(SampleOneHop, TakesTheDrawnPositionsOfEachList) {
  for (const bool replace : {false, true}) {
    for (const std::int32_t fanout : {all_neighbours, 0, 1, 7, 30, 100}) {
      HopRequest ask = request(fanout);
      ask.replace = replace;
      expect_drawn_positions(part_, std::move(ask));
    }
  }
}

TEST_F(SampleOneHop, GroupsOfShortListsAndLongListsAreDrawnAlike) {
  const auto graph = testing::skewed_graph(2000, 1);  // most lists are empty
  const auto cut = cut_graph(graph, 1);
  std::mt19937 random(1);
  for (const bool replace : {false, true}) {
    for (const std::int32_t fanout : {all_neighbours, 1, 3, 10}) {
      HopRequest ask = request(fanout, 0);
      ask.replace = replace;
      for (int i = 0; i < 1000; ++i) {
        ask.frontiers[0].nodes.push_back(static_cast<NodeId>(random() % 2000));
      }
      expect_drawn_positions(*cut.parts[0], std::move(ask));
    }
  }
}

TEST_F(SampleOneHop, AReplyOfShortListsEndsWhereItIsFull) {
  const auto graph = testing::skewed_graph(2000, 1);
  const auto cut = cut_graph(graph, 1);
  for (const std::uint64_t most : {1U, 50U, 333U}) {
    HopRequest ask = request(5, 2000);
    ask.max_edges = most;
    ASSERT_OK_AND_ASSIGN(const HopReply reply, sample_one_hop(*cut.parts[0], ask));

    const auto& lists = cut.parts[0]->edges[0].in;
    const auto edges = neighbors_of(reply).size();
    ASSERT_LT(reply.counts.size(), 2000U);
    EXPECT_LE(edges, most);
    EXPECT_GT(edges + std::min<std::uint64_t>(lists.degree(reply.counts.size()), 5), most);
  }
}

TEST_F(SampleOneHop, GivesANodeTheSameNeighboursWhereverItStands) {
  HopRequest ask = request(5);
  ask.frontiers[0].nodes = {NodeId{9}, NodeId{4}, NodeId{9}};

  ASSERT_OK_AND_ASSIGN(const HopReply reply, sample_one_hop(part_, ask));

  const auto ids = neighbors_of(reply);
  const auto second = ids.begin() + reply.counts[0] + reply.counts[1];
  EXPECT_EQ(reply.counts[0], reply.counts[2]);
  EXPECT_TRUE(std::equal(ids.begin(), ids.begin() + reply.counts[0], second, ids.end()));
}

TEST_F(SampleOneHop, NarrowAndWideIdsGiveTheSame) {
  const auto wide = cut_graph(graph_, 1, true);

  ASSERT_OK_AND_ASSIGN(const HopReply narrow_reply, sample_one_hop(part_, request(6)));
  ASSERT_OK_AND_ASSIGN(const HopReply wide_reply, sample_one_hop(*wide.parts[0], request(6)));

  EXPECT_EQ(narrow_reply.sections[0].width_bytes, 4);
  EXPECT_EQ(wide_reply.sections[0].width_bytes, 8);
  EXPECT_EQ(neighbors_of(narrow_reply), neighbors_of(wide_reply));
}

TEST_F(SampleOneHop, AnEmptyFrontierAndAFanoutOfZeroWork) {
  ASSERT_OK_AND_ASSIGN(const HopReply nobody, sample_one_hop(part_, request(3, 0)));
  ASSERT_OK_AND_ASSIGN(const HopReply nothing, sample_one_hop(part_, request(0, 3)));

  EXPECT_TRUE(nobody.counts.empty());
  EXPECT_EQ(nothing.counts, (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_EQ(neighbors_of(nothing).size(), 0U);
}

/// All of a request, asked for piece by piece.
std::vector<std::uint64_t> in_pieces(const Part& part, HopRequest ask, std::uint64_t most,
                                     std::uint64_t& largest) {
  std::vector<std::uint64_t> all;
  ask.max_edges = most;
  while (!ask.frontiers[0].nodes.empty()) {
    const auto reply = sample_one_hop(part, ask);
    EXPECT_OK(reply);
    EXPECT_FALSE(reply->counts.empty());
    const auto ids = neighbors_of(*reply);
    largest = std::max<std::uint64_t>(largest, ids.size());
    all.insert(all.end(), ids.begin(), ids.end());
    const std::size_t covered =
        reply->counts.size() - (reply->sections[0].resume_position != 0 ? 1 : 0);
    ask.frontiers[0].nodes.erase(
        ask.frontiers[0].nodes.begin(),
        ask.frontiers[0].nodes.begin() + static_cast<std::ptrdiff_t>(covered));
    ask.sections[0].first_position = reply->sections[0].resume_position;
  }
  return all;
}

TEST_F(SampleOneHop, WholeListsAreCutExactlyAtTheLimit) {
  ASSERT_OK_AND_ASSIGN(const HopReply whole, sample_one_hop(part_, request(all_neighbours)));
  for (const std::uint64_t most : {0U, 1U, 7U, 100U, 100000U}) {
    std::uint64_t largest = 0;
    EXPECT_EQ(in_pieces(part_, request(all_neighbours), most, largest), neighbors_of(whole));
    EXPECT_LE(largest, std::max<std::uint64_t>(most, 1));
  }
}

TEST_F(SampleOneHop, DrawnListsAreCutBetweenNodes) {
  ASSERT_OK_AND_ASSIGN(const HopReply whole, sample_one_hop(part_, request(6)));
  for (const std::uint64_t most : {0U, 1U, 7U, 100U}) {
    std::uint64_t largest = 0;
    EXPECT_EQ(in_pieces(part_, request(6), most, largest), neighbors_of(whole));
    EXPECT_LE(largest, std::max<std::uint64_t>(most, 6)) << "one node passes alone";
  }
}

TEST_F(SampleOneHop, BadRequestsAreRefusedWithTheirValues) {
  const auto refuse = [&](const char* text, const auto& spoil) {
    HopRequest ask = request(3, 2);
    spoil(ask);
    EXPECT_ERROR(sample_one_hop(part_, ask), Errc::invalid_argument, text);
  };
  refuse("frontier node 300 is not in [0, 300)",
         [](auto& ask) { ask.frontiers[0].nodes[1] = NodeId{300}; });
  refuse("got -2", [](auto& ask) { ask.sections[0].fanout = -2; });
  refuse("edge type < 1 and node type < 1, got 1 and 0",
         [](auto& ask) { ask.sections[0].edge_type = EdgeTypeId{1}; });
  refuse("got 0 and 7", [](auto& ask) { ask.frontiers[0].node_type = NodeTypeId{7}; });
  refuse("first position 2 needs fanout -1", [](auto& ask) { ask.sections[0].first_position = 2; });
  refuse("first position 9999 of node 0", [](auto& ask) {
    ask.sections[0].fanout = all_neighbours;
    ask.sections[0].first_position = 9999;
  });
}

TEST_F(SampleOneHop, NodesOfOtherPartsAreRefused) {
  const auto cut = cut_graph(graph_, 2);
  HopRequest ask = request(3, 0);
  ask.frontiers[0].nodes = {cut.parts[1]->nodes[0].first};

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
  if (!edges.in.aliases.empty()) {
    edges.halo_in.aliases = edges.in.aliases.subspan(begin);
  }
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
      wanted.sections[0].edge_data.edge_ids = true;
      wanted.frontiers[0].nodes.clear();
      for (auto local = count; local > 2; --local) {
        wanted.frontiers[0].nodes.push_back(static_cast<NodeId>(first + local - 1));
      }
      ASSERT_OK_AND_ASSIGN(const auto owner, sample_one_hop(part_, wanted));
      ASSERT_OK_AND_ASSIGN(const auto halo, sample_one_hop(part, wanted, ListsOf::halo));
      EXPECT_EQ(halo.counts, owner.counts);
      EXPECT_TRUE(std::ranges::equal(halo.neighbours.bytes, owner.neighbours.bytes));
      EXPECT_TRUE(std::ranges::equal(halo.edge_data.bytes, owner.edge_data.bytes));
    }
  }
}

TEST_F(SampleOneHop, EachTreeDrawsForItself) {
  const auto& lists = part_.edges[0].in;
  std::uint64_t node = 0;
  while (lists.degree(node) < 20) {
    ++node;
  }
  const NodeId hub{node};
  HopRequest ask = request(5);
  ask.frontiers[0].nodes = {hub, hub, hub, NodeId{4}};
  ask.frontiers[0].trees = {0, 1, 0, 7};
  ASSERT_OK_AND_ASSIGN(const HopReply reply, sample_one_hop(part_, ask));
  const auto ids = neighbors_of(reply);
  const auto list = [&](std::size_t i) {
    return std::vector(ids.begin() + static_cast<std::ptrdiff_t>(5 * i),
                       ids.begin() + static_cast<std::ptrdiff_t>(5 * i + 5));
  };
  ASSERT_EQ(reply.counts, (std::vector<std::uint32_t>{5, 5, 5, reply.counts[3]}));
  EXPECT_EQ(list(0), list(2));
  EXPECT_NE(list(0), list(1));
  ask.frontiers[0].trees = {0, 1};
  EXPECT_ERROR(sample_one_hop(part_, ask), Errc::invalid_argument,
               "expected trees of 4 nodes or none, got 2");
}

TEST_F(SampleOneHop, DataOfEdgesIsOfTheEntriesThatAreTaken) {
  testing::add_weights(graph_.edges[0]);
  testing::add_times(graph_.edges[0]);
  auto cut = cut_graph(graph_, 1);
  testing::add_alias_tables(cut, EdgeDir::in);
  const auto& type = graph_.edges[0];
  // By weight less is taken than planned.
  for (const auto& [fanout, choice] :
       std::vector<std::pair<std::int32_t, const char*>>{{all_neighbours, "uniform"},
                                                         {0, "uniform"},
                                                         {3, "last"},
                                                         {100, "uniform"},
                                                         {3, "weighted"},
                                                         {100, "weighted"}}) {
    HopRequest ask = request(fanout, 20);
    ask.choice = place_of_kind(choice_kinds(), choice);
    ask.sections[0].edge_data = {true, true, true};
    ASSERT_OK_AND_ASSIGN(const HopReply reply, sample_one_hop(*cut.parts[0], ask));
    EXPECT_EQ(reply.sections[0].edge_data, ask.sections[0].edge_data);
    const auto data = testing::data_of(reply);
    const auto& [edges, weights, times] = std::tie(data.edge_ids, data.weights, data.times);
    ASSERT_EQ(edges.size(), neighbors_of(reply).size());
    ASSERT_EQ(weights.size(), edges.size());
    ASSERT_EQ(times.size(), edges.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
      EXPECT_EQ(weights[i], type.weights[edges[i]]);
      EXPECT_EQ(times[i], type.times[edges[i]]);
    }
  }
}

TEST_F(SampleOneHop, EntryNumbersAreTheEdgesPlacesInTheMainLists) {
  testing::add_weights(graph_.edges[0]);
  auto both = cut_graph(graph_, 2);
  testing::add_alias_tables(both, EdgeDir::in);
  auto out = cut_graph(graph_, 2);
  testing::keep_out_lists(out, graph_);
  testing::add_alias_tables(out, EdgeDir::out);
  for (const auto dir : {EdgeDir::in, EdgeDir::out}) {
    const auto& part = *(dir == EdgeDir::in ? both : out).parts[0];
    const auto& lists = part.edges[0].lists(dir);
    for (const auto* choice : {"uniform", "weighted"}) {
      for (const auto fanout : {all_neighbours, 0, 3, 100}) {
        HopRequest ask = request(fanout, 0);
        ask.dir = dir;
        ask.choice = place_of_kind(choice_kinds(), choice);
        ask.sections[0].edge_data = {.edge_ids = true, .entries = true};
        for (std::uint64_t i = part.nodes[0].count; i-- > 0;) {
          const auto node = static_cast<NodeId>(raw(part.nodes[0].first) + i);
          const auto place = ask.frontiers[0].nodes.size();
          ask.frontiers[0].nodes.push_back(node);
          if (lists.degree(i) > 1) {  // leave one out
            const auto neighbor = lists.neighbours[lists.offsets[i] + 1];
            ask.sections[0].excluded.push_back({place, neighbor});
          }
        }
        ASSERT_OK_AND_ASSIGN(const HopReply reply, sample_one_hop(part, ask));
        EXPECT_EQ(reply.sections[0].edge_data, ask.sections[0].edge_data);
        ASSERT_OK_AND_ASSIGN(const auto sections, sections_of(reply));
        const auto& [ids, entries] = std::tie(sections[0].edge_ids, sections[0].entries);
        ASSERT_EQ(entries.size(), sections[0].neighbours.size());
        for (std::size_t i = 0; i < entries.size(); ++i) {
          ASSERT_LT(entries[i], lists.edge_ids.size());
          EXPECT_EQ(lists.edge_ids[entries[i]], ids[i]);
        }
        EXPECT_EQ(entries.empty(), fanout == 0);
      }
    }
  }
}

TEST_F(SampleOneHop, ListsThatHaveNoFeaturesBesideThemGiveNoEntryNumbers) {
  HopRequest ask = request(3, 5);
  ask.sections[0].edge_data.entries = true;
  EXPECT_OK(sample_one_hop(part_, ask));
  ask.dir = EdgeDir::out;  // the part has both
  EXPECT_ERROR(sample_one_hop(part_, ask), Errc::failed_precondition,
               "no features beside these lists");
  HopRequest around = request(3, 0);
  around.frontiers[0].nodes = {static_cast<NodeId>(raw(part_.nodes[0].first) + 3)};
  EXPECT_OK(sample_one_hop(with_halo(part_, 2), around, ListsOf::halo));
  around.sections[0].edge_data.entries = true;
  EXPECT_ERROR(sample_one_hop(with_halo(part_, 2), around, ListsOf::halo),
               Errc::failed_precondition, "the main lists of the nodes' owner");
}

TEST_F(SampleOneHop, AHaloGivesByWeightWhatTheOwnerGives) {
  testing::add_weights(graph_.edges[0]);
  auto cut = cut_graph(graph_, 1);
  testing::add_alias_tables(cut, EdgeDir::in);
  const auto& whole = *cut.parts[0];
  for (const bool replace : {false, true}) {
    HopRequest wanted = request(3, 0);
    wanted.choice = place_of_kind(choice_kinds(), "weighted");
    wanted.replace = replace;
    for (auto local = whole.nodes[0].count; local > 2; --local) {
      wanted.frontiers[0].nodes.push_back(
          static_cast<NodeId>(raw(whole.nodes[0].first) + local - 1));
    }
    ASSERT_OK_AND_ASSIGN(const auto owner, sample_one_hop(whole, wanted));
    ASSERT_OK_AND_ASSIGN(const auto halo,
                         sample_one_hop(with_halo(whole, 2), wanted, ListsOf::halo));
    EXPECT_EQ(halo.counts, owner.counts);
    EXPECT_TRUE(std::ranges::equal(halo.neighbours.bytes, owner.neighbours.bytes));
  }
}

TEST_F(SampleOneHop, AChoiceByWeightNeedsAliasTablesWhereItDraws) {
  HopRequest wanted = request(3);
  wanted.choice = place_of_kind(choice_kinds(), "weighted");
  EXPECT_ERROR(sample_one_hop(part_, wanted), Errc::failed_precondition,
               "edge type 0 has no alias tables for direction in");
  for (const std::int32_t fanout : {all_neighbours, 0}) {
    wanted.sections[0].fanout = fanout;
    EXPECT_OK(sample_one_hop(part_, wanted));
  }
}

TEST_F(SampleOneHop, NodesWhoseListsAHaloDoesNotKeepAreRefused) {
  HopRequest wanted = request(3, 1);
  wanted.frontiers[0].nodes = {part_.nodes[0].first};  // its own
  EXPECT_ERROR(sample_one_hop(with_halo(part_, 2), wanted, ListsOf::halo), Errc::invalid_argument,
               "whose lists its halo keeps");
  EXPECT_ERROR(sample_one_hop(part_, wanted, ListsOf::halo), Errc::failed_precondition,
               "no whole lists");
}

TEST_F(SampleOneHop, SectionsOfWrongOrderOrPlaceAreRefused) {
  HopRequest twice = request(3, 2);
  twice.sections.push_back(twice.sections[0]);
  EXPECT_ERROR(sample_one_hop(part_, twice), Errc::invalid_argument,
               "edge types in ascending order, got 0 after 0");
  HopRequest nowhere = request(3, 2);
  nowhere.sections[0].frontier = 1;
  EXPECT_ERROR(sample_one_hop(part_, nowhere), Errc::invalid_argument, "frontier < 1, got 1");
  HopRequest nothing;
  ASSERT_OK_AND_ASSIGN(const auto reply, sample_one_hop(part_, nothing));
  EXPECT_TRUE(reply.sections.empty());
}

/// Takes every second entry, at most `fanout`; fewer than it planned.
class EverySecond : public Choice {
 public:
  explicit EverySecond(const ChoiceOptions& options) : fanout_(options.fanout) {}
  void plan(StreamKey /*key*/, std::span<Stretch> group) override {
    for (auto& stretch : group) {
      stretch.whole = stretch.entries <= 1;
      stretch.taken = stretch.entries;
    }
  }
  void choose(StreamKey, std::span<Stretch> group, std::span<std::uint32_t> positions) override {
    std::size_t next = 0;
    for (auto& stretch : group) {
      stretch.taken = std::min(fanout_, (stretch.entries + 1) / 2);
      for (std::uint32_t i = 0; i < stretch.taken; ++i) {
        positions[next + i] = 2 * i;
      }
      next += stretch.taken;
    }
  }

 private:
  std::uint32_t fanout_;
};

TEST_F(SampleOneHop, AMadeUpChoiceTakesItsPositionsAndNothingElseChanges) {
  const std::vector<ChoiceKind> kinds{
      choice_kinds()[0],
      {.name = "every_second", .help = "made up", .make = [](const ChoiceOptions& options) {
         return std::unique_ptr<Choice>(std::make_unique<EverySecond>(options));
       }}};
  HopRequest ask = request(4);
  ask.choice = 1;
  ask.sections[0].edge_data.edge_ids = true;

  ASSERT_OK_AND_ASSIGN(const HopReply reply, sample_one_hop(part_, ask, ListsOf::owned, kinds));

  const auto& lists = part_.edges[0].in;
  const auto ids = neighbors_of(reply);
  const auto edge_ids = testing::data_of(reply).edge_ids;
  std::size_t at = 0;
  for (std::size_t i = 0; i < reply.counts.size(); ++i) {
    ASSERT_EQ(reply.counts[i], std::min<std::uint64_t>(4, (lists.degree(i) + 1) / 2)) << i;
    for (std::uint32_t k = 0; k < reply.counts[i]; ++k, ++at) {
      EXPECT_EQ(ids[at], raw(lists.neighbours[lists.offsets[i] + 2 * k]));
      EXPECT_EQ(edge_ids[at], lists.edge_ids[lists.offsets[i] + 2 * k]);
    }
  }
  EXPECT_EQ(at, ids.size());
  EXPECT_EQ(at, edge_ids.size());
}

/// Takes the first entry of lists of odd length, and none of others, for which it planned one too.
class FirstOfOdd : public Choice {
 public:
  void plan(StreamKey /*key*/, std::span<Stretch> group) override {
    for (auto& stretch : group) {
      stretch.taken = 1;
    }
  }
  void choose(StreamKey, std::span<Stretch> group, std::span<std::uint32_t> positions) override {
    std::ranges::fill(positions, 0U);
    for (auto& stretch : group) {
      stretch.taken = stretch.entries % 2;
    }
  }
};

TEST(SampleOneHopAlongTypes, ASectionOfWhichNothingIsTakenLeavesTheOthersReadable) {
  testing::TestGraph graph;
  graph.nodes = {{.name = "node", .count = 10}};
  for (const std::uint64_t degree : {3U, 5U, 2U}) {
    auto& edges = graph.edges.emplace_back();
    edges.name = fmt::format("of_{}", degree);
    for (std::uint64_t i = 0; i < degree; ++i) {
      edges.edges.push_back({degree + i, 0});
    }
  }
  const auto cut = cut_graph(graph, 1);
  const std::vector<ChoiceKind> kinds{
      {.name = "first_of_odd", .help = "made up", .make = [](const ChoiceOptions&) {
         return std::unique_ptr<Choice>(std::make_unique<FirstOfOdd>());
       }}};
  HopRequest ask = one_hop_request(cut.globals({0}));
  for (std::uint16_t e = 1; e < 3; ++e) {
    ask.sections.push_back({.edge_type = EdgeTypeId{e}, .key = {}});
  }
  for (auto& section : ask.sections) {
    section.fanout = 1;
  }

  ASSERT_OK_AND_ASSIGN(const HopReply reply,
                       sample_one_hop(*cut.parts[0], ask, ListsOf::owned, kinds));

  EXPECT_EQ(reply.counts, (std::vector<std::uint32_t>{1, 1, 0}));
  ASSERT_OK_AND_ASSIGN(const auto sections, sections_of(reply));
  EXPECT_TRUE(sections[2].neighbours.empty());
  EXPECT_EQ(neighbors_of(reply, 0), (std::vector<std::uint64_t>{raw(cut.global(3))}));
  EXPECT_EQ(neighbors_of(reply, 1), (std::vector<std::uint64_t>{raw(cut.global(5))}));
}

TEST_F(SampleOneHop, ChoicesThatAreNotThereOrNotBuiltAreRefused) {
  HopRequest ask = request(4);
  ask.choice = 99;
  EXPECT_ERROR(sample_one_hop(part_, ask), Errc::invalid_argument, "got 99");
  const std::vector<ChoiceKind> kinds{{.name = "planned", .help = "made up"}};
  ask.choice = 0;
  EXPECT_ERROR(sample_one_hop(part_, ask, ListsOf::owned, kinds), Errc::unimplemented,
               "\"planned\" is not built yet");
}

TEST_F(SampleOneHop, MissingListsAndEdgeIdsAreFailedPreconditions) {
  Part part = part_;
  part.complete_for = CompleteFor::in;
  part.edges[0].in.edge_ids = {};
  HopRequest outwards = request(3, 1);
  outwards.dir = EdgeDir::out;
  HopRequest with_ids = request(3, 1);
  with_ids.sections[0].edge_data.edge_ids = true;

  EXPECT_ERROR(sample_one_hop(part, outwards), Errc::failed_precondition, "direction out");
  EXPECT_ERROR(sample_one_hop(part, with_ids), Errc::failed_precondition, "no edge ids");
  HopRequest with_times = request(3, 1);
  with_times.sections[0].edge_data.times = true;
  EXPECT_ERROR(sample_one_hop(part, with_times), Errc::failed_precondition,
               "edge type 0 has no times stored");
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
