// Whole batches over the wire: really sampled ones come back as they were, altered ones are refused.
#include "runtime/wire/codec.hpp"
#include "schema/batches.capnp.h"
#include "tests/runtime/feature/collect.hpp"
#include "tests/runtime/net/net_test_support.hpp"
#include "tests/runtime/sample/drive_links.hpp"
#include "tests/runtime/wire/examples.hpp"

#include <capnp/serialize.h>

#include <functional>
#include <set>
#include <string>

namespace troupe::net {
namespace {

using testing::CutGraph;

/// Papers cite papers, authors write papers: two node types, two edge types, one without features.
testing::TestGraph academic_graph(bool targets) {
  testing::TestGraph graph = testing::skewed_graph(60, 6);
  graph.nodes[0].name = "paper";
  testing::add_features(graph.nodes[0], 5);
  if (targets) {
    graph.nodes[0].labels.clear();
    graph.nodes[0].target_cols = 3;
    for (std::uint64_t i = 0; i < 180; ++i) {
      graph.nodes[0].targets.push_back(i % 7 == 0 ? NAN : static_cast<float>(i % 2));
    }
  }
  graph.nodes.push_back({.name = "author", .count = 20});
  testing::add_features(graph.nodes[1], 2);
  graph.nodes[1].labels.clear();
  graph.edges[0].name = "cites";
  testing::TestEdgeType writes{.name = "writes", .source = 1, .destination = 0};
  testing::TestEdgeType written{.name = "written", .source = 0, .destination = 1};
  for (std::uint64_t i = 0; i < 120; ++i) {
    writes.edges.push_back({i * 7 % 20, i * 11 % 60});
    written.edges.push_back({i * 11 % 60, i * 7 % 20});
  }
  testing::add_weights(writes);
  testing::add_times(written);
  testing::add_edge_features(graph.edges[0], 7);  // more numbers than any node type
  testing::add_edge_features(written, 2);
  graph.edges.push_back(std::move(writes));
  graph.edges.push_back(std::move(written));
  return graph;
}

struct Case {
  std::vector<std::vector<std::int32_t>> fanout{{4, 2, 1}, {3, 2, 2}};
  Frontier frontier = Frontier::fresh;
  EdgeData edge_data{};
  Subgraph subgraph = Subgraph::directional;
  bool disjoint = false;
  bool targets = false;
  bool seeds_only = false;
  DigestMode digest = DigestMode::full;
  std::vector<std::uint64_t> seeds{5, 1, 20, 5, 34};
};

constexpr std::array<EdgeData, 6> some_edge_data{{{},
                                                  {.edge_ids = true},
                                                  {.weights = true, .times = true},
                                                  {true, true, true},
                                                  {.entries = true},
                                                  {true, true, true, true}}};

ReadyBatch sampled(const Case& c, std::uint64_t number = 3) {
  static std::map<bool, CutGraph> graphs;
  auto& cut = graphs[c.targets];
  if (cut.parts.empty()) {
    cut = testing::cut_graph(academic_graph(c.targets), 3);
  }
  SampleOptions options;
  options.fanout = c.fanout;
  options.edge_data = c.edge_data;
  options.disjoint = c.disjoint;
  options.frontier = c.frontier;
  options.subgraph = c.subgraph;
  options.reverse_of = {EdgeTypeId{0}, EdgeTypeId{2}, EdgeTypeId{1}};
  options.job_seed = 11;
  auto collect =
      c.edge_data.entries ? testing::collect_with_edges(cut) : testing::collect_options(cut);
  collect->digest = c.digest;
  collect->with_original_ids = c.digest != DigestMode::off;
  collect->seeds_only = c.seeds_only;
  ReadyBatch ready;
  ready.batch = testing::collect(
      cut, collect, testing::drive(cut, options, {Purpose::train, 2, number}, c.seeds));
  ready.trace = {1, 2, {{3}, {4}}, 5, 1ULL << 40, 6, 7, 8, 9};
  return ready;
}

bool same_floats(const Matrix& a, const Matrix& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() &&
         std::ranges::equal(std::as_bytes(a.view().flat()), std::as_bytes(b.view().flat()));
}

void expect_same(const ReadyBatch& back, const ReadyBatch& sent) {
  const auto& a = *back.batch.sampled;
  const auto& b = *sent.batch.sampled;
  // Does not compile when a field is added: then the schema and the codec need it too.
  const auto& [key, frontier, disjoint, subgraph, seed_type, seed_index, nodes, edges, links, walks,
               hops] = a;
  EXPECT_EQ(subgraph, b.subgraph);
  ASSERT_EQ(walks.has_value(), b.walks.has_value());
  if (walks) {
    const auto& [steps, column_types, places, restarts, undecided] = *walks;
    EXPECT_EQ(steps, b.walks->steps);
    EXPECT_EQ(column_types, b.walks->column_types);
    EXPECT_EQ(places, b.walks->nodes);
    EXPECT_EQ(restarts, b.walks->restarts);
    EXPECT_EQ(undecided, b.walks->undecided);
  }
  EXPECT_EQ(key, b.key);
  EXPECT_EQ(frontier, b.frontier);
  EXPECT_EQ(disjoint, b.disjoint);
  EXPECT_EQ(seed_type, b.seed_type);
  EXPECT_EQ(seed_index, b.seed_index);
  EXPECT_EQ(hops, b.hops);
  ASSERT_EQ(nodes.size(), b.nodes.size());
  for (std::size_t t = 0; t < nodes.size(); ++t) {
    const auto& [ids, hop_end, trees] = nodes[t];
    EXPECT_EQ(ids, b.nodes[t].ids);
    EXPECT_EQ(trees, b.nodes[t].trees);
    EXPECT_EQ(hop_end, b.nodes[t].hop_end);
    const auto& [features, original_ids] = back.batch.rows[t];
    EXPECT_TRUE(same_floats(features, sent.batch.rows[t].features)) << t;
    EXPECT_EQ(original_ids, sent.batch.rows[t].original_ids);
  }
  ASSERT_EQ(edges.size(), b.edges.size());
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const auto& [destination, source, offsets, sources, edge_ids, weights, times, entries,
                 row_begin] = edges[e];
    EXPECT_TRUE(entries.empty()) << "they stay where they are used";
    EXPECT_EQ(destination, b.edges[e].destination_type);
    EXPECT_EQ(source, b.edges[e].source_type);
    EXPECT_EQ(offsets, b.edges[e].offsets);
    EXPECT_EQ(sources, b.edges[e].sources);
    EXPECT_EQ(edge_ids, b.edges[e].edge_ids);
    EXPECT_EQ(weights, b.edges[e].weights);
    EXPECT_EQ(times, b.edges[e].times);
    EXPECT_EQ(row_begin, b.edges[e].row_begin);
  }
  ASSERT_EQ(links.has_value(), b.links.has_value());
  if (links) {
    const auto& [edge_type, source_type, destination_type, sources, destinations, negative_sources,
                 negative_destinations, labels, times, candidates, edges_drawn] = *links;
    EXPECT_EQ(edge_type, b.links->edge_type);
    EXPECT_EQ(source_type, b.links->source_type);
    EXPECT_EQ(destination_type, b.links->destination_type);
    EXPECT_EQ(sources, b.links->sources);
    EXPECT_EQ(destinations, b.links->destinations);
    EXPECT_EQ(negative_sources, b.links->negative_sources);
    EXPECT_EQ(negative_destinations, b.links->negative_destinations);
    EXPECT_EQ(labels, b.links->labels);
    EXPECT_EQ(times, b.links->times);
    EXPECT_EQ(candidates, b.links->candidates);
    EXPECT_EQ(edges_drawn, b.links->edges_drawn);
  }
  const auto& [same_sampled, rows, labels, targets, edge_features, columns, digest, staged,
               on_device] = back.batch;
  EXPECT_EQ(staged, nullptr);
  EXPECT_EQ(on_device, nullptr);
  ASSERT_EQ(columns.size(), sent.batch.columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& [of_edges, type, info, column_rows, values] = columns[i];
    EXPECT_EQ(of_edges, sent.batch.columns[i].of_edges);
    EXPECT_EQ(type, sent.batch.columns[i].type);
    EXPECT_EQ(info, sent.batch.columns[i].info);
    EXPECT_EQ(column_rows, sent.batch.columns[i].rows);
    EXPECT_TRUE(std::ranges::equal(values.bytes, sent.batch.columns[i].values.bytes)) << i;
  }
  ASSERT_EQ(edge_features.size(), sent.batch.edge_features.size());
  for (std::size_t e = 0; e < edge_features.size(); ++e) {
    EXPECT_TRUE(same_floats(edge_features[e], sent.batch.edge_features[e])) << e;
  }
  EXPECT_EQ(digest.mode, DigestMode::off) << "it is computed again";
  EXPECT_EQ(rows.size(), sent.batch.rows.size());
  EXPECT_EQ(labels, sent.batch.labels);
  EXPECT_TRUE(same_floats(targets, sent.batch.targets));
  EXPECT_EQ(back.trace, sent.trace);
}

TEST(ReadyBatchCodec, SampledBatchesComeBackAsTheyWere) {
  std::vector<Case> cases;
  for (const auto frontier : {Frontier::fresh, Frontier::all}) {
    for (const EdgeData edge_data : some_edge_data) {
      for (const bool targets : {false, true}) {
        cases.push_back({.frontier = frontier, .edge_data = edge_data, .targets = targets});
      }
    }
  }
  cases.push_back({.seeds_only = true, .digest = DigestMode::off});
  cases.push_back({.digest = DigestMode::off});
  cases.push_back({.digest = DigestMode::ids});
  cases.push_back({.disjoint = true});
  cases.push_back({.edge_data = {.entries = true}, .disjoint = true, .targets = true});
  cases.push_back({.edge_data = {.entries = true}, .targets = true, .seeds = {}});
  cases.push_back({.frontier = Frontier::all, .disjoint = true, .digest = DigestMode::off});
  cases.push_back({.disjoint = true, .seeds = {}});
  cases.push_back({.edge_data = {.edge_ids = true}, .subgraph = Subgraph::bidirectional});
  cases.push_back({.edge_data = {.weights = true}, .subgraph = Subgraph::induced});
  cases.push_back({.subgraph = Subgraph::induced, .disjoint = true});
  cases.push_back({.subgraph = Subgraph::induced, .seeds = {}});
  cases.push_back({.seeds = {}});
  cases.push_back({.targets = true, .seeds = {}});
  cases.push_back({.fanout = {}});
  cases.push_back({.fanout = {{0, 0, 0}, {2, 0, 1}, {-1, -1, -1}}});
  for (const auto& c : cases) {
    for (std::uint64_t number = 0; number < 20; ++number) {
      ReadyBatch sent = sampled(c, number);
      sent.batch.digest = {DigestMode::full, {1, 2}};
      const Frame frame = to_frame(sent);
      ASSERT_OK_AND_ASSIGN(const ReadyBatch back, Wire<ReadyBatch>::decode(frame));
      expect_same(back, sent);
      EXPECT_EQ(digest_batch(back.batch, c.digest), digest_batch(sent.batch, c.digest));
      EXPECT_TRUE(same_contents(to_frame(back), frame));
    }
  }
}

TEST(ReadyBatchCodec, LargeIdsTravelWhole) {
  ReadyBatch sent = sampled({.edge_data = {.edge_ids = true}});
  auto batch = std::make_shared<SampledBatch>(*sent.batch.sampled);
  batch->nodes[0].ids[0] = NodeId{1ULL << 40};
  batch->edges[0].edge_ids[0] = EdgeId{~0ULL};
  sent.batch.sampled = batch;
  sent.batch.rows[1].original_ids[0] = OriginalId{1ULL << 63};

  ASSERT_OK_AND_ASSIGN(const ReadyBatch back, Wire<ReadyBatch>::decode(to_frame(sent)));

  expect_same(back, sent);
}

TEST(ReadyBatchCodec, TheLargestFeatureRowsAreNotCopiedOnEitherSide) {
  const ReadyBatch sent = sampled({});
  const Frame frame = to_frame(sent);
  EXPECT_EQ(static_cast<const void*>(frame.segments[2].bytes.data()),
            sent.batch.rows[0].features.data());

  ASSERT_OK_AND_ASSIGN(const ReadyBatch back, Wire<ReadyBatch>::decode(frame));

  EXPECT_EQ(std::as_const(back.batch.rows[0].features).data(), sent.batch.rows[0].features.data());
}

TEST(ReadyBatchCodec, LargerFeaturesOfEdgesAreNotCopiedInstead) {
  const ReadyBatch sent = sampled({.edge_data = {.entries = true}});
  const Frame frame = to_frame(sent);
  const auto& rows = sent.batch.edge_features[0];
  EXPECT_EQ(static_cast<const void*>(frame.segments[2].bytes.data()), rows.data());

  ASSERT_OK_AND_ASSIGN(const ReadyBatch back, Wire<ReadyBatch>::decode(frame));

  EXPECT_EQ(std::as_const(back.batch.edge_features[0]).data(), rows.data());
}

TEST(ReadyBatchCodec, ColumnsComeBackAsTheyWere) {
  const auto sent = example(static_cast<ReadyBatch*>(nullptr));
  ASSERT_OK_AND_ASSIGN(const ReadyBatch back, Wire<ReadyBatch>::decode(to_frame(sent)));
  expect_same(back, sent);
  const auto broken = [](const std::function<void(BatchColumn&)>& spoil) {
    auto bad = example(static_cast<ReadyBatch*>(nullptr));
    spoil(bad.batch.columns[1]);
    return Wire<ReadyBatch>::decode(to_frame(bad));
  };
  const auto corrupt = Errc::data_corruption;
  EXPECT_ERROR(broken([](auto& c) { c.type = 1; }), corrupt, "a type below 1, found 1");
  EXPECT_ERROR(broken([](auto& c) { c.info.dtype = DType::u32; }), corrupt, "a column's dtype");
  EXPECT_ERROR(broken([](auto& c) { c.info.shape = {1, 2, 3, 1}; }), corrupt, "up to 3 extents");
  EXPECT_ERROR(broken([](auto& c) { c.info.shape = {1U << 24}; }), corrupt, "columns: expected");
  EXPECT_ERROR(broken([](auto& c) { c.info.name = "a/b"; }), corrupt, "a column's name");
  EXPECT_ERROR(broken([](auto& c) { c.info.name.assign(200, 'x'); }), corrupt, "at most 100 bytes");
  EXPECT_ERROR(broken([](auto& c) { c.values = {}; }), corrupt, "columns: expected 2 elements");
  EXPECT_ERROR(broken([](auto& c) { c.info.shape = {1}; }), corrupt, "elements of segment 1");
}

TEST(ReadyBatchCodec, SurvivesAWireThatCutsFramesIntoPieces) {
  const ReadyBatch sent = sampled({.edge_data = {.edge_ids = true}});
  ASSERT_OK_AND_ASSIGN(const Frame arrived, through_pieces(to_frame(sent)));
  ASSERT_OK_AND_ASSIGN(const ReadyBatch back, Wire<ReadyBatch>::decode(arrived));
  expect_same(back, sent);
}

// ---- what cannot be ----

/// The frame of `sent` after `change` of what was sampled.
template <class Change>
Result<ReadyBatch> with(Change change, const Case& c = {.edge_data = {.edge_ids = true}}) {
  ReadyBatch sent = sampled(c);
  auto batch = std::make_shared<SampledBatch>(*sent.batch.sampled);
  change(*batch, sent.batch);
  sent.batch.sampled = batch;
  return Wire<ReadyBatch>::decode(to_frame(sent));
}

TEST(ReadyBatchCodec, RefusesBatchesThatNoSamplerMakes) {
  const auto corrupt = Errc::data_corruption;
  EXPECT_OK(with([](auto&, auto&) {}));
  EXPECT_ERROR(with([](auto& s, auto&) { s.key.epoch = 1U << 31; }), corrupt, "epoch below 2^31");
  EXPECT_ERROR(with([](auto& s, auto&) { s.seed_type = NodeTypeId{2}; }), corrupt,
               "expected one of 2 node types, found 2");
  EXPECT_ERROR(with([](auto& s, auto&) { s.seed_type = NodeTypeId{1}; }), corrupt,
               "nodes of type 0 before the first hop: expected at most 0, found 4");
  EXPECT_ERROR(with([](auto& s, auto&) { s.seed_index[4] = 4; }), corrupt,
               "seeds: expected indices below 4, found 4");
  EXPECT_ERROR(with([](auto& s, auto&) { s.seed_index.resize(3); }), corrupt,
               "expected at most 3, found 4");
  EXPECT_ERROR(
      with([](auto& s, auto&) { std::swap(s.nodes[0].hop_end[1], s.nodes[0].hop_end[2]); }),
      corrupt, "ends of hops of node type 0");
  EXPECT_ERROR(with([](auto& s, auto&) { ++s.nodes[0].hop_end[2]; }), corrupt, "ends of hops");
  EXPECT_ERROR(with([](auto& s, auto&) { ++s.nodes[1].hop_end[0]; }), corrupt, "before the first");
  EXPECT_ERROR(with([](auto& s, auto&) { --s.nodes[0].hop_end[1]; }), corrupt, "found");
  EXPECT_ERROR(with([](auto& s, auto&) { s.hops = 3; }), corrupt, "found");
  EXPECT_ERROR(with([](auto& s, auto&) { s.frontier = Frontier::all; }), corrupt, "found");
  EXPECT_ERROR(with([](auto& s, auto&) { s.nodes[1].ids.pop_back(); }), corrupt, "ends of hops");
}

TEST(ReadyBatchCodec, RefusesClosedBatchesOfSeveralHops) {
  const Case induced{.subgraph = Subgraph::induced};
  EXPECT_OK(with([](auto&, auto&) {}, induced));
  EXPECT_ERROR(with([](auto& s, auto&) { s.subgraph = Subgraph::induced; }), Errc::data_corruption,
               "with one hop, found 2 with 2 hops");
  EXPECT_ERROR(with([](auto& s, auto&) { s.subgraph = static_cast<Subgraph>(3); }, induced),
               Errc::data_corruption, "subgraph: expected directional (0)");
  EXPECT_ERROR(with([](auto& s, auto&) { s.subgraph = Subgraph::directional; }, induced),
               Errc::data_corruption, "offsets");
}

/// A batch of walks between papers and authors.
ReadyBatch walked(std::uint64_t number = 3) {
  const auto cut = testing::cut_graph(academic_graph(false), 3);
  SampleOptions options;
  options.walks = WalkOptions{.length = 6,
                              .per_seed = 2,
                              .restart_below = 1U << 30,
                              .along = {EdgeTypeId{1}, EdgeTypeId{2}}};
  options.job_seed = 11;
  WalkBuilder builder(cut.info, *cut.book, std::make_shared<SampleOptions>(options),
                      {Purpose::train, 2, number}, NodeTypeId{0}, cut.globals({5, 1, 20, 5}));
  while (!builder.done()) {
    for (const auto& question : builder.questions()) {
      const auto& request = std::get<HopRequest>(question.request);
      const auto reply = sample_one_hop(*cut.parts[raw(question.part)], request);
      EXPECT_OK(builder.answer(question.id, std::make_shared<const HopReply>(*reply)));
    }
  }
  auto collect = testing::collect_options(cut);
  collect->digest = DigestMode::full;
  ReadyBatch ready;
  ready.batch = testing::collect(cut, collect, std::move(builder).take());
  return ready;
}

TEST(ReadyBatchCodec, WalksComeBackAsTheyWere) {
  std::size_t restarts = 0;
  for (std::uint64_t number = 0; number < 20; ++number) {
    const ReadyBatch sent = walked(number);
    restarts += sent.batch.sampled->walks->restarts.size();
    const Frame frame = to_frame(sent);
    ASSERT_OK_AND_ASSIGN(const ReadyBatch back, Wire<ReadyBatch>::decode(frame));
    expect_same(back, sent);
    EXPECT_EQ(digest_batch(back.batch, DigestMode::full),
              digest_batch(sent.batch, DigestMode::full));
    EXPECT_TRUE(same_contents(to_frame(back), frame));
  }
  EXPECT_GT(restarts, 20U);
}

TEST(ReadyBatchCodec, RefusesWalksThatLeadNowhere) {
  const auto broken = [](auto change) {
    ReadyBatch sent = walked();
    auto batch = std::make_shared<SampledBatch>(*sent.batch.sampled);
    change(*batch->walks);
    sent.batch.sampled = batch;
    return Wire<ReadyBatch>::decode(to_frame(sent));
  };
  const auto corrupt = Errc::data_corruption;
  EXPECT_OK(broken([](auto&) {}));
  EXPECT_OK(broken([](auto& w) { w.nodes[1] = BatchWalks::no_node; }));
  EXPECT_ERROR(broken([](auto& w) { w.nodes[0] = BatchWalks::no_node; }), corrupt, "in column 0");
  EXPECT_ERROR(broken([](auto& w) { w.nodes[1] = 20; }), corrupt, "in column 1, found 20");
  EXPECT_ERROR(broken([](auto& w) { w.nodes.pop_back(); }), corrupt, "walks");
  EXPECT_ERROR(broken([](auto& w) { w.column_types[1] = NodeTypeId{2}; }), corrupt,
               "expected node types below 2, found 2");
  EXPECT_ERROR(broken([](auto& w) { w.column_types[0] = NodeTypeId{1}; }), corrupt,
               "first is of type 0");
  EXPECT_ERROR(broken([](auto& w) { w.restarts.front() = 1; }), corrupt, "restarts of walks");
  EXPECT_ERROR(broken([](auto& w) { w.restarts.push_back(w.restarts.back()); }), corrupt,
               "restarts of walks");
  EXPECT_ERROR(broken([](auto& w) { w.restarts.back() = 8 * 7; }), corrupt, "restarts of walks");
}

TEST(ReadyBatchCodec, RefusesTreesThatNoSeedHas) {
  const auto corrupt = Errc::data_corruption;
  const Case disjoint{.disjoint = true};
  EXPECT_ERROR(with([](auto& s, auto&) { s.nodes[0].trees.back() = 5; }, disjoint), corrupt,
               "trees: expected indices below 5, found 5");
  EXPECT_ERROR(with([](auto& s, auto&) { s.nodes[0].trees.pop_back(); }, disjoint), corrupt,
               "found");
  EXPECT_ERROR(with([](auto& s, auto&) { s.disjoint = false; }, disjoint), corrupt,
               "offsets: expected them to rise");
  EXPECT_ERROR(with([](auto& s, auto&) { s.disjoint = true; }), corrupt, "trees: expected");
}

TEST(ReadyBatchCodec, RefusesEdgesThatLeadNowhere) {
  const auto corrupt = Errc::data_corruption;
  EXPECT_ERROR(with([](auto& s, auto&) { s.edges[0].source_type = NodeTypeId{2}; }), corrupt,
               "expected node types below 2, found 2");
  EXPECT_ERROR(with([](auto& s, auto&) { s.edges[0].destination_type = NodeTypeId{7}; }), corrupt,
               "expected node types below 2, found 7");
  EXPECT_ERROR(with([](auto& s, auto&) { s.edges[0].offsets.edit()[0] = 1; }), corrupt,
               "rise from 0");
  EXPECT_ERROR(with([](auto& s, auto&) { s.edges[0].offsets.edit()[3] = 1000; }), corrupt,
               "rise from 0");
  EXPECT_ERROR(with([](auto& s, auto&) { ++s.edges[0].offsets.edit().back(); }), corrupt,
               "rise from 0");
  EXPECT_ERROR(with([](auto& s, auto&) { s.edges[0].sources.back() = ~0U; }), corrupt,
               "neighbours of hop 1: expected indices below");
  // Known to the batch, but only after this hop.
  EXPECT_ERROR(with([](auto& s, auto&) { s.edges[0].sources[0] = s.nodes[0].hop_end[1]; }), corrupt,
               "neighbours of hop 0: expected indices below");
  EXPECT_ERROR(with([](auto& s, auto&) { s.edges[0].edge_ids.pop_back(); }), corrupt,
               "edge ids: expected 8 elements, found 7");
  const Case with_data{.edge_data = {.weights = true, .times = true}};
  EXPECT_OK(with([](auto&, auto&) {}, with_data));
  EXPECT_ERROR(with([](auto& s, auto&) { s.edges[1].weights.push_back(1); }, with_data), corrupt,
               "elements of segment 0");
  EXPECT_ERROR(with([](auto& s, auto&) { s.edges[2].times.pop_back(); }, with_data), corrupt,
               "labels: expected 5 elements, found 4");
}

TEST(ReadyBatchCodec, RefusesRowsThatDoNotFit) {
  const auto corrupt = Errc::data_corruption;
  EXPECT_ERROR(with([](auto&, Batch& b) { b.rows[0].features = Matrix::zeros(3, 5); }), corrupt,
               "feature rows of node type 0: expected 0, 4 or ");
  EXPECT_ERROR(with([](auto&, Batch& b) { b.rows[0].original_ids.pop_back(); }), corrupt,
               "original ids of node type 0: expected 0, 4 or ");
  EXPECT_ERROR(with([](auto&, Batch& b) { b.labels.push_back(0); }), corrupt, "segment 1");
  EXPECT_ERROR(with([](auto&, Batch& b) { b.labels.pop_back(); }), corrupt, "labels: expected 5");
  EXPECT_ERROR(with([](auto&, Batch& b) { b.targets = Matrix::zeros(4, 3); }, {.targets = true}),
               corrupt, "segment 3: expected 5 rows of 3 numbers");
  EXPECT_ERROR(with([](auto&, Batch& b) { b.targets = Matrix::zeros(6, 3); }, {.targets = true}),
               corrupt, "bytes left of segment 3: expected 0, found 12");
  const Case features{.edge_data = {.entries = true}};
  EXPECT_ERROR(with([](auto&, Batch& b) { b.edge_features[0] = Matrix::zeros(3, 7); }, features),
               corrupt, "expected 30 rows of 5 numbers");
  EXPECT_ERROR(with([](auto&, Batch& b) { b.edge_features[2] = Matrix::zeros(900, 2); }, features),
               corrupt, "found");
}

// ---- links ----

constexpr NegativeOptions strict_binary{
    .kind = Negatives::binary, .per_positive = 3, .strict = true};

SampleOptions options_of_links() {
  SampleOptions options;
  options.fanout = {{2, 1, 1}};
  options.links = LinkOptions{.negatives = strict_binary};
  return options;
}

SampleBatch link_request() {
  SampleBatch request;
  request.links = {.edge_type = EdgeTypeId{6},
                   .sources = {NodeId{1}, NodeId{2}, NodeId{1}},
                   .destinations = {NodeId{7}, NodeId{8}, NodeId{1ULL << 40}},
                   .times = {-1, 0, 1LL << 62},
                   .labels = {0.5F, -1, 3}};
  return request;
}

/// Authors and the papers that they write.
/// \param labeled  the links have labels and times
ReadyBatch linked(bool labeled) {
  const auto cut = testing::cut_graph(academic_graph(false), 3);
  auto collect = testing::collect_options(cut);
  collect->with_labels = false;
  collect->digest = DigestMode::full;
  testing::PlainLinks links{.edge_type = 1, .links = {{0, 0}, {7, 11}, {7, 11}, {19, 59}}};
  auto sampled = testing::drive_links(cut, options_of_links(), {Purpose::train, 2, 9}, links);
  if (labeled) {
    sampled.links->labels = {0.5F, 1, -1, 2};
    sampled.links->times = {-1, 0, 1, 1LL << 62};
  }
  ReadyBatch ready;
  ready.batch = testing::collect(cut, collect, std::move(sampled));
  return ready;
}

TEST(ReadyBatchCodec, LinksComeBackAsTheyWere) {
  for (const bool labeled : {false, true}) {
    const auto sent = linked(labeled);
    const Frame frame = to_frame(sent);
    ASSERT_OK_AND_ASSIGN(const ReadyBatch back, Wire<ReadyBatch>::decode(frame));
    expect_same(back, sent);
    EXPECT_EQ(back.batch.sampled->links->negative_sources.size(), 12U);
    EXPECT_EQ(digest_batch(back.batch, DigestMode::full),
              digest_batch(sent.batch, DigestMode::full));
    EXPECT_TRUE(same_contents(to_frame(back), frame));
  }
}

TEST(ReadyBatchCodec, TheDigestCoversLinks) {
  const auto digest_after = [](auto change) {
    auto altered = linked(true).batch;
    auto sampled = std::make_shared<SampledBatch>(*altered.sampled);
    change(*sampled->links);
    altered.sampled = sampled;
    return to_string(digest_batch(altered, DigestMode::ids));
  };
  std::set<std::string> digests{digest_after([](BatchLinks&) {})};
  const std::vector<void (*)(BatchLinks&)> changes{
      [](BatchLinks& l) { std::swap(l.sources[0], l.sources[1]); },
      [](BatchLinks& l) { std::swap(l.destinations[0], l.destinations[1]); },
      [](BatchLinks& l) { std::swap(l.negative_sources[1], l.negative_sources[4]); },
      [](BatchLinks& l) { std::swap(l.negative_destinations[0], l.negative_destinations[1]); },
      [](BatchLinks& l) { l.labels[0] = 7; },
      [](BatchLinks& l) { l.candidates = {0}; },
      [](BatchLinks& l) {
        l.candidates = {0, 0};
      },
      [](BatchLinks& l) { l.times[0] = 7; }};
  for (const auto& change : changes) {
    digests.insert(digest_after(change));
  }
  EXPECT_EQ(digests.size(), 1 + changes.size());
}

TEST(ReadyBatchCodec, RefusesLinksThatNoSamplerMakes) {
  const auto decoded = [](auto change) {
    ReadyBatch sent = linked(true);
    auto batch = std::make_shared<SampledBatch>(*sent.batch.sampled);
    change(*batch->links);
    sent.batch.sampled = batch;
    return Wire<ReadyBatch>::decode(to_frame(sent));
  };
  const auto corrupt = Errc::data_corruption;
  EXPECT_ERROR(decoded([](auto& l) { l.source_type = NodeTypeId{0}; }), corrupt,
               "sources of type 1");
  EXPECT_ERROR(decoded([](auto& l) { l.destination_type = NodeTypeId{2}; }), corrupt,
               "node types below 2");
  EXPECT_ERROR(decoded([](auto& l) { l.destination_type = NodeTypeId{1}; }), corrupt,
               "before the first hop");
  EXPECT_ERROR(decoded([](auto& l) { l.sources[0] = ~0U; }), corrupt, "ends of links");
  EXPECT_ERROR(decoded([](auto& l) { l.negative_destinations.back() = 1000; }), corrupt,
               "ends of links");
  EXPECT_ERROR(decoded([](auto& l) { l.negative_sources.pop_back(); }), corrupt, "multiple of 4");
  EXPECT_ERROR(decoded([](auto& l) { l.destinations.pop_back(); }), corrupt, "found");
  EXPECT_ERROR(decoded([](auto& l) { l.labels.pop_back(); }), corrupt, "labels of links");
  EXPECT_ERROR(decoded([](auto& l) { l.times.pop_back(); }), corrupt, "times of links");
  EXPECT_OK(decoded([](auto& l) { l.candidates = {0}; }));
  EXPECT_ERROR(decoded([](auto& l) { l.candidates = {0, 1'000'000}; }), corrupt, "candidates");
}

TEST(SampleBatchCodec, ChargesNoLessThanAnAnswerWithLinksTakes) {
  auto request = link_request();
  request.links->sources.resize(4);
  request.sample = std::make_shared<const SampleOptions>(options_of_links());
  auto collect = std::make_shared<CollectOptions>();
  collect->decoders = {RowDecoder::plain(5), RowDecoder::plain(2)};
  request.collect = collect;
  EXPECT_GE(Wire<SampleBatch>::reply_bytes(request), to_frame(linked(true)).size_bytes());
}

using Change = void (*)(wire::ReadyBatch::Builder);

/// The frame of a batch after `change` of its message alone.
Result<ReadyBatch> with_message(Change change, const Case& c = {.edge_data = {.edge_ids = true}}) {
  Frame frame = to_frame(sampled(c));
  capnp::MallocMessageBuilder builder;
  capnp::initMessageBuilderFromFlatArrayCopy(
      kj::ArrayPtr<const capnp::word>(reinterpret_cast<const capnp::word*>(frame.meta.data()),
                                      frame.meta.size()),
      builder);
  change(builder.getRoot<wire::ReadyBatch>());
  const auto flat = capnp::messageToFlatArray(builder);
  frame.meta.resize(flat.size());
  std::memcpy(frame.meta.data(), flat.begin(), flat.size() * sizeof(capnp::word));
  return Wire<ReadyBatch>::decode(frame);
}

TEST(ReadyBatchCodec, EveryNumberOfTheMessageIsHeldAgainstTheSegments) {
  const std::vector<std::pair<Change, const char*>> changes{
      {[](auto m) { m.getKey().setPurpose(static_cast<wire::Purpose>(2)); }, "purpose 0 or 1"},
      {[](auto m) { m.setFrontier(static_cast<wire::ReadyBatch::Frontier>(2)); }, "fresh (0)"},
      {[](auto m) { m.setHops(1); }, "found"},
      {[](auto m) { m.setHops(255); }, "found"},
      {[](auto m) { m.setSeeds(m.getSeeds() + 1); }, "found"},
      {[](auto m) { m.setSeeds(~0U); }, "seeds: expected 4294967295 elements"},
      {[](auto m) { m.setIdWidth(8); }, "node ids: expected"},
      {[](auto m) { m.setOriginalWidth(8); }, "original ids: expected"},
      {[](auto m) { m.setEdgeIdWidth(8); }, "edge ids: expected"},
      {[](auto m) { m.setIdWidth(2); }, "expected 4 or 8 bytes, found 2"},
      {[](auto m) { m.setHasLabels(false); }, "segment 1"},
      {[](auto m) { m.setTargetCols(1); }, "segment 3: expected 5 rows of 1 numbers"},
      {[](auto m) { m.setTargetCols(~0U); }, "segment 3: expected 5 rows of 4294967295 numbers"},
      {[](auto m) { m.getNodes()[0].setNodes(1); }, "ends of hops"},
      {[](auto m) { m.getNodes()[0].setFeatureRows(~0U); }, "feature rows of node type 0"},
      {[](auto m) { m.getNodes()[0].setFeatureRows(0); }, "found"},
      {[](auto m) { m.getNodes()[0].setFeatureCols(6); }, "segment 2: expected"},
      {[](auto m) { m.getNodes()[0].setFeatureCols(4); }, "bytes left of segment 2"},
      {[](auto m) { m.getNodes()[0].setFeatureCols(~0U); }, "numbers, found"},
      {[](auto m) { m.getNodes()[1].setOriginals(0); }, "found"},
      {[](auto m) { m.getEdges()[0].setEdges(1); }, "rise from 0"},
      {[](auto m) { m.getEdges()[0].setEdges(~0U); }, "neighbours: expected 4294967295 elements"},
      {[](auto m) { m.getEdges()[0].setHasEdgeIds(false); }, "segment 0"},
      {[](auto m) { m.getEdges()[0].setHasWeights(true); }, "found"},
      {[](auto m) { m.getEdges()[0].setHasTimes(true); }, "found"},
      {[](auto m) { m.getEdges()[0].setFeatureCols(1); }, "found"},
      {[](auto m) { m.getEdges()[0].setFeatureCols(~0U); }, "numbers, found"},
      {[](auto m) { m.initEdges(1); }, "found"},
      {[](auto m) { m.initNodes(0); }, "expected one of 0 node types"},
      {[](auto m) { m.initNodes(70'000); }, "types: expected at most 65536"},
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_ERROR(with_message(changes[i].first), Errc::data_corruption, changes[i].second);
  }
}

// ---- requests ----

TEST(SampleBatchCodec, OptionsStayAndAreNamed) {
  SampleBatch request;
  request.key = {Purpose::evaluate, 7, 1ULL << 40};
  request.seed_type = NodeTypeId{3};
  request.seeds = {NodeId{5}, NodeId{5}};
  request.sample = std::make_shared<const SampleOptions>();
  request.collect = std::make_shared<const CollectOptions>();
  request.flow = 9;
  request.options = BatchOptions::job;
  request.times = {-1, 1LL << 62};
  request.turn = 3;

  ASSERT_OK_AND_ASSIGN(const SampleBatch back, Wire<SampleBatch>::decode(to_frame(request)));

  const auto& [key, seed_type, seeds, sample, collect, flow, options, times, links, turn] = back;
  EXPECT_EQ(key, request.key);
  EXPECT_EQ(seed_type, request.seed_type);
  EXPECT_EQ(seeds, request.seeds);
  EXPECT_EQ(sample, nullptr);
  EXPECT_EQ(collect, nullptr);
  EXPECT_EQ(flow, 9U);
  EXPECT_EQ(options, BatchOptions::job);
  EXPECT_EQ(times, request.times);
  EXPECT_FALSE(links);
  EXPECT_EQ(turn, std::nullopt) << "it stays in the process";
}

TEST(SampleBatchCodec, LinksComeBackAsTheyWere) {
  for (const bool times : {false, true}) {
    for (const bool labels : {false, true}) {
      auto request = link_request();
      request.links->times.resize(times ? 3 : 0);
      request.links->labels.resize(labels ? 3 : 0);
      ASSERT_OK_AND_ASSIGN(const SampleBatch back, Wire<SampleBatch>::decode(to_frame(request)));
      ASSERT_TRUE(back.links);
      EXPECT_TRUE(back.seeds.empty() && back.times.empty());
      EXPECT_EQ(back.links->edge_type, EdgeTypeId{6});
      EXPECT_EQ(back.links->sources, request.links->sources);
      EXPECT_EQ(back.links->destinations, request.links->destinations);
      EXPECT_EQ(back.links->times, request.links->times);
      EXPECT_EQ(back.links->labels, request.links->labels);
    }
  }
}

TEST(SampleBatchCodec, RefusesLinksThatDoNotFit) {
  const auto decoded = [](auto change) {
    auto request = link_request();
    change(request);
    return Wire<SampleBatch>::decode(to_frame(request));
  };
  EXPECT_ERROR(decoded([](auto& r) { r.links->destinations.pop_back(); }), Errc::data_corruption,
               "found");
  EXPECT_ERROR(decoded([](auto& r) {
                 r.links->destinations.pop_back();
                 r.links->times.clear();
                 r.links->labels.clear();
               }),
               Errc::data_corruption, "ends of links: expected 4, found 5");
  EXPECT_ERROR(decoded([](auto& r) { r.links->times.pop_back(); }), Errc::data_corruption,
               "times: expected 3 or none, found 2");
  EXPECT_ERROR(decoded([](auto& r) { r.links->labels.push_back(1); }), Errc::data_corruption,
               "labels: expected 3 or none, found 4");
  auto frame = to_frame(SampleBatch{});
  frame.segments.resize(3);
  frame.segments[2] = Segment::of(std::vector<float>{1});
  EXPECT_ERROR(Wire<SampleBatch>::decode(frame), Errc::data_corruption,
               "labels: expected 0 or none, found 1");
}

TEST(SampleBatchCodec, RefusesTimesOfOtherThanAllSeeds) {
  SampleBatch request;
  request.seeds = {NodeId{5}, NodeId{5}};
  request.times = {7};
  EXPECT_ERROR(Wire<SampleBatch>::decode(to_frame(request)), Errc::data_corruption,
               "times: expected 2 or none, found 1");
}

TEST(SampleBatchCodec, RefusesKeysThatNoBatchHas) {
  SampleBatch request;
  request.key.epoch = 1U << 31;
  EXPECT_ERROR(Wire<SampleBatch>::decode(to_frame(request)), Errc::data_corruption,
               "an epoch below 2^31, found 0 and 2147483648");
}

TEST(SampleBatchCodec, ChargesNoLessThanAnAnswerTakes) {
  for (const auto frontier : {Frontier::fresh, Frontier::all}) {
    for (const EdgeData edge_data : some_edge_data) {
      for (std::uint64_t number = 0; number < 20; ++number) {
        const Case c{.frontier = frontier, .edge_data = edge_data};
        SampleBatch request;
        auto sample = std::make_shared<SampleOptions>();
        sample->fanout = c.fanout;
        sample->frontier = frontier;
        sample->edge_data = edge_data;
        request.sample = sample;
        auto collect = std::make_shared<CollectOptions>();
        collect->decoders = {RowDecoder::plain(5), RowDecoder::plain(2)};
        request.collect = collect;
        request.seeds.resize(c.seeds.size());
        EXPECT_GE(Wire<SampleBatch>::reply_bytes(request),
                  to_frame(sampled(c, number)).size_bytes());
      }
    }
  }
}

TEST(SampleBatchCodec, ChargesAtMost64KibASeed) {
  SampleBatch request;
  request.seeds.resize(100);
  EXPECT_EQ(Wire<SampleBatch>::reply_bytes(request), largest_failure_bytes + 100 * 65536);
  auto sample = std::make_shared<SampleOptions>();
  sample->fanout.assign(255, {all_neighbours, 1 << 20});
  request.sample = sample;
  request.collect = std::make_shared<const CollectOptions>();
  EXPECT_EQ(Wire<SampleBatch>::reply_bytes(request), largest_failure_bytes + 100 * 65536);
}

}  // namespace
}  // namespace troupe::net
