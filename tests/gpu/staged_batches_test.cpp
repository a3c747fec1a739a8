// Batches whose rows lie in several parts, some of them elsewhere: gathered on a device out of its memory,
// pinned memory and what the host staged, with the host's digest.
#include "gpu/run/device_data.hpp"
#include "tests/gpu/sample_support.hpp"
#include "tests/gpu/test_device.hpp"
#include "tests/runtime/feature/staged_rows.hpp"

#include <fmt/format.h>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using testing::CutGraph;
using testing::StagingProcess;

testing::TestGraph graph_with(DType dtype) {
  auto graph = testing::long_tailed_hetero_graph(21);
  testing::add_features(graph.nodes[0], 6, dtype);
  testing::add_features(graph.nodes[1], 8, dtype);
  testing::add_edge_features(graph.edges[2], 3);
  for (std::uint64_t i = 0; i < graph.nodes[1].count; ++i) {
    graph.nodes[1].labels.push_back(static_cast<std::int64_t>(i % 5));
  }
  return graph;
}

class StagedBatches : public testing::OnEachDevice {
 protected:
  /// \param share  of the process's rows that is in the device's memory
  Result<std::shared_ptr<const gpu::DeviceData>> data(const CutGraph& cut,
                                                      const StagingProcess& process, double share,
                                                      Normalize normalize = Normalize::none) {
    TROUPE_ASSIGN_OR_RETURN(
        devices_,
        gpu::open_devices(
            {.kind = GetParam().cuda ? DeviceKind::cuda : DeviceKind::emulated, .count = 1}));
    const std::vector<Rank> ranks{Rank{0}};
    return gpu::DeviceData::create(devices_, ranks, cut.info, process.parts(),
                                   {.features = {.normalize = normalize, .staged = true},
                                    .budget = {.kind = DeviceBudget::Kind::share, .share = share}});
  }
  static std::shared_ptr<const SampledBatch> sampled(const CutGraph& cut, std::uint64_t number) {
    SampleOptions sample{.fanout = {{4, 4, 4, 4, 4}, {3, 3, -1, 3, 3}}, .job_seed = 3};
    sample.edge_data.entries = true;
    return std::make_shared<const SampledBatch>(
        testing::drive(cut, sample, {.number = number}, testing::random_seeds(20, 300, number), 1));
  }
  /// Collects as the process does, and gathers.
  static Result<gpu::MadeBatch> place_counted(const StagingProcess& process,
                                              gpu::DeviceBatches& batches,
                                              std::shared_ptr<const CollectOptions> collect,
                                              std::shared_ptr<const SampledBatch> sampled,
                                              DigestMode digest = DigestMode::full) {
    auto made = process.collect(process.inputs(std::move(collect), std::move(sampled)));
    TROUPE_ASSIGN_OR_RETURN(const auto rest,
                            batches.place(std::make_shared<Batch>(std::move(made.batch)), digest));
    return rest();
  }
  static Result<Batch> place(const StagingProcess& process, gpu::DeviceBatches& batches,
                             std::shared_ptr<const CollectOptions> collect,
                             std::shared_ptr<const SampledBatch> sampled,
                             DigestMode digest = DigestMode::full) {
    TROUPE_ASSIGN_OR_RETURN(
        auto made, place_counted(process, batches, std::move(collect), std::move(sampled), digest));
    return std::move(made.batch);
  }

  std::shared_ptr<gpu::Devices> devices_;
};

INSTANTIATE_TEST_SUITE_P(Devices, StagedBatches,
                         ::testing::Values(testing::one_thread, testing::cuda_device),
                         testing::name_of_device);

TEST_P(StagedBatches, HaveTheHostsDigestWhereverTheirRowsAre) {
  for (const auto dtype : {DType::f32, DType::u8}) {
    for (const std::uint32_t parts : {2U, 3U}) {
      const auto cut = testing::cut_graph(graph_with(dtype), parts);
      const auto collect = testing::collect_with_edges(cut);
      for (const std::set<std::uint32_t>& here : {std::set<std::uint32_t>{}, {1}, {0, parts - 1}}) {
        for (const double share : {0.0, 0.1, 1.0}) {
          StagingProcess process(cut, here, 0, share > 0);
          ASSERT_OK_AND_ASSIGN(const auto there, data(cut, process, share));
          process.slots = there->slots();
          ASSERT_OK_AND_ASSIGN(const auto batches, there->batches(Rank{0}));
          for (std::uint64_t number = 0; number < 2; ++number) {
            SCOPED_TRACE(fmt::format("{}, {} of {} parts, {} of the rows, batch {}",
                                     to_string(dtype), here.size(), parts, share, number));
            const auto expected = testing::collect(cut, collect, *sampled(cut, number));
            ASSERT_OK_AND_ASSIGN(const auto made,
                                 place_counted(process, *batches, collect, sampled(cut, number)));
            const auto& batch = made.batch;
            EXPECT_EQ(batch.digest.value, digest_batch(expected, DigestMode::full));
            EXPECT_EQ(batch.labels, expected.labels);
            EXPECT_EQ(batch.staged, nullptr);
            EXPECT_EQ(batch.rows[1].features.rows(), 0U) << "rows are on the device alone";
            EXPECT_EQ(batch.on_device->features[1].rows, batch.sampled->nodes[1].ids.size());
            const auto read = made.rows_device + made.rows_pinned;
            const auto all =
                batch.sampled->nodes[0].ids.size() + batch.sampled->nodes[1].ids.size();
            EXPECT_EQ(read == all, here.size() == parts);
            EXPECT_EQ(read == 0, here.empty());
          }
        }
      }
    }
  }
}

/// For another process: all of the batch is on the host, and nothing stays.
TEST_P(StagedBatches, ForOthersAreOnTheHostAlone) {
  const auto cut = testing::cut_graph(graph_with(DType::f32), 3);
  const auto collect = testing::collect_with_edges(cut);
  for (const std::set<std::uint32_t>& here : {std::set<std::uint32_t>{}, {1}, {0, 2}}) {
    StagingProcess process(cut, here, 0, true);
    ASSERT_OK_AND_ASSIGN(const auto there, data(cut, process, 0.3));
    process.slots = there->slots();
    ASSERT_OK_AND_ASSIGN(const auto batches, there->batches(Rank{0}, gpu::ArraysThere::none));
    for (const auto digest : {DigestMode::off, DigestMode::full}) {
      const auto expected = testing::collect(cut, collect, *sampled(cut, 3));
      ASSERT_OK_AND_ASSIGN(const auto made,
                           place_counted(process, *batches, collect, sampled(cut, 3), digest));
      EXPECT_EQ(made.batch.on_device, nullptr);
      EXPECT_EQ(made.batch.staged, nullptr);
      EXPECT_EQ(digest_batch(made.batch, DigestMode::full),
                digest_batch(expected, DigestMode::full));
      EXPECT_EQ(made.rows_device + made.rows_pinned == 0, here.empty());
    }
  }
}

TEST_P(StagedBatches, AreNormalizedAsOnTheHost) {
  auto cut = testing::cut_graph(graph_with(DType::f32), 3);
  for (std::size_t type = 0; type < 2; ++type) {
    auto& info = cut.info.node_types[type];
    info.column_stats.emplace();
    for (std::uint64_t col = 0; col < info.features->cols; ++col) {
      info.column_stats->mean.push_back(0.25 * static_cast<double>(col));
      info.column_stats->sd.push_back(1.5 + static_cast<double>(col));
    }
  }
  for (const auto normalize : {Normalize::row, Normalize::column}) {
    auto collect = std::make_shared<CollectOptions>(*testing::collect_options(cut, normalize));
    StagingProcess process(cut, {2}, 0);
    ASSERT_OK_AND_ASSIGN(const auto there, data(cut, process, 0.5, normalize));
    process.slots = there->slots();
    ASSERT_OK_AND_ASSIGN(const auto batches, there->batches(Rank{0}));
    const auto expected = testing::collect(cut, collect, *sampled(cut, 1));
    ASSERT_OK_AND_ASSIGN(const auto batch, place(process, *batches, collect, sampled(cut, 1)));
    EXPECT_EQ(batch.digest.value, digest_batch(expected, DigestMode::full));
  }
}

TEST_P(StagedBatches, OfADigestThatIsNotFullBringNoRowsBack) {
  const auto cut = testing::cut_graph(graph_with(DType::u8), 2);
  const auto collect = testing::collect_with_edges(cut);
  StagingProcess process(cut, {0}, 0);
  ASSERT_OK_AND_ASSIGN(const auto there, data(cut, process, 0.5));
  process.slots = there->slots();
  ASSERT_OK_AND_ASSIGN(const auto batches, there->batches(Rank{0}));
  const auto expected = testing::collect(cut, collect, *sampled(cut, 4));
  for (const auto digest : {DigestMode::ids, DigestMode::off}) {
    ASSERT_OK_AND_ASSIGN(const auto batch,
                         place(process, *batches, collect, sampled(cut, 4), digest));
    EXPECT_EQ(batch.digest.mode, digest);
    EXPECT_EQ(batch.digest.value,
              digest == DigestMode::off ? Digest{} : digest_batch(expected, digest));
    EXPECT_EQ(batch.rows[1].original_ids, expected.rows[1].original_ids);
    EXPECT_EQ(batch.edge_features[2].rows(), expected.edge_features[2].rows());
  }
}

TEST(StagedData, HasTheHottestRowsOfEachPartOfTheProcess) {
  const auto cut = testing::cut_graph(graph_with(DType::f32), 3);
  PartHeat heat;
  for (std::size_t t = 0; t < cut.info.node_types.size(); ++t) {
    auto& by_part = heat.mean.emplace_back();
    for (std::size_t part = 0; part < 3; ++part) {
      auto& means = by_part.emplace_back();
      for (std::size_t b = 0; b < PartHeat::buckets; ++b) {
        // Part 2 is hot, part 0, which is elsewhere, hotter.
        means.push_back((part == 2   ? 100.0
                         : part == 0 ? 1000.0
                                     : 1.0) /
                        static_cast<double>(b + 1));
      }
    }
  }
  const StagingProcess process(cut, {1, 2}, 0, true);
  ASSERT_OK_AND_ASSIGN(const auto devices,
                       gpu::open_devices({.kind = DeviceKind::emulated, .count = 2}));
  const std::vector<Rank> ranks{Rank{0}, Rank{1}};
  const auto made = [&](double share) {
    return gpu::DeviceData::create(devices, ranks, cut.info, process.parts(),
                                   {.features = {.staged = true},
                                    .budget = {.kind = DeviceBudget::Kind::share, .share = share},
                                    .heat = heat});
  };
  ASSERT_OK_AND_ASSIGN(const auto tenth, made(0.1));
  const auto& nodes = tenth->tiers().nodes;
  ASSERT_EQ(nodes[0].size(), 4U);
  EXPECT_GT(nodes[0][1], nodes[0][0]);
  EXPECT_EQ(nodes[0][2] + nodes[0][3], 0U) << "nothing is known of how hot halos are";
  EXPECT_LE(tenth->bytes().rows, tenth->bytes().all_rows / 10);
  EXPECT_EQ(tenth->bytes().rows + tenth->bytes().pinned_rows, tenth->bytes().all_rows);
  EXPECT_EQ(tenth->bytes().lists, 0U);
  std::uint64_t rows = 0;
  for (std::size_t t = 0; t < 2; ++t) {
    for (const auto& part : process.parts()) {
      rows += part->nodes[t].features->data.bytes.size();
      rows += part->nodes[t].halo_features->data.bytes.size();
    }
  }
  EXPECT_EQ(tenth->bytes().all_rows, rows);
  ASSERT_OK_AND_ASSIGN(const auto all, made(1));
  EXPECT_EQ(all->bytes().pinned_rows, 0U);
  EXPECT_EQ(all->tiers().nodes[0][1], process.parts()[1]->nodes[0].count);
}

TEST(StagedData, RefusesPartsWithoutTheirRows) {
  auto cut = testing::cut_graph(graph_with(DType::f32), 2);
  const StagingProcess process(cut, {0, 1}, 0);
  cut.info.node_types[1].features->cols = 9;
  ASSERT_OK_AND_ASSIGN(const auto devices,
                       gpu::open_devices({.kind = DeviceKind::emulated, .count = 1}));
  const std::vector<Rank> ranks{Rank{0}};
  EXPECT_ERROR(gpu::DeviceData::create(devices, ranks, cut.info, process.parts(),
                                       {.features = {.staged = true}}),
               Errc::failed_precondition, "rows of paper in the part");
}

/// Staged blocks count, and an error of a batch says so.
TEST(StagedData, ABatchWithoutRoomIsAnErrorOfTheDevice) {
  const auto cut = testing::cut_graph(graph_with(DType::f32), 2);
  StagingProcess process(cut, {}, 0);
  ASSERT_OK_AND_ASSIGN(
      const auto devices,
      gpu::open_devices({.kind = DeviceKind::emulated, .count = 1, .memory_bytes = 2000}));
  const std::vector<Rank> ranks{Rank{0}};
  ASSERT_OK_AND_ASSIGN(const auto there,
                       gpu::DeviceData::create(devices, ranks, cut.info, process.parts(),
                                               {.features = {.staged = true}}));
  process.slots = there->slots();
  ASSERT_OK_AND_ASSIGN(const auto batches, there->batches(Rank{0}));
  const auto collect = testing::collect_options(cut);
  const auto sampled = std::make_shared<const SampledBatch>(
      testing::drive(cut, {.fanout = {{4, 4, 4, 4, 4}}}, {}, testing::random_seeds(20, 300, 1), 1));
  for (int again = 0; again < 2; ++again) {
    auto made = process.collect(process.inputs(collect, sampled));
    EXPECT_ERROR(batches->place(std::make_shared<Batch>(std::move(made.batch)), DigestMode::off),
                 Errc::out_of_memory, "emulated device: expected room for");
  }
}

}  // namespace
}  // namespace troupe
