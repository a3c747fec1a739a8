#include "gpu/sample/device_sampler.hpp"

#include "tests/gpu/sample_support.hpp"

namespace troupe {
namespace {

using testing::CutGraph;

/// Lists whose entries are never read, because there are too many.
TEST(SampleHopsLimits, RefuseMoreEdgesThanIndicesReach) {
  constexpr std::uint64_t degree = 0x80000000U;
  const std::vector<std::uint64_t> offsets{0,          degree - 2, 2 * degree,
                                           3 * degree, 4 * degree, 4 * degree};
  const std::vector<std::uint64_t> originals{0, 1, 2, 3, 4};
  const std::uint32_t nothing = 0;
  gpu::GraphArrays arrays;
  arrays.nodes = {{.count = 5, .id_bytes = 4, .original_ids = originals}};
  arrays.lists.resize(1);
  arrays.lists[0].lists.offsets = offsets;
  arrays.lists[0].lists.neighbours = std::span(&nothing, 1);
  gpu::EmulatedStream on(std::make_shared<gpu::EmulatedDevice>());
  ASSERT_OK_AND_ASSIGN(auto graph, gpu::upload_graph(on, arrays));
  graph.edges[0].entries = offsets.back();
  gpu::HopSampler<gpu::EmulatedStream> sampler(
      on, std::make_shared<gpu::DeviceGraph>(std::move(graph)), {.fanout = {{-1}}});
  const auto sample = [&](std::vector<NodeId> seeds) {
    return sampler.sample({}, {.groups = {{NodeTypeId{0}, std::move(seeds)}}});
  };
  EXPECT_ERROR(sample({NodeId{0}, NodeId{1}}), Errc::invalid_argument,
               "a batch holds fewer than 2^32 edges of a type, edge type 0 has 4294967296");
  EXPECT_ERROR(sample({NodeId{2}, NodeId{3}, NodeId{2}}), Errc::invalid_argument,
               "edge type 0 has 4294967296");
  EXPECT_ERROR(sample({NodeId{3}}), Errc::invalid_argument,
               "a hop leads to fewer than 2^31 nodes of a type, node type 0 has 2147483648");
  // The same when sizes of batches before are known.
  ASSERT_OK(sample({NodeId{4}}));
  ASSERT_OK(sample({NodeId{4}, NodeId{4}}));
  EXPECT_EQ(sampler.trips().one_trip, 1U);
  EXPECT_ERROR(sample({NodeId{0}, NodeId{1}}), Errc::invalid_argument,
               "edge type 0 has 4294967296");
  EXPECT_ERROR(sample({NodeId{3}}), Errc::invalid_argument, "node type 0 has 2147483648");
  ASSERT_OK(sample({NodeId{4}}));
  EXPECT_EQ(sampler.trips().one_trip, 2U);
}

class DeviceSamplerTest : public testing::OnEachDevice {};

INSTANTIATE_TEST_SUITE_P(Devices, DeviceSamplerTest,
                         ::testing::Values(testing::one_thread, testing::cuda_device),
                         testing::name_of_device);

TEST_P(DeviceSamplerTest, SamplesBatchAfterBatch) {
  const auto cut = testing::cut_graph(testing::long_tailed_hetero_graph(5), 1);
  const SampleOptions options{.fanout = {{4, 4, 4, 4, 4}, {3, 3, 3, 3, 3}}, .job_seed = 3};
  ASSERT_OK_AND_ASSIGN(const auto sampler, on().sampler(cut, options));
  ASSERT_OK_AND_ASSIGN(const auto arrays, gpu::arrays_for_device(cut.info, *cut.parts[0], options));
  EXPECT_EQ(sampler->graph().bytes, arrays.bytes());
  EXPECT_EQ(sampler->graph().pinned_bytes, 0U);
  for (std::uint64_t number = 0; number < 5; ++number) {
    const auto seeds = testing::random_seeds(50, 500, number);
    const BatchKey key{.number = number};
    ASSERT_OK_AND_ASSIGN(
        const auto batch,
        sampler->sample(key, {.groups = {{NodeTypeId{1}, cut.globals(seeds, 1)}}}));
    ASSERT_OK_AND_ASSIGN(const auto got, sampler->download(batch));
    testing::expect_same(got, testing::drive(cut, options, key, seeds, 1),
                         fmt::format("batch {}", number));
  }
  EXPECT_ERROR(sampler->sample({}, {.groups = {{NodeTypeId{1}, {NodeId{500}}}}}),
               Errc::invalid_argument, "seed 500");
  auto refused = options;
  refused.disjoint = true;
  EXPECT_ERROR(on().sampler(cut, refused), Errc::unimplemented, "disjoint");
}

TEST(DeviceSampler, GraphsThatDoNotFitAreRefused) {
  const auto cut = testing::cut_graph(testing::long_tailed_hetero_graph(5), 1);
  const SampleOptions options{.fanout = {{4, 4, 4, 4, 4}}};
  ASSERT_OK_AND_ASSIGN(const auto arrays, gpu::arrays_for_device(cut.info, *cut.parts[0], options));
  const auto small = std::make_shared<gpu::EmulatedDevice>(
      gpu::EmulatedOptions{.memory_bytes = arrays.bytes() - 1});
  EXPECT_ERROR(testing::emulated_sampler(small, cut, options), Errc::out_of_memory,
               "emulated device");
}

TEST(DeviceSampler, KeepsListsInMemoryOfTheHost) {
  const auto cut = testing::cut_graph(testing::long_tailed_graph(3000, 5), 1);
  auto options = testing::fanouts({4, 3});
  ASSERT_OK_AND_ASSIGN(const auto arrays, gpu::arrays_for_device(cut.info, *cut.parts[0], options));
  const auto originals = 3000 * sizeof(std::uint64_t);
  // Less than the lists take.
  const auto device = std::make_shared<gpu::EmulatedDevice>(
      gpu::EmulatedOptions{.memory_bytes = arrays.bytes() - originals});
  {
    ASSERT_OK_AND_ASSIGN(const auto sampler,
                         testing::emulated_sampler(device, cut, options, gpu::Topology::pinned));
    EXPECT_EQ(sampler->graph().bytes, originals);
    EXPECT_EQ(sampler->graph().pinned_bytes, arrays.bytes() - originals);
    EXPECT_EQ(device->memory().used_bytes(), originals);
    const auto seeds = testing::random_seeds(50, 3000, 1);
    ASSERT_OK_AND_ASSIGN(const auto batch,
                         sampler->sample({}, {.groups = {{NodeTypeId{0}, cut.globals(seeds)}}}));
    ASSERT_OK_AND_ASSIGN(const auto got, sampler->download(batch));
    testing::expect_same(got, testing::drive(cut, options, {}, seeds), "pinned");
  }
  EXPECT_OK(device->schedule().run_all());
  EXPECT_EQ(device->memory().used_bytes(), 0U);
}

TEST(EmulatedHostArray, StaysUntilTheWorkBeforeItsEndIsDone) {
  gpu::EmulatedStream on(std::make_shared<gpu::EmulatedDevice>());
  auto host = on.host_array<std::uint32_t>(1000);
  std::fill_n(host.data(), host.size(), 7U);
  const auto copy = on.array<std::uint32_t>(host.size());
  on.copy(host.data(), copy.data(), copy.size_bytes());
  host = {};
  EXPECT_EQ(on.read(copy.data() + 999), 7U);
}

TEST(DeviceSampling, RefusesWhatHasNoKernel) {
  const auto refused = [](auto&& change) {
    auto options = testing::fanouts({2});
    change(options);
    return gpu::check_device_sampling(options);
  };
  EXPECT_OK(refused([](auto&) {}));
  EXPECT_ERROR(refused([](auto& o) { o.choice = place_of_kind(choice_kinds(), "last"); }),
               Errc::unimplemented, "choice \"last\" is not built yet\ntry: sampling on the host");
  EXPECT_ERROR(refused([](auto& o) { o.choice = place_of_kind(choice_kinds(), "labor"); }),
               Errc::unimplemented, "choice \"labor\"");
  EXPECT_ERROR(refused([](auto& o) { o.disjoint = true; }), Errc::unimplemented,
               "disjoint batches are not built yet");
  EXPECT_ERROR(refused([](auto& o) {
                 o.disjoint = true;
                 o.time.emplace();
               }),
               Errc::unimplemented, "times of seeds");
  EXPECT_ERROR(refused([](auto& o) { o.links.emplace(); }), Errc::unimplemented, "links as seeds");
  EXPECT_ERROR(refused([](auto& o) { o.walks.emplace(); }), Errc::unimplemented, "random walks");
  EXPECT_ERROR(refused([](auto& o) { o.subgraph = Subgraph::induced; }), Errc::unimplemented,
               "edges that were not drawn");
}

TEST(DeviceSampling, RefusesPartsThatMissSomething) {
  const auto graph = testing::long_tailed_graph(50, 1);
  const auto whole = testing::cut_graph(graph, 1);
  auto options = testing::fanouts({2});
  const auto arrays_of = [&](const CutGraph& cut, std::size_t part = 0) {
    return gpu::arrays_for_device(cut.info, *cut.parts[part], options);
  };
  EXPECT_OK(arrays_of(whole));
  const auto halves = testing::cut_graph(graph, 2);
  EXPECT_ERROR(arrays_of(halves, 1), Errc::failed_precondition,
               "expected all 50 nodes of type \"node\" in part 1");
  auto outwards = testing::cut_graph(graph, 1);
  testing::keep_out_lists(outwards, graph);
  EXPECT_ERROR(arrays_of(outwards), Errc::failed_precondition,
               "part 0 has no whole in-lists of edge type \"edge\"");
  options.fanout = {{0}};
  EXPECT_OK(arrays_of(outwards));
  auto promised = testing::cut_graph(graph, 1);
  promised.info.edge_types[0].has_weights = true;
  promised.info.edge_types[0].features = FeatureInfo{.cols = 1};
  options = testing::fanouts({2});
  options.edge_data.weights = true;
  EXPECT_ERROR(arrays_of(promised), Errc::failed_precondition, "has no weights of edge type");
  options.edge_data = {.entries = true};
  options.dir = EdgeDir::out;
  EXPECT_ERROR(arrays_of(promised), Errc::failed_precondition,
               "has no features beside the out-lists of edge type");
}

TEST(DeviceSampling, RefusesSeedsThatAreNotThere) {
  const auto cut = testing::cut_graph(testing::long_tailed_graph(50, 1), 1);
  const std::vector<std::uint64_t> counts{50};
  const auto check = [&](const BatchSeeds& seeds) { return gpu::seeds_for_device(counts, seeds); };
  EXPECT_OK(check({.groups = {{NodeTypeId{0}, {NodeId{49}}}}}));
  EXPECT_ERROR(check({.groups = {{NodeTypeId{0}, {NodeId{1}, NodeId{50}}}}}),
               Errc::invalid_argument, "seed 50 of node type 0, which has 50 nodes");
  EXPECT_ERROR(check({.groups = {{NodeTypeId{3}, {NodeId{0}}}}}), Errc::invalid_argument,
               "seed 0 of node type 3, which has 0 nodes");
  EXPECT_ERROR(check({.groups = {{NodeTypeId{3}, {}}}}), Errc::invalid_argument, "node type 3");
  EXPECT_ERROR(check({}), Errc::invalid_argument, "expected a group of seeds");
  EXPECT_ERROR(
      check({.groups = {{NodeTypeId{0}, {}}}, .excluded = std::make_shared<const Exclusions>(1)}),
      Errc::unimplemented, "excluded edges are not built yet");
}

}  // namespace
}  // namespace troupe
