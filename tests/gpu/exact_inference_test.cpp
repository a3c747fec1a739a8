// Exact inference whose blocks are computed on devices: the CPU's bits on emulated ones, on a GPU the same bits
// whatever the blocks, parts and devices; memory within the share; errors of a device.
#include "gpu/nn/product_pieces.hpp"
#include "gpu/run/exact_devices.hpp"
#include "tests/gpu/test_device.hpp"
#include "tests/runtime/run/inference_runs.hpp"

#include <cmath>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {
namespace {

struct NamedModel {
  std::string name;
  nn::ModelOptions model;
};

/// Each convolution, and what can come before and after it.
std::vector<NamedModel> models() {
  const nn::ModelOptions sage{.hidden = 6, .out_dim = 4};
  std::vector<NamedModel> all = {{"sage", sage}};
  const auto with = [&](const char* name, auto change) {
    auto model = sage;
    change(model);
    all.push_back({name, model});
  };
  with("sage that narrows", [](auto& model) { model.hidden = 3; });
  with("sage of maxima", [](auto& model) { model.aggregator = nn::Aggregator::max; });
  with("sage of sums, residual", [](auto& model) {
    model.aggregator = nn::Aggregator::sum;
    model.activation = nn::Activation::elu;
    model.residual = true;
  });
  with("sage with norms", [](auto& model) {
    model.layers = 3;
    model.layer_norm = true;
    model.l2 = true;
  });
  with("sage with running statistics", [](auto& model) { model.batch_norm = true; });
  with("sage of one layer", [](auto& model) { model.layers = 1; });
  with("sage behind a linear input", [](auto& model) { model.linear_input = true; });
  with("gcn", [](auto& model) { model.kind = "gcn"; });
  with("gcn that narrows", [](auto& model) {
    model.kind = "gcn";
    model.hidden = 3;
    model.layers = 3;
  });
  with("gcn behind a linear input", [](auto& model) {
    model.kind = "gcn";
    model.linear_input = true;
  });
  with("gin", [](auto& model) { model.kind = "gin"; });
  with("gin that narrows", [](auto& model) {
    model.kind = "gin";
    model.hidden = 3;
    model.train_eps = true;
  });
  for (const char* const kind : {"gat", "gatv2", "rgat", "hgt"}) {
    with(kind, [&](auto& model) {
      model.kind = kind;
      model.heads = 2;
    });
  }
  with("gat without loops", [](auto& model) {
    model.kind = "gat";
    model.heads = 2;
    model.loops = false;
  });
  with("rgcn", [](auto& model) { model.kind = "rgcn"; });
  with("rgcn of bases", [](auto& model) {
    model.kind = "rgcn";
    model.bases = 2;
  });
  return all;
}

/// A model of a kind that reads features of edges.
nn::ModelOptions reads_edges(const char* kind) {
  return {
      .kind = kind, .hidden = 6, .out_dim = 4, .heads = 2, .loops = false, .edge_features = true};
}

/// Devices whose operations come from OnTestDevice, or from one emulated device of a given size.
class ExactOnDevice : public InferenceRuns, public ::testing::WithParamInterface<TestDevice> {
 protected:
  void SetUp() override {
    if (GetParam().cuda && !no_cuda_device().empty()) {
      GTEST_SKIP() << no_cuda_device();
    }
  }

  static constexpr std::uint64_t enough = std::uint64_t{1} << 28;
  static std::size_t height() {
    return GetParam().cuda ? gpu::cuda_product_rows : gpu::emulated_product_rows;
  }

  void compute_on(std::size_t devices, std::uint64_t share = enough) {
    devices_.clear();
    device_ = DeviceShare{.devices = devices, .bytes = share, .product_rows = height()};
    for (std::size_t number = 0; number < devices; ++number) {
      const OnTestDevice device(GetParam(), 3 + number);
      devices_.push_back(std::make_shared<nn::DeviceInference>(
          number,
          [device]() -> Result<std::unique_ptr<nn::BlockOps>> { return device.exact_ops(); }));
    }
  }
  void compute_on_cpu() {
    devices_.clear();
    device_.reset();
  }
  InferPlace place() override {
    return {executor_, devices_.empty() ? nullptr : devices_[turn_++ % devices_.size()].get()};
  }

  /// What a device must have: the CPU's bits, of a GPU its own, with all in one block.
  Logits reference(const TestGraph& graph, const nn::ModelOptions& model) {
    use(graph, 1, model);
    compute_on_cpu();
    const auto of_cpu = logits({{0}}, nn::infer_block_bytes);
    if (!GetParam().cuda) {
      return of_cpu;
    }
    compute_on(1);
    const auto of_gpu = logits({{0}}, nn::infer_block_bytes);
    expect_near(of_gpu, of_cpu);
    return of_gpu;
  }
  static void expect_near(const Logits& actual, const Logits& expected) {
    float most = 0;
    for (const auto& [node, row] : expected) {
      for (const float value : row) {
        most = std::max(most, std::abs(value));
      }
    }
    for (const auto& [node, row] : expected) {
      for (std::size_t c = 0; c < row.size(); ++c) {
        EXPECT_NEAR(actual.at(node)[c], row[c], 1e-4F * most) << node.second;
      }
    }
  }
  /// Of all layouts, blocks and numbers of devices.
  void expect_same_everywhere(const TestGraph& graph, const nn::ModelOptions& model) {
    const auto expected = reference(graph, model);
    const std::vector<std::vector<std::set<std::uint32_t>>> layouts = {
        {{0}}, {{0, 1, 2}}, {{0}, {1, 2}}, {{2}, {0}, {1}}};
    std::uint64_t blocks = 1;
    for (const auto& hosts : layouts) {
      const std::uint32_t parts =
          hosts.front() == std::set<std::uint32_t>{0} && hosts.size() == 1 ? 1 : 3;
      use(graph, parts, model);
      compute_on(parts == 1 ? 1 : 2);
      for (const std::uint64_t block_bytes : {blocks, nn::infer_block_bytes}) {
        EXPECT_EQ(logits(hosts, block_bytes), expected)
            << fmt::format("{} parts on {} hosts, blocks of {}", parts, hosts.size(), block_bytes);
      }
      blocks = blocks * 17 + 300;
    }
  }

  std::vector<std::shared_ptr<nn::DeviceInference>> devices_;
  std::size_t turn_ = 0;
};

// Bodies run on several threads in the tests of operations.
INSTANTIATE_TEST_SUITE_P(Devices, ExactOnDevice, ::testing::Values(one_thread, cuda_device),
                         name_of_device);

TEST_P(ExactOnDevice, EveryModelHasTheSameBitsInEveryLayout) {
  for (const auto& [name, model] : models()) {
    SCOPED_TRACE(name);
    expect_same_everywhere(featured_graph(), model);
  }
}

TEST_P(ExactOnDevice, RowsOfSmallNumbersAreDecodedFirst) {
  expect_same_everywhere(featured_graph(DType::u8), {.hidden = 6, .out_dim = 4});
  normalize_ = Normalize::row;
  expect_same_everywhere(featured_graph(), {.kind = "gat", .hidden = 6, .out_dim = 4, .heads = 2});
}

TEST_P(ExactOnDevice, WeightsOfEdgesCount) {
  auto graph = featured_graph();
  for (std::size_t e = 0; e < graph.edges[0].edges.size(); ++e) {
    graph.edges[0].weights.push_back(static_cast<float>(e % 5) / 4);
  }
  for (const char* const kind : {"graphsage", "gcn", "gin"}) {
    SCOPED_TRACE(kind);
    expect_same_everywhere(graph, {.kind = kind, .hidden = 6, .out_dim = 4, .edge_weights = true});
  }
}

TEST_P(ExactOnDevice, FeaturesOfEdgesAreRead) {
  auto graph = featured_graph();
  add_edge_features(graph.edges[0], 3);
  for (const char* const kind : {"graphsage", "gat", "gatv2", "gin", "rgat"}) {
    SCOPED_TRACE(kind);
    expect_same_everywhere(graph, reads_edges(kind));
  }
}

/// Their embeddings, too.
TEST_P(ExactOnDevice, SeveralTypesOfNodesAndEdges) {
  auto graph = papers_and_authors();
  add_features(graph.nodes[0], 5);
  add_features(graph.nodes[1], 5, DType::u8);
  for (const auto& [name, model] : models()) {
    const bool one_type_only = name.starts_with("gcn") || name.starts_with("gin") ||
                               name.starts_with("gat") || model.layers == 1;
    if (one_type_only) {
      continue;
    }
    for (const bool embeddings : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, embeddings {}", name, embeddings));
      embeddings_ = embeddings;
      expect_same_everywhere(graph, model);
    }
  }
}

TEST_P(ExactOnDevice, GraphsWithHardlyAnything) {
  auto alone = plain_graph(1, {});
  auto isolated = plain_graph(7, {{0, 1}, {1, 0}, {2, 2}});
  auto parallel = plain_graph(3, {{0, 1}, {0, 1}, {0, 1}});
  for (auto* const graph : {&alone, &isolated, &parallel}) {
    add_features(graph->nodes[0], 5);
    for (const auto& [name, model] : models()) {
      SCOPED_TRACE(fmt::format("{} nodes, {}", graph->nodes[0].count, name));
      const auto expected = reference(*graph, model);
      use(*graph, 3, model);  // parts without nodes
      compute_on(2);
      EXPECT_EQ(logits({{0, 1, 2}}, 1), expected);
      EXPECT_EQ(logits({{0}, {1}, {2}}, nn::infer_block_bytes), expected);
    }
  }
}

/// Nodes of which one has more neighbors than a block has room for.
TestGraph star(std::uint64_t leaves) {
  std::vector<TestEdge> edges;
  for (std::uint64_t leaf = 1; leaf <= leaves; ++leaf) {
    edges.push_back({leaf, 0});
    edges.push_back({0, leaf});
  }
  auto graph = plain_graph(leaves + 1, std::move(edges));
  add_features(graph.nodes[0], 5);
  return graph;
}

TEST_P(ExactOnDevice, AHubIsABlockOfItsOwn) {
  const auto graph = star(700);  // with emulated pieces of 128 rows
  for (const auto& [name, model] : models()) {
    SCOPED_TRACE(name);
    const auto expected = reference(graph, model);
    use(graph, 2, model);
    compute_on(1);
    EXPECT_EQ(logits({{0}, {1}}, 5000), expected);
    EXPECT_EQ(logits({{0, 1}}, 5000), expected);
  }
}

TEST_P(ExactOnDevice, ANodeWithMoreNeighborsThanTheShareHasRoomForIsRefused) {
  use(star(700), 2, {.kind = "gat", .hidden = 6, .out_dim = 4, .heads = 2});
  compute_on(1, enough);
  EXPECT_OK(on_host({0, 1}).check_device());
  device_->bytes = 1000;
  EXPECT_ERROR(on_host({0, 1}).check_device(), Errc::out_of_memory,
               "with the most neighbors needs");
}

/// Least share with which a device computes the parts of a host.
std::uint64_t least_share(const std::function<bool(std::uint64_t)>& fits) {
  std::uint64_t low = 0;
  std::uint64_t high = std::uint64_t{1} << 30;
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    (fits(middle) ? high : low) = middle;
  }
  return high;
}

class ExactMemory : public InferenceRuns {
 protected:
  void compute_on(const gpu::EmulatedOptions& options, std::uint64_t share) {
    emulated_ = std::make_shared<gpu::EmulatedDevice>(options);
    device_ = DeviceShare{.bytes = share, .product_rows = gpu::emulated_product_rows};
    inference_ =
        std::make_shared<nn::DeviceInference>(0, [this]() -> Result<std::unique_ptr<nn::BlockOps>> {
          ++made_;
          if (made_ == fails_at_) {
            return Error(Errc::cuda_failure, "emulated device: kernel of 7: lost");
          }
          return gpu::make_emulated_block_ops(emulated_, nn::Precision::float32,
                                              gpu::emulated_product_rows);
        });
  }
  InferPlace place() override { return {executor_, inference_.get()}; }  // null: the CPU
  Logits one_host(const std::set<std::uint32_t>& parts = {0, 1}) {
    std::vector<ExactInference> hosts;
    hosts.push_back(on_host(parts, nn::infer_block_bytes));
    return logits_of(std::move(hosts));
  }

  /// Of the model and graph in use, from the least share that is enough.
  void expect_within_share() {
    inference_.reset();
    device_.reset();
    const auto expected = one_host();
    const auto least = least_share([&](std::uint64_t bytes) {
      device_ = DeviceShare{.bytes = bytes, .product_rows = gpu::emulated_product_rows};
      return on_host({0, 1}).check_device().ok();
    });
    for (const std::uint64_t share : {least, least + least / 2, 8 * least}) {
      SCOPED_TRACE(fmt::format("share {}", share));
      compute_on({.memory_bytes = share}, share);
      EXPECT_EQ(one_host(), expected);
      EXPECT_LE(emulated_->memory().most_bytes(), share);
    }
  }

  std::shared_ptr<gpu::EmulatedDevice> emulated_;
  std::shared_ptr<nn::DeviceInference> inference_;
  int made_ = 0;
  int fails_at_ = 0;
};

TEST_F(ExactMemory, StaysWithinTheShareWithFeaturesOfEdges) {
  auto graph = star(300);
  add_edge_features(graph.edges[0], 40);
  for (const char* const kind : {"gat", "gatv2", "rgat"}) {
    SCOPED_TRACE(kind);
    use(graph, 2, reads_edges(kind));
    expect_within_share();
  }
}

/// The least share is just enough for the node with the most neighbors.
TEST_F(ExactMemory, StaysWithinTheShare) {
  auto several = papers_and_authors();
  add_features(several.nodes[0], 5);
  add_features(several.nodes[1], 5, DType::u8);
  for (const auto& [name, model] : models()) {
    for (const bool types : {false, true}) {
      if (types && (name.starts_with("g") || model.layers == 1)) {
        continue;  // models of one edge type
      }
      SCOPED_TRACE(fmt::format("{}, several types {}", name, types));
      use(types ? several : star(300), 2, model);
      expect_within_share();
    }
  }
}

TEST_F(ExactMemory, GoesBackWhenAStageIsDone) {
  use(featured_graph(), 2, {.hidden = 6, .out_dim = 4});
  compute_on({}, std::uint64_t{1} << 24);
  static_cast<void>(one_host());
  EXPECT_OK(emulated_->schedule().run_all());
  const auto parameters = network_->num_parameters() * sizeof(float);
  EXPECT_GT(emulated_->memory().most_bytes(), 2 * parameters);
  EXPECT_EQ(emulated_->memory().used_bytes(), parameters);
}

/// A block that does not fit beside what others have there fails with its size; a later one is computed.
TEST_F(ExactMemory, AnErrorEndsItsBlockAlone) {
  use(featured_graph(), 1, {.kind = "gat", .hidden = 6, .out_dim = 4, .heads = 2});
  const auto expected = one_host({0});
  constexpr std::uint64_t memory = std::uint64_t{1} << 20;
  compute_on({.memory_bytes = memory}, memory);
  auto inference = on_host({0}, nn::infer_block_bytes);
  ASSERT_OK(inference.set_parameters(parameters_));
  inference.begin(0);
  const auto asked = inference.next();
  const auto work = inference.computation(asked[0].block, ready(*asked[0].request));
  {
    gpu::EmulatedStream other(emulated_);
    const auto taken = other.array<std::byte>(memory - 512);
    EXPECT_ERROR(work.run(place()), Errc::out_of_memory, "emulated device: expected room for");
    EXPECT_ERROR(work.run(place()), Errc::out_of_memory, "block of 60 nodes with");
  }
  ASSERT_OK_AND_ASSIGN(const auto edges, work.run(place()));
  EXPECT_GT(edges, 0U);
  EXPECT_EQ(made_, 3);
  EXPECT_EQ(one_host({0}), expected);
}

TEST_F(ExactMemory, ALostDeviceIsAnErrorOfTheBlock) {
  for (const char* const kind : {"graphsage", "gat"}) {  // in place, by sampled blocks
    use(featured_graph(), 1, {.kind = kind, .hidden = 6, .out_dim = 4, .heads = 1});
    compute_on({}, std::uint64_t{1} << 24);
    made_ = 0;
    fails_at_ = 1;
    auto inference = on_host({0}, nn::infer_block_bytes);
    ASSERT_OK(inference.set_parameters(parameters_));
    inference.begin(0);
    const auto asked = inference.next();
    const auto batch = asked[0].request ? ready(*asked[0].request) : nullptr;
    const auto work = inference.computation(asked[0].block, batch);
    EXPECT_ERROR(work.run(place()), Errc::cuda_failure, "emulated device: kernel of 7: lost");
    EXPECT_OK(work.run(place()));
  }
}

using DevicesOfAProcess = InferenceRuns;

TEST_F(DevicesOfAProcess, AreThoseOfItsRanksWithAnEighthOfTheirMemory) {
  const auto of = [&](std::uint64_t memory, std::uint64_t wanted) {
    const auto devices =
        gpu::open_devices({.kind = DeviceKind::emulated, .count = 4, .memory_bytes = memory});
    EXPECT_OK(devices);
    const std::vector<Rank> ranks = {Rank{1}, Rank{5}, Rank{6}};
    const auto exact = gpu::exact_devices(*devices, ranks, wanted, options(), host({0, 1, 2}));
    EXPECT_OK(exact);
    return *exact;
  };

  const auto enough = of(std::uint64_t{1} << 30, std::uint64_t{1} << 20);
  ASSERT_EQ(enough.devices.size(), 2U) << "ranks 1 and 5 share one";
  EXPECT_EQ(enough.devices[1]->number(), 1U);
  EXPECT_EQ(enough.share.devices, 2U);
  EXPECT_EQ(enough.share.bytes, std::uint64_t{1} << 20);
  EXPECT_EQ(enough.share.product_rows, gpu::emulated_product_rows);
  EXPECT_EQ(enough.why_not, "");
  EXPECT_EQ(of(std::uint64_t{1} << 22, std::uint64_t{1} << 30).share.bytes, std::uint64_t{1} << 19);

  const auto little = of(1024, std::uint64_t{1} << 20);
  EXPECT_TRUE(little.devices.empty());
  EXPECT_NE(little.why_not.find("half of its share has 64"), std::string::npos) << little.why_not;
}

}  // namespace
}  // namespace troupe::testing
