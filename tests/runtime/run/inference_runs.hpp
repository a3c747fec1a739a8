#pragma once
/// \file inference_runs.hpp
/// Exact inference of networks over graphs in memory whose parts lie on one host or several.
#include "runtime/feature/tensor_rows.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/run/exact_inference.hpp"
#include "tests/runtime/feature/collect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace troupe::testing {

/// Rows after the last layer by node type and original id.
using Logits = std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<float>>;

/// At first a GraphSAGE of two layers over a skewed graph in three parts.
class InferenceRuns : public ::testing::Test {
 protected:
  InferenceRuns() { use(featured_graph(), 3, {.hidden = 6, .out_dim = 4}); }

  /// Another graph and model. Columns and types of the options are those of the graph.
  void use(const TestGraph& graph, std::uint32_t parts, nn::ModelOptions options) {
    cut_ = cut_graph(graph, parts);
    options.in_dim = graph.nodes[0].cols;
    if (graph.edges.size() > 1 || options.edge_features) {
      for (const auto& type : graph.nodes) {
        options.types.nodes.push_back({type.name, type.cols});
      }
      for (const auto& type : graph.edges) {
        options.types.edges.push_back({type.name, static_cast<NodeTypeId>(type.source),
                                       static_cast<NodeTypeId>(type.destination),
                                       options.edge_features ? type.cols : 0});
      }
    }
    auto made = nn::make_network(options);
    ASSERT_OK(made);
    network_ = *std::move(made);
    std::vector<float> values(network_->num_parameters());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i * 7 % 13) / 13 - 0.4F;
    }
    for (const auto& slice : network_->layout()) {
      if (slice.name.ends_with("running_var")) {
        std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(slice.offset), slice.size(), 0.7F);
      }
    }
    parameters_ = Segment::of(std::move(values));
  }

  ExactInferenceOptions options(std::uint64_t block_bytes = 400) {
    ExactInferenceOptions options;
    options.network = network_;
    options.decoders = collect_options(cut_, normalize_)->decoders;
    if (network_->options().edge_features) {
      options.edge_decoders =
          std::make_shared<const std::vector<RowDecoder>>(collect_with_edges(cut_)->edge_decoders);
    }
    options.block_bytes = block_bytes;
    options.embeddings = embeddings_;
    options.device = device_;
    auto seeds = std::make_shared<SeedList>();
    for (const std::uint64_t original : {3U, 17U, 22U, 39U}) {
      if (original < cut_.info.node_types[0].count) {
        seeds->original.push_back(static_cast<OriginalId>(original));
        seeds->global.push_back(cut_.global(original));
      }
    }
    options.seeds["test"] = seeds;
    return options;
  }
  InferenceHost host(const std::set<std::uint32_t>& parts, bool traced = false) const {
    InferenceHost host{
        "host 0", std::make_shared<const GraphInfo>(cut_.info), cut_.book, {}, [](PartId) {
          return true;
        }};
    host.traced = traced;
    for (const auto part : parts) {
      host.parts[PartId{part}] = cut_.parts[part];
    }
    return host;
  }
  /// Of a host with some of the parts.
  ExactInference on_host(const std::set<std::uint32_t>& parts, std::uint64_t block_bytes = 400,
                         bool traced = false) {
    return {options(block_bytes), host(parts, traced)};
  }

  /// What the data path and the holders make of a request.
  std::shared_ptr<const ReadyBatch> ready(const SampleBatch& request) {
    ++sampled_;
    std::vector<std::uint64_t> seeds;
    for (const NodeId seed : request.seeds) {
      seeds.push_back(cut_.original(seed, raw(request.seed_type)));
    }
    auto sampled = std::make_shared<const SampledBatch>(
        drive(cut_, *request.sample, request.key, seeds, raw(request.seed_type)));
    RowCollection rows(*cut_.book, request.collect, sampled);
    for (const auto& question : rows.questions()) {
      const auto& part = *cut_.parts[raw(question.part)];
      if (request.collect->source.kind == RowSource::Kind::features) {
        EXPECT_OK(rows.answer_from(question.id, part));
        continue;
      }
      const auto tensors = kept_.at(question.part).find(question.request);
      EXPECT_OK(tensors);
      std::vector<const Matrix*> borrowed;
      for (const auto& tensor : *tensors) {
        borrowed.push_back(tensor.get());
      }
      const auto reply = read_tensor_rows(part, borrowed, question.request);
      EXPECT_OK(reply);
      EXPECT_OK(rows.answer(question.id, *reply));
    }
    return std::make_shared<const ReadyBatch>(ReadyBatch{std::move(rows).take(), {}});
  }

  void answer(ExactInference& inference, const ExactInference::Ask& asked) {
    inference.arrived(asked.block);
    const auto batch = asked.request ? ready(*asked.request) : nullptr;
    const auto edges = inference.computation(asked.block, batch).run(place());
    ASSERT_OK(edges);
    inference.computed(asked.block, *edges);
  }

  void compute_layer(ExactInference& inference) {
    while (!inference.done()) {
      const auto asked = inference.next();
      ASSERT_FALSE(asked.empty());
      for (const auto& ask : asked) {
        answer(inference, ask);
      }
    }
  }

  /// One layer of all hosts; then what their holders keep.
  void run_layer(std::vector<ExactInference>& hosts, std::uint32_t layer) {
    std::map<ExactInference::OutputKey, std::shared_ptr<const Matrix>> made;
    for (auto& host : hosts) {
      ASSERT_OK(host.check(layer));
      host.begin(layer);
      compute_layer(host);
      EXPECT_EQ(host.tensor(), layer + 1);
      made.merge(host.outputs());
      host.finish();
    }
    for (const auto& [key, rows] : made) {
      EXPECT_OK(kept_[key.first].store(*cut_.parts[raw(key.first)], {layer + 1, key.second, rows}));
    }
    outputs_ = made;
  }

  Logits logits_of(std::vector<ExactInference> hosts) {
    for (auto& host : hosts) {
      EXPECT_OK(host.set_parameters(parameters_));
    }
    for (std::uint32_t layer = 0; layer < hosts.front().layers(); ++layer) {
      run_layer(hosts, layer);
    }
    Logits logits;
    for (const auto& [key, rows] : outputs_) {
      const auto& nodes = cut_.parts[raw(key.first)]->nodes_of(key.second);
      EXPECT_EQ(rows->rows(), nodes.count);
      for (std::uint64_t i = 0; i < nodes.count; ++i) {
        const auto row = rows->view().row(i);
        logits[{raw(key.second), nodes.original_ids[i]}].assign(row.begin(), row.end());
      }
    }
    return logits;
  }

  /// \param hosts  the parts of each
  Logits logits(const std::vector<std::set<std::uint32_t>>& hosts, std::uint64_t block_bytes) {
    std::vector<ExactInference> all;
    for (const auto& parts : hosts) {
      all.push_back(on_host(parts, block_bytes));
      if (device_) {
        EXPECT_OK(all.back().check_device());
      }
    }
    return logits_of(std::move(all));
  }

  /// Where blocks are computed.
  virtual InferPlace place() { return {executor_}; }

  CutGraph cut_;
  std::shared_ptr<const nn::Network> network_;
  Normalize normalize_ = Normalize::none;
  bool embeddings_ = false;
  std::optional<DeviceShare> device_;  ///< none: blocks are computed on the CPU
  Segment parameters_;
  InlineExecutor executor_;
  std::map<PartId, TensorTable> kept_;
  std::map<ExactInference::OutputKey, std::shared_ptr<const Matrix>> outputs_;
  std::uint64_t sampled_ = 0;  ///< blocks that were sampled
};

}  // namespace troupe::testing
