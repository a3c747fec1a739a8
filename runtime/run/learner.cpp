#include "runtime/run/learner.hpp"

#include "runtime/nn/clip.hpp"
#include "runtime/run/forward_input.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <limits>

namespace troupe {
namespace {

/// Rows of `logits` for each seed; duplicate seeds share a row.
Matrix expand_seeds(ConstMatrix logits, std::span<const std::uint32_t> seed_index) {
  Matrix out(seed_index.size(), logits.cols);
  for (std::size_t i = 0; i < seed_index.size(); ++i) {
    std::ranges::copy(logits.row(seed_index[i]), out.view().row(i).begin());
  }
  return out;
}

/// The adjoint of expand_seeds: adds gradients of equal seeds in seed order.
Matrix collapse_seeds(ConstMatrix grad, std::span<const std::uint32_t> seed_index,
                      std::size_t rows) {
  Matrix out = Matrix::zeros(rows, grad.cols);
  for (std::size_t i = 0; i < seed_index.size(); ++i) {
    const auto to = out.view().row(seed_index[i]);
    const auto from = grad.row(i);
    for (std::size_t c = 0; c < to.size(); ++c) {
      to[c] += from[c];
    }
  }
  return out;
}

/// Targets of one binary label per seed: 0, 1, or NaN for -1.
Matrix binary_targets(std::span<const std::int64_t> labels) {
  Matrix targets(labels.size(), 1);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    targets.data()[i] =
        labels[i] < 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(labels[i]);
  }
  return targets;
}

}  // namespace

Result<std::unique_ptr<Learner>> Learner::create(const LearnerOptions& options,
                                                 std::unique_ptr<nn::BlockOps> ops) {
  if (options.loss != "cross_entropy" && options.loss != "bce_logits") {
    return Error(
        Errc::invalid_argument,
        fmt::format("train.loss: expected cross_entropy or bce_logits, found {}", options.loss));
  }
  if (!(options.pos_weight > 0) || !std::isfinite(options.pos_weight)) {
    return Error(
        Errc::invalid_argument,
        fmt::format("train.pos_weight: expected a positive number, found {}", options.pos_weight));
  }
  if (!(options.clip >= 0)) {
    return Error(Errc::invalid_argument,
                 fmt::format("train.clip: expected a number from 0, found {}", options.clip));
  }
  TROUPE_RETURN_IF_ERROR(nn::check_schedule(options.schedule));
  TROUPE_ASSIGN_OR_RETURN(auto network, nn::make_network(options.model));
  TROUPE_ASSIGN_OR_RETURN(auto optimizer,
                          nn::make_optimizer(options.optimizer, network->num_parameters()));
  return std::unique_ptr<Learner>(
      new Learner(options, std::move(network), std::move(optimizer), std::move(ops)));
}

Learner::Learner(const LearnerOptions& options, std::unique_ptr<nn::Network> network,
                 std::unique_ptr<nn::Optimizer> optimizer, std::unique_ptr<nn::BlockOps> ops)
    : options_(options),
      network_(std::move(network)),
      optimizer_(std::move(optimizer)),
      activations_(std::make_unique<nn::Activations>(std::move(ops))),
      parameters_(network_->initial_parameters(options.job_seed)),
      gradient_(parameters_.size()) {
  std::ranges::copy_if(network_->layout(), std::back_inserter(statistics_),
                       [](const nn::ParameterSlice& slice) { return !slice.trained; });
  begin_epoch(0);
}

void Learner::begin_epoch(std::uint32_t epoch) {
  optimizer_->set_lr(
      nn::learning_rate(options_.schedule, options_.optimizer.lr, epoch, options_.epochs));
}

nn::LossResult Learner::loss(ConstMatrix logits, const Batch& batch, MutMatrix grad) const {
  auto& ops = activations_->ops();
  if (options_.loss == "cross_entropy") {
    return ops.cross_entropy(logits, batch.labels, grad);
  }
  const auto pos_weight = static_cast<float>(options_.pos_weight);
  if (batch.targets.cols() > 0) {
    return ops.bce_logits(logits, batch.targets.view(), pos_weight, grad);
  }
  const Matrix binary = binary_targets(batch.labels);
  return ops.bce_logits(logits, std::as_const(binary).view(), pos_weight, grad);
}

Status Learner::check_labels(const Batch& batch) const {
  const auto seeds = batch.sampled->seed_index.size();
  const bool binary = options_.loss == "bce_logits";
  if (binary && batch.targets.cols() > 0) {
    if (batch.targets.cols() == options_.model.out_dim && batch.targets.rows() == seeds) {
      return ok_status();
    }
    return Error(
        Errc::failed_precondition,
        fmt::format("targets: expected {} columns for {} seeds, found {} for {}",
                    options_.model.out_dim, seeds, batch.targets.cols(), batch.targets.rows()));
  }
  if (batch.labels.size() != seeds || (binary && options_.model.out_dim != 1)) {
    return Error(Errc::failed_precondition,
                 fmt::format("labels: expected {} for {} seeds, found {} classes and {} columns of "
                             "targets",
                             binary ? "targets, or one output and classes 0 and 1" : "classes",
                             seeds, batch.labels.size(), batch.targets.cols()));
  }
  const auto end = static_cast<std::int64_t>(binary ? 2 : options_.model.out_dim);
  const auto bad = std::ranges::find_if(
      batch.labels, [end](std::int64_t label) { return label < -1 || label >= end; });
  if (bad != batch.labels.end()) {
    return Error(Errc::failed_precondition,
                 fmt::format("labels: expected -1 to {}, found {} at seed {}", end - 1, *bad,
                             bad - batch.labels.begin()));
  }
  return ok_status();
}

Result<Learner::Share> Learner::compute(Executor& executor, const Batch& batch,
                                        std::shared_ptr<const LearnedInputs> learned) {
  const auto& sampled = *batch.sampled;
  learned_gradients_.clear();
  if (sampled.seed_index.empty()) {
    return Share{};
  }
  TROUPE_RETURN_IF_ERROR(check_labels(batch));
  TROUPE_RETURN_IF_ERROR(inputs_.join(batch, std::move(learned)));
  TROUPE_ASSIGN_OR_RETURN(const auto input, forward_input(network_->options(), options_.job_seed,
                                                          batch, true, inputs_.views()));
  const auto logits = network_->forward(executor, parameters_, input, *activations_);
  TROUPE_RETURN_IF_ERROR(activations_->status());
  const auto expanded = expand_seeds(logits, sampled.seed_index);
  Matrix grad(expanded.rows(), expanded.cols());
  const auto result = loss(expanded.view(), batch, grad.view());
  if (result.weight == 0) {
    return Share{};
  }
  const auto grad_logits =
      collapse_seeds(std::as_const(grad).view(), sampled.seed_index, logits.rows);
  network_->backward(grad_logits.view(), *activations_, gradient_);
  keep_learned_gradients();
  TROUPE_RETURN_IF_ERROR(activations_->status());
  for (const auto& slice :
       statistics_) {  // the mean over the ranks is weighted as that of gradients
    for (float& value : std::span(gradient_).subspan(slice.offset, slice.size())) {
      value *= static_cast<float>(result.weight);
    }
  }
  return Share{result.sum, result.weight, gradient_};
}

void Learner::keep_learned_gradients() {
  const auto types = inputs_.views().size();
  learned_gradients_.resize(types);
  for (std::size_t t = 0; t < types; ++t) {
    if (inputs_.has(t)) {
      auto gradient = network_->input_gradient(static_cast<NodeTypeId>(t), *activations_);
      learned_gradients_[t] = inputs_.learned_columns(t, std::move(gradient));
    }
  }
}

void Learner::apply(std::span<const float> mean_gradient, std::uint64_t weight) {
  ++steps_;
  if (weight == 0) {
    return;
  }
  if (!statistics_.empty()) {
    return apply_with_statistics(mean_gradient);
  }
  step(mean_gradient);
}

/// Statistics move toward the batch's as PyTorch moves them, by a tenth; the optimizer does not see
/// them.
void Learner::apply_with_statistics(std::span<const float> mean_gradient) {
  constexpr float momentum = 0.1F;
  std::vector<float> gradient(mean_gradient.begin(), mean_gradient.end());
  std::vector<float> moved;
  for (const auto& slice : statistics_) {
    for (std::size_t i = slice.offset; i < slice.offset + slice.size(); ++i) {
      moved.push_back((1 - momentum) * parameters_[i] + momentum * mean_gradient[i]);
      gradient[i] = 0;
    }
  }
  step(gradient);
  auto next = moved.begin();
  for (const auto& slice : statistics_) {
    std::copy_n(next, slice.size(),
                parameters_.begin() + static_cast<std::ptrdiff_t>(slice.offset));
    next += static_cast<std::ptrdiff_t>(slice.size());
  }
}

void Learner::step(std::span<const float> mean_gradient) {
  const double factor =
      options_.clip > 0 ? nn::clip_factor(nn::gradient_length(mean_gradient), options_.clip) : 1;
  if (factor == 1) {
    return optimizer_->step(parameters_, mean_gradient);
  }
  clipped_.resize(mean_gradient.size());
  const auto scale = static_cast<float>(factor);
  std::ranges::transform(mean_gradient, clipped_.begin(), [scale](float g) { return g * scale; });
  optimizer_->step(parameters_, clipped_);
}

void Learner::apply_own(std::uint64_t weight) {
  const auto divisor = static_cast<float>(std::max<std::uint64_t>(weight, 1));
  for (auto& g : gradient_) {
    g = (0.0F + g) / divisor;  // The sum over the ranks begins with zero: -0 becomes 0
  }
  apply(gradient_, weight);
}

Result<Matrix> Learner::outputs(Executor& executor, const Batch& batch,
                                std::shared_ptr<const LearnedInputs> learned) {
  return outputs_of(executor, parameters_, batch, std::move(learned));
}

Result<Matrix> Learner::best_outputs(Executor& executor, const Batch& batch,
                                     std::shared_ptr<const LearnedInputs> learned) {
  return outputs_of(executor, has_best() ? *best_ : parameters_, batch, std::move(learned));
}

Result<Matrix> Learner::outputs_of(Executor& executor, std::span<const float> parameters,
                                   const Batch& batch,
                                   std::shared_ptr<const LearnedInputs> learned) {
  if (batch.sampled->seed_index.empty()) {
    return Matrix(0, options_.model.out_dim);
  }
  TROUPE_RETURN_IF_ERROR(inputs_.join(batch, std::move(learned)));
  TROUPE_ASSIGN_OR_RETURN(const auto input, forward_input(network_->options(), options_.job_seed,
                                                          batch, false, inputs_.views()));
  const auto logits = network_->forward(executor, parameters, input, *activations_);
  TROUPE_RETURN_IF_ERROR(activations_->status());
  return expand_seeds(logits, batch.sampled->seed_index);
}

Status Learner::restore(const std::vector<float>& parameters, const nn::OptimizerState& optimizer,
                        const std::vector<float>& best, std::uint64_t steps) {
  if (parameters.size() != parameters_.size() ||
      (!best.empty() && best.size() != parameters_.size())) {
    return Error(Errc::data_corruption,
                 fmt::format("training state: expected {} parameters, found {}, and {} of the best "
                             "epoch",
                             parameters_.size(), parameters.size(), best.size()));
  }
  if (auto status = optimizer_->restore(optimizer); !status) {
    return Error(Errc::data_corruption, fmt::format("training state: {}", status.error().what()));
  }
  parameters_ = parameters;
  best_ = best.empty() ? nullptr : std::make_shared<const std::vector<float>>(best);
  steps_ = steps;
  return ok_status();
}

Parameters Learner::snapshot() const {
  return std::make_shared<const std::vector<float>>(parameters_);
}

Digest digest_parameters(const std::vector<float>& parameters) {
  return digest_of(std::as_bytes(std::span(parameters)));
}

}  // namespace troupe
