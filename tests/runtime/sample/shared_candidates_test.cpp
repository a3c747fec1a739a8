// Batches of triples: their ends, and the candidates that chunks share, whatever the partitioning.
#include "tests/runtime/sample/drive_links.hpp"

#include <gtest/gtest.h>

#include <set>

namespace troupe {
namespace {

using testing::PlainLinks;
using testing::TestGraph;

constexpr std::uint64_t entities = 41;

TestGraph one_type_of_entities() {
  TestGraph graph;
  graph.nodes = {{.name = "entity", .count = entities}};
  graph.edges = {{.name = "triple", .source = 0, .destination = 0}};
  for (std::uint64_t i = 0; i < entities; ++i) {
    graph.edges[0].edges.push_back({i, (i * i + 3) % entities});
  }
  return graph;
}

SampleOptions triple_options(const ChunkOptions& chunks) {
  SampleOptions options;
  options.job_seed = 5;
  options.links = LinkOptions{.shared = SharedCandidates{.chunks = chunks}, .exclude = false};
  return options;
}

PlainLinks seven_triples() {
  return {.edge_type = 0, .links = {{1, 4}, {40, 4}, {1, 4}, {7, 7}, {0, 40}, {3, 12}, {9, 2}}};
}

std::vector<std::uint64_t> original_ids(const testing::CutGraph& cut, const SampledBatch& batch,
                                        const PooledVector<std::uint32_t>& places) {
  std::vector<std::uint64_t> ids;
  for (const auto place : places) {
    ids.push_back(cut.original(batch.nodes[0].ids[place], 0));
  }
  return ids;
}

TEST(SharedCandidatesOfBatches, AreThoseOfTheirStreamsInEveryPartitioning) {
  const auto graph = one_type_of_entities();
  const ChunkOptions chunks{.triples = 3, .negatives = 5};
  for (const std::uint64_t number : {2U, 3U}) {
    const BatchKey key{.epoch = 4, .number = number};
    const auto expected = chunk_candidates(5, key, NodeTypeId{0}, 3, 5, {.count = entities});
    for (const std::uint32_t parts : {1U, 2U, 5U}) {
      const auto cut = cut_graph(graph, parts);
      for (const std::uint32_t here : {0U, 1U, parts}) {
        const auto batch =
            testing::drive_links(cut, triple_options(chunks), key, seven_triples(), here);
        ASSERT_TRUE(batch.links.has_value());
        EXPECT_EQ(batch.hops, 0U);
        EXPECT_EQ(original_ids(cut, batch, batch.links->sources),
                  (std::vector<std::uint64_t>{1, 40, 1, 7, 0, 3, 9}));
        EXPECT_EQ(original_ids(cut, batch, batch.links->destinations),
                  (std::vector<std::uint64_t>{4, 4, 4, 7, 40, 12, 2}));
        EXPECT_EQ(original_ids(cut, batch, batch.links->candidates), expected) << parts;
        EXPECT_TRUE(batch.links->negative_sources.empty());
        const auto& ids = batch.nodes[0].ids;
        EXPECT_EQ(std::set<NodeId>(ids.begin(), ids.end()).size(), ids.size()) << "distinct";
        EXPECT_EQ(batch.nodes[0].hop_end.back(), ids.size());
      }
    }
  }
}

TEST(SharedCandidatesOfBatches, OfOwnPartsAreAmongTheRanksNodes) {
  const auto graph = one_type_of_entities();
  const auto cut = cut_graph(graph, 3);
  auto options = triple_options({.triples = 2, .negatives = 30});
  auto& shared = *options.links->shared;
  for (const std::uint32_t part : {0U, 1U}) {  // of ranks 0 and 1; part 2 is of rank 1 too
    const auto range = cut.book->range(NodeTypeId{0}, static_cast<PartId>(part));
    shared.of_ranks.push_back({{range.first, range.size()}});
  }
  const auto last = cut.book->range(NodeTypeId{0}, PartId{2});
  shared.of_ranks[1].push_back({last.first, last.size()});
  for (const std::uint64_t number : {0U, 1U, 2U, 3U}) {
    const auto batch =
        testing::drive_links(cut, options, {.epoch = 0, .number = number}, seven_triples());
    EXPECT_EQ(batch.links->candidates.size(), 120U);
    for (const auto place : batch.links->candidates) {
      const auto owner = raw(cut.book->owner(NodeTypeId{0}, batch.nodes[0].ids[place]));
      EXPECT_EQ(owner == 0, number % 2 == 0) << "rank " << number % 2;
    }
  }
}

TEST(SharedCandidatesOfBatches, EvaluationHasNone) {
  const auto cut = cut_graph(one_type_of_entities(), 2);
  const auto batch = testing::drive_links(cut, triple_options({.triples = 3, .negatives = 0}),
                                          {.purpose = Purpose::evaluate}, seven_triples());
  EXPECT_TRUE(batch.links->candidates.empty());
  EXPECT_EQ(batch.seed_index.size(), 14U);
}

}  // namespace
}  // namespace troupe
