#include "runtime/sample/batch_builder.hpp"

#include "tests/runtime/sample/drive.hpp"

#include <numeric>

namespace troupe {
namespace {

using testing::Arrival;
using testing::cut_graph;
using testing::CutGraph;
using testing::drive;
using testing::drive_plain;
using testing::fanouts;
using testing::PlainBatch;
using testing::ReferenceSampler;
using testing::TestGraph;

const std::vector<std::uint64_t> mixed_seeds = {5,  1, 20, 5,
                                                33, 7, 59, 1};  // duplicates; 20 has no in-edges
constexpr BatchKey batch_key{.epoch = 3, .number = 9};

TEST(BatchBuilder, AgreesWithAnObviousSamplerForAllOptionsAndPartitionings) {
  const TestGraph graph = testing::skewed_graph(60, 6);
  for (int variant = 0; variant < 8; ++variant) {
    SampleOptions options = fanouts({4, 3, 2});
    options.replace = (variant & 1) != 0;
    options.dir = (variant & 2) != 0 ? EdgeDir::out : EdgeDir::in;
    options.frontier = (variant & 4) != 0 ? Frontier::all : Frontier::fresh;
    const PlainBatch expected = ReferenceSampler(graph, options, batch_key).sample(mixed_seeds);

    for (const std::uint32_t parts : {1U, 2U, 3U, 5U}) {
      const CutGraph cut = cut_graph(graph, parts, parts == 3);
      EXPECT_EQ(drive_plain(cut, options, batch_key, mixed_seeds), expected)
          << "variant " << variant << ", parts " << parts;
    }
  }
}

TEST(BatchBuilder, AgreesWithAnObviousSamplerByWeight) {
  TestGraph graph = testing::skewed_graph(60, 6);
  testing::add_weights(graph.edges[0]);
  for (int variant = 0; variant < 8; ++variant) {
    SampleOptions options = fanouts({4, all_neighbours, 2});
    options.choice = place_of_kind(choice_kinds(), "weighted");
    options.replace = (variant & 1) != 0;
    options.dir = (variant & 2) != 0 ? EdgeDir::out : EdgeDir::in;
    options.frontier = (variant & 4) != 0 ? Frontier::all : Frontier::fresh;
    const PlainBatch expected = ReferenceSampler(graph, options, batch_key).sample(mixed_seeds);
    for (const std::uint32_t parts : {1U, 2U, 3U, 5U}) {
      CutGraph cut = cut_graph(graph, parts, parts == 3);
      testing::add_alias_tables(cut, options.dir);
      for (const std::uint64_t most : {~std::uint64_t{0}, std::uint64_t{5}}) {
        options.max_edges_per_reply = most;
        EXPECT_EQ(drive_plain(cut, options, batch_key, mixed_seeds), expected)
            << "variant " << variant << ", parts " << parts << ", at most " << most;
      }
    }
  }
}

TEST(BatchBuilder, OrderOfRepliesDoesNotMatter) {
  const auto cut = cut_graph(testing::skewed_graph(60, 6), 5);
  const auto options = fanouts({5, 4, 3});

  const auto expected = drive_plain(cut, options, batch_key, mixed_seeds);

  EXPECT_EQ(drive_plain(cut, options, batch_key, mixed_seeds, 0, Arrival::reversed), expected);
  EXPECT_EQ(drive_plain(cut, options, batch_key, mixed_seeds, 0, Arrival::shuffled), expected);
}

TEST(BatchBuilder, CutRepliesGiveTheSameBatch) {
  const auto cut = cut_graph(testing::skewed_graph(60, 6), 3);
  for (const std::int32_t fanout : {all_neighbours, 4}) {
    auto options = fanouts({fanout, fanout});
    const auto expected = drive_plain(cut, options, batch_key, mixed_seeds);
    for (const std::uint64_t most : {0U, 1U, 7U}) {
      options.max_edges_per_reply = most;
      EXPECT_EQ(drive_plain(cut, options, batch_key, mixed_seeds, 0, Arrival::shuffled), expected)
          << "fanout " << fanout << ", at most " << most;
    }
  }
}

TEST(BatchBuilder, SampledEdgesExistAndCountsAreSmallerOfDegreeAndFanout) {
  const auto graph = testing::skewed_graph(100, 8);
  const auto cut = cut_graph(graph, 2);
  const auto batch = drive_plain(cut, fanouts({6, all_neighbours}), batch_key, mixed_seeds);
  std::vector<std::uint32_t> degree(graph.nodes[0].count);
  for (const auto& edge : graph.edges[0].edges) {
    ++degree[edge.destination];
  }

  const auto& edges = batch.edges[0];
  const auto& nodes = batch.nodes[0];
  for (std::size_t row = 0; row + 1 < edges.offsets.size(); ++row) {
    const std::uint64_t destination = nodes.originals[row];  // fresh frontier: row r is node r
    const std::uint32_t count = edges.offsets[row + 1] - edges.offsets[row];
    const bool first_hop = row < edges.row_begin[1];
    EXPECT_EQ(count, first_hop ? std::min(degree[destination], 6U) : degree[destination]);
    std::set<std::uint64_t> distinct;
    for (std::uint32_t k = edges.offsets[row]; k < edges.offsets[row + 1]; ++k) {
      const auto& edge = graph.edges[0].edges[edges.edge_ids[k]];
      EXPECT_EQ(edge.source, nodes.originals[edges.sources[k]]);
      EXPECT_EQ(edge.destination, destination);
      distinct.insert(edges.edge_ids[k]);
    }
    EXPECT_EQ(distinct.size(), count) << "an edge was drawn twice for node " << destination;
  }
}

TEST(BatchBuilder, NumbersSeedsFirstAndDuplicatesOnce) {
  const auto cut = cut_graph(testing::skewed_graph(60, 6), 3);

  const auto batch = drive_plain(cut, fanouts({3, 3}), batch_key, mixed_seeds);

  EXPECT_EQ(batch.seed_index, (std::vector<std::uint32_t>{0, 1, 2, 0, 3, 4, 5, 1}));
  EXPECT_EQ(batch.nodes[0].hop_end.front(), 6U);
  EXPECT_EQ(std::vector(batch.nodes[0].originals.begin(), batch.nodes[0].originals.begin() + 6),
            (std::vector<std::uint64_t>{5, 1, 20, 33, 7, 59}));
}

TEST(BatchBuilder, AnEmptyBatchIsDoneAtOnceAndWellFormed) {
  const auto cut = cut_graph(testing::skewed_graph(20, 3), 2);

  const auto batch = drive(cut, fanouts({3, 3}), batch_key, {});

  EXPECT_EQ(batch.num_nodes(), 0U);
  EXPECT_EQ(batch.num_edges(), 0U);
  EXPECT_EQ(batch.nodes[0].hop_end, (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_EQ(batch.edges[0].row_begin, (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_EQ(batch.edges[0].offsets, (std::vector<std::uint32_t>{0}));
}

TEST(BatchBuilder, IsolatedSeedsHaveEmptyRows) {
  const auto cut = cut_graph(testing::plain_graph(4, {{0, 1}}), 2);
  auto options = fanouts({2, 2});
  for (const bool replace : {false, true}) {
    options.replace = replace;

    const auto batch = drive_plain(cut, options, batch_key, {3, 2});

    EXPECT_EQ(batch.nodes[0].originals, (std::vector<std::uint64_t>{3, 2}));
    EXPECT_EQ(batch.edges[0].offsets, (std::vector<std::uint32_t>{0, 0, 0}));
    EXPECT_EQ(batch.edges[0].row_begin, (std::vector<std::uint32_t>{0, 2, 2}));
  }
}

TEST(BatchBuilder, KeepsSelfLoopsAndParallelEdges) {
  const auto cut = cut_graph(testing::plain_graph(2, {{0, 0}, {1, 0}, {1, 0}, {0, 0}}), 2);

  const auto batch = drive_plain(cut, fanouts({all_neighbours}), batch_key, {0});

  EXPECT_EQ(batch.edges[0].sources, (std::vector<std::uint32_t>{0, 0, 1, 1}));
  EXPECT_EQ(batch.edges[0].edge_ids, (std::vector<std::uint64_t>{0, 3, 1, 2}));
  EXPECT_EQ(batch.nodes[0].originals, (std::vector<std::uint64_t>{0, 1}));
}

TEST(BatchBuilder, AFanoutOfZeroAsksNothingAndEndsTheGrowth) {
  const auto cut = cut_graph(testing::skewed_graph(60, 6), 3);
  const auto graph_info = cut.info;
  BatchBuilder none(graph_info, *cut.book, std::make_shared<SampleOptions>(fanouts({0, 0})),
                    batch_key, NodeTypeId{}, cut.globals({1, 2}));

  EXPECT_TRUE(none.done());
  EXPECT_TRUE(none.questions().empty());
  const auto batch = drive_plain(cut, fanouts({2, 0, 2}), batch_key, {1, 2});
  EXPECT_EQ(batch.edges[0].row_begin[2] + 1, batch.edges[0].offsets.size());
  EXPECT_EQ(batch.nodes[0].hop_end[1], batch.nodes[0].hop_end[3]);
}

TEST(BatchBuilder, NoHopsGiveTheSeedsAlone) {
  const auto cut = cut_graph(testing::skewed_graph(20, 3), 2);

  const auto batch = drive(cut, fanouts({}), batch_key, {4, 4});

  EXPECT_EQ(batch.num_nodes(), 1U);
  EXPECT_EQ(batch.hops, 0U);
}

TEST(BatchBuilder, EdgeIdsAreLeftOutUnlessAskedFor) {
  const auto cut = cut_graph(testing::skewed_graph(60, 6), 2);
  auto options = fanouts({3});
  options.edge_data.edge_ids = false;

  const auto batch = drive(cut, options, batch_key, {1, 5});

  EXPECT_GT(batch.num_edges(), 0U);
  EXPECT_TRUE(batch.edges[0].edge_ids.empty());
}

TEST(BatchBuilder, DataOfEdgesComesWithThemWhereTheTypeHasIt) {
  auto graph = testing::papers_and_authors();
  testing::add_weights(graph.edges[0]);
  testing::add_weights(graph.edges[1]);
  testing::add_times(graph.edges[1]);
  SampleOptions options;
  options.fanout = {{2, 3, 2}, {2, 2, all_neighbours}, {1, all_neighbours, 3}};
  const std::vector<std::uint64_t> seeds = {3, 14, 3, 0};
  for (const EdgeData data :
       {EdgeData{.weights = true}, EdgeData{.times = true},
        EdgeData{.edge_ids = true, .times = true}, EdgeData{true, true, true}}) {
    for (const auto dir : {EdgeDir::in, EdgeDir::out}) {
      options.edge_data = data;
      options.dir = dir;
      options.max_edges_per_reply = ~std::uint64_t{0};
      const auto expected = ReferenceSampler(graph, options, batch_key).sample(seeds, 0);
      ASSERT_FALSE(expected.edges[1].sources.empty());
      EXPECT_EQ(expected.edges[0].weights.size(),
                data.weights ? expected.edges[0].sources.size() : 0);
      EXPECT_TRUE(expected.edges[0].times.empty());
      for (const std::uint32_t parts : {1U, 2U, 5U}) {
        for (const std::uint64_t most_edges : {1U, 3U, 1000U}) {
          options.max_edges_per_reply = most_edges;
          EXPECT_EQ(
              drive_plain(cut_graph(graph, parts), options, batch_key, seeds, 0, Arrival::shuffled),
              expected)
              << "parts " << parts << ", " << most_edges << " edges";
        }
      }
    }
  }
}

TEST(BatchBuilder, DisjointBatchesAgreeWithTheObviousSampler) {
  auto graph = testing::papers_and_authors();
  for (auto& type : graph.edges) {
    testing::add_weights(type);
  }
  SampleOptions options;
  options.disjoint = true;
  options.edge_data.edge_ids = true;
  const std::vector<std::uint64_t> seeds = {3, 14, 3, 0, 14};
  for (const auto& fanout :
       {std::vector<std::vector<std::int32_t>>{{2, 3, 2}, {2, 2, 4}, {1, 2, 3}},
        {{all_neighbours, 2, 1}, {2, all_neighbours, 70}}}) {
    options.fanout = fanout;
    for (const auto* choice : {"uniform", "weighted"}) {
      options.choice = place_of_kind(choice_kinds(), choice);
      for (const auto frontier : {Frontier::fresh, Frontier::all}) {
        for (const bool replace : {false, true}) {
          options.frontier = frontier;
          options.replace = replace;
          options.max_edges_per_reply = ~std::uint64_t{0};
          const auto expected = ReferenceSampler(graph, options, batch_key).sample(seeds, 0);
          for (const std::uint32_t parts : {1U, 2U, 5U}) {
            auto cut = cut_graph(graph, parts);
            testing::add_alias_tables(cut, options.dir);
            for (const std::uint64_t most_edges : {2U, 1000U}) {
              options.max_edges_per_reply = most_edges;
              EXPECT_EQ(drive_plain(cut, options, batch_key, seeds, 0, Arrival::shuffled), expected)
                  << "parts " << parts << ", " << most_edges << " edges, " << choice;
            }
          }
        }
      }
    }
  }
}

TEST(BatchBuilder, TreesOfADisjointBatchAreBatchesOfTheirSeeds) {
  const auto graph = testing::skewed_graph(60, 6);
  const auto cut = cut_graph(graph, 3);
  auto options = fanouts({3, 3});
  options.disjoint = true;
  const auto both = drive(cut, options, batch_key, {7, 7, 21});
  EXPECT_EQ(both.seed_index, (std::vector<std::uint32_t>{0, 1, 2}));
  std::vector<std::set<std::uint64_t>> of_tree(3);
  const auto& nodes = both.nodes[0];
  ASSERT_EQ(nodes.trees.size(), nodes.ids.size());
  for (std::size_t i = 0; i < nodes.ids.size(); ++i) {
    EXPECT_TRUE(of_tree[nodes.trees[i]].insert(raw(nodes.ids[i])).second);
  }
  EXPECT_NE(of_tree[0], of_tree[1]) << "equal seeds draw for themselves";
  // Edges stay inside their tree.
  const auto& edges = both.edges[0];
  for (std::size_t row = 0; row + 1 < edges.offsets.size(); ++row) {
    for (auto e = edges.offsets[row]; e < edges.offsets[row + 1]; ++e) {
      EXPECT_EQ(nodes.trees[edges.sources[e]], nodes.trees[row]);
    }
  }
  // The first tree is drawn as a batch of its seed alone.
  const auto alone = drive(cut, options, batch_key, {7});
  std::set<std::uint64_t> of_first;
  for (const auto id : alone.nodes[0].ids) {
    of_first.insert(raw(id));
  }
  EXPECT_EQ(of_tree[0], of_first);
}

TEST(BatchBuilder, SeedEpochNumberAndPurposeAllChangeTheDraws) {
  const auto cut = cut_graph(testing::skewed_graph(200, 30), 2);
  const auto options = fanouts({5, 5});
  auto other_seed = options;
  other_seed.job_seed = 43;
  const std::vector<std::uint64_t> seeds = {1, 2, 3, 4};

  const std::vector<PlainBatch> batches = {
      drive_plain(cut, options, {.epoch = 0, .number = 0}, seeds),
      drive_plain(cut, options, {.epoch = 1, .number = 0}, seeds),
      drive_plain(cut, options, {.epoch = 0, .number = 1}, seeds),
      drive_plain(cut, options, {.purpose = Purpose::evaluate, .epoch = 0, .number = 0}, seeds),
      drive_plain(cut, other_seed, {.epoch = 0, .number = 0}, seeds),
  };

  for (std::size_t i = 0; i < batches.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(text_of(batches[i]), text_of(batches[j])) << i << " and " << j;
    }
  }
  EXPECT_EQ(drive_plain(cut, options, {.epoch = 0, .number = 0}, seeds), batches[0]);
}

TEST(BatchBuilder, AsksEachPartOncePerHop) {
  const auto cut = cut_graph(testing::skewed_graph(60, 6), 5);
  BatchBuilder builder(cut.info, *cut.book, std::make_shared<SampleOptions>(fanouts({3, 3})),
                       batch_key, NodeTypeId{}, cut.globals({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));

  const auto questions = builder.questions();

  std::set<PartId> parts;
  std::size_t nodes = 0;
  for (const auto& question : questions) {
    EXPECT_TRUE(parts.insert(question.part).second);
    nodes += question.request.num_nodes();
  }
  EXPECT_EQ(nodes, 10U);
  EXPECT_TRUE(builder.questions().empty()) << "questions are handed out once";
  EXPECT_EQ(builder.hop(), 0U);
  EXPECT_EQ(builder.key(), batch_key);
}

TEST(BatchBuilder, WhereFeaturesOfEdgesAreWantedOwnersAreAskedAndNoHalos) {
  auto graph = testing::papers_and_authors();
  testing::add_edge_features(graph.edges[2], 3);  // of lists of authors
  const auto cut = cut_graph(graph, 2);
  auto keeps_all = std::make_shared<Part>(*cut.parts[0]);
  for (std::size_t t = 0; t < graph.nodes.size(); ++t) {
    std::vector<std::uint64_t> others;
    for (std::uint64_t id = 0; id < graph.nodes[t].count; ++id) {
      if (!keeps_all->nodes[t].owns(static_cast<NodeId>(id))) {
        others.push_back(id);
      }
    }
    keeps_all->nodes[t].halo_listed = RankedSet(others, graph.nodes[t].count);
  }
  const std::vector<std::shared_ptr<const Part>> here = {keeps_all};
  const auto asked = [&](std::uint16_t seed_type, std::vector<std::int32_t> fanout,
                         EdgeData edge_data) {
    SampleOptions options;
    options.fanout = {std::move(fanout)};
    options.edge_data = edge_data;
    std::vector<std::uint64_t> seeds(10);
    std::iota(seeds.begin(), seeds.end(), std::uint64_t{0});
    BatchBuilder builder(cut.info, *cut.book, std::make_shared<SampleOptions>(options), batch_key,
                         static_cast<NodeTypeId>(seed_type), cut.globals(seeds, seed_type), here);
    std::set<std::pair<PartId, ListsOf>> places;
    for (const auto& question : builder.questions()) {
      places.emplace(question.part, question.lists_of);
    }
    return places;
  };
  using Places = std::set<std::pair<PartId, ListsOf>>;
  const Places kept = {{PartId{0}, ListsOf::owned}, {PartId{0}, ListsOf::halo}};
  const Places owners = {{PartId{0}, ListsOf::owned}, {PartId{1}, ListsOf::owned}};
  EXPECT_EQ(asked(1, {2, 2, 2}, {}), kept);
  EXPECT_EQ(asked(1, {2, 2, 2}, {.entries = true}), owners);
  EXPECT_EQ(asked(0, {2, 2, 2}, {.entries = true}), kept) << "papers' lists have no features";
  EXPECT_EQ(asked(1, {2, 2, 0}, {.entries = true}), Places{}) << "nothing is drawn";
}

TEST(BatchBuilder, HeterogeneousGraphsAgreeWithTheObviousSampler) {
  const TestGraph graph = testing::papers_and_authors();
  SampleOptions options;
  options.fanout = {{2, 3, 2}, {2, 0, all_neighbours}, {1, 2, 3}};
  options.edge_data.edge_ids = true;
  for (const std::uint16_t seed_type : {std::uint16_t{0}, std::uint16_t{1}}) {
    for (const auto frontier : {Frontier::fresh, Frontier::all}) {
      for (const auto dir : {EdgeDir::in, EdgeDir::out}) {
        options.frontier = frontier;
        options.dir = dir;
        const auto expected =
            ReferenceSampler(graph, options, batch_key).sample({3, 14, 3, 0}, seed_type);
        for (const std::uint32_t parts : {1U, 2U, 5U}) {
          EXPECT_EQ(drive_plain(cut_graph(graph, parts), options, batch_key, {3, 14, 3, 0},
                                seed_type, Arrival::shuffled),
                    expected)
              << "seed type " << seed_type << ", parts " << parts;
        }
      }
    }
  }
}

TEST(BatchBuilder, AsksEachPartOncePerHopAlongAllEdgeTypes) {
  const auto cut = cut_graph(testing::papers_and_authors(), 3);
  SampleOptions options;
  options.fanout = {{2, 2, 2}, {2, 2, 2}};
  BatchBuilder builder(cut.info, *cut.book, std::make_shared<SampleOptions>(options), batch_key,
                       NodeTypeId{0}, cut.globals({0, 1, 2, 3, 4, 5, 6, 7}));
  for (std::uint32_t hop = 0; hop < 2; ++hop) {
    ASSERT_EQ(builder.hop(), hop);
    std::set<PartId> parts;
    for (const auto& question : builder.questions()) {
      const auto& request = question.request;
      EXPECT_TRUE(parts.insert(question.part).second);
      // The frontier of papers travels once for both edge types that end there.
      EXPECT_LE(request.frontiers.size(), hop == 0 ? 1U : 2U);
      EXPECT_GE(request.sections.size(), hop == 0 ? 2U : request.frontiers.size());
      ASSERT_OK_AND_ASSIGN(const auto reply,
                           sample_one_hop(*cut.parts[raw(question.part)], request));
      EXPECT_OK(builder.answer(question.id, reply));
    }
  }
  EXPECT_TRUE(builder.done());
}

TEST(BatchBuilder, RepliesCutAmidEdgeTypesGiveTheSameBatch) {
  const TestGraph graph = testing::papers_and_authors();
  SampleOptions options;
  options.fanout = {{2, 3, 2}, {all_neighbours, all_neighbours, 2}, {1, all_neighbours, 3}};
  options.edge_data.edge_ids = true;
  const auto expected = ReferenceSampler(graph, options, batch_key).sample({3, 14, 3, 0}, 0);
  for (const std::uint64_t most : {0U, 1U, 2U, 3U, 5U, 8U, 50U}) {
    options.max_edges_per_reply = most;
    for (const std::uint32_t parts : {1U, 3U}) {
      EXPECT_EQ(drive_plain(cut_graph(graph, parts), options, batch_key, {3, 14, 3, 0}, 0,
                            Arrival::shuffled),
                expected)
          << "at most " << most << " edges, parts " << parts;
    }
  }
}

TEST(BatchBuilder, EdgesSayWhichNodeTypesTheyJoin) {
  const TestGraph graph = testing::papers_and_authors();
  SampleOptions options;
  options.fanout = {{1, 1, 1}};
  options.dir = EdgeDir::out;

  const auto batch = drive(cut_graph(graph, 1), options, batch_key, {1}, 1);

  EXPECT_EQ(batch.edges[0].destination_type, NodeTypeId{1});
  EXPECT_EQ(batch.edges[0].source_type, NodeTypeId{0});
  EXPECT_EQ(batch.edges[2].destination_type, NodeTypeId{0});
}

/// Answers all that a builder asks.
void finish_batch(BatchBuilder& builder, const CutGraph& cut) {
  while (!builder.done()) {
    for (const auto& question : builder.questions()) {
      ASSERT_OK_AND_ASSIGN(auto reply,
                           sample_one_hop(*cut.parts[raw(question.part)], question.request));
      ASSERT_OK(builder.answer(question.id, std::move(reply)));
    }
  }
}

TEST(BatchBuilder, MemoryOfEarlierBatchesChangesNone) {
  const TestGraph graph = testing::papers_and_authors();
  const auto cut = cut_graph(graph, 2);
  const auto options = std::make_shared<SampleOptions>();
  options->fanout = {{2, 3, 2}, {all_neighbours, 2, 2}};
  const auto pool = std::make_shared<BatchScratchPool>();
  const auto start = [&](const std::vector<std::uint64_t>& seeds) {
    return BatchBuilder(cut.info, *cut.book, options, batch_key, NodeTypeId{0},
                        cut.globals(seeds, 0), {}, pool);
  };
  const auto expect_batch = [&](BatchBuilder builder, const std::vector<std::uint64_t>& seeds) {
    EXPECT_EQ(plain(std::move(builder).take(), cut),
              ReferenceSampler(graph, *options, batch_key).sample(seeds, 0));
  };
  for (const auto& seeds :
       std::vector<std::vector<std::uint64_t>>{{3, 14, 3}, {1}, {}, {0, 2, 5}}) {
    auto dropped = start({7});  // ends in the midst of a hop
    dropped.questions();
    auto first = start(seeds);
    auto second = start({9, 3});
    finish_batch(second, cut);
    finish_batch(first, cut);
    expect_batch(std::move(first), seeds);
    expect_batch(std::move(second), {9, 3});
  }
}

TEST(BatchBuilder, UsesTheSameMemoryAgain) {
  const auto cut = cut_graph(testing::papers_and_authors(), 2);
  const auto options = std::make_shared<SampleOptions>();
  options->fanout = {{2, 3, 2}};
  const auto pool = std::make_shared<BatchScratchPool>();
  std::vector<std::size_t> kept;
  for (int batch = 0; batch < 3; ++batch) {
    {
      BatchBuilder builder(cut.info, *cut.book, options, batch_key, NodeTypeId{0},
                           cut.globals({3, 14}, 0), {}, pool);
      EXPECT_EQ(pool->kept_bytes(), 0U) << "what there is is in use";
      EXPECT_GE(scratch_bytes(), kept.empty() ? 0 : kept.back()) << "and counted";
      finish_batch(builder, cut);
    }
    kept.push_back(pool->kept_bytes());
  }
  EXPECT_GT(kept[0], 0U);
  EXPECT_EQ(kept[1], kept[0]);
  EXPECT_EQ(kept[2], kept[0]);
}

TEST(BatchBuilder, CountsTheTablesOfTheProcess) {
  const auto cut = cut_graph(testing::papers_and_authors(), 2);
  const auto options = std::make_shared<SampleOptions>();
  options->fanout = {{2, 3, 2}};
  const auto before = scratch_bytes();
  {
    const auto pool = std::make_shared<BatchScratchPool>();
    {
      BatchBuilder builder(cut.info, *cut.book, options, batch_key, NodeTypeId{0},
                           cut.globals({3, 14}, 0), {}, pool);
      finish_batch(builder, cut);
    }
    EXPECT_EQ(scratch_bytes(), before + pool->kept_bytes());
  }
  EXPECT_EQ(scratch_bytes(), before);
}

}  // namespace
}  // namespace troupe
