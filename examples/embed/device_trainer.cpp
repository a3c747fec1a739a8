// The model of my_trainer.cpp on devices: batches come in the memory of the rank's device, and weights, gradient and
// momentum stay there. Its weights have the bits of my_trainer's.
//   troupe run examples/embed/cora.json --set cluster.device=emulated:1 -- ./device_trainer [learning rate]
// Emulated devices have the host's memory, so the kernels are loops of the host here. For CUDA write them as kernels,
// launch them in a stream of your own, and give that stream to release_after() and all_reduce_mean().
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <troupe/session_device.hpp>

namespace {

using namespace troupe;

// ---- kernels: all pointers are the device's ----

/// Means over each destination and its sampled neighbors.
void average(const float* x, std::size_t cols, const LayerBlock& block, float* means) {
  for (std::uint32_t d = 0; d < block.num_dst; ++d) {
    float* const mean = means + d * cols;
    std::memcpy(mean, x + d * cols, cols * sizeof(float));
    for (auto i = block.offsets[d]; i < block.offsets[d + 1]; ++i) {
      for (std::size_t c = 0; c < cols; ++c) {
        mean[c] += x[block.sources[i] * cols + c];
      }
    }
    const auto count = static_cast<float>(1 + block.offsets[d + 1] - block.offsets[d]);
    for (std::size_t c = 0; c < cols; ++c) {
      mean[c] /= count;
    }
  }
}

struct Sizes {
  std::size_t cols = 0;
  std::size_t classes = 0;
  std::size_t weights() const { return cols * classes; }
};

/// Adds to `gradient` [classes, cols] and to `loss` [1] those of the seeds' cross entropy.
void add_gradients(Sizes sizes, const float* inputs, std::span<const std::uint32_t> seed_index,
                   std::span<const std::int64_t> labels, const float* weights, float* gradient,
                   float* loss) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float* const input = inputs + seed_index[i] * sizes.cols;
    std::vector<float> scores(sizes.classes);
    float total = 0;
    for (std::size_t k = 0; k < sizes.classes; ++k) {
      float score = 0;
      for (std::size_t c = 0; c < sizes.cols; ++c) {
        score += weights[k * sizes.cols + c] * input[c];
      }
      scores[k] = std::exp(score);
      total += scores[k];
    }
    for (std::size_t k = 0; k < sizes.classes; ++k) {
      const bool is_label = static_cast<std::int64_t>(k) == labels[i];
      const float share = scores[k] / total;
      *loss -= is_label ? std::log(share) : 0.0F;
      const float slope = share - (is_label ? 1.0F : 0.0F);
      for (std::size_t c = 0; c < sizes.cols; ++c) {
        gradient[k * sizes.cols + c] += slope * input[c];
      }
    }
  }
}

void make_step(std::size_t size, float rate, const float* gradient, float* velocity,
               float* weights) {
  for (std::size_t i = 0; i < size; ++i) {
    velocity[i] = 0.9F * velocity[i] - rate * gradient[i];
    weights[i] += velocity[i];
  }
}

// ---- the program ----

struct Vector {
  std::shared_ptr<void> memory;
  std::size_t size = 0;
  float* data() const { return static_cast<float*>(memory.get()); }
};

Result<Vector> make_vector(SessionDevice& device, std::size_t size) {
  TROUPE_ASSIGN_OR_RETURN(auto memory, device.memory(size * sizeof(float)));
  return Vector{std::move(memory), size};
}

Status set_to_zero(SessionDevice& device, const Vector& vector) {
  const std::vector<float> zeros(vector.size);
  return device.upload(std::as_bytes(std::span(zeros)), vector.data());
}

Result<std::vector<float>> read(SessionDevice& device, const Vector& vector) {
  std::vector<float> values(vector.size);
  TROUPE_RETURN_IF_ERROR(device.download(vector.data(), std::as_writable_bytes(std::span(values))));
  return values;
}

struct Model {
  Sizes sizes;
  Vector weights;   // [classes, cols]
  Vector velocity;  // of the weights
  Vector gradient;  // likewise
  Vector loss;      // one number: sum over this rank's seeds of the epoch

  static Result<Model> create(SessionDevice& device, Sizes sizes) {
    Model model;
    model.sizes = sizes;
    for (auto* const vector : {&model.weights, &model.velocity, &model.gradient, &model.loss}) {
      TROUPE_ASSIGN_OR_RETURN(*vector,
                              make_vector(device, vector == &model.loss ? 1 : sizes.weights()));
      TROUPE_RETURN_IF_ERROR(set_to_zero(device, *vector));
    }
    return model;
  }

  /// Computes the gradient of the sum over the batch's seeds.
  Status compute(SessionDevice& device, const Batch& batch) {
    TROUPE_ASSIGN_OR_RETURN(const auto there, device.batch());
    const auto first = there.block(layer_block(*batch.sampled, 0, 2));
    const auto second = there.block(layer_block(*batch.sampled, 1, 2));
    TROUPE_ASSIGN_OR_RETURN(const auto inner, make_vector(device, first.num_dst * sizes.cols));
    TROUPE_ASSIGN_OR_RETURN(const auto inputs, make_vector(device, second.num_dst * sizes.cols));
    TROUPE_RETURN_IF_ERROR(set_to_zero(device, gradient));
    average(there.features().data, sizes.cols, first, inner.data());
    average(inner.data(), sizes.cols, second, inputs.data());
    add_gradients(sizes, inputs.data(), there.seed_index(), there.labels(), weights.data(),
                  gradient.data(), loss.data());
    return device.release_after(nullptr);  // the stream of the kernels
  }

  Result<std::vector<std::byte>> save(SessionDevice& device) const {
    std::vector<std::byte> bytes;
    for (const auto* const part : {&weights, &velocity, &loss}) {
      TROUPE_ASSIGN_OR_RETURN(const auto values, read(device, *part));
      const auto more = std::as_bytes(std::span(values));
      bytes.insert(bytes.end(), more.begin(), more.end());
    }
    return bytes;
  }

  Status restore(SessionDevice& device, std::span<const std::byte> bytes) const {
    for (const auto* const part : {&weights, &velocity, &loss}) {
      const auto size = part->size * sizeof(float);
      if (bytes.size() < size) {
        return Error(Errc::data_corruption,
                     "saved model: expected more bytes, found " + std::to_string(bytes.size()));
      }
      TROUPE_RETURN_IF_ERROR(device.upload(bytes.first(size), part->data()));
      bytes = bytes.subspan(size);
    }
    return ok_status();
  }
};

/// Says the sum of the ranks' losses, and begins that of the next epoch.
Status end_epoch(Session& session, SessionDevice& device, const Model& model, std::uint32_t epoch) {
  TROUPE_ASSIGN_OR_RETURN(auto loss, read(device, model.loss));
  TROUPE_RETURN_IF_ERROR(session.all_reduce(loss));
  if (session.rank() == Rank{0}) {
    std::printf("epoch %u: loss %.4f\n", epoch + 1, static_cast<double>(loss[0]));
    std::fflush(stdout);
  }
  return set_to_zero(device, model.loss);
}

Status train(Session& session, float rate) {
  TROUPE_ASSIGN_OR_RETURN(auto device, session.device());
  if (device.info().kind != RankDevice::Kind::emulated) {
    return Error(
        Errc::unimplemented,
        "kernels of this example: expected an emulated device, found " + to_string(device.info()));
  }
  TROUPE_ASSIGN_OR_RETURN(auto model,
                          Model::create(device, {session.columns(), session.classes()}));
  Status saved = ok_status();
  session.on_save([&] {
    auto bytes = model.save(device);
    saved = bytes ? ok_status() : Status(bytes.error());
    return bytes ? *std::move(bytes) : std::vector<std::byte>();
  });
  session.on_restore(
      [&](std::span<const std::byte> bytes) { return model.restore(device, bytes); });
  for (auto e = session.first_epoch(); e < session.epochs(); ++e) {
    for (const Batch& batch : session.epoch(e)) {
      TROUPE_RETURN_IF_ERROR(model.compute(device, batch));
      const std::span<float> gradient(model.gradient.data(), model.gradient.size);
      TROUPE_RETURN_IF_ERROR(device.all_reduce_mean(gradient, batch.labels.size()));
      make_step(model.weights.size, rate, gradient.data(), model.velocity.data(),
                model.weights.data());
      TROUPE_RETURN_IF_ERROR(session.end_step());
      TROUPE_RETURN_IF_ERROR(saved);
    }
    TROUPE_RETURN_IF_ERROR(session.status());
    TROUPE_RETURN_IF_ERROR(end_epoch(session, device, model, e));
  }
  TROUPE_ASSIGN_OR_RETURN(const auto weights, read(device, model.weights));
  if (session.rank() == Rank{0}) {
    DigestBuilder digest;
    digest.add_array(std::span<const float>(weights));
    std::printf("gradients between devices: %s\nweights %s\n", device.exchanges() ? "yes" : "no",
                to_string(digest.digest()).c_str());
  }
  return ok_status();
}

}  // namespace

int main(int argc, char** argv) {
  const float rate = argc > 1 ? std::strtof(argv[1], nullptr) : 20.0F;
  return troupe::run_ranks(argc, argv, [rate](Session& session) { return train(session, rate); },
                           {.device_batches = true});
}
