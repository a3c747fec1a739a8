// LABOR: against the definition and the slow twin, shares of inclusion, distinct nodes.
#include "runtime/sample/choice/labor.hpp"

#include "tests/runtime/sample/drive.hpp"
#include "tests/support/statistics.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace troupe {
namespace {

using testing::Arrival;
using testing::ReferenceSampler;
using testing::TestGraph;

constexpr BatchKey labor_key{.epoch = 2, .number = 5};

/// Two node types joined both ways, hubs and parallel edges among them.
TestGraph labor_graph() {
  auto graph = testing::skewed_graph(60, 9);
  graph.nodes.push_back({.name = "other", .count = 20});
  graph.edges.push_back({.name = "to_other", .source = 0, .destination = 1});
  graph.edges.push_back({.name = "from_other", .source = 1, .destination = 0});
  for (std::uint64_t i = 0; i < 60; ++i) {
    for (std::uint64_t k = 0; k < i % 12; ++k) {
      graph.edges[1].edges.push_back({i, (i + k) % 20});
      graph.edges[2].edges.push_back({(3 * i + k) % 20, i});
    }
  }
  return graph;
}

SampleOptions labor(std::vector<std::vector<std::int32_t>> fanout) {
  SampleOptions options;
  options.choice = place_of_kind(choice_kinds(), "labor");
  options.fanout = std::move(fanout);
  options.edge_data.edge_ids = true;
  options.job_seed = 42;
  return options;
}

/// Positions that the choice takes, list after list, planned in groups of two.
std::vector<std::vector<std::uint32_t>> chosen_by_labor(
    const std::vector<std::vector<std::uint64_t>>& lists, std::uint32_t fanout,
    std::span<const std::uint32_t> excluded = {}) {
  std::vector<std::uint64_t> all;
  std::vector<Stretch> stretches;
  for (const auto& list : lists) {
    stretches.push_back({.excluded = excluded,
                         .first_entry = all.size(),
                         .tree = 3,
                         .entries = static_cast<std::uint32_t>(list.size())});
    all.insert(all.end(), list.begin(), list.end());
  }
  const auto choice =
      make_labor({.fanout = fanout, .neighbour_originals = std::span<const std::uint64_t>(all)});
  const StreamKey key{{7, 8}};
  for (std::size_t i = 0; i < stretches.size(); i += 2) {
    choice->plan(key, std::span(stretches).subspan(i, std::min<std::size_t>(2, lists.size() - i)));
  }
  std::vector<std::vector<std::uint32_t>> chosen;
  for (auto& stretch : stretches) {
    auto& positions = chosen.emplace_back(stretch.taken);
    if (stretch.whole) {
      std::iota(positions.begin(), positions.end(), 0U);
    } else {
      choice->choose(key, std::span(&stretch, 1), positions);
    }
  }
  return chosen;
}

TEST(Labor, VectorsTakeWhatTheDefinitionTakes) {
  std::vector<std::vector<std::uint64_t>> lists;
  for (std::uint64_t size = 0; size < 150; ++size) {
    auto& list = lists.emplace_back();
    for (std::uint64_t i = 0; i < size; ++i) {
      list.push_back(size % 3 == 0 ? i << 33 | 5 : i * i);
    }
  }
  for (const std::uint32_t fanout : {1U, 2U, 5U, 16U, 64U, 70U}) {
    const auto chosen = chosen_by_labor(lists, fanout);
    std::vector<std::uint32_t> expected;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      labor_positions({{7, 8}}, lists[i], 3, fanout, expected);
      EXPECT_EQ(chosen[i], expected) << "fanout " << fanout << ", list of " << i;
    }
  }
}

TEST(Labor, ExcludedEntriesCountNeitherAsTakenNorInTheDegree) {
  const std::vector<std::uint32_t> excluded = {0, 4, 9};
  std::vector<std::uint64_t> list(30);
  std::iota(list.begin(), list.end(), std::uint64_t{100});
  for (const std::uint32_t fanout : {3U, 26U, 27U, 40U}) {
    const auto chosen = chosen_by_labor({list}, fanout, excluded);
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      const std::uint64_t word = DrawStream({{7, 8}}, list[i], 3).next();
      const bool all = fanout >= 27;
      if (!std::ranges::binary_search(excluded, i) &&
          (all || word < (std::uint64_t{fanout} << 32) / 27)) {
        expected.push_back(i);
      }
    }
    EXPECT_EQ(chosen[0], expected) << "fanout " << fanout;
  }
}

TEST(Labor, FanoutZeroTakesNothingAndNeedsNoOriginalIds) {
  const auto cut = testing::cut_graph(testing::skewed_graph(30, 5), 1);
  const auto batch = testing::drive(cut, labor({{0}}), labor_key, {1, 2});
  EXPECT_TRUE(batch.edges[0].sources.empty());
}

TEST(Labor, BatchesAgreeWithAnObviousSampler) {
  const auto graph = labor_graph();
  const std::vector<std::uint64_t> seeds = {1, 17, 59, 1, 30};
  for (const bool shared : {false, true}) {
    for (const bool disjoint : {false, true}) {
      for (const auto frontier : {Frontier::fresh, Frontier::all}) {
        for (const auto dir : {EdgeDir::in, EdgeDir::out}) {
          auto options = labor({{4, 3, 2}, {2, 0, all_neighbours}, {3, 2, 2}});
          options.shared = shared;
          options.disjoint = disjoint;
          options.frontier = frontier;
          options.dir = dir;
          const auto expected = ReferenceSampler(graph, options, labor_key).sample(seeds);
          for (const std::uint32_t parts : {1U, 2U, 5U}) {
            auto cut = testing::cut_graph(graph, parts, parts == 2);
            testing::add_neighbour_originals(cut, dir);
            for (const std::uint64_t most_edges : {1U, 7U, 100000U}) {
              options.max_edges_per_reply = most_edges;
              EXPECT_EQ(testing::drive_plain(cut, options, labor_key, seeds, 0, Arrival::shuffled),
                        expected)
                  << "parts " << parts << ", edges " << most_edges << ", shared " << shared;
            }
          }
        }
      }
    }
  }
}

TEST(Labor, APartWithoutOriginalIdsSaysSo) {
  const auto cut = testing::cut_graph(testing::skewed_graph(30, 5), 1);
  HopRequest request;
  request.choice = place_of_kind(choice_kinds(), "labor");
  request.frontiers = {{NodeTypeId{0}, cut.globals({1})}};
  request.sections = {{.fanout = 2}};
  EXPECT_ERROR(sample_one_hop(*cut.parts[0], request), Errc::failed_precondition,
               "no original ids of neighbors");
}

TEST(Labor, ANeighborWhoseOriginalIdIsNotKnownIsNamed) {
  const auto cut = testing::cut_graph(testing::skewed_graph(30, 5), 2);
  const std::vector<EdgeTypeId> types = {EdgeTypeId{0}};
  EXPECT_OK(with_neighbour_originals(*cut.parts[0], types, EdgeDir::in));
  EXPECT_ERROR(with_neighbour_originals(*cut.parts[1], types, EdgeDir::in),
               Errc::failed_precondition, "part 1, edge type 0: the original id of");
}

// A host with all lists and no halos finds the original ids in the other parts.
TEST(Labor, OriginalIdsOfNeighborsComeFromTheOtherParts) {
  const auto graph = labor_graph();
  for (const std::uint32_t parts : {2U, 5U}) {
    auto cut = testing::cut_graph(graph, parts);
    const auto raw_parts = cut.parts;
    ListTables tables{.aliases = {}, .original_ids = {EdgeTypeId{0}, EdgeTypeId{1}, EdgeTypeId{2}}};
    for (auto& part : cut.parts) {
      ASSERT_OK_AND_ASSIGN(part, with_list_tables(part, tables, EdgeDir::in, raw_parts));
    }
    const auto options = labor({{4, 3, 2}, {2, 1, 3}});
    EXPECT_EQ(testing::drive_plain(cut, options, labor_key, {1, 17, 59}),
              ReferenceSampler(graph, options, labor_key).sample({1, 17, 59}));
  }
}

// Each entry is taken with probability ⌊fanout · 2^32 / d⌋ / 2^32, whatever the others.
TEST(Labor, SharesOfInclusionAreFanoutOverDegree) {
  std::vector<double> p_values;
  std::vector<std::uint32_t> taken;
  for (std::uint32_t trial = 0; trial < 120; ++trial) {
    const std::uint32_t degree = 8 + trial % 40;
    const std::uint32_t fanout = 1 + trial % 7;
    std::vector<std::uint64_t> list(degree);
    std::iota(list.begin(), list.end(), std::uint64_t{1000} * trial);
    std::vector<double> seen(degree);
    constexpr std::uint32_t batches = 600;
    for (std::uint64_t batch = 0; batch < batches; ++batch) {
      const auto key = stream_key(trial, {.domain = Domain::labor, .batch = batch});
      labor_positions(key, list, 0, fanout, taken);
      for (const auto position : taken) {
        ++seen[position];
      }
    }
    const double p = static_cast<double>(fanout) / degree;
    double statistic = 0;
    for (const double count : seen) {
      const double off = count - batches * p;
      statistic += off * off / (batches * p * (1 - p));
    }
    p_values.push_back(testing::chi_square_survival(statistic, degree));
  }
  EXPECT_GT(*std::ranges::min_element(p_values), 1e-6);
  EXPECT_GT(testing::kolmogorov_smirnov_p_value(p_values), 1e-4);
}

TEST(Labor, BatchesHaveFewerDistinctNodesThanUniformOnes) {
  const auto graph = testing::skewed_graph(2000, 30);
  auto cut = testing::cut_graph(graph, 2);
  testing::add_neighbour_originals(cut, EdgeDir::in);
  std::vector<std::uint64_t> seeds(200);
  std::iota(seeds.begin(), seeds.end(), std::uint64_t{0});
  const auto options = labor({{8}});
  auto uniform = options;
  uniform.choice = 0;
  std::uint64_t nodes = 0;
  std::uint64_t uniform_nodes = 0;
  double edges = 0;
  double uniform_edges = 0;
  for (std::uint64_t number = 0; number < 40; ++number) {
    const auto batch = testing::drive(cut, options, {.number = number}, seeds);
    const auto other = testing::drive(cut, uniform, {.number = number}, seeds);
    nodes += batch.num_nodes();
    uniform_nodes += other.num_nodes();
    edges += static_cast<double>(batch.num_edges());
    uniform_edges += static_cast<double>(other.num_edges());
  }
  EXPECT_LT(nodes, uniform_nodes);
  EXPECT_NEAR(edges / uniform_edges, 1, 0.05) << "degrees as expected";
}

TEST(Labor, SharedHopsTakeTheSameNeighborsOfANode) {
  const auto graph = testing::skewed_graph(200, 20);
  auto cut = testing::cut_graph(graph, 3);
  testing::add_neighbour_originals(cut, EdgeDir::in);
  auto options = labor({{5}, {5}});
  options.shared = true;
  options.frontier = Frontier::all;  // seeds are drawn for twice
  const auto batch = testing::drive(cut, options, labor_key, {1, 7, 33});
  const auto& edges = batch.edges[0];
  for (std::uint32_t seed = 0; seed < 3; ++seed) {
    const auto row = [&](std::uint32_t at) {
      return std::vector<std::uint32_t>(edges.sources.begin() + edges.offsets[at],
                                        edges.sources.begin() + edges.offsets[at + 1]);
    };
    EXPECT_EQ(row(seed), row(edges.row_begin[1] + seed)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace troupe
