// Networks on a device against the CPU: on an emulated one bit for bit, on a GPU within the tolerance of
// its products and exponentials. The operations without those: exact_block_ops_test.cpp.
#include "gpu/nn/emulated_block_ops.hpp"
#include "tests/gpu/test_device.hpp"
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
  add("gat_without_loops", "gat", [](ModelOptions& o) {
    o.loops = false;
    o.heads = 2;
    o.concat = false;
  });
  add("sage_elu_residual", "graphsage", [](ModelOptions& o) {
    o.activation = nn::Activation::elu;
    o.dropout = 0.3F;
    o.residual = true;
  });
  add("sage_leaky_batch_norm", "graphsage", [](ModelOptions& o) {
    o.activation = nn::Activation::leaky_relu;
    o.dropout = 0.3F;
    o.batch_norm = true;
  });
  add("sage_linear_input", "graphsage", [](ModelOptions& o) { o.linear_input = true; });
  add("sage_weighted_mean", "graphsage", [](ModelOptions& o) { o.edge_weights = true; });
  add("gcn_weighted", "gcn", [](ModelOptions& o) { o.edge_weights = true; });
  add("gin_trained_eps", "gin", [](ModelOptions& o) { o.train_eps = true; });
  add("gatv2_heads", "gatv2", [](ModelOptions& o) {
    o.heads = 3;
    o.dropout = 0.5F;
  });
  add("gat_drops_attention", "gat", [](ModelOptions& o) {
    o.heads = 4;
    o.attention_dropout = 0.4F;
  });
  add("gatv2_drops_attention", "gatv2", [](ModelOptions& o) {
    o.heads = 3;
    o.attention_dropout = 0.4F;
    o.dropout = 0.5F;
  });
  add("gatv2_shared", "gatv2", [](ModelOptions& o) {
    o.share_weights = true;
    o.loops = false;
  });
  add("gat_edge_features", "gat", [](ModelOptions& o) {
    o.heads = 2;
    o.loops = false;
    o.types = {.nodes = {{"node", o.in_dim}},
               .edges = {{"edge", NodeTypeId{0}, NodeTypeId{0}, 3}},
               .seeds = NodeTypeId{0}};
    o.edge_features = true;
  });
  add("gatv2_edge_features", "gatv2", [](ModelOptions& o) {
    o.heads = 3;
    o.loops = false;
    o.types = {.nodes = {{"node", o.in_dim}},
               .edges = {{"edge", NodeTypeId{0}, NodeTypeId{0}, 3}},
               .seeds = NodeTypeId{0}};
    o.edge_features = true;
  });
  const auto read_edges = [](ModelOptions& o) {
    o.types = {.nodes = {{"node", o.in_dim}},
               .edges = {{"edge", NodeTypeId{0}, NodeTypeId{0}, 3}},
               .seeds = NodeTypeId{0}};
    o.edge_features = true;
  };
  add("sage_edge_features", "graphsage", read_edges);
  add("sage_max_edge_features", "graphsage", [&](ModelOptions& o) {
    read_edges(o);
    o.aggregator = Aggregator::max;
  });
  add("gin_edge_features", "gin", [&](ModelOptions& o) {
    read_edges(o);
    o.edge_weights = true;
  });
  add("rgcn", "rgcn", [](ModelOptions&) {});
  add("rgat", "rgat", [](ModelOptions& o) { o.heads = 2; });
  add("hgt", "hgt", [](ModelOptions& o) { o.heads = 2; });
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
  auto batch = nn::testing::random_hetero_batch(types, by_type, seed);
  if (options.edge_weights) {
    nn::testing::add_edge_weights(batch);
  }
  if (options.edge_features) {
    nn::testing::add_edge_features(batch, options.types.edges.front().cols);
  }
  return batch;
}

std::vector<std::uint32_t> rows_for(std::uint32_t layers, std::uint32_t seeds) {
  std::vector<std::uint32_t> rows{seeds};
  for (std::uint32_t i = 0; i < layers; ++i) {
    rows.insert(rows.begin(), rows.front() * 2 + 3);
  }
  return rows;
}

/// Largest difference between a GPU's logits or gradients and the CPU's, of the largest value.
constexpr double gpu_tolerance = 1e-4;

void expect_same_values(const std::vector<float>& actual, const std::vector<float>& expected,
                        bool to_the_bit, const std::string& what) {
  if (to_the_bit) {
    EXPECT_TRUE(nn::testing::same_bits(actual, expected)) << what;
    return;
  }
  const std::vector<double> truth(expected.begin(), expected.end());
  nn::testing::expect_close<float>(actual, truth, gpu_tolerance, what);
}

/// Passes over batches of several sizes in turn, in the same memory.
void expect_passes_of_the_cpu(const nn::Network& network, const std::vector<HeteroBatch>& batches,
                              std::unique_ptr<nn::BlockOps> ops, bool to_the_bit) {
  const auto there = std::make_unique<Activations>(std::move(ops));
  const auto here = std::make_unique<Activations>();
  InlineExecutor executor;
  const auto parameters = network.initial_parameters(3);
  for (std::size_t b = 0; b < batches.size(); ++b) {
    for (const bool training : {true, false}) {
      const auto expected =
          run_pass(network, executor, parameters, batches[b].input(training), *here);
      const auto actual =
          run_pass(network, executor, parameters, batches[b].input(training), *there);
      EXPECT_OK(there->status());
      const auto what = fmt::format("batch {}, training {}", b, training);
      expect_same_values(actual.logits, expected.logits, to_the_bit,
                         fmt::format("logits of {}", what));
      expect_same_values(actual.gradient, expected.gradient, to_the_bit,
                         fmt::format("gradient of {}", what));
    }
  }
}

void expect_bits_of_the_cpu(const nn::Network& network, const std::vector<HeteroBatch>& batches,
                            const EmulatedOptions& options) {
  expect_passes_of_the_cpu(
      network, batches, make_emulated_block_ops(std::make_shared<EmulatedDevice>(options)), true);
}

class ModelsOnDevice : public troupe::testing::OnEachDevice {};

INSTANTIATE_TEST_SUITE_P(Devices, ModelsOnDevice,
                         ::testing::Values(troupe::testing::one_thread,
                                           troupe::testing::cuda_device),
                         troupe::testing::name_of_device);

TEST_P(ModelsOnDevice, HaveTheValuesOfTheCpu) {
  for (const auto& [name, model] : cases()) {
    SCOPED_TRACE(name);
    const auto network = network_of(model);
    std::vector<HeteroBatch> batches;
    for (const std::uint32_t seeds : {1U, 31U, 200U, 32U, 511U, 33U}) {
      batches.push_back(batch_of(model, rows_for(model.layers, seeds), seeds));
    }
    expect_passes_of_the_cpu(*network, batches, on().block_ops(), !GetParam().cuda);
  }
}

TEST_P(ModelsOnDevice, HaveEqualBitsEachTime) {
  for (const auto& [name, model] : cases()) {
    SCOPED_TRACE(name);
    const auto network = network_of(model);
    const auto batch = batch_of(model, rows_for(model.layers, 100), 5);
    const auto parameters = network->initial_parameters(3);
    InlineExecutor executor;
    std::vector<PassResult> passes;
    for (std::uint64_t order = 1; order <= 2; ++order) {
      Activations there(on(order).block_ops());
      for (int i = 0; i < 2; ++i) {
        passes.push_back(run_pass(*network, executor, parameters, batch.input(true), there));
      }
      ASSERT_OK(there.status());
    }
    for (const PassResult& pass : passes) {
      EXPECT_TRUE(nn::testing::same_bits(pass.logits, passes[0].logits));
      EXPECT_TRUE(nn::testing::same_bits(pass.gradient, passes[0].gradient));
    }
  }
}

TEST_P(ModelsOnDevice, HaveTheValuesOfTheCpuOnHeterogeneousGraphs) {
  for (const std::string kind : {"graphsage", "gatv2", "rgcn", "rgcn with bases", "rgat", "hgt"}) {
    SCOPED_TRACE(kind);
    ModelOptions options = small(kind.substr(0, kind.find(' ')));
    options.types = nn::testing::golden_types(0);
    options.dropout = 0.25F;
    options.layer_norm = kind == "graphsage";
    options.batch_norm = kind == "rgcn";
    options.bases = kind == "rgcn with bases" ? 2 : 0;
    options.linear_input = options.bases > 0;
    options.heads = kind == "gatv2" || kind == "rgat" || kind == "hgt" ? 2 : 1;
    options.loops = false;
    const auto network = network_of(options);
    std::vector<HeteroBatch> batches;
    batches.push_back(nn::testing::random_hetero_batch(
        options.types, {{700, 900, 20}, {300, 400, 10}, {64, 0, 0}}, 4));
    batches.push_back(
        nn::testing::random_hetero_batch(options.types, {{11, 17, 4}, {8, 9, 3}, {3, 2, 1}}, 5));
    expect_passes_of_the_cpu(*network, batches, on().block_ops(), !GetParam().cuda);
  }
}

class EmulatedBlockOpsTest : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Models, EmulatedBlockOpsTest, ::testing::ValuesIn(cases()),
                         [](const auto& of) { return std::string(of.param.name); });

TEST_P(EmulatedBlockOpsTest, HaveTheBitsOfTheCpuInAnyOrderAndOnThreads) {
  const ModelOptions& options = GetParam().options;
  const auto network = network_of(options);
  std::vector<HeteroBatch> batches;
  batches.push_back(batch_of(options, rows_for(options.layers, 40), 9));
  for (std::uint64_t seed = 2; seed < 6; ++seed) {
    expect_bits_of_the_cpu(*network, batches, {.seed = seed, .threads = 1});
  }
  expect_bits_of_the_cpu(*network, batches, {.seed = 6, .threads = 2});
}

TEST(DeviceBlockOps, TooLittleMemoryIsAnErrorAndGivesZeros) {
  const ModelOptions options = small("graphsage");
  const auto network = network_of(options);
  const auto batch = batch_of(options, rows_for(2, 200), 1);
  const auto there = std::make_unique<Activations>(make_emulated_block_ops(
      std::make_shared<EmulatedDevice>(EmulatedOptions{.memory_bytes = 4096})));
  InlineExecutor executor;
  const auto result =
      run_pass(*network, executor, network->initial_parameters(1), batch.input(false), *there);
  const auto status = there->status();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), Errc::out_of_memory);
  EXPECT_TRUE(std::ranges::all_of(result.logits, [](float x) { return x == 0; }));
  EXPECT_TRUE(std::ranges::all_of(result.gradient, [](float x) { return x == 0; }));
}

/// Copies read arrays of the host that go after the operations.
TEST(DeviceBlockOps, EndAfterTheirWorkWithAndWithoutAnError) {
  for (const bool fails : {false, true}) {
    const auto device = std::make_shared<gpu::EmulatedDevice>();
    auto ops = gpu::make_emulated_block_ops(device);
    const Buffer there = ops->memory()->take(sizeof(float));
    float host = 7;
    ops->upload(&host, there.data(), sizeof host);
    if (fails) {
      ops->zero({&host, 1});  // memory of the host
    }

    ops.reset();
    host = 0;

    gpu::EmulatedStream other(device);
    EXPECT_EQ(other.read(there.as<float>().data()), 7.0F) << fails;
  }
}

TEST(DeviceBlockOps, GiveAllMemoryBack) {
  const auto device = std::make_shared<EmulatedDevice>();
  {
    const ModelOptions options = small("gat");
    const auto network = network_of(options);
    const auto there = std::make_unique<Activations>(make_emulated_block_ops(device));
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
