// Random walks: against a slow twin, in any order of replies, shares of steps, pairs, hostile replies.
#include "runtime/sample/walks/walk_builder.hpp"
#include "runtime/sample/walks/walk_pairs.hpp"
#include "tests/runtime/sample/drive.hpp"
#include "tests/runtime/sample/drive_walks.hpp"
#include "tests/support/statistics.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

namespace troupe {
namespace {

using testing::PlainWalks;
using testing::TestGraph;

constexpr BatchKey walk_key{.epoch = 1, .number = 4};

/// Nodes with and without neighbors; authors and papers beside them.
TestGraph walk_graph() {
  auto graph = testing::skewed_graph(50, 5);
  graph.nodes.push_back({.name = "author", .count = 15});
  graph.edges.push_back({.name = "writes", .source = 1, .destination = 0});
  graph.edges.push_back({.name = "written_by", .source = 0, .destination = 1});
  for (std::uint64_t i = 0; i < 50; ++i) {
    for (std::uint64_t k = 0; k < i % 4; ++k) {
      graph.edges[1].edges.push_back({(i + 4 * k) % 15, i});
      graph.edges[2].edges.push_back({i, (i + 4 * k) % 15});
    }
  }
  return graph;
}

SampleOptions walking(WalkOptions walks) {
  SampleOptions options;
  options.walks = std::move(walks);
  options.job_seed = 42;
  return options;
}

const std::vector<std::uint64_t> walk_seeds = {1, 17, 49, 10, 1, 33};

TEST(Walks, AgreeWithAnObviousWalker) {
  const auto graph = walk_graph();
  const std::vector<WalkOptions> walks = {
      {.length = 8, .along = {EdgeTypeId{0}}},
      {.length = 5, .per_seed = 3, .restart_below = 1U << 30, .along = {EdgeTypeId{0}}},
      {.length = 7, .per_seed = 2, .along = {EdgeTypeId{1}, EdgeTypeId{2}}},
      {.length = 6, .restart_below = 1U << 31, .along = {EdgeTypeId{1}, EdgeTypeId{2}}},
      {.length = 9,
       .per_seed = 2,
       .restart_below = 1U << 28,
       .along = {EdgeTypeId{0}},
       .second_order = candidate_thresholds(4, 0.25)},
      {.length = 6, .along = {EdgeTypeId{0}}, .second_order = candidate_thresholds(0.01, 50)}};
  for (std::size_t w = 0; w < walks.size(); ++w) {
    for (const auto dir : {EdgeDir::in, EdgeDir::out}) {
      auto options = walking(walks[w]);
      options.dir = dir;
      if (dir == EdgeDir::out && walks[w].along.size() > 1) {
        std::ranges::reverse(options.walks->along);
      }
      const auto expected = testing::reference_walks(graph, options, walk_key, walk_seeds);
      for (const std::uint32_t parts : {1U, 2U, 5U}) {
        const auto cut = testing::cut_graph(graph, parts, parts == 2);
        for (const std::uint64_t most_edges : {1U, 3U, 100000U}) {
          options.max_edges_per_reply = most_edges;
          EXPECT_EQ(testing::walk_plain(cut, options, walk_key, walk_seeds), expected)
              << "walks " << w << ", parts " << parts << ", edges " << most_edges;
        }
      }
    }
  }
}

TEST(Walks, ByWeightNeverTakeAnEdgeWithoutWeight) {
  auto graph = testing::skewed_graph(50, 8);
  testing::add_weights(graph.edges[0]);
  auto cut = testing::cut_graph(graph, 3);
  testing::add_alias_tables(cut, EdgeDir::in);
  auto options = walking({.length = 10, .per_seed = 20, .along = {EdgeTypeId{0}}});
  options.choice = place_of_kind(choice_kinds(), "weighted");
  std::set<std::pair<std::uint64_t, std::uint64_t>> steps;
  for (std::size_t e = 0; e < graph.edges[0].edges.size(); ++e) {
    if (graph.edges[0].weights[e] > 0) {
      steps.insert({graph.edges[0].edges[e].destination, graph.edges[0].edges[e].source});
    }
  }
  const auto walks = testing::walk_plain(cut, options, walk_key, walk_seeds);
  std::size_t made = 0;
  for (std::size_t place = 1; place < walks.nodes.size(); ++place) {
    if (place % 11 != 0 && walks.nodes[place] != testing::no_original) {
      EXPECT_TRUE(steps.contains({walks.nodes[place - 1], walks.nodes[place]}));
      ++made;
    }
  }
  EXPECT_GT(made, 100U);
}

TEST(Walks, KeepToTheTimesOfTheirSeeds) {
  auto graph = testing::skewed_graph(50, 8);
  testing::add_times(graph.edges[0]);
  auto options = walking({.length = 6, .per_seed = 2, .along = {EdgeTypeId{0}}});
  options.time = TimeRule{};
  constexpr std::int64_t step = std::int64_t{1} << 33;
  const std::vector<std::int64_t> times = {step, -1, 4 * step, 0, 12 * step, -100};
  const auto expected = testing::reference_walks(graph, options, walk_key, walk_seeds, times);
  for (const std::uint32_t parts : {1U, 4U}) {
    EXPECT_EQ(
        testing::walk_plain(testing::cut_graph(graph, parts), options, walk_key, walk_seeds, times),
        expected);
  }
}

TEST(Walks, ABatchHasItsNodesAndNoEdges) {
  const auto cut = testing::cut_graph(walk_graph(), 2);
  const auto options = walking({.length = 4, .along = {EdgeTypeId{1}, EdgeTypeId{2}}});
  const auto batch = testing::walk(cut, options, walk_key, walk_seeds);
  EXPECT_EQ(batch.num_seeds(), 6U);
  EXPECT_EQ(batch.num_edges(), 0U);
  EXPECT_EQ(batch.hops, 1U);
  EXPECT_EQ(batch.nodes[0].hop_end.front(), 5U) << "distinct seeds";
  EXPECT_EQ(batch.nodes[1].hop_end.front(), 0U);
  std::set<std::uint32_t> authors;
  for (std::size_t place = 0; place < batch.walks->nodes.size(); ++place) {
    const auto node = batch.walks->nodes[place];
    if (place % 5 % 2 == 1 && node != BatchWalks::no_node) {
      authors.insert(node);
    }
  }
  EXPECT_EQ(authors.size(), batch.nodes[1].ids.size()) << "none that no walk reached";
  EXPECT_EQ(*authors.rbegin() + 1, batch.nodes[1].ids.size());
}

TEST(Walks, WithoutSeedsAreDoneAtOnce) {
  const auto cut = testing::cut_graph(walk_graph(), 2);
  const auto batch =
      testing::walk(cut, walking({.length = 4, .along = {EdgeTypeId{0}}}), walk_key, {});
  EXPECT_EQ(batch.walks->steps, 4U);
  EXPECT_TRUE(batch.walks->nodes.empty());
}

/// p-values of the next node from `node`, in many batches, against the shares that are expected.
std::vector<double> p_values_of_steps(const TestGraph& graph, WalkOptions walks,
                                      const std::map<std::uint64_t, double>& shares,
                                      std::uint64_t seed, std::optional<std::uint64_t> first) {
  const auto cut = testing::cut_graph(graph, 2);
  std::vector<double> p_values;
  for (std::uint32_t trial = 0; trial < 100; ++trial) {
    std::map<std::uint64_t, double> seen;
    double steps = 0;
    for (std::uint64_t number = 0; number < 20; ++number) {
      const auto found =
          testing::walk_plain(cut, walking(walks), {.epoch = trial, .number = number}, {seed});
      const auto columns = walks.length + 1;
      for (std::size_t at = 0; at < found.nodes.size(); at += columns) {
        const auto last = found.nodes[at + walks.length];
        if (!first || found.nodes[at + 1] == *first) {
          ++seen[last];
          ++steps;
        }
      }
    }
    double statistic = 0;
    double all = 0;
    for (const auto& [node, share] : shares) {
      all += share;
    }
    for (const auto& [node, share] : shares) {
      const double expected = steps * share / all;
      statistic += (seen[node] - expected) * (seen[node] - expected) / expected;
      seen.erase(node);
    }
    EXPECT_TRUE(seen.empty()) << "nodes that no step leads to";
    p_values.push_back(
        testing::chi_square_survival(statistic, static_cast<double>(shares.size() - 1)));
  }
  return p_values;
}

TEST(Walks, StepsAreUniform) {
  std::vector<testing::TestEdge> edges;
  for (std::uint64_t i = 1; i <= 7; ++i) {
    edges.push_back({i, 0});
  }
  edges.push_back({7, 0});  // twice as likely
  std::map<std::uint64_t, double> shares;
  for (std::uint64_t i = 1; i <= 7; ++i) {
    shares[i] = i == 7 ? 2 : 1;
  }
  const auto p_values =
      p_values_of_steps(testing::plain_graph(8, edges),
                        {.length = 1, .per_seed = 40, .along = {EdgeTypeId{0}}}, shares, 0, {});
  EXPECT_GT(*std::ranges::min_element(p_values), 1e-6);
  EXPECT_GT(testing::kolmogorov_smirnov_p_value(p_values), 1e-4);
}

// From 0 to 1, then: back to 0 with 1/p, to 2 and 3, which are neighbors of 0, with 1, to 4 with 1/q.
TEST(Walks, StepsOfSecondOrderHaveTheSharesOfNode2vec) {
  std::vector<testing::TestEdge> edges;
  const auto both_ways = [&](std::uint64_t a, std::uint64_t b) {
    edges.push_back({a, b});
    edges.push_back({b, a});
  };
  for (const std::uint64_t node : {1U, 2U, 3U}) {
    both_ways(0, node);
  }
  for (const std::uint64_t node : {2U, 3U, 4U}) {
    both_ways(1, node);
  }
  for (const auto& [p, q] : {std::pair(4.0, 0.25), std::pair(0.25, 4.0)}) {
    const std::map<std::uint64_t, double> shares = {{0, 1 / p}, {2, 1}, {3, 1}, {4, 1 / q}};
    const auto p_values = p_values_of_steps(testing::plain_graph(5, edges),
                                            {.length = 2,
                                             .per_seed = 100,
                                             .along = {EdgeTypeId{0}},
                                             .second_order = candidate_thresholds(p, q)},
                                            shares, 0, 1);
    EXPECT_GT(*std::ranges::min_element(p_values), 1e-6) << p;
    EXPECT_GT(testing::kolmogorov_smirnov_p_value(p_values), 1e-4) << p;
  }
}

TEST(Walks, ThresholdsAreTheLargestForTheLikeliest) {
  EXPECT_EQ(candidate_thresholds(1, 1), (CandidateThresholds{1ULL << 32, 1ULL << 32, 1ULL << 32}));
  EXPECT_EQ(candidate_thresholds(4, 0.5), (CandidateThresholds{1U << 29, 1U << 31, 1ULL << 32}));
  EXPECT_EQ(candidate_thresholds(0.25, 2), (CandidateThresholds{1ULL << 32, 1U << 30, 1U << 29}));
}

// A walk whose candidates are all rejected takes the last one, and the batch counts it: node 0 has one
// neighbor, node 1, which leads back alone, against a p of a thousand.
TEST(Walks, StepsThatRejectAllCandidatesAreCounted) {
  const auto graph = testing::plain_graph(2, {{0, 1}, {1, 0}});
  auto options = walking({.length = 3,
                          .per_seed = 200,
                          .along = {EdgeTypeId{0}},
                          .second_order = candidate_thresholds(1000, 1)});
  const auto walks = testing::walk_plain(testing::cut_graph(graph, 2), options, walk_key, {0});
  EXPECT_GT(walks.undecided, 200U) << "about three quarters of 400 steps";
  EXPECT_LT(walks.undecided, 390U);
  for (std::size_t place = 0; place < walks.nodes.size(); ++place) {
    EXPECT_EQ(walks.nodes[place], place % 4 % 2) << place;
  }
  EXPECT_EQ(walks, testing::reference_walks(graph, options, walk_key, {0}));
}

TEST(Walks, RestartsHaveTheirChance) {
  const auto graph = testing::plain_graph(2, {{0, 1}, {1, 0}});
  auto options =
      walking({.length = 50, .per_seed = 200, .restart_below = 1U << 30, .along = {EdgeTypeId{0}}});
  const auto batch = testing::walk(testing::cut_graph(graph, 1), options, walk_key, {0, 1});
  const double expected = 400 * 49 / 4.0;
  EXPECT_NEAR(static_cast<double>(batch.walks->restarts.size()), expected, 6 * 61);
}

// ---- pairs ----

TEST(WalkPairs, AreThoseInTheWindow) {
  BatchWalks walks{.steps = 3,
                   .column_types = {},
                   .nodes = {0, 1, 2, 3, 4, 5, BatchWalks::no_node, BatchWalks::no_node}};
  const auto pairs = walk_pairs(walks, 2);
  EXPECT_EQ(pairs.centers, (std::vector<std::uint32_t>{0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5}));
  EXPECT_EQ(pairs.contexts, (std::vector<std::uint32_t>{1, 2, 0, 2, 3, 0, 1, 3, 1, 2, 5, 4}));
  EXPECT_TRUE(walk_pairs(walks, 0).centers.empty());
  EXPECT_EQ(walk_pairs(walks, 254).centers.size(), 4U * 3 + 2);
}

TEST(WalkPairs, BeginAgainAtTheSeedWhereAWalkReturned) {
  // 7 8 | 9: the walk is at its seed again before 9. The second one found nothing after it returned.
  BatchWalks walks{.steps = 2,
                   .column_types = {},
                   .nodes = {7, 8, 9, 5, 6, BatchWalks::no_node},
                   .restarts = {2, 5}};
  const auto pairs = walk_pairs(walks, 5);
  EXPECT_EQ(pairs.centers, (std::vector<std::uint32_t>{0, 1, 0, 2, 3, 4}));
  EXPECT_EQ(pairs.contexts, (std::vector<std::uint32_t>{1, 0, 2, 0, 4, 3}));
}

// ---- replies that cannot be ----

class WalkReplies : public ::testing::Test {
 protected:
  WalkBuilder builder(WalkOptions walks) {
    return {cut_.info, *cut_.book,    std::make_shared<SampleOptions>(walking(walks)),
            walk_key,  NodeTypeId{0}, cut_.globals({1, 17})};
  }
  std::shared_ptr<HopReply> reply_to(const WalkQuestion& question) {
    const auto& request = std::get<HopRequest>(question.request);
    return std::make_shared<HopReply>(*sample_one_hop(*cut_.parts[raw(question.part)], request));
  }
  const testing::CutGraph cut_ = testing::cut_graph(walk_graph(), 1);
};

TEST_F(WalkReplies, AreTakenOnce) {
  auto walks = builder({.length = 3, .along = {EdgeTypeId{0}}});
  const auto question = std::move(walks.questions().front());
  const auto reply = reply_to(question);
  EXPECT_ERROR(walks.answer(99, reply), Errc::invalid_argument, "question 99; 1 were asked");
  EXPECT_ERROR(walks.answer(question.id, EdgesThere{}), Errc::invalid_argument,
               "no edges are awaited for question 0");
  EXPECT_OK(walks.answer(question.id, reply));
  EXPECT_ERROR(walks.answer(question.id, reply), Errc::invalid_argument, "question 0; 2 were");
}

TEST_F(WalkReplies, OfAnotherSizeAreDamaged) {
  for (const auto& [change, text] :
       {std::pair(
            +[](HopReply& reply) { reply = {}; }, "1 edge type"),
        std::pair(
            +[](HopReply& reply) { reply.counts[0] = 2; }, ""),
        std::pair(
            +[](HopReply& reply) { reply.sections[0].nodes = 7; }, "")}) {
    auto walks = builder({.length = 3, .along = {EdgeTypeId{0}}});
    const auto question = std::move(walks.questions().front());
    auto reply = reply_to(question);
    change(*reply);
    EXPECT_ERROR(walks.answer(question.id, reply), Errc::data_corruption, text);
  }
}

TEST_F(WalkReplies, NamingNodesThatTheGraphDoesNotHaveAreDamaged) {
  auto walks = builder({.length = 3, .along = {EdgeTypeId{0}}});
  const auto question = std::move(walks.questions().front());
  auto reply = reply_to(question);
  std::vector<std::uint32_t> ids(reply->neighbours.bytes.size() / 4, 50);
  reply->neighbours = Segment::of(std::move(ids));
  EXPECT_ERROR(walks.answer(question.id, reply), Errc::data_corruption, "50");
}

TEST_F(WalkReplies, OfEdgesMustBeAsManyAsWereAsked) {
  auto walks = builder({.length = 6,
                        .per_seed = 20,
                        .along = {EdgeTypeId{0}},
                        .second_order = candidate_thresholds(1, 8)});
  for (bool refused = false; !refused;) {
    ASSERT_FALSE(walks.done());
    for (const auto& question : walks.questions()) {
      if (const auto* edges = std::get_if<HasEdges>(&question.request)) {
        EXPECT_ERROR(walks.answer(question.id,
                                  EdgesThere{std::vector<std::uint8_t>(edges->nodes.size() + 1)}),
                     Errc::data_corruption, "answers, got");
        refused = true;
      } else {
        ASSERT_OK(walks.answer(question.id, reply_to(question)));
      }
    }
  }
}

}  // namespace
}  // namespace troupe
