#include "gpu/sample/one_trip.hpp"

#include "tests/gpu/sample_support.hpp"

namespace troupe {
namespace {

using gpu::Memory;
using testing::CutGraph;
using testing::EmulatedSampling;

/// Samples batches of some sizes one after the other, and compares each with one of the host.
gpu::TripCounts expect_batches(const CutGraph& cut, const SampleOptions& options,
                               const std::vector<std::size_t>& counts, std::uint16_t seed_type,
                               const gpu::EmulatedOptions& device, const std::string& what) {
  const std::uint64_t nodes = cut.info.node_types[seed_type].count;
  gpu::TripCounts trips;
  for (const auto memory : {Memory::separate, Memory::one_block}) {
    EmulatedSampling sampling(cut, options, device, {.memory = memory, .most_unused_bytes = 4096});
    for (std::uint64_t number = 0; number < counts.size(); ++number) {
      const auto seeds = testing::random_seeds(counts[number], nodes, number);
      const BatchKey key{.number = number};
      testing::expect_same(sampling.sample(key, seeds, seed_type),
                           testing::drive(cut, options, key, seeds, seed_type),
                           fmt::format("{}, {} seeds, batch {}, device {}", what, counts[number],
                                       number, device.seed));
    }
    trips = sampling.trips();
    EXPECT_EQ(trips.one_trip + trips.by_hop, counts.size()) << what;
    EXPECT_LT(trips.did_not_fit, trips.by_hop) << what;  // the first was not tried
  }
  return trips;
}

const std::vector<std::size_t> growing_and_shrinking{30, 30, 30, 90, 0, 1, 90, 300, 30, 299, 7};

TEST(OneTrip, GivesTheHostsBatchesWhereTheyGrowAndShrink) {
  const auto narrow = testing::cut_graph(testing::long_tailed_graph(1500, 1), 1);
  const auto wide = testing::cut_graph(testing::long_tailed_graph(1500, 2), 1, /*wide=*/true);
  std::uint64_t seed = 0;
  std::uint64_t met = 0;
  for (const auto* cut : {&narrow, &wide}) {
    for (const auto& per_hop : std::vector<std::vector<std::int32_t>>{
             {15, 10, 5}, {3}, {20, 17}, {-1}, {3, -1}, {0, 5}, {5, 0, 5}, {7, 4}}) {
      for (int variant = 0; variant < 8; ++variant) {
        auto options = testing::fanouts(per_hop);
        options.replace = (variant & 1) != 0;
        options.frontier = (variant & 2) != 0 ? Frontier::all : Frontier::fresh;
        options.edge_data.edge_ids = (variant & 4) != 0;
        options.dir = variant == 3 ? EdgeDir::out : EdgeDir::in;
        const auto trips = expect_batches(
            *cut, options, growing_and_shrinking, 0,
            {.seed = ++seed, .threads = variant % 3 == 0 ? 4U : 1U},
            fmt::format("fanout {}, variant {}", testing::list_text(per_hop), variant));
        EXPECT_GE(trips.one_trip, 6U);
        EXPECT_LE(trips.did_not_fit, 4U);
        met += trips.did_not_fit;
      }
    }
  }
  EXPECT_GE(met, 100U);
}

TEST(OneTrip, IsTriedInVainWhereABatchIsMuchLarger) {
  const auto cut = testing::cut_graph(testing::long_tailed_graph(3000, 3), 1);
  const auto trips = expect_batches(cut, testing::fanouts({-1, 3}),
                                    {10, 10, 400, 400, 10, 800, 400}, 0, {}, "larger");
  EXPECT_EQ(trips.did_not_fit, 2U);
  EXPECT_EQ(trips.one_trip, 4U);
}

TEST(OneTrip, GivesTheHostsBatchesOfManyTypes) {
  const auto cut = testing::cut_graph(testing::long_tailed_hetero_graph(4), 1);
  std::uint64_t met = 0;
  for (const auto& fanout : std::vector<std::vector<std::vector<std::int32_t>>>{
           {{5, 4, 3, 2, 1}, {2, 3, 4, 1, 5}, {3, 3, 3, 3, 3}},
           {{-1, 2, 0, 3, 2}, {4, -1, 2, 0, 0}},
           {{0, 0, 0, 0, 7}, {0, 7, 0, 0, 0}, {1, 1, 1, 1, 1}},
           {{0, 0, 0, 0, 0}}}) {
    for (int variant = 0; variant < 8; ++variant) {
      SampleOptions options{.fanout = fanout, .job_seed = 3};
      options.replace = (variant & 1) != 0;
      options.frontier = (variant & 2) != 0 ? Frontier::all : Frontier::fresh;
      options.edge_data.edge_ids = (variant & 4) != 0;
      for (std::uint16_t type = 0; type < 3; ++type) {
        met += expect_batches(cut, options, {20, 20, 3, 0, 40, 38}, type,
                              {.seed = met + 1, .threads = type + 1U},
                              fmt::format("variant {}, seeds of type {}", variant, type))
                   .did_not_fit;
      }
    }
  }
  EXPECT_GE(met, 10U);
}

TEST(OneTrip, TakesAllDataOfEdges) {
  auto graph = testing::long_tailed_graph(900, 7);
  testing::add_times(graph.edges[0]);
  testing::add_weights(graph.edges[0]);
  testing::add_edge_features(graph.edges[0], 3);
  const auto cut = testing::cut_graph(graph, 1);
  auto options = testing::fanouts({6, -1, 2});
  options.edge_data = {.edge_ids = true, .weights = true, .times = true, .entries = true};
  EXPECT_GE(expect_batches(cut, options, growing_and_shrinking, 0, {}, "all data").one_trip, 6U);
  options.edge_data = {.weights = true};
  options.entries_of = {EdgeTypeId{0}};
  EXPECT_GE(expect_batches(cut, options, growing_and_shrinking, 0, {}, "of columns").one_trip, 6U);
}

TEST(OneTrip, DrawsByWeight) {
  auto graph = testing::long_tailed_graph(900, 8);
  testing::add_weights(graph.edges[0]);
  for (std::size_t i = 0; i < graph.edges[0].weights.size(); i += 3) {
    graph.edges[0].weights[i] = 0;
  }
  auto cut = testing::cut_graph(graph, 1);
  auto options = testing::fanouts({6, 4, -1});
  options.choice = place_of_kind(choice_kinds(), "weighted");
  testing::add_alias_tables(cut, options.dir);
  for (int variant = 0; variant < 4; ++variant) {
    options.replace = (variant & 1) != 0;
    options.frontier = (variant & 2) != 0 ? Frontier::all : Frontier::fresh;
    const auto trips = expect_batches(cut, options, growing_and_shrinking, 0, {.threads = 4},
                                      fmt::format("by weight, variant {}", variant));
    EXPECT_GE(trips.one_trip, 6U);
  }
}

/// A few nodes have long lists: batches with one of them are a hundred times larger.
TEST(OneTrip, GivesTheHostsBatchesAroundHubs) {
  std::vector<testing::TestEdge> edges;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    edges.push_back({i, i % 8 == 0 ? i / 8 % 3 : i});
    edges.push_back({(i * 7) % 4000, i});
  }
  const auto cut = testing::cut_graph(testing::plain_graph(4000, std::move(edges)), 1);
  for (const auto fanout : {-1, 1000}) {
    for (const bool replace : {false, true}) {
      auto options = testing::fanouts({fanout, 2});
      options.replace = replace;
      EmulatedSampling sampling(cut, options);
      std::uint64_t number = 0;
      for (const std::uint64_t hub : {9U, 9U, 1U, 9U, 0U, 9U, 2U, 1U, 9U, 10U}) {
        const BatchKey key{.number = number++};
        const std::vector<std::uint64_t> seeds{hub, 3000 + number};
        testing::expect_same(sampling.sample(key, seeds), testing::drive(cut, options, key, seeds),
                             fmt::format("hub {}, fanout {}", hub, fanout));
      }
      EXPECT_GE(sampling.trips().one_trip, 7U);
    }
  }
}

TEST(OneTrip, NumbersGroupsOfSeedsInTheirOrder) {
  const auto cut = testing::cut_graph(testing::long_tailed_hetero_graph(12), 1);
  const SampleOptions options{.fanout = {{2, 2, 2, 2, 2}, {1, 3, 1, 3, 1}}, .job_seed = 5};
  const BatchSeeds seeds{.groups = {{NodeTypeId{1}, cut.globals({4, 9, 4}, 1)},
                                    {NodeTypeId{0}, cut.globals({4, 200}, 0)},
                                    {NodeTypeId{2}, {}},
                                    {NodeTypeId{1}, cut.globals({9, 77, 4}, 1)}}};
  EmulatedSampling sampling(cut, options);
  const auto first = sampling.sample({}, seeds);
  const auto second = sampling.sample({}, seeds);
  EXPECT_EQ(sampling.trips().one_trip, 1U);
  testing::expect_same(second, first, "groups");
}

TEST(OneTripRoom, OfABatchThatIsMuchLargerIsGivenBack) {
  const auto cut = testing::cut_graph(testing::long_tailed_graph(3000, 9), 1);
  auto options = testing::fanouts({10, 5});
  options.edge_data = {.edge_ids = true};
  // Of two batches that stay on the device, without and with memory of their own.
  const auto bytes_kept = [&](std::uint64_t most_unused) {
    EmulatedSampling sampling(cut, options, {},
                              {.memory = Memory::one_block, .most_unused_bytes = most_unused});
    sampling.sample({}, testing::random_seeds(400, 3000, 1));
    EXPECT_OK(sampling.stream().finish());
    const auto before = sampling.device().memory().used_bytes();
    const auto small = sampling.on_device({}, testing::random_seeds(360, 3000, 2));
    const auto tiny = sampling.on_device({}, testing::random_seeds(20, 3000, 3));
    EXPECT_OK(small);
    EXPECT_OK(tiny);
    EXPECT_EQ(sampling.trips().one_trip, 2U);
    EXPECT_OK(sampling.stream().finish());
    return sampling.device().memory().used_bytes() - before;
  };
  EXPECT_GT(bytes_kept(~std::uint64_t{0} / 2), bytes_kept(0));
}

TEST(OneTrip, EndsWithAnErrorOfTheStream) {
  const auto cut = testing::cut_graph(testing::long_tailed_graph(500, 3), 1);
  EmulatedSampling sampling(cut, testing::fanouts({4, 3}));
  const auto seeds = testing::random_seeds(32, 500, 1);
  sampling.sample({}, seeds);
  sampling.stream().fail({Errc::cuda_failure, "lost"});
  EXPECT_ERROR(sampling.on_device({}, seeds), Errc::cuda_failure, "lost");
  EXPECT_ERROR(sampling.on_device({}, seeds), Errc::cuda_failure, "lost");
}

TEST(OneTrip, FailsWhereMemoryDoesNotSuffice) {
  const auto cut = testing::cut_graph(testing::long_tailed_graph(500, 3), 1);
  const auto options = testing::fanouts({4, 3});
  const auto seeds = testing::random_seeds(32, 500, 1);
  const auto more = testing::random_seeds(64, 500, 2);
  const auto expected = testing::drive(cut, options, {}, more);
  EmulatedSampling enough(cut, options);
  enough.sample({}, seeds);
  const auto least = enough.device().memory().most_bytes();
  enough.sample({}, more);
  const auto most = enough.device().memory().most_bytes();
  int failed = 0;
  for (auto bytes = least; bytes <= most; bytes += (most - least) / 20) {
    EmulatedSampling sampling(cut, options, {.memory_bytes = bytes});
    ASSERT_OK(sampling.on_device({}, seeds));
    const auto batch = sampling.on_device({}, more);
    failed += testing::fails_for_room(sampling.stream(), batch, expected, bytes) ? 1 : 0;
  }
  EXPECT_GE(failed, 5);
  EXPECT_LT(failed, 21);
}

}  // namespace
}  // namespace troupe
