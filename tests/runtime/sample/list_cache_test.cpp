#include "runtime/sample/list_cache.hpp"

#include "tests/runtime/sample/drive.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/one_section.hpp"

#include <algorithm>

namespace troupe {
namespace {

using testing::cut_graph;
using testing::CutGraph;

/// Authors write papers, papers cite papers.
testing::TestGraph graph_of_two_types() {
  testing::TestGraph graph;
  graph.nodes = {{.name = "author", .count = 40}, {.name = "paper", .count = 60}};
  graph.edges = {{.name = "writes", .source = 0, .destination = 1},
                 {.name = "cites", .source = 1, .destination = 1},
                 {.name = "rev_writes", .source = 1, .destination = 0}};
  for (std::uint64_t i = 0; i < 300; ++i) {
    const auto author = i * i % 40;
    const auto paper = i * 7 % 60;
    graph.edges[0].edges.push_back({author, paper});
    graph.edges[1].edges.push_back({i * 11 % 60, paper % (1 + i % 60)});
    graph.edges[2].edges.push_back({paper, author});
  }
  for (auto& type : graph.edges) {
    testing::add_weights(type);
  }
  testing::add_times(graph.edges[1]);
  return graph;
}

/// A profile that calls every bucket of every part as hot as `heat(type, part, bucket)` says.
template <class Heat>
PartHeat heat_of(const CutGraph& cut, Heat heat) {
  PartHeat result;
  for (std::size_t t = 0; t < cut.info.node_types.size(); ++t) {
    auto& of_type = result.mean.emplace_back();
    for (std::uint32_t p = 0; p < cut.book->parts(); ++p) {
      auto& means = of_type.emplace_back();
      for (std::size_t b = 0; b < PartHeat::buckets; ++b) {
        means.push_back(heat(t, p, b));
      }
    }
  }
  return result;
}

PartHeat falling(const CutGraph& cut) {
  return heat_of(cut, [](std::size_t t, std::uint32_t p, std::size_t b) {
    return 1000.0 - static_cast<double>(10 * b) - static_cast<double>(3 * p + t);
  });
}

/// A way to sample: direction, data of edges, choice.
struct Way {
  EdgeDir dir = EdgeDir::in;
  EdgeData edge_data{};
  const char* choice = "uniform";
};

SampleOptions wanted(const Way& way) {
  SampleOptions options;
  options.fanout = {{3, 2, 1}};
  options.dir = way.dir;
  options.edge_data = way.edge_data;
  options.choice = place_of_kind(choice_kinds(), way.choice);
  options.job_seed = 7;
  options.max_edges_per_reply = 5;  // replies are cut
  return options;
}

class ListCache : public ::testing::TestWithParam<Way> {
 protected:
  ListCache() : options_(wanted(GetParam())) {
    if (choice_kinds()[options_.choice].needs_weights) {
      testing::add_alias_tables(cut_, options_.dir);
    }
  }

  /// Fetches pieces as long as they fit.
  std::uint64_t fill(ListCacheBuilder& builder, const std::vector<ListPiece>& pieces) const {
    std::uint64_t nodes = 0;
    for (const auto& piece : pieces) {
      std::vector<std::uint64_t> seeds;
      std::vector<OriginalId> originals;
      for (const auto id : piece.nodes()) {
        seeds.push_back(cut_.original(id, raw(piece.type)));
        originals.push_back(static_cast<OriginalId>(seeds.back()));
      }
      const auto batch = testing::drive(cut_, *builder.fetch_options(), {}, seeds, raw(piece.type));
      if (!builder.add(piece, batch, originals)) {
        break;
      }
      nodes += piece.count();
    }
    return nodes;
  }
  ListCacheBuilder builder(std::uint64_t budget) const {
    return {std::make_shared<const GraphInfo>(cut_.info), options_, budget};
  }

  CutGraph cut_ = cut_graph(graph_of_two_types(), 3);
  SampleOptions options_;
};

TEST_P(ListCache, AnswersLikeTheOwners) {
  const auto pieces = list_pieces(cut_.info, *cut_.book, falling(cut_), options_.dir,
                                  {true, false, false}, {.nodes = 4});
  auto filling = builder(1'000'000);
  fill(filling, pieces);
  ASSERT_OK_AND_ASSIGN(const auto part, std::move(filling).take(static_cast<PartId>(3)));

  for (std::uint16_t e = 0; e < 3; ++e) {
    const auto& type = cut_.info.edge_types[e];
    const auto of = options_.dir == EdgeDir::in ? type.destination : type.source;
    EXPECT_EQ(part->nodes_of(of).halo_listed.size(),
              cut_.book->count(of) - cut_.book->range(of, PartId{0}).size());
    for (const auto& owner : cut_.parts) {
      HopRequest request = testing::one_hop_request();
      request.sections[0].edge_type = static_cast<EdgeTypeId>(e);
      request.frontiers[0].node_type = of;
      request.dir = options_.dir;
      request.choice = options_.choice;
      request.sections[0].edge_data = options_.edge_data & edge_data_of(type);
      const auto& owned = owner->nodes_of(of);
      for (std::uint64_t i = 0; i < owned.count; ++i) {
        const auto id = static_cast<NodeId>(raw(owned.first) + i);
        EXPECT_EQ(part->nodes_of(of).halo_listed.contains(raw(id)), raw(owner->id) != 0);
        request.frontiers[0].nodes.push_back(id);
      }
      if (raw(owner->id) == 0) {
        continue;
      }
      for (const std::int32_t fanout : {2, all_neighbours}) {
        request.sections[0].fanout = fanout;
        ASSERT_OK_AND_ASSIGN(const auto right, sample_one_hop(*owner, request));
        ASSERT_OK_AND_ASSIGN(const auto kept, sample_one_hop(*part, request, ListsOf::halo));
        EXPECT_EQ(kept.counts, right.counts);
        ASSERT_EQ(testing::neighbors_of(kept), testing::neighbors_of(right));
        EXPECT_TRUE(std::ranges::equal(kept.edge_data.bytes, right.edge_data.bytes));
      }
    }
  }
}

TEST_P(ListCache, KeepsTheHottestPiecesThatFit) {
  const auto pieces = list_pieces(cut_.info, *cut_.book, falling(cut_), options_.dir,
                                  {true, false, false}, {.nodes = 1});
  std::uint64_t before = 0;
  for (const std::uint64_t budget : {0U, 500U, 1000U, 2000U, 4000U, 1'000'000U}) {
    auto filling = builder(budget);
    const auto nodes = fill(filling, pieces);
    ASSERT_OK_AND_ASSIGN(const auto part, std::move(filling).take(static_cast<PartId>(3)));
    EXPECT_GE(nodes, before) << budget;
    std::uint64_t bytes = 0;
    for (const auto& of_type : part->nodes) {
      bytes += of_type.halo_ids.size_bytes() + of_type.halo_original_ids.size_bytes() +
               of_type.halo.bytes() + of_type.halo_listed.bytes();
    }
    for (const auto& of_type : part->edges) {
      const auto& lists = of_type.halo_lists(options_.dir);
      bytes += lists.offsets.size_bytes() - sizeof(std::uint64_t) +
               lists.neighbours.size() * lists.neighbours.width_bytes() +
               lists.edge_ids.size_bytes() + lists.weights.size_bytes() + lists.times.size_bytes() +
               lists.aliases.size_bytes();
    }
    EXPECT_LE(bytes, budget);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const auto& of_type = part->nodes_of(pieces[i].type);
      EXPECT_EQ(of_type.halo_listed.contains(raw(pieces[i].nodes()[0])), i < nodes) << budget;
    }
    before = nodes;
  }
  EXPECT_EQ(before, pieces.size());
}

INSTANTIATE_TEST_SUITE_P(
    Ways, ListCache,
    ::testing::Values(
        Way{}, Way{.dir = EdgeDir::out}, Way{.edge_data = {.edge_ids = true}},
        Way{.dir = EdgeDir::out, .edge_data = {true, true, true}},
        Way{.edge_data = {.times = true}, .choice = "weighted"},
        Way{.dir = EdgeDir::out, .edge_data = {.weights = true}, .choice = "weighted"}));

TEST(ListPieces, AreTheHottestOfOtherPartsFirst) {
  const auto cut = cut_graph(testing::plain_graph(1000, {{0, 1}, {1, 2}}), 4);
  const auto pieces = list_pieces(cut.info, *cut.book, falling(cut), EdgeDir::in,
                                  {false, true, false, true}, {.nodes = 7});

  const auto all = cut.book->range(NodeTypeId{0}, PartId{0}).size() +
                   cut.book->range(NodeTypeId{0}, PartId{2}).size();
  std::vector<std::uint64_t> nodes;
  for (const auto& piece : pieces) {
    EXPECT_EQ(piece.count(), std::min<std::uint64_t>(7, all - nodes.size()));
    for (const auto id : piece.nodes()) {
      const auto owner = raw(cut.book->owner(piece.type, id));
      EXPECT_TRUE(owner == 0 || owner == 2);
      nodes.push_back(raw(id));
    }
  }
  const auto second = raw(cut.book->range(NodeTypeId{0}, PartId{2}).first);
  EXPECT_EQ(nodes[0], 0U);  // the hottest bucket
  EXPECT_LT(nodes[1], second + 10);
  std::ranges::sort(nodes);
  EXPECT_EQ(std::ranges::adjacent_find(nodes), nodes.end());  // none twice
  EXPECT_EQ(nodes.size(), all);
}

TEST(ListPieces, NoMoreAreChosenThanMayFit) {
  const auto cut = cut_graph(testing::plain_graph(1000, {{0, 1}, {1, 2}}), 4);
  const std::vector<bool> here{false, true, false, true};
  const auto nodes_of = [&](std::uint64_t budget) {
    std::vector<std::uint64_t> nodes;
    for (const auto& piece :
         list_pieces(cut.info, *cut.book, falling(cut), EdgeDir::in, here, {7, budget})) {
      std::ranges::transform(piece.nodes(), std::back_inserter(nodes),
                             [](auto id) { return raw(id); });
    }
    return nodes;
  };
  const auto all = nodes_of(~std::uint64_t{0});
  const auto some = nodes_of(100 * 16);  // bytes of an id here and of the original one

  EXPECT_GT(some.size(), 100U);
  EXPECT_LT(some.size(), all.size() / 2);
  EXPECT_TRUE(std::ranges::equal(some, std::span(all).first(some.size())));
}

TEST(ListPieces, NodesThatNothingReachesAndTypesWithoutListsHaveNone) {
  const auto cut = cut_graph(graph_of_two_types(), 2);
  auto info = cut.info;
  info.edge_types.resize(2);  // nothing leads to authors
  for (const auto& piece :
       list_pieces(info, *cut.book, falling(cut), EdgeDir::in, {false, false}, {.nodes = 100})) {
    EXPECT_EQ(piece.type, NodeTypeId{1});
  }
  const auto cold = heat_of(cut, [](auto, auto, auto) { return 0.0; });
  EXPECT_TRUE(
      list_pieces(info, *cut.book, cold, EdgeDir::in, {false, false}, {.nodes = 100}).empty());
}

}  // namespace
}  // namespace troupe
