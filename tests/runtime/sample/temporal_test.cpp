// Batches of seeds with times: against the slow twin, and that no edge is later than its tree.
#include "tests/runtime/sample/drive.hpp"
#include "tests/support/statistics.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>

namespace troupe {
namespace {

using testing::Arrival;
using testing::ReferenceSampler;
using testing::TestGraph;

constexpr BatchKey temporal_key{.epoch = 3, .number = 17};
constexpr std::int64_t step = std::int64_t{1} << 33;

/// Two node types; edges between papers have times, those with authors have none.
TestGraph graph_with_times() {
  TestGraph graph;
  graph.nodes = {{.name = "paper", .count = 40}, {.name = "author", .count = 15}};
  graph.edges = {{.name = "cites", .source = 0, .destination = 0},
                 {.name = "writes", .source = 1, .destination = 0}};
  for (std::uint64_t i = 0; i < 40; ++i) {
    for (std::uint64_t k = 0; k < 3 + i % 9; ++k) {
      graph.edges[0].edges.push_back({(i * i + 11 * k) % 40, i});
    }
    graph.edges[1].edges.push_back({i % 15, i});
    graph.edges[1].edges.push_back({i * 7 % 15, i});
  }
  testing::add_times(graph.edges[0]);
  return graph;
}

SampleOptions temporal(const char* choice, TimeRule rule) {
  SampleOptions options;
  options.choice = place_of_kind(choice_kinds(), choice);
  options.fanout = {{3, 1}, {all_neighbours, 2}, {2, all_neighbours}};
  if (choice_kinds()[options.choice].needs_times) {
    options.fanout = {{3, 0}, {all_neighbours, all_neighbours}, {2, 0}};
  }
  options.disjoint = true;
  options.time = rule;
  options.edge_data = {.edge_ids = true, .times = true};
  return options;
}

TEST(TemporalBatch, AgreesWithAnObviousSampler) {
  const auto graph = graph_with_times();
  const std::vector<std::uint64_t> seeds = {3, 14, 3, 0, 39};
  const std::vector<std::int64_t> times = {4 * step, 100 * step, 9 * step, -2, 0};
  for (const auto* choice : {"uniform", "last"}) {
    for (const auto rule : {TimeRule{}, TimeRule{.inclusive = true}, TimeRule{.window = 3 * step},
                            TimeRule{.inclusive = true, .window = 1}}) {
      for (const auto frontier : {Frontier::fresh, Frontier::all}) {
        auto options = temporal(choice, rule);
        options.frontier = frontier;
        const auto expected =
            ReferenceSampler(graph, options, temporal_key).sample(seeds, 0, times);
        for (const std::uint32_t parts : {1U, 2U, 5U}) {
          for (const std::uint64_t most_edges : {1U, 4U, 1000U}) {
            options.max_edges_per_reply = most_edges;
            EXPECT_EQ(testing::drive_plain(cut_graph(graph, parts), options, temporal_key, seeds, 0,
                                           Arrival::shuffled, times),
                      expected)
                << choice << ", parts " << parts << ", " << most_edges << " edges";
          }
        }
      }
    }
  }
}

TEST(TemporalBatch, ByWeightAgreesWithAnObviousSampler) {
  auto graph = graph_with_times();
  for (auto& type : graph.edges) {
    testing::add_weights(type);
  }
  const std::vector<std::uint64_t> seeds = {3, 14, 3, 0, 39};
  const std::vector<std::int64_t> times = {4 * step, 100 * step, 9 * step, -2, 0};
  for (const bool replace : {false, true}) {
    for (const auto rule : {TimeRule{}, TimeRule{.inclusive = true, .window = 5 * step}}) {
      auto options = temporal("weighted", rule);
      options.replace = replace;
      const auto expected = ReferenceSampler(graph, options, temporal_key).sample(seeds, 0, times);
      for (const std::uint32_t parts : {1U, 3U}) {
        auto cut = cut_graph(graph, parts);
        testing::add_alias_tables(cut, options.dir);
        for (const std::uint64_t most_edges : {1U, 1000U}) {
          options.max_edges_per_reply = most_edges;
          EXPECT_EQ(
              testing::drive_plain(cut, options, temporal_key, seeds, 0, Arrival::shuffled, times),
              expected)
              << "replace " << replace << ", parts " << parts << ", " << most_edges << " edges";
        }
      }
    }
  }
}

// Shares of draws are those of the weights that the time allows.
TEST(TemporalBatch, DrawsByWeightHaveTheSharesOfTheAllowedWeights) {
  std::vector<testing::TestEdge> list;
  for (std::uint64_t e = 0; e < 12; ++e) {
    list.push_back({1 + e, 0});
  }
  auto graph = testing::plain_graph(13, std::move(list));
  for (std::uint64_t e = 0; e < 12; ++e) {
    graph.edges[0].weights.push_back(e % 4 == 3 ? 0.0F : static_cast<float>(1 + e));
    graph.edges[0].times.push_back(static_cast<std::int64_t>(e));
  }
  auto cut = cut_graph(graph, 1);
  testing::add_alias_tables(cut, EdgeDir::in);
  std::vector<double> p_values;
  for (std::uint32_t trial = 0; trial < 100; ++trial) {
    auto options = temporal("weighted", {.window = 7});
    options.fanout = {{5}};
    options.replace = true;
    options.seed_time = 9;  // edges 2 to 8, of which 3 and 7 have no weight
    std::map<std::uint64_t, std::uint64_t> seen;
    for (std::uint64_t number = 0; number < 200; ++number) {
      const auto batch = testing::drive(cut, options, {.epoch = trial, .number = number}, {0});
      for (const auto place : batch.edges[0].sources) {
        ++seen[cut.original(batch.nodes[0].ids[place]) - 1];
      }
    }
    double statistic = 0;
    std::size_t allowed = 0;
    for (const std::uint64_t edge : {2U, 4U, 5U, 6U, 8U}) {
      const double expected = 1000.0 * static_cast<double>(1 + edge) / (3 + 5 + 6 + 7 + 9);
      const double off = static_cast<double>(seen[edge]) - expected;
      statistic += off * off / expected;
      allowed += seen[edge];
    }
    ASSERT_EQ(allowed, 1000U) << "nothing else is drawn";
    p_values.push_back(testing::chi_square_survival(statistic, 4));
  }
  EXPECT_GT(*std::ranges::min_element(p_values), 1e-6);
  EXPECT_GT(testing::kolmogorov_smirnov_p_value(p_values), 1e-3);
}

TEST(TemporalBatch, OneTimeServesAllSeedsWithoutTimesOfTheirOwn) {
  const auto cut = cut_graph(graph_with_times(), 3);
  auto options = temporal("uniform", {});
  options.seed_time = 7 * step;
  EXPECT_EQ(testing::drive_plain(cut, options, temporal_key, {1, 2, 3}),
            testing::drive_plain(cut, options, temporal_key, {1, 2, 3}, 0, Arrival::in_order,
                                 {7 * step, 7 * step, 7 * step}));
}

/// A hub with a million edges, of which few are of each time, beside nodes without any.
TestGraph hub_graph() {
  std::vector<testing::TestEdge> edges;
  for (std::uint64_t e = 0; e < 1'000'000; ++e) {
    edges.push_back({1 + e % 99, 0});
  }
  auto graph = testing::plain_graph(100, std::move(edges));
  for (std::uint64_t e = 0; e < 1'000'000; ++e) {
    graph.edges[0].times.push_back(static_cast<std::int64_t>(e * 7919 % 1'000'003) - 500'000);
  }
  return graph;
}

TEST(TemporalBatch, NoEdgeOfAHubIsLaterThanItsTree) {
  const auto cut = cut_graph(hub_graph(), 1);
  std::vector<std::uint64_t> seeds(200, 0);
  std::vector<std::int64_t> times;
  for (std::int64_t i = 0; i < 200; ++i) {
    times.push_back(-500'010 + i * i * 26);  // from before the first to after the last
  }
  for (const auto* choice : {"uniform", "last"}) {
    for (const auto rule : {TimeRule{}, TimeRule{.inclusive = true, .window = 40}}) {
      SampleOptions options = temporal(choice, rule);
      options.fanout = {{15}};
      const auto batch =
          testing::drive(cut, options, temporal_key, seeds, 0, Arrival::in_order, times);
      const auto& edges = batch.edges[0];
      std::size_t without = 0;
      for (std::size_t tree = 0; tree < seeds.size(); ++tree) {
        const auto degree = edges.offsets[tree + 1] - edges.offsets[tree];
        without += degree == 0 ? 1U : 0U;
        EXPECT_LE(degree, 15U);
        for (auto e = edges.offsets[tree]; e < edges.offsets[tree + 1]; ++e) {
          EXPECT_LT(edges.times[e], times[tree] + (rule.inclusive ? 1 : 0));
          EXPECT_TRUE(rule.window == 0 || edges.times[e] >= times[tree] - 40);
        }
      }
      EXPECT_GT(without, 0U) << "the first times are before all edges";
      EXPECT_LT(without, seeds.size() / 2);
    }
  }
}

// Among the edges that a time allows each is as likely as the others: a fanout of 2 of 12.
TEST(TemporalBatch, TheAllowedEdgesAreEquallyLikely) {
  std::vector<testing::TestEdge> list;
  for (std::uint64_t e = 0; e < 30; ++e) {
    list.push_back({1 + e, 0});
  }
  auto graph = testing::plain_graph(31, std::move(list));
  for (std::int64_t e = 0; e < 30; ++e) {
    graph.edges[0].times.push_back(e * 11 % 30);
  }
  const auto cut = cut_graph(graph, 1);
  std::vector<double> p_values;
  for (std::uint32_t trial = 0; trial < 100; ++trial) {
    auto options = temporal("uniform", {.window = 12});
    options.fanout = {{2}};
    options.job_seed = trial;
    const std::int64_t at = 12 + trial % 19;
    std::map<std::int64_t, std::uint64_t> counts;
    for (std::int64_t t = at - 12; t < at; ++t) {
      counts[t] = 0;
    }
    const std::vector<std::uint64_t> seeds(600, 0);
    const std::vector<std::int64_t> times(600, at);
    const auto batch =
        testing::drive(cut, options, temporal_key, seeds, 0, Arrival::in_order, times);
    for (const auto time : batch.edges[0].times) {
      ASSERT_TRUE(counts.contains(time)) << time << " at " << at;
      ++counts[time];
    }
    std::vector<std::uint64_t> seen;
    for (const auto& [time, count] : counts) {
      seen.push_back(count);
    }
    p_values.push_back(testing::inclusion_p_value(seen, 2, 600));
  }
  EXPECT_GT(*std::ranges::min_element(p_values), 1e-6);
  EXPECT_GT(testing::kolmogorov_smirnov_p_value(p_values), 1e-3);
}

}  // namespace
}  // namespace troupe
