#include "tests/runtime/feature/collect.hpp"

namespace troupe {
namespace {

using testing::collect;
using testing::collect_options;
using testing::cut_graph;
using testing::CutGraph;
using testing::drive;
using testing::fanouts;
using testing::featured_graph;

const std::vector<std::uint64_t> seeds = {5, 1, 20, 5, 34};

Digest digest_with(const testing::TestGraph& graph, std::uint32_t parts,
                   const SampleOptions& options, DigestMode mode = DigestMode::full,
                   testing::Answers answers = testing::Answers::parts) {
  const CutGraph cut = cut_graph(graph, parts);
  auto wanted = collect_options(cut);
  wanted->digest = mode;
  return digest_batch(
      collect(cut, wanted, drive(cut, options, {.epoch = 1, .number = 2}, seeds), answers), mode);
}

TEST(DigestBatch, IsEqualAcrossPartitioningsAndWaysOfReading) {
  const auto graph = featured_graph();
  for (const bool replace : {false, true}) {
    for (const auto frontier : {Frontier::fresh, Frontier::all}) {
      auto options = fanouts({4, 3, 2});
      options.replace = replace;
      options.frontier = frontier;
      const Digest expected = digest_with(graph, 1, options);
      for (const std::uint32_t parts : {2U, 3U, 5U}) {
        EXPECT_EQ(digest_with(graph, parts, options), expected) << parts;
        EXPECT_EQ(digest_with(graph, parts, options, DigestMode::full, testing::Answers::replies),
                  expected);
      }
    }
  }
}

TEST(DigestBatch, CutRepliesDoNotChangeIt) {
  auto options = fanouts({all_neighbours, 3});
  const Digest expected = digest_with(featured_graph(), 3, options);
  options.max_edges_per_reply = 7;
  EXPECT_EQ(digest_with(featured_graph(), 3, options), expected);
}

TEST(DigestBatch, FullCoversFeaturesAndLabelsAndIdsDoNot) {
  const auto options = fanouts({4, 3});
  const auto graph = featured_graph();
  auto other_feature = graph;
  other_feature.nodes[0].features[5 * 5] += 1;
  auto other_label = graph;
  other_label.nodes[0].labels[34] = 2;
  for (const auto& other : {other_feature, other_label}) {
    EXPECT_NE(digest_with(graph, 2, options), digest_with(other, 2, options));
    EXPECT_EQ(digest_with(graph, 2, options, DigestMode::ids),
              digest_with(other, 2, options, DigestMode::ids));
  }
}

TEST(DigestBatch, OffIsZero) {
  EXPECT_EQ(digest_with(featured_graph(), 2, fanouts({3}), DigestMode::off), Digest{});
  EXPECT_NE(digest_with(featured_graph(), 2, fanouts({3}), DigestMode::ids), Digest{});
}

TEST(DigestBatch, CoversEdgeIdsWhereAskedFor) {
  auto options = fanouts({3});
  const Digest with = digest_with(featured_graph(), 2, options);
  options.edge_data.edge_ids = false;
  EXPECT_NE(digest_with(featured_graph(), 2, options), with);
}

/// A batch of two seeds and two drawn neighbours, given to the seeds in different shares.
Batch split_batch(const std::vector<std::uint32_t>& offsets, std::vector<std::uint32_t> row_begin) {
  SampledBatch sampled;
  sampled.hops = static_cast<std::uint32_t>(row_begin.size() - 1);
  sampled.seed_index = {0, 1};
  sampled.nodes.resize(1);
  sampled.nodes[0].ids = {NodeId{0}, NodeId{1}};
  sampled.edges.resize(1);
  sampled.edges[0].offsets = offsets;
  sampled.edges[0].sources = {0, 1};
  sampled.edges[0].row_begin = std::move(row_begin);
  Batch batch;
  batch.sampled = std::make_shared<const SampledBatch>(std::move(sampled));
  batch.rows.resize(1);
  batch.rows[0].original_ids = {OriginalId{7}, OriginalId{8}};
  return batch;
}

TEST(DigestBatch, BordersBetweenNodesAndHopsCount) {
  const std::vector<Batch> batches = [] {
    std::vector<Batch> all;
    all.push_back(split_batch({0, 1, 2}, {0, 2}));
    all.push_back(split_batch({0, 2, 2}, {0, 2}));
    all.push_back(split_batch({0, 0, 2}, {0, 2}));
    all.push_back(split_batch({0, 1, 2}, {0, 1, 2}));
    all.push_back(split_batch({0, 1, 2}, {0, 2, 2}));
    return all;
  }();
  std::set<Digest> digests;
  for (const auto& batch : batches) {
    EXPECT_TRUE(digests.insert(digest_batch(batch, DigestMode::ids)).second);
  }
}

TEST(DigestBatch, HeterogeneousGraphsDigestAlikeInAllPartitionings) {
  testing::TestGraph graph;
  graph.nodes = {{.name = "paper", .count = 30}, {.name = "author", .count = 10}};
  testing::add_features(graph.nodes[0], 3);
  graph.edges = {{.name = "writes", .source = 1, .destination = 0},
                 {.name = "by", .source = 0, .destination = 1}};
  for (std::uint64_t i = 0; i < 30; ++i) {
    for (std::uint64_t k = 0; k < 3; ++k) {
      graph.edges[0].edges.push_back({(i + k * k) % 10, i});
      graph.edges[1].edges.push_back({i, (i + k * k) % 10});
    }
  }
  SampleOptions options;
  options.fanout = {{2, 2}, {2, 2}};
  std::set<Digest> digests;
  for (const std::uint32_t parts : {1U, 2U, 3U, 5U}) {
    const auto cut = cut_graph(graph, parts);
    const auto batch = collect(cut, collect_options(cut), drive(cut, options, {}, {4, 4, 29}));
    EXPECT_EQ(batch.rows[1].features.view().size(), 0U);
    EXPECT_EQ(batch.rows[1].original_ids.size(), batch.sampled->nodes[1].ids.size());
    digests.insert(digest_batch(batch, DigestMode::full));
  }
  EXPECT_EQ(digests.size(), 1U);
}

TEST(DigestBatch, NeedsOriginalIdsOnlyOnceAskedFor) {
  const auto cut = cut_graph(featured_graph(), 2);
  auto options = collect_options(cut);
  options->with_original_ids = false;
  EXPECT_FALSE(
      collect(cut, options, drive(cut, fanouts({2}), {}, seeds)).rows[0].original_ids.empty())
      << "a digest implies original ids";
  options->digest = DigestMode::off;
  const auto batch = collect(cut, options, drive(cut, fanouts({2}), {}, seeds));
  EXPECT_TRUE(batch.rows[0].original_ids.empty());
}

TEST(DigestBatch, ABatchThatLacksOriginalIdsIsRefused) {
  const auto cut = cut_graph(featured_graph(), 2);
  auto batch = collect(cut, collect_options(cut), drive(cut, fanouts({2}), {}, seeds));
  EXPECT_OK(check_original_ids(batch));
  batch.rows[0].original_ids.pop_back();
  EXPECT_ERROR(check_original_ids(batch), Errc::data_corruption, "expected original ids of");
}

}  // namespace
}  // namespace troupe
