#include "runtime/run/learner.hpp"

#include "runtime/run/forward_input.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace troupe {

TaskOptions task_options(const LearnerOptions& options) {
  return {.kind = options.task,
          .loss = options.loss,
          .pos_weight = options.pos_weight,
          .delta = options.delta,
          .class_weights = options.class_weights,
          .link_loss = options.link_loss,
          .knowledge = options.knowledge,
          .rank_all = options.rank_all};
}

Result<std::unique_ptr<Learner>> Learner::create(const LearnerOptions& options,
                                                 std::unique_ptr<nn::BlockOps> ops) {
  if (!(options.clip >= 0)) {
    return Error(Errc::invalid_argument,
                 fmt::format("train.clip: expected a number from 0, found {}", options.clip));
  }
  TROUPE_RETURN_IF_ERROR(nn::check_schedule(options.schedule));
  TROUPE_ASSIGN_OR_RETURN(auto network, nn::make_network(options.model));
  auto activations = std::make_unique<nn::Activations>(std::move(ops));
  nn::BlockOps& there = activations->ops();
  TROUPE_ASSIGN_OR_RETURN(auto task, make_task(task_options(options), *network, there));
  TROUPE_ASSIGN_OR_RETURN(auto optimizer,
                          nn::make_optimizer(options.optimizer, network->num_parameters(), &there));
  auto parameters = std::make_unique<nn::TrainedParameters>(
      there, network->layout(), network->initial_parameters(options.job_seed), std::move(optimizer),
      options.clip);
  TROUPE_RETURN_IF_ERROR(there.finish());
  return std::unique_ptr<Learner>(new Learner(options, std::move(network), std::move(activations),
                                              std::move(task), std::move(parameters)));
}

Learner::Learner(const LearnerOptions& options, std::unique_ptr<nn::Network> network,
                 std::unique_ptr<nn::Activations> activations, std::unique_ptr<Task> task,
                 std::unique_ptr<nn::TrainedParameters> parameters)
    : options_(options),
      network_(std::move(network)),
      activations_(std::move(activations)),
      task_(std::move(task)),
      parameters_(std::move(parameters)),
      inputs_(activations_->ops()) {
  begin_epoch(0);
}

Learner::~Learner() {
  if (on_device()) {
    static_cast<void>(status());
  }
}

void Learner::begin_epoch(std::uint32_t epoch) {
  parameters_->optimizer().set_lr(
      nn::learning_rate(options_.schedule, options_.optimizer.lr, epoch, options_.epochs));
}

Result<Learner::Share> Learner::compute(Executor& executor, const Batch& batch,
                                        std::shared_ptr<const LearnedInputs> learned,
                                        Gradient gradient) {
  auto share = compute_share(executor, batch, std::move(learned), gradient);
  if (!share) {
    static_cast<void>(status());  // copies read the batch, which may go afterwards
  }
  return share;
}

Result<Learner::Share> Learner::compute_share(Executor& executor, const Batch& batch,
                                              std::shared_ptr<const LearnedInputs> learned,
                                              Gradient gradient) {
  const bool applies = gradient == Gradient::applied;
  TROUPE_ASSIGN_OR_RETURN(const auto step, start(executor, batch, std::move(learned), applies));
  TROUPE_ASSIGN_OR_RETURN(const double sum,
                          step.loss_sum());  // a device has all of the step by now
  if (step.weight == 0) {
    return Share{};
  }
  Share share{sum, step.weight, {}};
  if (!on_device()) {
    share.gradient = parameters_->gradient();
  } else if (gradient == Gradient::to_host) {
    share.gradient = fetched_gradient();
  }
  TROUPE_RETURN_IF_ERROR(status());
  return share;
}

Result<Learner::Launched> Learner::launch(Executor& executor, std::shared_ptr<const Batch> batch) {
  launched_ = {std::move(batch), std::move(launched_[0])};
  return start(executor, *launched_[0], nullptr, true);
}

Result<Learner::Launched> Learner::start(Executor& executor, const Batch& batch,
                                         std::shared_ptr<const LearnedInputs> learned,
                                         bool applies) {
  learned_gradients_.clear();
  Launched step{.weight = 0, .loss_sum = [] { return Result<double>(0); }};
  if (!batch.sampled->seed_index.empty()) {
    TROUPE_RETURN_IF_ERROR(task_->check(batch));
    TROUPE_RETURN_IF_ERROR(inputs_.join(batch, std::move(learned)));
    TROUPE_ASSIGN_OR_RETURN(const auto input, forward_input(network_->options(), options_.job_seed,
                                                            batch, true, inputs_.views()));
    const auto rows =
        network_->forward_there(executor, parameters_->values(), input, *activations_);
    step.weight = pass_back({.executor = executor,
                             .batch = batch,
                             .rows = rows,
                             .parameters = network_->decoder_slice(parameters_->values())});
    if (step.weight > 0) {
      keep_learned_gradients(executor);
      parameters_->weigh_statistics(step.weight);
    }
  }
  if (applies) {
    apply_own(step.weight);
  }
  if (!batch.sampled->seed_index.empty()) {
    step.loss_sum = task_->loss_sum();
  }
  return step;
}

/// The loss, then the gradient of all parameters. \returns the weight; with 0 there is no gradient
std::uint64_t Learner::pass_back(const TaskPass& pass) {
  const auto weight = task_->loss(pass, task_gradients_);
  if (weight > 0) {
    const auto gradient = parameters_->gradient();
    network_->backward_there(task_gradients_.rows, *activations_, gradient);
    const auto of_decoder = task_gradients_.parameters;
    activations_->ops().copy(of_decoder,
                             network_->decoder_slice(gradient).first(of_decoder.size()));
  }
  return weight;
}

std::span<const float> Learner::fetched_gradient() {
  fetched_gradient_ = parameters_->read_gradient();
  return fetched_gradient_;
}

void Learner::keep_learned_gradients(Executor& executor) {
  const auto types = inputs_.views().size();
  learned_gradients_.resize(types);
  for (std::size_t t = 0; t < types; ++t) {
    if (inputs_.has(t)) {
      auto gradient = network_->input_gradient(executor, static_cast<NodeTypeId>(t), *activations_,
                                               task_gradients_.kept);
      learned_gradients_[t] = inputs_.learned_columns(t, std::move(gradient));
    }
  }
}

void Learner::apply(std::span<const float> mean_gradient, std::uint64_t weight) {
  ++steps_;
  if (weight > 0) {
    parameters_->step(mean_gradient);
  }
}

void Learner::apply_own(std::uint64_t weight) {
  ++steps_;
  if (weight > 0) {
    parameters_->own_step(weight);
  }
}

void Learner::apply_by_devices(DeviceMean& mean, bool has_share, std::uint64_t weight,
                               DeviceMean::Done done) {
  const auto gradient = parameters_->gradient();
  if (!has_share) {
    activations_->ops().zero(gradient);
  }
  mean.launch({.vector = gradient,
               .weight = weight,
               .after =
                   [this] {
                     ++steps_;
                     parameters_->mean_step();
                   },
               .done = std::move(done)});
}

Result<Matrix> Learner::outputs(Executor& executor, const Batch& batch,
                                std::shared_ptr<const LearnedInputs> learned) {
  return outputs_of(executor, parameters_->values(), batch, std::move(learned));
}

Result<Matrix> Learner::best_outputs(Executor& executor, const Batch& batch,
                                     std::shared_ptr<const LearnedInputs> learned) {
  return outputs_of(executor, parameters_->best_values(), batch, std::move(learned));
}

LinkWeights Learner::weights_of_ranks(bool best) const {
  if (!options_.rank_all) {
    return {};
  }
  const auto parameters = best ? parameters_->read_best() : parameters_->read();
  return link_weights(network_->options(), network_->decoder_slice(std::span(parameters)));
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
  const auto rows = network_->forward_there(executor, parameters, input, *activations_);
  auto outputs = task_->outputs({.executor = executor,
                                 .batch = batch,
                                 .rows = rows,
                                 .parameters = network_->decoder_slice(parameters)});
  if (!outputs) {
    static_cast<void>(status());
  }
  return outputs;
}

Status Learner::restore(const std::vector<float>& parameters, const nn::OptimizerState& optimizer,
                        const std::vector<float>& best, std::uint64_t steps) {
  const std::size_t size = network_->num_parameters();
  if (parameters.size() != size || (!best.empty() && best.size() != size)) {
    return Error(Errc::data_corruption,
                 fmt::format("training state: expected {} parameters, found {}, and {} of the best "
                             "epoch",
                             size, parameters.size(), best.size()));
  }
  if (auto restored = parameters_->optimizer().restore(optimizer); !restored) {
    return Error(Errc::data_corruption, fmt::format("training state: {}", restored.error().what()));
  }
  parameters_->restore(parameters, best);
  steps_ = steps;
  return status();
}

Parameters Learner::snapshot() const {
  return std::make_shared<const std::vector<float>>(parameters_->read());
}

Parameters Learner::best() const {
  return std::make_shared<const std::vector<float>>(parameters_->read_best());
}

Digest digest_parameters(const std::vector<float>& parameters) {
  return digest_of(std::as_bytes(std::span(parameters)));
}

}  // namespace troupe
