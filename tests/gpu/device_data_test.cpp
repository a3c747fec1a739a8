// Rows of batches in two tiers: the same batches whatever is on a device, and errors of its memory.
#include "gpu/run/device_data.hpp"

#include "tests/gpu/sample_support.hpp"
#include "tests/runtime/feature/collect.hpp"

#include <fmt/format.h>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using gpu::Topology;
using testing::CutGraph;

/// A heterogeneous graph with features of nodes in narrow dtypes and of edges.
CutGraph tiered_graph() {
  auto graph = testing::long_tailed_hetero_graph(21);
  testing::add_features(graph.nodes[0], 6, DType::u8);
  testing::add_features(graph.nodes[1], 8);
  testing::add_edge_features(graph.edges[2], 3);
  return testing::cut_graph(graph, 1);
}

PartHeat heat_of(const CutGraph& cut) {
  PartHeat heat;
  for (std::size_t t = 0; t < cut.info.node_types.size(); ++t) {
    auto& means = heat.mean.emplace_back().emplace_back();
    for (std::size_t b = 0; b < PartHeat::buckets; ++b) {
      means.push_back(static_cast<double>(t + 1) / static_cast<double>(b + 1));
    }
  }
  return heat;
}

class DeviceDataTest : public ::testing::Test {
 protected:
  DeviceDataTest() : cut_(tiered_graph()) {
    SampleOptions sample{.fanout = {{4, 4, 4, 4, 4}, {3, 3, -1, 3, 3}}, .job_seed = 3};
    sample.edge_data.entries = true;
    options_.sample = std::make_shared<const SampleOptions>(sample);
    options_.features.edge_features = {EdgeTypeId{2}};
    options_.heat = heat_of(cut_);
  }

  Result<std::shared_ptr<const gpu::DeviceData>> data(std::uint32_t devices, std::uint64_t memory,
                                                      std::vector<Rank> ranks = {Rank{0}}) {
    TROUPE_ASSIGN_OR_RETURN(
        devices_, gpu::open_devices(
                      {.kind = DeviceKind::emulated, .count = devices, .memory_bytes = memory}));
    return gpu::DeviceData::create(devices_, ranks, cut_.info, {cut_.parts[0]}, options_);
  }
  std::uint64_t free_on(Rank rank) { return devices_->memory(rank)->free; }
  std::uint64_t all_rows() const { return bytes_of({cut_.info, options_.features.edge_features}); }
  void set_share(double share) {
    options_.budget = {.kind = DeviceBudget::Kind::share, .share = share};
  }
  BatchSeeds seeds(std::uint64_t number) const {
    return {.groups = {{NodeTypeId{1}, cut_.globals(testing::random_seeds(20, 300, number), 1)}}};
  }
  Result<gpu::MadeBatch> make_counted(const gpu::DeviceData& data, Rank rank, std::uint64_t number,
                                      gpu::ArraysThere arrays = gpu::ArraysThere::model) {
    TROUPE_ASSIGN_OR_RETURN(const auto batches, data.batches(rank, arrays));
    TROUPE_ASSIGN_OR_RETURN(const auto rest,
                            batches->make({.number = number}, seeds(number), DigestMode::full));
    return rest();
  }
  Result<Batch> make(const gpu::DeviceData& data, Rank rank, std::uint64_t number) {
    TROUPE_ASSIGN_OR_RETURN(auto made, make_counted(data, rank, number));
    return std::move(made.batch);
  }

  CutGraph cut_;
  gpu::DeviceDataOptions options_;
  std::shared_ptr<gpu::Devices> devices_;
  static constexpr std::uint64_t plenty = std::uint64_t{64} << 20;
  /// An array without entries takes a byte.
  static constexpr std::uint64_t of_empty_arrays = 100;
};

TEST_F(DeviceDataTest, BatchesAreTheSameWhateverIsOnADevice) {
  std::vector<Digest> expected;
  const auto collect = testing::collect_with_edges(cut_);
  for (std::uint64_t number = 0; number < 3; ++number) {
    const auto batch = testing::collect(cut_, collect,
                                        testing::drive(cut_, *options_.sample, {.number = number},
                                                       testing::random_seeds(20, 300, number), 1));
    expected.push_back(digest_batch(batch, DigestMode::full));
  }
  options_.features.edge_features.clear();
  for (std::size_t e = 0; e < cut_.info.edge_types.size(); ++e) {
    options_.features.edge_features.push_back(static_cast<EdgeTypeId>(e));
  }
  for (const double share : {0.0, 0.1, 0.5, 1.0}) {
    for (const auto topology : {Topology::device, Topology::pinned}) {
      for (const bool profile : {true, false}) {
        set_share(share);
        options_.topology = topology;
        options_.heat = profile ? heat_of(cut_) : PartHeat{};
        ASSERT_OK_AND_ASSIGN(const auto made, data(2, plenty, {Rank{0}, Rank{1}, Rank{2}}));
        for (std::uint64_t number = 0; number < 3; ++number) {
          SCOPED_TRACE(fmt::format("{} of rows, lists {}, batch {}", share,
                                   topology == Topology::pinned ? "pinned" : "on the device",
                                   number));
          ASSERT_OK_AND_ASSIGN(const auto batch, make(*made, static_cast<Rank>(number), number));
          EXPECT_EQ(batch.digest.value, expected[number]);
        }
      }
    }
  }
}

TEST_F(DeviceDataTest, RowsOfBatchesThatTheHostSampledAreTheSame) {
  const auto sample = *options_.sample;
  options_.sample = nullptr;
  options_.features.edge_features.clear();
  for (std::size_t e = 0; e < cut_.info.edge_types.size(); ++e) {
    options_.features.edge_features.push_back(static_cast<EdgeTypeId>(e));
  }
  auto disjoint = sample;
  disjoint.disjoint = true;
  for (const double share : {0.0, 0.1, 1.0}) {
    set_share(share);
    ASSERT_OK_AND_ASSIGN(const auto made, data(1, plenty));
    EXPECT_EQ(made->bytes().lists, 0U);
    ASSERT_OK_AND_ASSIGN(const auto batches, made->batches(Rank{0}));
    for (const auto& options : {sample, disjoint}) {
      const auto sampled = [&] {
        return testing::drive(cut_, options, {.number = 5}, testing::random_seeds(20, 300, 5), 1);
      };
      const auto expected = testing::collect(cut_, testing::collect_with_edges(cut_), sampled());
      ASSERT_OK_AND_ASSIGN(
          const auto rest,
          batches->collect(std::make_shared<const SampledBatch>(sampled()), DigestMode::full));
      const Batch batch = rest().batch;
      EXPECT_EQ(batch.digest.value, digest_batch(expected, DigestMode::full)) << share;
      EXPECT_EQ(batch.labels, expected.labels);
      EXPECT_TRUE(batch.rows[1].features.view().rows == 0) << "rows are on the device alone";
      EXPECT_EQ(batch.on_device->features[1].rows, batch.sampled->nodes[1].ids.size());
    }
  }
}

TEST_F(DeviceDataTest, CountsRowsByWhereTheyAreRead) {
  options_.features.edge_features.clear();
  std::uint64_t near_before = 0;
  for (const double share : {0.0, 0.2, 0.6, 1.0}) {
    set_share(share);
    ASSERT_OK_AND_ASSIGN(const auto made, data(1, plenty));
    ASSERT_OK_AND_ASSIGN(const auto counted, make_counted(*made, Rank{0}, 7));
    std::uint64_t near = 0;
    std::uint64_t all = 0;
    for (std::size_t t = 0; t < 2; ++t) {  // the types with features
      for (const auto id : counted.batch.sampled->nodes[t].ids) {
        near += raw(id) < made->tiers().nodes[t][0] ? 1U : 0U;
        ++all;
      }
    }
    EXPECT_EQ(counted.rows_device, near) << share;
    EXPECT_EQ(counted.rows_pinned, all - near) << share;
    EXPECT_GE(near, near_before);
    near_before = near;
    EXPECT_EQ(near == 0, share == 0);
    EXPECT_EQ(near == all, share == 1);
  }
}

/// For another process: all of the batch is on the host, as the host makes it, and nothing stays.
TEST_F(DeviceDataTest, BatchesForOthersAreOnTheHostAlone) {
  options_.features.edge_features.clear();
  for (const double share : {0.0, 0.2, 1.0}) {
    set_share(share);
    ASSERT_OK_AND_ASSIGN(const auto made, data(1, plenty));
    ASSERT_OK_AND_ASSIGN(const auto here, make_counted(*made, Rank{0}, 7));
    const auto before = free_on(Rank{0});
    ASSERT_OK_AND_ASSIGN(const auto away, make_counted(*made, Rank{0}, 7, gpu::ArraysThere::none));
    EXPECT_EQ(away.batch.on_device, nullptr);
    EXPECT_EQ(away.rows_device, here.rows_device);
    EXPECT_EQ(away.rows_pinned, here.rows_pinned);
    EXPECT_EQ(away.batch.digest.value, here.batch.digest.value);
    const auto expected =
        testing::collect(cut_, testing::collect_options(cut_), *away.batch.sampled);
    for (std::size_t t = 0; t < 2; ++t) {
      const auto& features = away.batch.rows[t].features;
      ASSERT_EQ(features.rows(), away.batch.sampled->nodes[t].ids.size());
      EXPECT_TRUE(
          std::ranges::equal(features.view().flat(), expected.rows[t].features.view().flat()));
    }
    EXPECT_EQ(away.batch.labels, here.batch.labels);
    EXPECT_EQ(free_on(Rank{0}), before);
  }
}

TEST_F(DeviceDataTest, RanksOfADeviceShareIt) {
  set_share(0.5);
  ASSERT_OK_AND_ASSIGN(const auto one, data(1, plenty, {Rank{0}}));
  const auto used = plenty - free_on(Rank{0});
  ASSERT_OK_AND_ASSIGN(const auto several, data(1, plenty, {Rank{0}, Rank{1}, Rank{2}}));
  EXPECT_EQ(plenty - free_on(Rank{0}), used);
  const auto counted = several->bytes().lists + several->bytes().ids + several->bytes().rows;
  EXPECT_GE(used, counted);
  EXPECT_LT(used, counted + of_empty_arrays);
  EXPECT_LE(several->bytes().rows, all_rows() / 2);
  EXPECT_EQ(several->bytes().rows + several->bytes().pinned_rows, all_rows());
  // Devices that no rank uses stay empty; the others have the same.
  ASSERT_OK_AND_ASSIGN(const auto apart, data(3, plenty, {Rank{0}, Rank{4}}));
  EXPECT_EQ(plenty - free_on(Rank{0}), used);
  EXPECT_EQ(plenty - free_on(Rank{1}), used);
  EXPECT_EQ(free_on(Rank{2}), plenty);
}

TEST_F(DeviceDataTest, TextSaysWhatIsNotOnTheDevice) {
  ASSERT_OK_AND_ASSIGN(const auto all, data(1, plenty));
  EXPECT_EQ(all->text(), "");
  set_share(0);
  ASSERT_OK_AND_ASSIGN(const auto none, data(1, plenty));
  EXPECT_NE(none->text().find("rows of features 0 B of "), std::string::npos) << none->text();
  EXPECT_NE(none->text().find("(device_budget 0%)"), std::string::npos) << none->text();
  options_ = {.sample = options_.sample, .topology = Topology::pinned};
  ASSERT_OK_AND_ASSIGN(const auto pinned, data(1, plenty));
  EXPECT_EQ(pinned->bytes().lists + pinned->bytes().pinned_lists, all->bytes().lists);
  EXPECT_GT(pinned->bytes().pinned_lists, 0U);
}

TEST_F(DeviceDataTest, AutoTakesWhatIsFreeAndLeavesWhatIsReserved) {
  ASSERT_OK_AND_ASSIGN(const auto all, data(1, plenty));
  EXPECT_EQ(all->bytes().pinned_rows, 0U);
  const auto beside = all->bytes().lists + all->bytes().ids;
  options_.reserved_bytes = 10'000;
  for (const std::uint64_t rows : {0U, 1000U, 5000U}) {
    const auto memory = (beside + options_.reserved_bytes + rows) * 16 / 15;
    ASSERT_OK_AND_ASSIGN(const auto made, data(1, memory));
    EXPECT_LE(made->bytes().rows, rows);
    EXPECT_GE(made->bytes().rows + 100, rows);
    EXPECT_GE(free_on(Rank{0}) + of_empty_arrays, options_.reserved_bytes + memory / 16);
  }
  ASSERT_OK_AND_ASSIGN(const auto none,
                       data(1, beside + of_empty_arrays));  // less than what is reserved
  EXPECT_EQ(none->bytes().rows, 0U);
}

TEST_F(DeviceDataTest, AutoLeavesExactInferenceAnEighthAtMost) {
  ASSERT_OK_AND_ASSIGN(const auto all, data(1, plenty));
  const auto beside = all->bytes().lists + all->bytes().ids;
  for (const std::uint64_t wanted : {std::uint64_t{500}, plenty, ~std::uint64_t{0}}) {
    options_.exact_bytes = wanted;
    const std::uint64_t rows = 5000;
    const auto memory =
        (beside + rows + of_empty_arrays) * 16 / 13;  // and an eighth, and the margin
    ASSERT_OK_AND_ASSIGN(const auto made, data(1, memory));
    EXPECT_GE(made->bytes().rows, rows) << wanted;
    EXPECT_GE(free_on(Rank{0}) + of_empty_arrays, std::min(wanted, memory / 8) + memory / 16);
  }
  set_share(1);
  EXPECT_ERROR(data(1, 16 * 1000), Errc::out_of_memory, "exact inference 2.0 KiB");
}

TEST_F(DeviceDataTest, TooLittleMemoryIsAnErrorWithTheFigures) {
  set_share(1);
  ASSERT_OK_AND_ASSIGN(const auto whole, data(1, plenty));
  const auto& bytes = whole->bytes();
  const auto needed = bytes.lists + bytes.ids + bytes.rows;
  EXPECT_OK(data(1, needed + of_empty_arrays));
  for (const std::uint64_t memory : {std::uint64_t{1}, bytes.lists - 1, bytes.lists, needed - 1}) {
    const auto failed = data(1, memory);
    EXPECT_ERROR(failed, Errc::out_of_memory, "memory of a device: neighbor lists ");
    EXPECT_ERROR(failed, Errc::out_of_memory, "features.cache.device_budget 100%");
    EXPECT_ERROR(failed, Errc::out_of_memory, "emulated device: expected room for ");
  }
}

TEST_F(DeviceDataTest, ABatchFailsWhereItHasNoRoomAndNothingHangs) {
  for (const double share : {0.0, 0.5}) {
    set_share(share);
    ASSERT_OK_AND_ASSIGN(const auto whole, data(1, plenty));
    const auto at_start = plenty - free_on(Rank{0});
    bool made_one = false;
    std::uint64_t failed = 0;
    for (std::uint64_t more = 0; !made_one; more += 1500) {
      ASSERT_LT(more, plenty);
      ASSERT_OK_AND_ASSIGN(const auto small, data(1, at_start + more));
      ASSERT_OK_AND_ASSIGN(const auto batches, small->batches(Rank{0}));
      const auto batch = batches->make({.number = 1}, seeds(1), DigestMode::full);
      made_one = batch.ok();
      if (!made_one) {
        ++failed;
        EXPECT_ERROR(batch, Errc::out_of_memory, "emulated device: expected room for ");
        // The device is lost for this rank, and says so each time.
        EXPECT_ERROR(batches->make({.number = 2}, seeds(2), DigestMode::off), Errc::out_of_memory,
                     "emulated device");
      }
    }
    EXPECT_GE(failed, 3U) << share;
  }
}

TEST_F(DeviceDataTest, TheHostsPartMayComeLaterInAnyOrderOnOtherThreads) {
  set_share(0.5);
  ASSERT_OK_AND_ASSIGN(const auto made, data(1, plenty));
  constexpr std::uint64_t count = 12;
  std::vector<Digest> expected;
  for (std::uint64_t number = 0; number < count; ++number) {
    ASSERT_OK_AND_ASSIGN(const auto batch, make(*made, Rank{0}, number));
    expected.push_back(batch.digest.value);
  }
  ASSERT_OK_AND_ASSIGN(auto batches, made->batches(Rank{0}));
  std::vector<gpu::DeviceBatches::Rest> rests;
  for (std::uint64_t number = 0; number < count; ++number) {
    ASSERT_OK_AND_ASSIGN(auto rest,
                         batches->make({.number = number}, seeds(number), DigestMode::full));
    rests.push_back(std::move(rest));
  }
  std::vector<Batch> found(count);
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t number = count; number-- > count / 2;) {
      threads.emplace_back([&, number] { found[number] = rests[number]().batch; });
    }
    // Others take memory of those that are done; the last ones outlive what made them.
    for (std::uint64_t number = 0; number < count; ++number) {
      ASSERT_OK_AND_ASSIGN(const auto again,
                           batches->make({.number = number}, seeds(number), DigestMode::ids));
      EXPECT_EQ(again().batch.digest.mode, DigestMode::ids);
    }
  }
  batches.reset();
  for (std::uint64_t number = count / 2; number-- > 0;) {
    found[number] = rests[number]().batch;
  }
  for (std::uint64_t number = 0; number < count; ++number) {
    EXPECT_EQ(found[number].digest.value, expected[number]) << number;
    EXPECT_EQ(found[number].sampled->key.number, number);
  }
}

TEST_F(DeviceDataTest, WhatARankHoldsOutlivesIt) {
  set_share(0.5);
  std::unique_ptr<gpu::DeviceBatches> batches;
  {
    ASSERT_OK_AND_ASSIGN(const auto made, data(1, plenty));
    ASSERT_OK_AND_ASSIGN(batches, made->batches(Rank{0}));
  }
  EXPECT_OK(batches->make({}, seeds(1), DigestMode::full));
  EXPECT_LT(free_on(Rank{0}), plenty);
  batches.reset();
  ASSERT_OK_AND_ASSIGN(const auto ops, devices_->block_ops(Rank{0}, nn::Precision::float32));
  EXPECT_OK(ops->finish());
  const auto most = ops->memory()->take(plenty);  // all of it was given back
  EXPECT_OK(ops->finish());
}

}  // namespace
}  // namespace troupe
