#pragma once
/// \file sample_support.hpp
/// Batches of an emulated device beside those of runtime/sample, array by array.
#include "gpu/base/emulated_device.hpp"
#include "gpu/sample/sample_hops.hpp"
#include "tests/gpu/test_device.hpp"
#include "tests/runtime/sample/drive.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {

/// A random graph with skewed degrees on both sides: lists without entries, many short and a few long
/// ones, self loops, parallel edges.
inline void add_skewed_edges(TestEdgeType& type, std::uint64_t sources, std::uint64_t destinations,
                             std::mt19937_64& random) {
  for (std::uint64_t node = 0; node < destinations; ++node) {
    const auto kind = random() % 16;
    const std::uint64_t degree = kind < 3    ? 0
                                 : kind < 14 ? random() % 12
                                 : kind < 15 ? random() % 100
                                             : random() % 400;
    for (std::uint64_t k = 0; k < degree; ++k) {
      type.edges.push_back({std::min(random() % sources, random() % sources), node});
    }
  }
}

inline TestGraph long_tailed_graph(std::uint64_t nodes, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto graph = plain_graph(nodes, {});
  add_skewed_edges(graph.edges[0], nodes, nodes, random);
  return graph;
}

/// Three node types and five edge types, two of them within a type and two between the same types.
inline TestGraph long_tailed_hetero_graph(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  TestGraph graph;
  graph.nodes = {{.name = "author", .count = 300},
                 {.name = "paper", .count = 500},
                 {.name = "venue", .count = 40}};
  graph.edges = {{.name = "writes", .source = 0, .destination = 1},
                 {.name = "written_by", .source = 1, .destination = 0},
                 {.name = "cites", .source = 1, .destination = 1},
                 {.name = "shown_at", .source = 2, .destination = 1},
                 {.name = "reviews", .source = 0, .destination = 1}};
  for (auto& type : graph.edges) {
    add_skewed_edges(type, graph.nodes[type.source].count, graph.nodes[type.destination].count,
                     random);
  }
  return graph;
}

/// Seeds with duplicates among them.
inline std::vector<std::uint64_t> random_seeds(std::size_t count, std::uint64_t nodes,
                                               std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> seeds(count);
  std::ranges::generate(seeds, [&] { return random() % nodes; });
  for (std::size_t i = 7; i < count; i += 7) {
    seeds[i] = seeds[i / 2];
  }
  return seeds;
}

/// The batch in the host's memory. Waits.
template <class Stream>
Result<SampledBatch> download_batch(Stream& on, const gpu::DeviceBatch& batch) {
  gpu::PinnedPool pool;
  const auto copied = gpu::fetch_batch(on, pool, batch);
  TROUPE_RETURN_IF_ERROR(on.finish());
  return copied();
}

/// A graph of one part on a device.
class DeviceSampling {
 public:
  DeviceSampling(const OnTestDevice& on, const CutGraph& cut, const SampleOptions& options)
      : cut_(cut) {
    auto sampler = on.sampler(cut, options);
    EXPECT_OK(sampler);
    sampler_ = *std::move(sampler);
  }

  SampledBatch sample(BatchKey key, const BatchSeeds& seeds) {
    const auto batch = sampler_->sample(key, seeds);
    EXPECT_OK(batch);
    auto downloaded = sampler_->download(*batch);
    EXPECT_OK(downloaded);
    return *std::move(downloaded);
  }
  SampledBatch sample(BatchKey key, const std::vector<std::uint64_t>& seeds,
                      std::uint16_t seed_type = 0) {
    const auto type = static_cast<NodeTypeId>(seed_type);
    return sample(key, {.groups = {{type, cut_.globals(seeds, seed_type)}}});
  }

 private:
  const CutGraph& cut_;
  std::unique_ptr<gpu::DeviceSampler> sampler_;
};

/// A graph of one part on an emulated device, whose inside can be seen.
class EmulatedSampling {
 public:
  EmulatedSampling(const CutGraph& cut, const SampleOptions& options,
                   const gpu::EmulatedOptions& device = {},
                   const gpu::TripOptions& trips = {.memory = gpu::memory_of<gpu::EmulatedStream>})
      : cut_(cut), device_(std::make_shared<gpu::EmulatedDevice>(device)), on_(device_) {
    const auto arrays = gpu::arrays_for_device(cut.info, *cut.parts.front(), options);
    EXPECT_OK(arrays);
    auto graph = gpu::upload_graph(on_, *arrays);
    EXPECT_OK(graph);
    graph_ = std::make_shared<gpu::DeviceGraph>(*std::move(graph));
    sampler_.emplace(on_, graph_, gpu::sampling_plan(options), trips);
  }

  Result<gpu::DeviceBatch> on_device(BatchKey key, const BatchSeeds& seeds) {
    return sampler_->sample(key, seeds);
  }
  Result<gpu::DeviceBatch> on_device(BatchKey key, const std::vector<std::uint64_t>& seeds,
                                     std::uint16_t seed_type = 0) {
    const auto type = static_cast<NodeTypeId>(seed_type);
    return on_device(key, BatchSeeds{.groups = {{type, cut_.globals(seeds, seed_type)}}});
  }
  SampledBatch sample(BatchKey key, const BatchSeeds& seeds) {
    const auto batch = on_device(key, seeds);
    EXPECT_OK(batch);
    auto downloaded = download_batch(on_, *batch);
    EXPECT_OK(downloaded);
    return *std::move(downloaded);
  }
  SampledBatch sample(BatchKey key, const std::vector<std::uint64_t>& seeds,
                      std::uint16_t seed_type = 0) {
    const auto type = static_cast<NodeTypeId>(seed_type);
    return sample(key, BatchSeeds{.groups = {{type, cut_.globals(seeds, seed_type)}}});
  }

  const gpu::TripCounts& trips() const { return sampler_->trips(); }
  gpu::EmulatedDevice& device() { return *device_; }
  gpu::EmulatedStream& stream() { return on_; }
  const gpu::DeviceGraph& graph() const { return *graph_; }

 private:
  const CutGraph& cut_;
  std::shared_ptr<gpu::EmulatedDevice> device_;
  gpu::EmulatedStream on_;
  std::shared_ptr<const gpu::DeviceGraph> graph_;
  std::optional<gpu::HopSampler<gpu::EmulatedStream>> sampler_;
};

inline void expect_same(const SampledBatch& got, const SampledBatch& expected,
                        const std::string& what) {
  EXPECT_EQ(got.key, expected.key) << what;
  EXPECT_EQ(got.frontier, expected.frontier) << what;
  EXPECT_EQ(got.seed_type, expected.seed_type) << what;
  EXPECT_EQ(got.hops, expected.hops) << what;
  EXPECT_EQ(got.seed_index, expected.seed_index) << what;
  ASSERT_EQ(got.nodes.size(), expected.nodes.size()) << what;
  for (std::size_t t = 0; t < got.nodes.size(); ++t) {
    const auto of_type = fmt::format("{}, node type {}", what, t);
    EXPECT_EQ(got.nodes[t].ids, expected.nodes[t].ids) << of_type;
    EXPECT_EQ(got.nodes[t].hop_end, expected.nodes[t].hop_end) << of_type;
    EXPECT_EQ(got.nodes[t].trees, expected.nodes[t].trees) << of_type;
  }
  ASSERT_EQ(got.edges.size(), expected.edges.size()) << what;
  for (std::size_t e = 0; e < got.edges.size(); ++e) {
    const auto of_type = fmt::format("{}, edge type {}", what, e);
    EXPECT_EQ(got.edges[e].destination_type, expected.edges[e].destination_type) << of_type;
    EXPECT_EQ(got.edges[e].source_type, expected.edges[e].source_type) << of_type;
    EXPECT_EQ(got.edges[e].row_begin, expected.edges[e].row_begin) << of_type;
    EXPECT_EQ(got.edges[e].offsets, expected.edges[e].offsets) << of_type;
    EXPECT_EQ(got.edges[e].sources, expected.edges[e].sources) << of_type;
    each_edge_datum(
        [&](const auto& a, const auto& b) { EXPECT_TRUE(std::ranges::equal(a, b)) << of_type; },
        got.edges[e], expected.edges[e]);
  }
}

/// Expects the batch, or the error of a device with too little memory. \returns whether it is the error
template <class Stream>
bool fails_for_room(Stream& on, const Result<gpu::DeviceBatch>& batch, const SampledBatch& expected,
                    std::uint64_t bytes) {
  if (!batch) {
    EXPECT_ERROR(batch, Errc::out_of_memory, "emulated device: expected room for");
    return true;
  }
  const auto got = download_batch(on, *batch);
  EXPECT_OK(got);
  expect_same(*got, expected, fmt::format("{} bytes", bytes));
  return false;
}

}  // namespace troupe::testing
