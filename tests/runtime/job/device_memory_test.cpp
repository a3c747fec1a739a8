#include "runtime/job/device_memory.hpp"

#include "tests/support/expect.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

/// A thousand nodes of 10 float32 columns, and ten thousand edges.
GraphInfo device_graph() {
  GraphInfo info;
  auto& nodes = info.node_types.emplace_back();
  nodes.count = 1000;
  nodes.features = FeatureInfo{.cols = 10};
  nodes.labels = LabelInfo{LabelInfo::Kind::classes, 3};
  info.edge_types.resize(1);
  info.edge_types[0].count = 10'000;
  info.splits.resize(1);
  info.splits[0].roles["train"] = {NodeTypeId{0}, 400};
  return info;
}

Job device_job() {
  Job job;
  job.cluster.batches_in_flight = 2;
  job.sample.fanout = {3, 2};
  job.sample.batch_size = 10;
  job.model.hidden = 16;
  return job;
}

DeviceMemory device_memory_of(const Job& job, const DeviceFacts& facts) {
  const auto graph = device_graph();
  return device_memory(job, graph, make_plan(job, graph), facts);
}

TEST(DeviceMemory, CountsWhatIsThereForSure) {
  const auto memory = device_memory_of(device_job(), {.batches = true});
  EXPECT_EQ(memory.ranks, 1U);
  EXPECT_EQ(memory.lists, 1001U * 8 + 10'000U * 4);
  EXPECT_EQ(memory.ids, 1000U * (8 + 8 + 8));
  EXPECT_EQ(memory.all_rows, 40'000U);
  EXPECT_EQ(memory.rows, 40'000U);
  EXPECT_EQ(memory.pinned(), 0U);
  // At most 10 + 30 + 60 nodes and 90 edges; two batches in flight and the one before.
  EXPECT_GE(memory.batches, 3U * (100 * 40 + 90 * 4));
  // Their arrays have an eighth more than they need.
  EXPECT_GE(memory.batches, 3U * (100 * 40 + (100 * 16 + 90 * 4 + 101 * 4) * 9 / 8));
  EXPECT_EQ(memory.parameters, 6U * 4 * (2 * 10 * 16 + 16 + 2 * 16 * 3 + 3));
  EXPECT_EQ(memory.bytes(),
            memory.lists + memory.ids + memory.rows + memory.exact + memory.reserved());
}

/// Rows of the widest stage, and as much for a block; at most an eighth of the memory.
TEST(DeviceMemory, HasAShareForExactInference) {
  auto job = device_job();
  auto graph = device_graph();
  graph.node_types[0].count = 100'000'000;
  const auto exact = [&](const DeviceFacts& facts) {
    return device_memory(job, graph, make_plan(job, graph), facts).exact;
  };
  EXPECT_EQ(exact({}), std::uint64_t{2} * 100'000'000 * 16 * 4);
  EXPECT_EQ(exact({.memory_bytes = 8000}), 1000U);
  EXPECT_EQ(exact_share(500, 8000), 500U);
  EXPECT_EQ(exact_share(500, 0), 500U);

  job.model.kind = "gat";  // by blocks alone
  const auto blocks = exact({.product_rows = 100});
  EXPECT_GE(blocks, 2 * nn::infer_block_bytes + 2 * 100 * 2 * 16 * 4);
  EXPECT_LE(blocks, 2 * nn::infer_block_bytes + 1'000'000);
  graph = device_graph();  // a block of the whole graph is smaller
  EXPECT_LE(exact({.product_rows = 100}), 4'000'000U);
  EXPECT_NE(to_string(device_memory_of(job, {})).find("\n  exact inference: "), std::string::npos);

  job.cluster.placement = "server_client";  // evaluators have no ranks beside them
  EXPECT_EQ(exact({}), 0U);
  job.cluster.placement = "collocated";
  job.model.layers = 0;
  EXPECT_EQ(exact({}), 0U);
}

/// Ten links with three negatives each are 40 pairs, whatever nodes they share.
TEST(DeviceMemory, DecodersKeepThePairsOfABatch) {
  auto graph = device_graph();
  graph.splits[0].links["train"] = {.edge_type = EdgeTypeId{0}, .count = 400};
  auto job = device_job();
  job.task.kind = "link";
  job.task.negatives = {.kind = Negatives::binary, .per_positive = 3};
  const auto activations = [&](const std::string& decoder, std::uint64_t hidden) {
    job.task.decoder = {.kind = decoder, .hidden = hidden};
    return device_memory(job, graph, make_plan(job, graph), {.batches = true}).activations;
  };
  constexpr std::uint64_t pairs = 40;
  const auto dot = activations("dot", 64);
  EXPECT_EQ(activations("dot", 128), dot);
  // Rows between the two products with their gradient, at least; buffers grow by a quarter.
  const auto small = activations("mlp", 100);
  EXPECT_GE(small, dot + pairs * 4 * (2 * 100 + 4 * 16 - 16));
  EXPECT_GE(activations("mlp", 300), small + pairs * 4 * 2 * 200);
  const auto few = dot;
  job.task.negatives.per_positive = 30;
  EXPECT_GE(activations("dot", 64), few + (310 - pairs) * 4 * 16);
}

/// Ten triples in chunks of four: rows of 20 ends and of the candidates of three chunks.
TEST(DeviceMemory, TriplesKeepTheRowsOfAllChunks) {
  auto graph = device_graph();
  graph.node_types[0].features = {};
  graph.node_types[0].name = "entity";
  graph.splits[0].links["train"] = {.edge_type = EdgeTypeId{0}, .count = 400};
  graph.splits[0].links["train"].relations = 5;
  auto job = device_job();
  job.task.kind = "knowledge";
  job.task.completes.chunk = 4;
  job.embedding["entity"] = {};
  job.embedding["entity"].dim = 8;
  const auto activations = [&](std::uint32_t negatives) {
    job.task.completes.negatives = negatives;
    return device_memory(job, graph, make_plan(job, graph), {}).activations;
  };
  const auto few = activations(6);
  EXPECT_GE(few, std::uint64_t{20 + 3 * 6} * 8 * 4 * 3);
  EXPECT_GE(activations(60), few + std::uint64_t{3 * 54} * 8 * 4 * 3);
}

TEST(DeviceMemory, ListsMayBePinned) {
  auto job = device_job();
  const auto there = device_memory_of(job, {.batches = true});
  job.sample.pinned_lists = true;
  const auto pinned = device_memory_of(job, {.batches = true});
  EXPECT_EQ(pinned.lists, 0U);
  EXPECT_EQ(pinned.pinned_lists, there.lists);
  EXPECT_EQ(pinned.ids, there.ids);
}

TEST(DeviceMemory, RowsAreAsTheBudgetSays) {
  auto job = device_job();
  job.features.device_budget = {.kind = DeviceBudget::Kind::share, .share = 0.1};
  const auto tenth = device_memory_of(job, {.batches = true});
  EXPECT_EQ(tenth.rows, 4000U);
  EXPECT_EQ(tenth.pinned_rows, 36'000U);
  job.features.device_budget = {.kind = DeviceBudget::Kind::bytes, .bytes = 7};
  EXPECT_EQ(device_memory_of(job, {.batches = true}).rows, 7U);
}

TEST(DeviceMemory, AutoTakesWhatIsFreeLessTheMargin) {
  auto job = device_job();
  const auto all = device_memory_of(job, {.batches = true});
  const auto beside = all.lists + all.ids + all.reserved();
  for (const std::uint64_t rows : {0U, 1000U, 20'000U}) {
    // A sixteenth stays free, an eighth is for exact inference.
    const std::uint64_t memory = (beside + rows) * 16 / 13;
    const auto found =
        device_memory_of(job, {.devices = 1, .memory_bytes = memory, .batches = true});
    EXPECT_NEAR(static_cast<double>(found.rows), static_cast<double>(rows), 2);
    EXPECT_EQ(found.rows + found.pinned_rows, 40'000U);
    EXPECT_OK(check_device_memory(found));
    EXPECT_LE(found.bytes(), memory);
  }
  EXPECT_EQ(device_memory_of(job, {.devices = 1, .memory_bytes = beside * 2, .batches = true}).rows,
            40'000U);
}

TEST(DeviceMemory, RanksOfADeviceTakeTheirOwnBatches) {
  auto job = device_job();
  const auto one = device_memory_of(job, {.devices = 2, .batches = true});
  job.cluster.trainers_per_host = 5;
  const auto several = device_memory_of(job, {.devices = 2, .batches = true});
  EXPECT_EQ(several.ranks, 3U);
  EXPECT_EQ(several.parameters, 3 * one.parameters);
  EXPECT_EQ(several.lists, one.lists);
  EXPECT_EQ(several.rows, one.rows);
  EXPECT_EQ(device_memory_of(job, {.batches = true}).ranks, 1U);  // a device for each
}

/// Slices of the other ranks' gradients, and the mean.
TEST(DeviceMemory, RanksWithDevicesOfTheirOwnExchangeGradientsThere) {
  auto job = device_job();
  const auto alone = device_memory_of(job, {.devices = 2, .batches = true});
  job.cluster.trainers_per_host = 2;
  const auto exchanging = device_memory_of(job, {.devices = 2, .batches = true});
  EXPECT_EQ(exchanging.ranks, 1U);
  EXPECT_EQ(6 * exchanging.parameters, 8 * alone.parameters);
  const auto sharing = device_memory_of(job, {.devices = 1, .batches = true});
  EXPECT_EQ(sharing.parameters, 2 * alone.parameters);
}

TEST(DeviceMemory, BatchesThatTheHostSamplesNeedNoLists) {
  const auto both = device_memory_of(device_job(), {.batches = true});
  const auto rows = device_memory_of(device_job(), {.rows = true});
  EXPECT_EQ(rows.lists, 0U);
  EXPECT_EQ(rows.ids, 1000U * (8 + 8));
  EXPECT_EQ(rows.rows, both.rows);
  EXPECT_LT(rows.batches, both.batches);
  EXPECT_GE(rows.batches, 3U * 100 * 40);
}

TEST(DeviceMemory, BatchesOfTheHostAreCopied) {
  const auto memory = device_memory_of(device_job(), {.devices = 1, .memory_bytes = 1 << 20});
  EXPECT_EQ(memory.lists + memory.ids + memory.rows + memory.pinned(), 0U);
  EXPECT_GT(memory.batches, 100U * 40);
  EXPECT_EQ(to_string(memory).find("neighbor lists"), std::string::npos);
}

/// A hundred nodes at most, once as they go up and once behind their 10 columns of features.
TEST(DeviceMemory, HasTheLearnedRowsOfABatchForEachRank) {
  auto job = device_job();
  job.embedding[device_graph().node_types[0].name].dim = 6;
  for (const auto& facts :
       {DeviceFacts{.batches = true}, DeviceFacts{.rows = true}, DeviceFacts{}}) {
    const auto without = device_memory_of(device_job(), facts);
    EXPECT_EQ(device_memory_of(job, facts).batches - without.batches,
              without.ranks * 100 * (6 + 16) * 4 * 5 / 4);
  }
}

TEST(DeviceMemory, CopiesOfBatchesForTheHostHaveRowsWhereTheyAreHashed) {
  auto job = device_job();
  job.digest = DigestMode::full;
  const auto full = device_memory_of(job, {.batches = true});
  job.digest = DigestMode::ids;
  const auto ids = device_memory_of(job, {.batches = true});
  EXPECT_GT(ids.copies, 0U);
  EXPECT_GE(full.copies, ids.copies + 2 * 100 * 40);
  EXPECT_EQ(full.batches, ids.batches);
  EXPECT_EQ(device_memory_of(job, {}).copies, 0U) << "the host makes them";
}

/// Two hosts with two parts each.
Job parted_job() {
  auto job = device_job();
  job.cluster.hosts = 2;
  job.partition.parts = 4;
  return job;
}

TEST(DeviceMemory, OfSeveralPartsHasTheRowsOfTheLargestProcess) {
  const auto even = device_memory_of(parted_job(), {.rows = true, .staged = true});
  EXPECT_EQ(even.all_rows, 20'000U);
  EXPECT_EQ(even.rows, 20'000U);
  EXPECT_EQ(even.lists + even.ids, 0U) << "they are the host's";
  const DeviceFacts known{.rows = true, .staged = true, .part_rows = {9000, 11'000, 15'000, 5000}};
  auto job = parted_job();
  job.features.device_budget = {.kind = DeviceBudget::Kind::share, .share = 0.1};
  const auto parts = make_layout(job).processes.front().maps;
  const auto first = known.part_rows[raw(parts[0])] + known.part_rows[raw(parts[1])];
  const auto memory = device_memory_of(job, known);
  EXPECT_EQ(memory.all_rows, std::max(first, 40'000 - first));
  EXPECT_EQ(memory.rows, memory.all_rows / 10);
  EXPECT_EQ(memory.rows + memory.pinned_rows, memory.all_rows);
}

TEST(DeviceMemory, OfSeveralPartsHasABlockOfStagedRows) {
  const auto whole = device_memory_of(device_job(), {.rows = true});
  EXPECT_EQ(whole.staged, 0U);
  const auto memory = device_memory_of(parted_job(), {.rows = true, .staged = true});
  // At most 100 nodes with a slot and 40 bytes; three batches, as the host has them.
  EXPECT_GE(memory.staged, 3U * 100 * (8 + 40));
  EXPECT_LE(memory.staged, 3U * (100 * (8 + 40) + 512));
  EXPECT_GE(memory.batches, whole.batches + 100 * (8 + 40)) << "one of them is on the device";
  EXPECT_NE(to_string(memory).find("pinned memory of the host"), std::string::npos);
  // Rows alone come back, and only where they are hashed.
  auto hashed = parted_job();
  hashed.digest = DigestMode::full;
  EXPECT_GE(device_memory_of(hashed, {.rows = true, .staged = true}).copies, 3U * 2 * 100 * 40);
  hashed.digest = DigestMode::ids;
  EXPECT_EQ(device_memory_of(hashed, {.rows = true, .staged = true}).copies, 0U);
  // With all parts everywhere only slots are copied.
  auto job = parted_job();
  job.cluster.replicas = 2;
  const auto here = device_memory_of(job, {.rows = true, .staged = true});
  EXPECT_LE(here.staged, 3U * (100 * 8 + 512));
  EXPECT_EQ(here.all_rows, 40'000U);
}

TEST(DeviceMemory, TooLittleIsAnErrorWithTheFigures) {
  auto job = device_job();
  job.features.device_budget = {.kind = DeviceBudget::Kind::share, .share = 1};
  const auto needed = device_memory_of(job, {.batches = true});
  const auto sure = needed.lists + needed.ids + needed.rows + needed.parameters;
  const auto with = [&](std::uint64_t bytes) {
    return device_memory_of(job, {.devices = 1, .memory_bytes = bytes, .batches = true});
  };
  EXPECT_OK(check_device_memory(with(sure)));
  const auto error = check_device_memory(with(sure - 1));
  for (const char* const figure : {"too little memory", "neighbor lists 46.9 KiB",
                                   "rows of features (device_budget 100%, of 39.1 KiB) 39.1 KiB",
                                   "original ids and labels 23.4 KiB", "parameters and optimizer",
                                   "batches in flight", "activations", "pinned memory", "try:"}) {
    EXPECT_ERROR(error, Errc::out_of_memory, figure);
  }
  // Bounds of batches above the memory are said, and are no error.
  EXPECT_NE(to_string(with(sure)).find("batches near them fail"), std::string::npos);
  EXPECT_EQ(to_string(with(sure * 100)).find("batches near them fail"), std::string::npos);
}

TEST(DeviceMemory, IsPrintedWithALineForEachUse) {
  auto job = device_job();
  job.features.device_budget = {.kind = DeviceBudget::Kind::share, .share = 0.1};
  const auto text =
      to_string(device_memory_of(job, {.devices = 1, .memory_bytes = 1 << 20, .batches = true}));
  for (const char* const line :
       {"memory of a device with 1 rank, at most: ", " of 1.0 MiB\n",
        "\n  neighbor lists: 46.9 KiB\n",
        "\n  rows of features (device_budget 10%, of 39.1 KiB): 3.9 KiB\n",
        "\n  margin of device_budget \"auto\": 64.0 KiB\n",
        "\npinned memory of the host: 35.2 KiB of rows, 0 B of neighbor lists, at most "}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

}  // namespace
}  // namespace troupe
