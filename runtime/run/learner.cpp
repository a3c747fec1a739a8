#include "runtime/run/learner.hpp"

#include "runtime/nn/clip.hpp"
#include "runtime/run/forward_input.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace troupe {

TaskOptions task_options(const LearnerOptions& options) {
  return {.kind = options.task,
          .loss = options.loss,
          .pos_weight = options.pos_weight,
          .link_loss = options.link_loss,
          .knowledge = options.knowledge};
}

Result<std::unique_ptr<Learner>> Learner::create(const LearnerOptions& options,
                                                 std::unique_ptr<nn::BlockOps> ops) {
  if (!(options.clip >= 0)) {
    return Error(Errc::invalid_argument,
                 fmt::format("train.clip: expected a number from 0, found {}", options.clip));
  }
  TROUPE_RETURN_IF_ERROR(nn::check_schedule(options.schedule));
  TROUPE_ASSIGN_OR_RETURN(auto network, nn::make_network(options.model));
  TROUPE_ASSIGN_OR_RETURN(auto task, make_task(task_options(options), *network));
  TROUPE_ASSIGN_OR_RETURN(auto optimizer,
                          nn::make_optimizer(options.optimizer, network->num_parameters()));
  return std::unique_ptr<Learner>(new Learner(options, std::move(network), std::move(task),
                                              std::move(optimizer), std::move(ops)));
}

Learner::Learner(const LearnerOptions& options, std::unique_ptr<nn::Network> network,
                 std::unique_ptr<Task> task, std::unique_ptr<nn::Optimizer> optimizer,
                 std::unique_ptr<nn::BlockOps> ops)
    : options_(options),
      network_(std::move(network)),
      task_(std::move(task)),
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

Result<Learner::Share> Learner::compute(Executor& executor, const Batch& batch,
                                        std::shared_ptr<const LearnedInputs> learned) {
  const auto& sampled = *batch.sampled;
  learned_gradients_.clear();
  if (sampled.seed_index.empty()) {
    return Share{};
  }
  TROUPE_RETURN_IF_ERROR(task_->check(batch));
  TROUPE_RETURN_IF_ERROR(inputs_.join(batch, std::move(learned)));
  TROUPE_ASSIGN_OR_RETURN(const auto input, forward_input(network_->options(), options_.job_seed,
                                                          batch, true, inputs_.views()));
  const auto rows = network_->forward_rows(executor, parameters_, input, *activations_);
  TROUPE_RETURN_IF_ERROR(activations_->status());
  const auto result = task_->loss(task_pass(executor, parameters_, batch, rows), task_gradients_);
  if (result.weight == 0) {
    return Share{};
  }
  std::vector<ConstMatrix> grad_rows;
  for (const Matrix& grad : task_gradients_.rows) {
    grad_rows.push_back(grad.view());
  }
  network_->backward_rows(grad_rows, *activations_, gradient_);
  keep_learned_gradients();
  TROUPE_RETURN_IF_ERROR(activations_->status());
  std::ranges::copy(task_gradients_.parameters,
                    network_->decoder_slice(std::span(gradient_)).begin());
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
  const auto rows = network_->forward_rows(executor, parameters, input, *activations_);
  TROUPE_RETURN_IF_ERROR(activations_->status());
  return task_->outputs(task_pass(executor, parameters, batch, rows));
}

TaskPass Learner::task_pass(Executor& executor, std::span<const float> parameters,
                            const Batch& batch, std::span<const ConstMatrix> rows) const {
  return {.executor = executor,
          .ops = activations_->ops(),
          .batch = batch,
          .rows = rows,
          .parameters = network_->decoder_slice(parameters)};
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
