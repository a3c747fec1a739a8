// Batches of a CUDA device against the host's. Without a device they are skipped.
#ifdef TROUPE_HAVE_CUDA
#include "gpu/feature/device_rows.hpp"
#include "gpu/sample/device_sampler.hpp"
#include "tests/gpu/sample_support.hpp"
#include "tests/runtime/feature/collect.hpp"

namespace troupe {
namespace {

bool is_no_device(const Error& error) {
  return error.what().find("cudaErrorInsufficientDriver") != std::string::npos ||
         error.what().find("cudaErrorNoDevice") != std::string::npos;
}

#define ASSERT_CUDA(lhs, expr)                                            \
  auto TROUPE_CONCAT(cuda_result_, __LINE__) = (expr);                    \
  if (!TROUPE_CONCAT(cuda_result_, __LINE__).ok() &&                      \
      is_no_device(TROUPE_CONCAT(cuda_result_, __LINE__).error())) {      \
    GTEST_SKIP() << TROUPE_CONCAT(cuda_result_, __LINE__).error().what(); \
  }                                                                       \
  ASSERT_OK(TROUPE_CONCAT(cuda_result_, __LINE__));                       \
  lhs = *std::move(TROUPE_CONCAT(cuda_result_, __LINE__))

void expect_cuda_batches(const testing::CutGraph& cut, const SampleOptions& options,
                         gpu::Topology topology, std::uint16_t seed_type) {
  ASSERT_CUDA(const auto sampler,
              gpu::make_cuda_sampler(0, cut.info, *cut.parts[0], options, topology));
  for (std::uint64_t number = 0; number < 20; ++number) {
    const auto seeds = testing::random_seeds(number * 17, 300, number);
    const BatchKey key{.number = number};
    const auto type = static_cast<NodeTypeId>(seed_type);
    ASSERT_OK_AND_ASSIGN(const auto batch,
                         sampler->sample(key, {.groups = {{type, cut.globals(seeds, seed_type)}}}));
    ASSERT_OK_AND_ASSIGN(const auto got, sampler->download(batch));
    testing::expect_same(got, testing::drive(cut, options, key, seeds, seed_type),
                         fmt::format("batch {}", number));
  }
}

TEST(CudaSampler, GivesTheHostsBatches) {
  auto graph = testing::long_tailed_graph(2000, 1);
  testing::add_weights(graph.edges[0]);
  for (const bool wide : {false, true}) {
    for (int variant = 0; variant < 32; ++variant) {
      auto cut = testing::cut_graph(graph, 1, wide);
      auto options = testing::fanouts({15, variant % 5 == 0 ? -1 : 10, 5});
      options.replace = (variant & 1) != 0;
      options.frontier = (variant & 2) != 0 ? Frontier::all : Frontier::fresh;
      options.dir = (variant & 4) != 0 ? EdgeDir::out : EdgeDir::in;
      options.choice = place_of_kind(choice_kinds(), (variant & 8) != 0 ? "weighted" : "uniform");
      testing::add_alias_tables(cut, options.dir);
      expect_cuda_batches(cut, options,
                          (variant & 16) != 0 ? gpu::Topology::pinned : gpu::Topology::device, 0);
      if (::testing::Test::IsSkipped()) {
        return;
      }
    }
  }
}

TEST(CudaSampler, GivesTheHostsBatchesOfManyTypes) {
  const auto cut = testing::cut_graph(testing::long_tailed_hetero_graph(11), 1);
  const SampleOptions options{.fanout = {{5, 4, 3, 2, 1}, {2, -1, 4, 0, 5}, {3, 3, 3, 3, 3}},
                              .edge_data = {.edge_ids = true}};
  expect_cuda_batches(cut, options, gpu::Topology::device, 1);
}

TEST(CudaRows, HaveTheHostsDigest) {
  auto graph = testing::long_tailed_hetero_graph(21);
  testing::add_features(graph.nodes[1], 8);
  testing::add_features(graph.nodes[2], 5, DType::u8);
  const auto cut = testing::cut_graph(graph, 1);
  const SampleOptions options{.fanout = {{4, 4, 4, 4, 4}, {3, 3, -1, 3, 3}}, .job_seed = 3};
  ASSERT_CUDA(const auto sampler, gpu::make_cuda_sampler(0, cut.info, *cut.parts[0], options));
  for (const auto normalize : {Normalize::none, Normalize::row}) {
    ASSERT_OK_AND_ASSIGN(const auto rows, gpu::make_cuda_row_source(0, cut.info, *cut.parts[0],
                                                                    {.normalize = normalize}));
    const auto seeds = testing::random_seeds(33, 300, 1);
    const auto expected = testing::collect(cut, testing::collect_options(cut, normalize),
                                           testing::drive(cut, options, {}, seeds, 1));
    ASSERT_OK_AND_ASSIGN(const auto batch,
                         sampler->sample({}, {.groups = {{NodeTypeId{1}, cut.globals(seeds, 1)}}}));
    ASSERT_OK_AND_ASSIGN(const auto gathered, rows->gather(batch));
    ASSERT_OK_AND_ASSIGN(auto sampled, sampler->download(batch));
    ASSERT_OK_AND_ASSIGN(
        const auto got,
        rows->download(std::make_shared<const SampledBatch>(std::move(sampled)), gathered));
    EXPECT_EQ(digest_batch(got, DigestMode::full), digest_batch(expected, DigestMode::full));
  }
}

}  // namespace
}  // namespace troupe
#endif
