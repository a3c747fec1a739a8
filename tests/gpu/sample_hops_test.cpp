#include "gpu/sample/sample_hops.hpp"

#include "tests/gpu/sample_support.hpp"
#include "tests/runtime/sample/golden_graphs.hpp"
#include "tests/support/file_text.hpp"

namespace troupe {
namespace {

using testing::CutGraph;
using testing::DeviceSampling;
using testing::EmulatedSampling;

class SampleHops : public testing::OnEachDevice {
 protected:
  /// Compares batches of the device, in some orders, with one of the host.
  void expect_host_batches(const CutGraph& cut, const SampleOptions& options, BatchKey key,
                           const std::vector<std::uint64_t>& seeds, std::uint16_t seed_type,
                           std::uint64_t most_orders, const std::string& what) const {
    const auto expected = testing::drive(cut, options, key, seeds, seed_type);
    for (std::uint64_t order = 1; order <= orders(most_orders); ++order) {
      DeviceSampling sampling(on(order), cut, options);
      testing::expect_same(sampling.sample(key, seeds, seed_type), expected,
                           fmt::format("{}, order {}", what, order));
      testing::expect_same(sampling.sample(key, seeds, seed_type), expected,
                           fmt::format("{}, order {}, with one wait", what, order));
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, SampleHops, ::testing::ValuesIn(testing::tested_devices),
                         testing::name_of_device);

TEST_P(SampleHops, GiveTheHostsBatchesInAnyOrder) {
  const auto cut = testing::cut_graph(testing::long_tailed_graph(2000, 1), 1);
  expect_host_batches(cut, testing::fanouts({15, 10, 5}), {.epoch = 3, .number = 7},
                      testing::random_seeds(100, 2000, 5), 0, 20, "fanout 15 10 5");
}

TEST_P(SampleHops, OfAllOptions) {
  const auto cut = testing::cut_graph(testing::long_tailed_graph(1500, 2), 1);
  const auto seeds = testing::random_seeds(40, 1500, 3);
  for (const auto& per_hop : std::vector<std::vector<std::int32_t>>{
           {15, 10, 5}, {1, 1, 1, 1}, {64, 3}, {100}, {-1}, {3, -1}, {0, 5}, {5, 0, 5}, {}}) {
    auto options = testing::fanouts(per_hop);
    for (int variant = 0; variant < 16; ++variant) {
      options.replace = (variant & 1) != 0;
      options.frontier = (variant & 2) != 0 ? Frontier::all : Frontier::fresh;
      options.dir = (variant & 4) != 0 ? EdgeDir::out : EdgeDir::in;
      options.edge_data.edge_ids = (variant & 8) != 0;
      options.shared = variant == 5;
      const BatchKey key{.purpose = variant % 3 == 0 ? Purpose::evaluate : Purpose::train,
                         .number = std::uint64_t{1} << 33};
      expect_host_batches(
          cut, options, key, seeds, 0, 1,
          fmt::format("fanout {}, variant {}", testing::list_text(per_hop), variant));
    }
  }
}

TEST_P(SampleHops, OfAnyNumberOfSeeds) {
  const auto cut = testing::cut_graph(testing::long_tailed_graph(1200, 4), 1);
  const auto options = testing::fanouts({4, 3});
  DeviceSampling sampling(on(), cut, options);
  std::uint64_t number = 0;
  for (const std::size_t count : {0U, 1U, 31U, 1023U, 32U, 33U, 0U, 2U}) {
    const BatchKey key{.number = number++};
    const auto seeds = testing::random_seeds(count, 1200, count);
    testing::expect_same(sampling.sample(key, seeds), testing::drive(cut, options, key, seeds),
                         fmt::format("{} seeds", count));
  }
  const std::vector<std::uint64_t> same(33, 17);
  testing::expect_same(sampling.sample({}, same), testing::drive(cut, options, {}, same),
                       "one node as all seeds");
}

/// Sums of up to 8192 elements have a kernel of their own on a GPU.
TEST_P(SampleHops, OfManySeeds) {
  const auto cut = testing::cut_graph(testing::long_tailed_graph(12000, 4), 1);
  const auto options = testing::fanouts({2, 1});
  for (const std::size_t count : {8191U, 8192U, 8193U, 20000U}) {
    expect_host_batches(cut, options, {}, testing::random_seeds(count, 12000, count), 0, 1,
                        fmt::format("{} seeds", count));
  }
}

TEST_P(SampleHops, OfHubsAndOfListsWithoutEntries) {
  std::vector<testing::TestEdge> edges;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    edges.push_back({i, 0});
    edges.push_back({i % 3, 1});  // long, of few nodes
  }
  const auto cut = testing::cut_graph(testing::plain_graph(5000, std::move(edges)), 1);
  for (const auto fanout : {1, 63, 64, 65, 1000, 4999, 5000, 5001, -1}) {
    for (const bool replace : {false, true}) {
      auto options = testing::fanouts({fanout, 2});
      options.replace = replace;
      expect_host_batches(cut, options, {}, {0, 7, 1, 4999}, 0, 2,
                          fmt::format("fanout {}, replace {}", fanout, replace));
    }
  }
  const auto none = testing::cut_graph(testing::plain_graph(10, {}), 1);
  expect_host_batches(none, testing::fanouts({5, -1}), {}, {3, 3, 9}, 0, 2, "no edges");
}

TEST_P(SampleHops, OfWideIds) {
  const auto cut = testing::cut_graph(testing::long_tailed_graph(1500, 6), 1, /*wide=*/true);
  auto options = testing::fanouts({15, 10, 5});
  expect_host_batches(cut, options, {}, testing::random_seeds(64, 1500, 8), 0, 20, "wide ids");
  options.frontier = Frontier::all;
  options.replace = true;
  expect_host_batches(cut, options, {}, testing::random_seeds(64, 1500, 9), 0, 2, "wide, all");
}

TEST_P(SampleHops, WithAllDataOfEdges) {
  auto graph = testing::long_tailed_graph(900, 7);
  testing::add_times(graph.edges[0]);
  testing::add_weights(graph.edges[0]);
  testing::add_edge_features(graph.edges[0], 3);
  const auto cut = testing::cut_graph(graph, 1);
  auto options = testing::fanouts({6, -1, 2});
  options.edge_data = {.edge_ids = true, .weights = true, .times = true, .entries = true};
  expect_host_batches(cut, options, {}, testing::random_seeds(20, 900, 8), 0, 2, "all data");
  options.edge_data = {.weights = true};
  options.entries_of = {EdgeTypeId{0}};
  expect_host_batches(cut, options, {}, testing::random_seeds(20, 900, 9), 0, 2, "of columns");
}

TEST_P(SampleHops, OfManyNodeAndEdgeTypes) {
  const auto cut = testing::cut_graph(testing::long_tailed_hetero_graph(11), 1);
  const std::vector<std::vector<std::vector<std::int32_t>>> fanouts{
      {{5, 4, 3, 2, 1}, {2, 3, 4, 1, 5}, {3, 3, 3, 3, 3}},
      {{-1, 2, 0, 3, 2}, {4, -1, 2, 0, 0}},
      {{0, 0, 0, 0, 7}, {0, 7, 0, 0, 0}, {1, 1, 1, 1, 1}},
      {{0, 0, 0, 0, 0}}};
  for (std::size_t f = 0; f < fanouts.size(); ++f) {
    SampleOptions options{.fanout = fanouts[f], .edge_data = {.edge_ids = true}, .job_seed = 9 + f};
    for (int variant = 0; variant < 8; ++variant) {
      options.replace = (variant & 1) != 0;
      options.frontier = (variant & 2) != 0 ? Frontier::all : Frontier::fresh;
      options.dir = (variant & 4) != 0 ? EdgeDir::out : EdgeDir::in;
      for (std::uint16_t type = 0; type < 3; ++type) {
        expect_host_batches(
            cut, options, {.number = f}, testing::random_seeds(30, type == 2 ? 40 : 300, type),
            type, 1, fmt::format("fanouts {}, variant {}, seeds of type {}", f, variant, type));
      }
    }
    expect_host_batches(cut, options, {}, testing::random_seeds(30, 300, 5), 1, 20,
                        fmt::format("fanouts {}", f));
  }
}

TEST_P(SampleHops, OfSeedsOfSeveralTypes) {
  const auto cut = testing::cut_graph(testing::long_tailed_hetero_graph(12), 1);
  const SampleOptions options{.fanout = {{2, 2, 2, 2, 2}, {1, 3, 1, 3, 1}}, .job_seed = 5};
  const BatchSeeds seeds{.groups = {{NodeTypeId{1}, cut.globals({4, 9, 4}, 1)},
                                    {NodeTypeId{0}, cut.globals({4, 200}, 0)},
                                    {NodeTypeId{1}, cut.globals({9, 77, 4}, 1)},
                                    {NodeTypeId{2}, {}}}};
  BatchBuilder builder(cut.info, *cut.book, std::make_shared<SampleOptions>(options), {}, seeds);
  while (!builder.done()) {
    for (const auto& question : builder.questions()) {
      const auto reply = sample_one_hop(*cut.parts[raw(question.part)], question.request);
      ASSERT_OK(reply);
      ASSERT_OK(builder.answer(question.id, *reply));
    }
  }
  DeviceSampling sampling(on(), cut, options);
  const auto expected = std::move(builder).take();
  testing::expect_same(sampling.sample({}, seeds), expected, "groups");
  testing::expect_same(sampling.sample({}, seeds), expected, "groups with one wait");
}

TEST_P(SampleHops, MakeGoldenBatches) {
  struct Golden {
    std::string title;
    SampleOptions options;
    BatchKey key{};
    std::vector<std::uint64_t> seeds;
    std::uint16_t seed_type = 0;
  };
  const auto contents = [](const std::string& name) {
    const auto text =
        testing::file_text(std::string(TROUPE_SOURCE_DIR) + "/tests/goldens/batches/" + name);
    EXPECT_FALSE(text.empty()) << name;
    return text + "\n";
  };
  const auto expect_golden = [&](const testing::TestGraph& graph, const std::string& name,
                                 const std::vector<Golden>& batches) {
    const auto text = contents(name);
    for (const auto& [title, options, key, seeds, seed_type] : batches) {
      auto cut = testing::cut_graph(graph, 1);
      if (!graph.edges[0].weights.empty()) {
        testing::add_alias_tables(cut, options.dir);
      }
      DeviceSampling sampling(on(), cut, options);
      sampling.sample(key, seeds, seed_type);  // the next one is made with one wait
      const auto got =
          testing::text_of(testing::plain(sampling.sample(key, seeds, seed_type), cut));
      const auto block = fmt::format("\n{}, seeds {}\n{}\n", title, testing::list_text(seeds), got);
      EXPECT_NE(text.find(block), std::string::npos) << name << " does not have" << block;
    }
  };
  const auto with = [](SampleOptions options, Frontier frontier, bool replace, EdgeDir dir) {
    options.frontier = frontier;
    options.replace = replace;
    options.dir = dir;
    return options;
  };
  const auto few = testing::fanouts({4, 2});
  expect_golden(
      testing::small_graph(), "small.txt",
      {{"fanout 4 2, epoch 0, batch 0", few, {}, {0, 1, 11, 0}},
       {"fanout 4 2, epoch 1, batch 0", few, {.epoch = 1}, {0, 1, 11, 0}},
       {"fanout 4 2, epoch 0, batch 2^32 + 1", few, {.number = (std::uint64_t{1} << 32) + 1}, {0}},
       {"fanout 4 2, evaluation", few, {.purpose = Purpose::evaluate}, {0}},
       {"fanout 4 2, frontier all", with(few, Frontier::all, false, EdgeDir::in), {}, {0, 10}},
       {"fanout 3 3, with replacement",
        with(testing::fanouts({3, 3}), Frontier::fresh, true, EdgeDir::in),
        {},
        {0, 10}},
       {"fanout 2 all, outwards",
        with(testing::fanouts({2, -1}), Frontier::fresh, false, EdgeDir::out),
        {},
        {5, 11}},
       {"fanout 10 3, epoch 2, batch 7",
        testing::fanouts({10, 3}),
        {.epoch = 2, .number = 7},
        {0}}});
  auto weighted_graph = testing::small_graph();
  testing::add_golden_weights(weighted_graph.edges[0]);
  const auto by_weight = [&](const std::vector<std::int32_t>& per_hop, Frontier frontier,
                             bool replace, EdgeDir dir) {
    auto options = with(testing::fanouts(per_hop), frontier, replace, dir);
    options.choice = place_of_kind(choice_kinds(), "weighted");
    return options;
  };
  const auto few_by_weight = by_weight({4, 2}, Frontier::fresh, false, EdgeDir::in);
  expect_golden(
      weighted_graph, "weighted.txt",
      {{"fanout 4 2, epoch 0, batch 0, by weight", few_by_weight, {}, {0, 1, 11, 0}},
       {"fanout 4 2, epoch 1, batch 9, by weight",
        few_by_weight,
        {.epoch = 1, .number = 9},
        {0, 2, 3, 4, 5}},
       {"fanout 4 2, evaluation, by weight", few_by_weight, {.purpose = Purpose::evaluate}, {0}},
       {"fanout 4 2, frontier all, by weight",
        by_weight({4, 2}, Frontier::all, false, EdgeDir::in),
        {},
        {0, 10}},
       {"fanout 3 3, with replacement, by weight",
        by_weight({3, 3}, Frontier::fresh, true, EdgeDir::in),
        {},
        {0, 1, 10}},
       {"fanout 2 all, outwards, by weight",
        by_weight({2, -1}, Frontier::fresh, false, EdgeDir::out),
        {},
        {5, 11}},
       {"fanout 8 3, epoch 2, batch 7, by weight",
        by_weight({8, 3}, Frontier::fresh, false, EdgeDir::in),
        {.epoch = 2, .number = 7},
        {0}}});
  const SampleOptions typed{
      .fanout = {{3, 2, 4, 1}, {2, -1, 1, 2}}, .edge_data = {.edge_ids = true}, .job_seed = 42};
  const std::string title = "fanout 3 2 / 2 all / 4 1 / 1 2";
  expect_golden(
      testing::hetero_graph(), "hetero.txt",
      {{title + ", epoch 0, batch 0, seed type 1", typed, {}, {0, 8, 0, 3}, 1},
       {title + ", epoch 3, batch 5, seed type 0", typed, {.epoch = 3, .number = 5}, {2, 5}, 0},
       {title + ", frontier all, seed type 1",
        with(typed, Frontier::all, false, EdgeDir::in),
        {},
        {0, 4},
        1},
       {title + ", outwards, seed type 2",
        with(typed, Frontier::fresh, false, EdgeDir::out),
        {},
        {1},
        2}});
}

TEST(SampleHopsMemory, IsThatOfTheGraphOnceABatchIsDropped) {
  const auto cut = testing::cut_graph(testing::long_tailed_hetero_graph(3), 1);
  const SampleOptions options{.fanout = {{2, 2, 2, 2, 2}, {1, 3, 1, 3, 1}},
                              .edge_data = {.edge_ids = true}};
  EmulatedSampling sampling(cut, options);
  const auto& memory = sampling.device().memory();
  std::uint64_t empty = 0;  // arrays without elements take a byte
  for (const auto& edges : sampling.graph().edges) {
    empty += (edges.weights.empty() ? 1U : 0U) + (edges.times.empty() ? 1U : 0U) +
             (edges.aliases.empty() ? 1U : 0U);
  }
  empty += sampling.graph().nodes[2].original_ids.empty() ? 1U : 0U;
  EXPECT_EQ(memory.used_bytes(), sampling.graph().bytes + empty);
  for (int batch = 0; batch < 3; ++batch) {
    sampling.sample({}, {1, 2, 3}, 1);
    ASSERT_TRUE(sampling.stream().finish());
    EXPECT_EQ(memory.used_bytes(), sampling.graph().bytes + empty);
  }
}

TEST(SampleHopsMemory, TooLittleFailsAtAnyPoint) {
  const auto cut = testing::cut_graph(testing::long_tailed_graph(500, 3), 1);
  const auto options = testing::fanouts({4, 3});
  const auto seeds = testing::random_seeds(32, 500, 1);
  EmulatedSampling enough(cut, options);
  const auto graph = enough.graph().bytes + 16;
  const auto expected = enough.sample({}, seeds);
  const auto most = enough.device().memory().most_bytes();
  int failed = 0;
  for (std::uint64_t bytes = graph; bytes <= most; bytes += (most - graph) / 40) {
    EmulatedSampling sampling(cut, options, {.memory_bytes = bytes});
    const auto batch = sampling.on_device({}, seeds);
    failed += testing::fails_for_room(sampling.stream(), batch, expected, bytes) ? 1 : 0;
  }
  EXPECT_GE(failed, 10);
  EXPECT_LT(failed, 40);
}

}  // namespace
}  // namespace troupe
