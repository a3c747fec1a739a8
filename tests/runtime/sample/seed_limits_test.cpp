// Seeds that no batch can grow from, as a process that holds the token may send them: an error, not the end.
#include "tests/runtime/sample/drive_links.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

/// Users and items; items are fewer.
testing::TestGraph limits_graph() {
  testing::TestGraph graph;
  graph.nodes = {{.name = "user", .count = 20}, {.name = "item", .count = 5}};
  graph.edges = {{.name = "buys", .source = 0, .destination = 1, .edges = {{0, 1}, {7, 4}}},
                 {.name = "knows", .source = 0, .destination = 0, .edges = {{0, 1}, {1, 2}}}};
  return graph;
}

/// Seeds of a batch on a host with all parts.
class SeedLimits : public ::testing::Test {
 protected:
  Status sample(const SampleOptions& options, OrderedSeeds seeds) {
    SamplingInputs inputs;
    inputs.graph = std::make_shared<const GraphInfo>(cut_.info);
    inputs.book = cut_.book;
    inputs.options = std::make_shared<const SampleOptions>(options);
    inputs.halos = std::make_shared<const std::vector<std::shared_ptr<const Part>>>();
    inputs.lists_here = [this](PartId part) { return cut_.parts[raw(part)]; };
    SamplingWork work(std::move(inputs), {}, std::move(seeds));
    const auto step = work.step({});
    return step ? ok_status() : Status(step.error());
  }
  Status sample_nodes(const SampleOptions& options, NodeTypeId type) {
    OrderedSeeds seeds;
    seeds.type = type;
    seeds.nodes = {NodeId{0}};
    return sample(options, std::move(seeds));
  }
  Status sample_links(const SampleOptions& options, EdgeTypeId type) {
    OrderedSeeds seeds;
    seeds.links.emplace();
    seeds.links->edge_type = type;
    seeds.links->sources = {NodeId{0}, NodeId{1}};
    seeds.links->destinations = {NodeId{1}, NodeId{2}};
    return sample(options, std::move(seeds));
  }

  const testing::CutGraph cut_ = testing::cut_graph(limits_graph(), 2);
};

SampleOptions walks_along_knows(std::uint32_t per_seed) {
  SampleOptions options;
  options.dir = EdgeDir::out;
  options.walks = WalkOptions{.length = 3, .per_seed = per_seed, .along = {EdgeTypeId{1}}};
  return options;
}

TEST_F(SeedLimits, WalksAreAsManyAsHaveNumbers) {
  auto options = walks_along_knows(std::uint32_t{1} << 30);
  EXPECT_ERROR(
      sample_nodes(options, NodeTypeId{0}), Errc::invalid_argument,
      "expected fewer than 2^32 nodes on the walks of a batch, found 1073741824 walks of 3 "
      "steps");

  options = walks_along_knows(std::uint32_t{1} << 24);
  options.walks->second_order = candidate_thresholds(0.5, 2);
  EXPECT_ERROR(sample_nodes(options, NodeTypeId{0}), Errc::invalid_argument,
               "expected fewer than 2^24 walks");

  options.links = LinkOptions{.pairs_of = NodeTypeId{0}};
  EXPECT_ERROR(sample_links(options, EdgeTypeId{1}), Errc::invalid_argument,
               "expected fewer than 2^24 walks");
}

TEST_F(SeedLimits, WalksBeginAtTheTypeOfTheirFirstStep) {
  EXPECT_OK(sample_nodes(walks_along_knows(2), NodeTypeId{0}));

  EXPECT_ERROR(sample_nodes(walks_along_knows(2), NodeTypeId{1}), Errc::invalid_argument,
               "expected seeds of node type 0, where walks begin, found type 1");
}

SampleOptions negatives_of(const NegativeOptions& negatives) {
  SampleOptions options;
  options.fanout = {{2, 2}};
  options.links = LinkOptions{.negatives = negatives};
  return options;
}

TEST_F(SeedLimits, NegativeLinksHaveAsManyEndsAsHavePlaces) {
  NegativeOptions negatives{.kind = Negatives::triplet, .per_positive = ~std::uint32_t{0}};
  EXPECT_ERROR(sample_links(negatives_of(negatives), EdgeTypeId{1}), Errc::invalid_argument,
               "expected at most 4294967295 candidates for the ends of negative links in a batch, "
               "found 8589934590");

  negatives = {.kind = Negatives::triplet, .per_positive = 1U << 30, .strict = true, .tries = 8};
  EXPECT_ERROR(sample_links(negatives_of(negatives), EdgeTypeId{1}), Errc::invalid_argument,
               "found 17179869184");

  auto shared = negatives_of({});
  shared.links->shared = SharedCandidates{.chunks = {.triples = 1, .negatives = 1U << 31}};
  EXPECT_ERROR(sample_links(shared, EdgeTypeId{1}), Errc::invalid_argument,
               "expected at most 4294967295 seeds, found 4294967300");
}

TEST_F(SeedLimits, DegreesAreKnownOfTheEdgeTypesOfTheJobsLinks) {
  auto options = negatives_of({.kind = Negatives::binary, .by_degree = true});
  options.links->edges_before[EdgeTypeId{1}] = {edges_before(cut_, 1, EdgeDir::in),
                                                edges_before(cut_, 1, EdgeDir::out)};
  EXPECT_OK(sample_links(options, EdgeTypeId{1}));

  EXPECT_ERROR(sample_links(options, EdgeTypeId{0}), Errc::invalid_argument, "found edge type 0");
}

TEST_F(SeedLimits, CandidatesOfARanksOwnNodesAreOfTheTypeOfTheEnds) {
  auto options = negatives_of({});
  options.links->shared =
      SharedCandidates{.chunks = {.negatives = 3}, .of_ranks = {{{NodeId{10}, 10}}}};
  EXPECT_OK(sample_links(options, EdgeTypeId{1}));

  EXPECT_ERROR(sample_links(options, EdgeTypeId{0}), Errc::invalid_argument,
               "found ends of node type 1, which has 5 nodes");
}

}  // namespace
}  // namespace troupe
