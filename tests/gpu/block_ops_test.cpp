// Networks on an emulated device against the CPU: every operation that they are made of, bit for bit.
#include "gpu/nn/emulated_block_ops.hpp"
#include "tests/runtime/nn/heterogeneous_support.hpp"
#include "tests/runtime/nn/network_support.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe::gpu {
namespace {

using nn::Activations;
using nn::Aggregator;
using nn::ModelOptions;
using nn::testing::HeteroBatch;
using nn::testing::network_of;
using nn::testing::PassResult;
using nn::testing::run_pass;

ModelOptions small(const std::string& kind) {
  ModelOptions options;
  options.kind = kind;
  options.layers = 2;
  options.in_dim = 7;
  options.hidden = 12;
  options.out_dim = 5;
  return options;
}

/// A case by name: what differs from small().
struct Case {
  const char* name;
  ModelOptions options;
};

std::vector<Case> cases() {
  std::vector<Case> result;
  const auto add = [&](const char* name, const char* kind, auto change) {
    ModelOptions options = small(kind);
    change(options);
    result.push_back({name, options});
  };
  add("sage_mean", "graphsage", [](ModelOptions&) {});
  add("sage_sum_norm", "graphsage", [](ModelOptions& o) {
    o.aggregator = Aggregator::sum;
    o.layer_norm = true;
  });
  add("sage_max_l2", "graphsage", [](ModelOptions& o) {
    o.aggregator = Aggregator::max;
    o.l2 = true;
  });
  add("sage_all", "graphsage", [](ModelOptions& o) {
    o.layers = 3;
    o.hidden = 37;
    o.layer_norm = true;
    o.l2 = true;
    o.dropout = 0.5F;
    o.input_dropout = 0.2F;
  });
  add("sage_wide_input", "graphsage", [](ModelOptions& o) { o.in_dim = 65; });
  add("gcn", "gcn", [](ModelOptions& o) { o.dropout = 0.3F; });
  add("gcn_norm", "gcn", [](ModelOptions& o) {
    o.layer_norm = true;
    o.in_dim = 33;
  });
  add("gin", "gin", [](ModelOptions& o) { o.dropout = 0.3F; });
  add("gin_narrowing", "gin", [](ModelOptions& o) { o.in_dim = 40; });
  add("gat_one_head", "gat", [](ModelOptions&) {});
  add("gat_heads", "gat", [](ModelOptions& o) {
    o.heads = 4;
    o.dropout = 0.5F;
    o.layer_norm = true;
  });
  return result;
}

/// A batch of one node type; rows[l] before layer l, rows.back() after the last.
HeteroBatch batch_of(const ModelOptions& options, std::vector<std::uint32_t> rows,
                     std::uint64_t seed) {
  const nn::ModelTypes types{.nodes = {{"node", options.in_dim}},
                             .edges = {{"edge", NodeTypeId{0}, NodeTypeId{0}}},
                             .seeds = NodeTypeId{0}};
  std::vector<std::vector<std::uint32_t>> by_type;
  for (const std::uint32_t count : rows) {
    by_type.push_back({count});
  }
  return nn::testing::random_hetero_batch(types, by_type, seed);
}

std::vector<std::uint32_t> rows_for(std::uint32_t layers, std::uint32_t seeds) {
  std::vector<std::uint32_t> rows{seeds};
  for (std::uint32_t i = 0; i < layers; ++i) {
    rows.insert(rows.begin(), rows.front() * 2 + 3);
  }
  return rows;
}

std::unique_ptr<Activations> on_device(std::shared_ptr<EmulatedDevice> device) {
  return std::make_unique<Activations>(make_emulated_block_ops(std::move(device)));
}

/// Passes over batches of several sizes in turn, in the same memory.
void expect_bits_of_the_cpu(const nn::Network& network, const std::vector<HeteroBatch>& batches,
                            const EmulatedOptions& options) {
  const auto device = std::make_shared<EmulatedDevice>(options);
  const auto there = on_device(device);
  const auto here = std::make_unique<Activations>();
  InlineExecutor executor;
  const auto parameters = network.initial_parameters(3);
  for (std::size_t b = 0; b < batches.size(); ++b) {
    for (const bool training : {true, false}) {
      const auto expected =
          run_pass(network, executor, parameters, batches[b].input(training), *here);
      const auto actual =
          run_pass(network, executor, parameters, batches[b].input(training), *there);
      EXPECT_TRUE(there->status());
      EXPECT_TRUE(nn::testing::same_bits(actual.logits, expected.logits))
          << "batch " << b << " training " << training;
      EXPECT_TRUE(nn::testing::same_bits(actual.gradient, expected.gradient))
          << "batch " << b << " training " << training;
    }
  }
}

class DeviceBlockOpsTest : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Models, DeviceBlockOpsTest, ::testing::ValuesIn(cases()),
                         [](const auto& of) { return std::string(of.param.name); });

TEST_P(DeviceBlockOpsTest, HasTheBitsOfTheCpu) {
  const ModelOptions& options = GetParam().options;
  const auto network = network_of(options);
  std::vector<HeteroBatch> batches;
  for (const std::uint32_t seeds : {1U, 31U, 200U, 32U, 511U, 33U}) {
    batches.push_back(batch_of(options, rows_for(options.layers, seeds), seeds));
  }
  expect_bits_of_the_cpu(*network, batches, {.seed = 1, .threads = 1});
}

TEST_P(DeviceBlockOpsTest, HasThemInAnyOrderAndOnThreads) {
  const ModelOptions& options = GetParam().options;
  const auto network = network_of(options);
  std::vector<HeteroBatch> batches;
  batches.push_back(batch_of(options, rows_for(options.layers, 40), 9));
  for (std::uint64_t seed = 2; seed < 6; ++seed) {
    expect_bits_of_the_cpu(*network, batches, {.seed = seed, .threads = 1});
  }
  expect_bits_of_the_cpu(*network, batches, {.seed = 6, .threads = 2});
}

TEST(DeviceBlockOps, HaveTheBitsOfTheCpuOnHeterogeneousGraphs) {
  ModelOptions options = small("graphsage");
  options.types = nn::testing::golden_types(0);
  options.dropout = 0.25F;
  options.layer_norm = true;
  const auto network = network_of(options);
  std::vector<HeteroBatch> batches;
  batches.push_back(nn::testing::random_hetero_batch(
      options.types, {{700, 900, 20}, {300, 400, 10}, {64, 0, 0}}, 4));
  batches.push_back(
      nn::testing::random_hetero_batch(options.types, {{11, 17, 4}, {8, 9, 3}, {3, 2, 1}}, 5));
  expect_bits_of_the_cpu(*network, batches, {});
}

TEST(DeviceBlockOps, TooLittleMemoryIsAnErrorAndGivesZeros) {
  const ModelOptions options = small("graphsage");
  const auto network = network_of(options);
  const auto batch = batch_of(options, rows_for(2, 200), 1);
  const auto there =
      on_device(std::make_shared<EmulatedDevice>(EmulatedOptions{.memory_bytes = 4096}));
  InlineExecutor executor;
  const auto result =
      run_pass(*network, executor, network->initial_parameters(1), batch.input(false), *there);
  const auto status = there->status();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), Errc::out_of_memory);
  EXPECT_TRUE(std::ranges::all_of(result.logits, [](float x) { return x == 0; }));
  EXPECT_TRUE(std::ranges::all_of(result.gradient, [](float x) { return x == 0; }));
}

TEST(DeviceBlockOps, GiveAllMemoryBack) {
  const auto device = std::make_shared<EmulatedDevice>();
  {
    const ModelOptions options = small("gat");
    const auto network = network_of(options);
    const auto there = on_device(device);
    InlineExecutor executor;
    run_pass(*network, executor, network->initial_parameters(1),
             batch_of(options, rows_for(2, 30), 1).input(true), *there);
    EXPECT_GT(device->memory().used_bytes(), 0U);
  }
  ASSERT_TRUE(device->schedule().run_all());
  EXPECT_EQ(device->memory().used_bytes(), 0U);
}

}  // namespace
}  // namespace troupe::gpu
