#include "runtime/job/plan.hpp"

#include "runtime/base/ranked_set.hpp"
#include "runtime/sample/seed_order.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

/// Like Cora: 2708 nodes, 1433 float32 columns, 7 classes, 140 training seeds.
GraphInfo cora() {
  NodeTypeInfo nodes;
  nodes.count = 2708;
  nodes.features = FeatureInfo{DType::f32, 1433, 1.0F};
  nodes.labels = LabelInfo{LabelInfo::Kind::classes, 7};
  GraphInfo info;
  info.node_types = {nodes};
  info.edge_types.resize(1);
  info.edge_types[0].count = 10556;
  info.splits.resize(1);
  info.splits[0].roles["train"] = {NodeTypeId{0}, 140};
  return info;
}

Job two_hosts() {
  Job job;
  job.partition.parts = 2;
  job.cluster.hosts = 2;
  job.cluster.samplers_per_trainer = 2;
  job.sample.fanout = {10, 10};
  job.sample.batch_size = 32;
  job.model.hidden = 64;
  return job;
}

TEST(MakePlan, CountsBatchesAndSteps) {
  Plan plan = make_plan(two_hosts(), cora());
  EXPECT_EQ(plan.world, 2U);
  EXPECT_EQ(plan.batches_per_epoch, 5U);  // 140 / 32, rounded up
  EXPECT_EQ(plan.steps_per_epoch, 3U);

  Job job = two_hosts();
  job.sample.batch_size = 140;
  plan = make_plan(job, cora());
  EXPECT_EQ(plan.batches_per_epoch, 1U);
  EXPECT_EQ(plan.steps_per_epoch, 1U);
}

TEST(MakePlan, BatchesOfALocalOrderAreThoseOfEachRanksShare) {
  for (const std::uint64_t batch : {1U, 7U, 32U, 46U, 47U, 70U, 140U, 200U}) {
    for (const bool drops : {false, true}) {
      Job job = two_hosts();
      job.cluster.hosts = 3;  // 47, 47 and 46 of 140 seeds
      job.sample.batch_size = batch;
      job.sample.seed_order = "local";
      job.sample.drop_last = drops;
      const auto seeds = std::make_shared<SeedList>();
      seeds->original.resize(140);
      seeds->global.resize(140);
      const SeedOrder order(seeds, batch, 1, true, even_split(140, 3),
                            drops ? ShortBatch::dropped : ShortBatch::kept);

      const Plan plan = make_plan(job, cora());

      EXPECT_EQ(plan.batches_per_epoch, order.num_batches()) << batch << " " << drops;
      EXPECT_EQ(plan.steps_per_epoch, order.num_steps(3)) << batch << " " << drops;
    }
  }
}

TEST(MakePlan, CountsParameters) {
  // 2 * 1433 * 64 + 64 and 2 * 64 * 7 + 7
  EXPECT_EQ(make_plan(two_hosts(), cora()).parameters, 183424U + 64U + 896U + 7U);
}

TEST(MakePlan, BoundsABatchByFanouts) {
  Job job = two_hosts();
  job.sample.batch_size = 4;
  job.sample.fanout = {3, 2};
  const Plan plan = make_plan(job, cora());

  // hop 1: 4 * 3 = 12 edges to 12 new nodes; hop 2: 12 * 2 = 24 edges to 24 new nodes
  EXPECT_EQ(plan.batch.max_edges, 36U);
  EXPECT_EQ(plan.batch.max_nodes, 40U);
  EXPECT_EQ(plan.batch.feature_bytes, 40U * 1433U * 4U);
  // half of: 16 nodes asked for * 8, 36 edges * 4, 40 rows with their original ids
  EXPECT_EQ(plan.batch.wire_bytes, (16U * 8U + 36U * 4U + 40U * (1433U * 4U + 8U)) / 2U);
}

TEST(MakePlan, BoundsADisjointBatchByTheGraphForEachTree) {
  Job job = two_hosts();
  job.sample.disjoint = true;
  job.sample.batch_size = 4;
  job.sample.fanout = {3, 2};
  EXPECT_EQ(make_plan(job, cora()).batch.max_nodes, 40U);
  job.sample.fanout = {-1, -1};
  EXPECT_EQ(make_plan(job, cora()).batch.max_nodes, 4U * 2708U);
  EXPECT_EQ(make_plan(job, cora()).batch.max_edges, 4U * 10556U);
}

TEST(MakePlan, DrawsAfreshWithTheWholeFrontier) {
  Job job = two_hosts();
  job.sample.batch_size = 4;
  job.sample.fanout = {3, 2};
  job.sample.frontier = Frontier::all;
  const Plan plan = make_plan(job, cora());

  EXPECT_EQ(plan.batch.max_edges, 12U + 16U * 2U);
  EXPECT_EQ(plan.batch.max_nodes, 4U + 12U + 32U);
}

TEST(MakePlan, CapsABatchByTheGraph) {
  Job job = two_hosts();
  job.sample.batch_size = 1000;
  job.sample.fanout = {100, 100};
  Plan plan = make_plan(job, cora());
  EXPECT_EQ(plan.batch.max_nodes, 2708U);
  EXPECT_EQ(plan.batch.max_edges, 10556U);

  job.sample.fanout = {-1, -1};
  plan = make_plan(job, cora());
  EXPECT_EQ(plan.batch.max_edges, 10556U);

  job.sample.fanout = {100};
  job.sample.replace = true;  // repeats: more edges than there are
  plan = make_plan(job, cora());
  EXPECT_EQ(plan.batch.max_edges, 140U * 100U);
  EXPECT_EQ(plan.batch.max_nodes, 2708U);
}

TEST(MakePlan, OneHostSendsNothing) {
  Job job = two_hosts();
  job.cluster.hosts = 1;
  EXPECT_EQ(make_plan(job, cora()).batch.wire_bytes, 0U);
}

TEST(MakePlan, AHostWithoutPartsFetchesAllOfABatch) {
  Job job = two_hosts();
  const auto half = make_plan(job, cora()).batch.wire_bytes;
  job.partition.parts = 1;
  EXPECT_NEAR(static_cast<double>(make_plan(job, cora()).batch.wire_bytes),
              static_cast<double>(2 * half), 1);
}

TEST(MakePlan, ABatchThatAnotherHostSamplesComesWhole) {
  Job job = two_hosts();
  const auto beside = make_plan(job, cora()).batch;
  job.cluster.placement = "worker";
  EXPECT_EQ(make_plan(job, cora()).batch.wire_bytes, beside.wire_bytes) << "on the rank's host";
  job.cluster.placement = "server_client";
  job.cluster.servers = 2;
  const auto served = make_plan(job, cora()).batch;
  EXPECT_GE(served.wire_bytes, beside.wire_bytes + served.feature_bytes);
  job.cluster.hosts = 1;
  job.cluster.servers = 1;
  job.partition.parts = 1;
  const auto alone = make_plan(job, cora()).batch;
  EXPECT_GE(alone.wire_bytes, alone.feature_bytes);
  EXPECT_LT(alone.wire_bytes, 2 * alone.feature_bytes) << "the server fetches nothing";
}

TEST(MakePlan, GradientsOfLearnedRowsGoToTheHoldersThatThereAre) {
  Job job = two_hosts();
  job.embedding[""].dim = 8;
  const auto messages = [&] { return make_plan(job, cora()).batch.learned_messages; };
  EXPECT_EQ(messages(), 2U * (1 + 1));
  job.cluster.replicas = 2;
  EXPECT_EQ(messages(), 2U * (1 + 2));
  job.cluster.replicas = 9;
  EXPECT_EQ(messages(), 2U * (1 + 2)) << "of two hosts";
  job.cluster.placement = "explicit";
  job.cluster.processes = {{.host = 0, .parts = {0}, .ranks = {0}},
                           {.host = 1, .parts = {1}, .ranks = {1}}};
  EXPECT_EQ(messages(), 2U * (1 + 1)) << "each part has the holder that is listed";
}

TEST(MakePlan, EstimatesTheStore) {
  Job job = two_hosts();
  job.partition.parts = 1;
  const std::uint64_t lists = (2708U + 1U) * 8U + 10556U * 4U;
  const std::uint64_t nodes = 2708U * (8U + 4U + 8U + 1433U * 4U);
  EXPECT_EQ(make_plan(job, cora()).store_bytes, lists + nodes);

  job.partition.parts = 2;  // each part names at most the 1354 nodes of the other
  EXPECT_EQ(make_plan(job, cora()).store_bytes, lists + 8U + nodes + 2U * 1354U * 16U);
}

TEST(MakePlan, CountsAllThatTheStoreKeepsOfEdges) {
  Job job = two_hosts();
  job.partition.parts = 1;
  GraphInfo info = cora();
  auto& edges = info.edge_types[0];
  const auto plain = make_plan(job, info).store_bytes;
  edges.has_edge_ids = true;
  edges.has_weights = true;
  edges.has_times = true;
  EXPECT_EQ(make_plan(job, info).store_bytes, plain + 10556U * (8U + 4U + 8U));
  EXPECT_EQ(make_plan(job, info).list_bytes, (2708U + 1U) * 8U + 10556U * (4U + 8U + 4U + 8U));
  edges.features = FeatureInfo{DType::f16, 3, 1.0F};
  EXPECT_EQ(make_plan(job, info).store_bytes, plain + 10556U * (8U + 4U + 8U + 6U));
}

TEST(MakePlan, CountsTheIndexOfAHalo) {
  Job job = two_hosts();
  const auto plain = make_plan(job, cora()).store_bytes;
  const std::vector<std::uint64_t> some = {1, 7};
  EXPECT_EQ(halo_index_bytes(cora()), 2 * RankedSet(some, 2708).bytes());
  job.partition.halo.hops = 1;  // and all lists in both parts
  EXPECT_GE(make_plan(job, cora()).store_bytes, plain + 10556U * 4U + 2 * halo_index_bytes(cora()));
}

std::uint64_t bytes_for(const Plan& plan, const std::string& name) {
  for (const auto& item : plan.memory.items) {
    if (item.name == name) {
      return item.bytes;
    }
  }
  ADD_FAILURE() << "no memory for " << name;
  return 0;
}

TEST(MakePlan, AddsUpTheProcess) {
  const Plan plan = make_plan(two_hosts(), cora());
  std::uint64_t sum = 0;
  for (const auto& item : plan.memory.items) {
    sum += item.bytes;
  }
  EXPECT_EQ(plan.process_bytes, sum);
  EXPECT_GE(bytes_for(plan, "batches in flight"), 2U * 3U * plan.batch.feature_bytes);
  EXPECT_GE(bytes_for(plan, "parameters and optimizer"), 2U * 5U * 4U * plan.parameters);
}

TEST(MakePlan, BatchesWithoutFeaturesCountNone) {
  auto job = two_hosts();
  const auto with = make_plan(job, cora());
  job.features.collect = false;
  const auto without = make_plan(job, cora());

  EXPECT_EQ(without.batch.feature_bytes, 0U);
  EXPECT_LT(without.batch.wire_bytes, with.batch.wire_bytes / 10);
  EXPECT_LT(bytes_for(without, "batches in flight"), bytes_for(with, "batches in flight") / 10);
  EXPECT_EQ(without.store_bytes, with.store_bytes);
}

TEST(MakePlan, CountsFeaturesOfEdgesWhereBatchesHaveThem) {
  auto job = two_hosts();
  auto info = cora();
  info.edge_types[0].features = FeatureInfo{DType::f16, 300, 1.0F};
  const auto without = make_plan(job, info);
  job.sample.edge_data.entries = true;
  const auto with = make_plan(job, info);

  const auto edges = with.batch.max_edges;
  EXPECT_EQ(with.batch.feature_bytes, without.batch.feature_bytes + edges * 300 * 4);
  // Half of it comes from the other host: an entry number both ways, and the row as it is stored, 616 bytes.
  EXPECT_NEAR(static_cast<double>(with.batch.wire_bytes),
              static_cast<double>(without.batch.wire_bytes + edges * 308), 2);
  EXPECT_GE(bytes_for(with, "batches in flight"),
            bytes_for(without, "batches in flight") + 2 * 3 * edges * 300 * 4);
  EXPECT_EQ(with.store_bytes, without.store_bytes);
  EXPECT_EQ(with.list_bytes, without.list_bytes) << "lists store no entry numbers";
}

TEST(MakePlan, CountsNamedColumnsOfBatchesAndOfTheStore) {
  auto job = two_hosts();
  auto info = cora();
  const auto plain = make_plan(job, info);
  info.node_types[0].columns = {{"age", DType::i64, {}}, {"place", DType::f64, {2}}};
  info.edge_types[0].columns = {{"kind", DType::u8, {100}}};
  const auto stored = make_plan(job, info);
  EXPECT_EQ(stored.store_bytes, plain.store_bytes + 2708U * 24U + 10556U * 100U);
  EXPECT_EQ(stored.batch.feature_bytes, plain.batch.feature_bytes) << "none is wanted";
  const auto node = fmt::format("nodes-{}/place", info.node_types[0].name);
  const auto edge = fmt::format("edges-{}/kind", info.edge_types[0].name);
  job.features.columns = {node, edge};
  const auto with = make_plan(job, info);
  const auto bytes = with.batch.max_nodes * 16 + with.batch.max_edges * 100;
  EXPECT_EQ(with.batch.feature_bytes, plain.batch.feature_bytes + bytes);
  EXPECT_GE(bytes_for(with, "batches in flight"),
            bytes_for(plain, "batches in flight") + 2 * 3 * bytes);
}

/// 200 MB of feature rows in a batch of all nodes at most, 1000 batches.
TEST(MakePlan, CountsTheMostBatchesInFlight) {
  auto graph = cora();
  graph.node_types[0].count = 1 << 20;
  graph.edge_types[0].count = std::uint64_t{1} << 30;
  graph.splits[0].roles["train"].count = 100'000;
  auto job = two_hosts();
  job.cluster.hosts = 1;
  job.partition.parts = 1;
  job.sample.batch_size = 100;
  const auto bytes = [&](std::uint32_t batches, std::uint64_t columns) {
    graph.node_types[0].features->cols = columns;
    job.cluster.batches_in_flight = batches;
    return bytes_for(make_plan(job, graph), "batches in flight");
  };
  EXPECT_NE(to_string(make_plan(job, graph), job)
                .find("batches in flight of a rank: 4, up to 32 while it waits for data\n"),
            std::string::npos);
  constexpr std::uint64_t small = 4;
  EXPECT_EQ(bytes(0, small), bytes(32, small)) << "auto: up to 32";
  constexpr std::uint64_t wide = 5000;
  const auto extra = bytes(0, wide) - bytes(4, wide);
  EXPECT_GE(extra, AutoBatches::extra_bytes);
  EXPECT_LT(extra, AutoBatches::extra_bytes * 11 / 10) << "rows are nearly all of a batch";
  EXPECT_LT(bytes(0, wide), bytes(32, wide));

  graph.splits[0].roles["train"].count = 600;
  EXPECT_EQ(bytes(0, small), bytes(1024, small)) << "no more than there are";
}

TEST(MakePlan, CountsTheBatchesThatACacheKnowsAhead) {
  auto graph = cora();
  graph.node_types[0].count = 1 << 20;
  graph.edge_types[0].count = std::uint64_t{1} << 30;
  graph.splits[0].roles["train"].count = 100'000;
  auto job = two_hosts();
  job.features.cache_policy = "hotness";
  job.features.cache_bytes = 1 << 20;
  const auto hotness = make_plan(job, graph);
  job.features.cache_policy = "future";
  const auto bytes = [&](std::uint32_t lookahead) {
    job.features.cache_lookahead = lookahead;
    return bytes_for(make_plan(job, graph), "batches known ahead");
  };

  const auto reach = hotness.batch.nodes.at(0).most;
  EXPECT_GE(bytes(1), 2 * reach * sizeof(NodeId)) << "two ranks";
  EXPECT_GE(bytes(32), bytes(2) + 2 * 30 * reach * sizeof(NodeId));
  EXPECT_EQ(bytes_for(make_plan(job, graph), "caches"), bytes_for(hotness, "caches"));
  EXPECT_GT(make_plan(job, graph).process_bytes, hotness.process_bytes);

  const auto unbounded = bytes(1000);
  job.cluster.channel_budget = 1 << 20;
  EXPECT_LT(bytes(1000), unbounded);
  job.partition.parts = 1;
  EXPECT_EQ(make_plan(job, graph).memory.items.size(), hotness.memory.items.size())
      << "nothing lies elsewhere";
}

TEST(MakePlan, TakesThePartsOfAPartitionedStoreAsTheyAre) {
  Job job = two_hosts();
  job.dataset.memory = StoreMemory::copied;
  const Plan plan = make_plan(job, cora(), {.part_bytes = {1000, 3000}});
  EXPECT_EQ(plan.store_bytes, 4000U);
  EXPECT_EQ(plan.part_bytes, 3000U);
  EXPECT_EQ(bytes_for(plan, "store"), 2U * 3000U) << "both parts in one process that simulates";
  job.cluster.launch = "local";
  EXPECT_EQ(bytes_for(make_plan(job, cora(), {.part_bytes = {1000, 3000}}), "store"), 3000U)
      << "the largest process has the largest part";
}

TEST(MakePlan, CountsAliasTablesOfWhatIsDrawnByWeight) {
  Job job = two_hosts();
  EXPECT_EQ(bytes_for(make_plan(job, cora()), "tables of lists"), 0U);
  job.sample.choice = "weighted";
  EXPECT_GE(bytes_for(make_plan(job, cora()), "tables of lists"), 10556U * 8U)
      << "both parts in one process that simulates";
  EXPECT_LE(bytes_for(make_plan(job, cora()), "tables of lists"), (10556U + 2U) * 8U);
  job.partition.halo.hops = 1;
  EXPECT_EQ(bytes_for(make_plan(job, cora()), "tables of lists"), 2U * 10556U * 8U);
  EXPECT_EQ(bytes_for(make_plan(job, cora(), {.weight_bytes = {400, 4000}}), "tables of lists"),
            2U * 1000U * 8U)
      << "parts that are there count as they are";
  job.sample.fanout = {-1, 0};
  EXPECT_EQ(bytes_for(make_plan(job, cora()), "tables of lists"), 0U) << "nothing is drawn";
}

TEST(MakePlan, ExactInferenceTakesMemoryWhereSomethingIsScored) {
  EXPECT_EQ(bytes_for(make_plan(two_hosts(), cora()), "outputs of exact inference"), 0U);

  GraphInfo info = cora();
  info.splits[0].roles["test"] = {NodeTypeId{0}, 1000};
  Job job = two_hosts();
  const auto plan = make_plan(job, info);
  EXPECT_GE(bytes_for(plan, "outputs of exact inference"), 2708U * (64U + 7U) * 4U);
  EXPECT_GE(bytes_for(plan, "blocks of exact inference"), 2U * 2708U * 1433U * 4U);
  job.model.hidden = 640;
  EXPECT_GE(bytes_for(make_plan(job, info), "outputs of exact inference"),
            2708U * (640U + 7U) * 4U);
}

TEST(MakePlan, ABlockOfInferenceIsAsLargeAsTheLongestList) {
  GraphInfo info = cora();
  info.node_types[0].count = 1'000'000;
  info.edge_types[0].count = 10'000'000;
  info.splits[0].roles["test"] = {NodeTypeId{0}, 1000};
  const auto blocks = [&](const GraphFacts& facts) {
    return bytes_for(make_plan(two_hosts(), info, facts), "blocks of exact inference");
  };
  EXPECT_GT(blocks({.longest_list = 500'000}), 10 * blocks({.longest_list = 100}));
  EXPECT_EQ(blocks({}), blocks({.longest_list = 10'000'000}));
}

TEST(MakePlan, SaturatesInsteadOfWrapping) {
  GraphInfo info = cora();
  info.node_types[0].count = ~std::uint64_t{0};
  info.edge_types[0].count = ~std::uint64_t{0};
  info.splits[0].roles["train"].count = ~std::uint64_t{0};
  Job job = two_hosts();
  job.sample.fanout.assign(16, 1 << 20);
  const Plan plan = make_plan(job, info);

  EXPECT_EQ(plan.batch.max_nodes, ~std::uint64_t{0});
  EXPECT_EQ(plan.batch.feature_bytes, ~std::uint64_t{0});
  EXPECT_EQ(plan.store_bytes, ~std::uint64_t{0});
  EXPECT_EQ(plan.process_bytes, ~std::uint64_t{0});
}

TEST(MakePlan, SurvivesEmptyGraphs) {
  const Plan plan = make_plan(two_hosts(), {});
  EXPECT_EQ(plan.batches_per_epoch, 0U);
  EXPECT_EQ(plan.batch.max_nodes, 0U);
  EXPECT_EQ(plan.parameters, 0U);
}

TEST(PlanText, NamesEveryActor) {
  Job job = two_hosts();
  job.partition.parts = 1;
  const std::string text = to_string(make_plan(job, cora()), job);

  EXPECT_EQ(text.substr(0, text.find("parameters")),
            "host 0: parts 0; ranks 0\n"
            "  director\n"
            "  holder of part 0\n"
            "  rank 0: trainer, collector, 2 samplers\n"
            "  evaluator\n"
            "host 1: parts none; ranks 1\n"
            "  rank 1: trainer, collector, 2 samplers\n"
            "ranks: 2\n");
  EXPECT_NE(text.find("an epoch: 5 batches in 3 steps\n"), std::string::npos) << text;
  EXPECT_NE(text.find("parameters: 184391 (720.3 KiB)\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace troupe
