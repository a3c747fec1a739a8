// A trainer of our own on Troupe's batches: softmax regression on features averaged over two hops, by
// stochastic gradient descent with momentum. Troupe samples, collects and keeps the ranks in step.
//   troupe run examples/embed/cora.json -- ./my_trainer [learning rate]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <troupe/session.hpp>

namespace {

using namespace troupe;

/// Means over each node and its sampled neighbours, for the nodes that one hop gives results to.
std::vector<float> average(std::span<const float> x, std::size_t cols, const LayerBlock& block) {
  std::vector<float> means(block.num_dst * cols);
  for (std::uint32_t d = 0; d < block.num_dst; ++d) {
    const auto mean = std::span(means).subspan(d * cols, cols);
    const auto add = [&](std::size_t node) {
      for (std::size_t c = 0; c < cols; ++c) {
        mean[c] += x[node * cols + c];
      }
    };
    add(d);
    for (auto i = block.offsets[d]; i < block.offsets[d + 1]; ++i) {
      add(block.sources[i]);
    }
    const auto count = static_cast<float>(1 + block.offsets[d + 1] - block.offsets[d]);
    for (auto& value : mean) {
      value /= count;
    }
  }
  return means;
}

struct Model {
  std::size_t cols = 0;
  std::size_t classes = 0;
  std::vector<float> weights;   // [classes, cols]
  std::vector<float> velocity;  // of the weights
  std::vector<float> loss;      // one number: sum over this rank's seeds of the epoch

  /// Per seed: the averaged features, and what they say about the classes.
  struct Result {
    std::vector<float> inputs;  // [nodes, cols]
    std::vector<float> scores;  // [seeds, classes], probabilities
  };

  Result run(const Batch& batch) const {
    const auto& sampled = *batch.sampled;
    Result result;
    result.inputs = average(batch.rows[0].features.view().flat(), cols, layer_block(sampled, 0, 2));
    result.inputs = average(result.inputs, cols, layer_block(sampled, 1, 2));
    for (const auto node : sampled.seed_index) {
      float total = 0;
      for (std::size_t k = 0; k < classes; ++k) {
        float score = 0;
        for (std::size_t c = 0; c < cols; ++c) {
          score += weights[k * cols + c] * result.inputs[node * cols + c];
        }
        result.scores.push_back(std::exp(score));
        total += result.scores.back();
      }
      for (std::size_t k = 0; k < classes; ++k) {
        result.scores[result.scores.size() - 1 - k] /= total;
      }
    }
    return result;
  }

  /// Sum over the seeds of the gradient of the cross entropy; adds to the loss.
  std::vector<float> gradient(const Batch& batch) {
    std::vector<float> sum(weights.size());
    const auto result = run(batch);
    for (std::size_t i = 0; i < batch.labels.size(); ++i) {
      const auto* input = &result.inputs[batch.sampled->seed_index[i] * cols];
      const auto label = static_cast<std::size_t>(batch.labels[i]);
      loss[0] -= std::log(result.scores[i * classes + label]);
      for (std::size_t k = 0; k < classes; ++k) {
        const float slope = result.scores[i * classes + k] - (k == label ? 1.0F : 0.0F);
        for (std::size_t c = 0; c < cols; ++c) {
          sum[k * cols + c] += slope * input[c];
        }
      }
    }
    return sum;
  }

  void step(const std::vector<float>& mean_gradient, float rate) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      velocity[i] = 0.9F * velocity[i] - rate * mean_gradient[i];
      weights[i] += velocity[i];
    }
  }

  std::vector<std::byte> save() const {
    std::vector<std::byte> bytes;
    for (const auto* part : {&weights, &velocity, &loss}) {
      const auto more = std::as_bytes(std::span(*part));
      bytes.insert(bytes.end(), more.begin(), more.end());
    }
    return bytes;
  }

  Status restore(std::span<const std::byte> bytes) {
    for (auto* part : {&weights, &velocity, &loss}) {
      const auto size = part->size() * sizeof(float);
      if (bytes.size() < size) {
        return Error(Errc::data_corruption,
                     "saved model: expected more bytes, found " + std::to_string(bytes.size()));
      }
      std::memcpy(part->data(), bytes.data(), size);
      bytes = bytes.subspan(size);
    }
    return ok_status();
  }
};

/// Share of the test nodes that the model names the right class of; each rank looks at its own.
Result<float> test_accuracy(Session& session, const Model& model) {
  TROUPE_ASSIGN_OR_RETURN(const auto seeds, session.seeds("test"));
  std::vector<float> counts(2);  // right, all
  for (std::size_t first = 0; first < seeds.global.size(); first += 100) {
    const auto last = std::min(first + 100, seeds.global.size());
    NeighborRequest request{.fanout = {10, 10}, .with_rows = true};
    for (auto i = first; i < last; ++i) {
      request.nodes.push_back(seeds.global[i]);
    }
    TROUPE_ASSIGN_OR_RETURN(const auto batch, session.sample_neighbors(request));
    const auto scores = model.run(*batch).scores;
    for (std::size_t i = 0; i < batch->labels.size(); ++i) {
      const auto begin = scores.begin() + static_cast<std::ptrdiff_t>(i * model.classes);
      const auto best = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(model.classes));
      counts[0] += best - begin == batch->labels[i] ? 1.0F : 0.0F;
      counts[1] += 1.0F;
    }
  }
  TROUPE_RETURN_IF_ERROR(session.all_reduce(counts));
  return counts[0] / counts[1];
}

Status train(Session& session, float rate) {
  if (session.graph().node_types.size() != 1 || session.graph().edge_types.size() != 1) {
    return Error(Errc::failed_precondition, "expected a graph of one node type and one edge type");
  }
  Model model{.cols = session.columns(), .classes = session.classes(), .loss = {0}};
  model.weights.assign(model.cols * model.classes, 0.0F);
  model.velocity = model.weights;
  session.on_save([&] { return model.save(); });
  session.on_restore([&](std::span<const std::byte> bytes) { return model.restore(bytes); });
  for (auto e = session.first_epoch(); e < session.epochs(); ++e) {
    for (const Batch& batch : session.epoch(e)) {
      auto gradient = model.gradient(batch);
      TROUPE_RETURN_IF_ERROR(session.all_reduce_mean(gradient, batch.labels.size()));
      model.step(gradient, rate);
      TROUPE_RETURN_IF_ERROR(session.end_step());  // a checkpoint, where one is due
    }
    TROUPE_RETURN_IF_ERROR(session.status());
    TROUPE_RETURN_IF_ERROR(session.all_reduce(model.loss));
    if (session.rank() == Rank{0}) {
      std::printf("epoch %u: loss %.4f\n", e + 1, static_cast<double>(model.loss[0]));
      std::fflush(stdout);
    }
    model.loss[0] = 0;
  }
  TROUPE_ASSIGN_OR_RETURN(const auto accuracy, test_accuracy(session, model));
  if (session.rank() == Rank{0}) {
    DigestBuilder digest;
    digest.add_array(std::span<const float>(model.weights));
    std::printf("test accuracy %.4f\nweights %s\n", static_cast<double>(accuracy),
                to_string(digest.digest()).c_str());
  }
  return ok_status();
}

}  // namespace

int main(int argc, char** argv) {
  const float rate = argc > 1 ? std::strtof(argv[1], nullptr) : 20.0F;
  return troupe::run_ranks(argc, argv, [rate](Session& session) { return train(session, rate); });
}
