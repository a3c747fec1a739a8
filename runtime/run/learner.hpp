#pragma once
/// \file learner.hpp
/// What one rank learns with: network, parameters, optimizer, loss, and the best epoch's parameters, on
/// the CPU or in the memory of a device. Knows no actors.
#include "runtime/base/digest.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/batch.hpp"
#include "runtime/nn/catalog.hpp"
#include "runtime/nn/class_weights.hpp"
#include "runtime/nn/network.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/optimizer.hpp"
#include "runtime/nn/schedule.hpp"
#include "runtime/nn/trained_parameters.hpp"
#include "runtime/run/device_mean.hpp"
#include "runtime/run/joined_features.hpp"
#include "runtime/run/task/link_queries.hpp"
#include "runtime/run/task/task.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

using Parameters = std::shared_ptr<const std::vector<float>>;

struct LearnerOptions {
  nn::ModelOptions model;
  nn::OptimizerOptions optimizer;
  std::string loss = "cross_entropy";  ///< one that the task knows
  std::uint64_t job_seed = 0;
  nn::ScheduleOptions schedule = {};
  std::uint32_t epochs = 1;             ///< of the job, for the schedule
  double pos_weight = 1;                ///< of positive targets, with "bce_logits"
  double delta = 1;                     ///< with "huber"
  nn::ClassWeights class_weights = {};  ///< As TaskOptions has them
  double clip = 0;                      ///< longest mean gradient; 0: not clipped
  std::string task = "node";
  nn::LinkLossOptions link_loss = {};
  nn::KnowledgeOptions knowledge = {};
  bool rank_all = false;  ///< As TaskOptions has it
};

TaskOptions task_options(const LearnerOptions& options);

/// Lifecycle: begin_epoch(); then compute() a batch's share of the gradient, reduce it over the
///   ranks elsewhere, apply() the mean; again. Or launch() whole steps, at most one of them before the loss of the
///   one before has come.
/// Threads:   one at a time; the work inside runs on the executor that is passed in. On the CPU what is
///   const also beside compute() and outputs()
/// Errors:    of a device stay: status() says the first; parameters and states read are zeros then
class Learner {
 public:
  /// \param ops  where batches are computed, and parameters lie; null: on the CPU
  /// \errors as make_network, make_task, make_optimizer and check_schedule; those of a device
  static Result<std::unique_ptr<Learner>> create(const LearnerOptions& options,
                                                 std::unique_ptr<nn::BlockOps> ops = nullptr);

  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;
  /// Waits for the device: its copies read batches and arrays of the learner.
  ~Learner();

  /// Sets the learning rate of `epoch` (from 0). To be called before each epoch's first apply(), in
  /// a run that continues too.
  void begin_epoch(std::uint32_t epoch);

  /// One rank's share: gradient of the sum of the losses over the batch's labelled seeds, over their
  /// known targets, or over its links.
  struct Share {
    double loss_sum = 0;
    std::uint64_t weight = 0;         ///< of the sum (nn::LossResult); with 0 the gradient is empty
    std::span<const float> gradient;  ///< in host memory, valid until the next compute()
  };
  enum class Gradient : std::uint8_t {
    to_host,  ///< Is wanted in host memory, for the reduction
    stays,    ///< apply_own() or apply_by_devices() follows
    applied,  ///< As stays and apply_own(), without a wait for the device in between
  };
  /// \errors failed_precondition: the batch has no features, or labels of another kind than the
  /// loss needs; those of a device
  /// \param learned  rows beside the features, or in their place; null: none
  /// \param gradient  but for `to_host` that of the share is empty where a device computes
  Result<Share> compute(Executor& executor, const Batch& batch,
                        std::shared_ptr<const LearnedInputs> learned = nullptr,
                        Gradient gradient = Gradient::to_host);
  /// A step as compute() with Gradient::applied, without waiting for the device.
  struct Launched {
    std::uint64_t weight = 0;  ///< as Share::weight
    nn::LaterNumber loss_sum;  ///< comes when all of the step is done
  };
  /// \param batch  kept until the step is done
  /// \errors as compute(), those of the device when the loss comes
  Result<Launched> launch(Executor& executor, std::shared_ptr<const Batch> batch);
  /// Of the last compute(), as its gradient: with respect to the learned rows, by node type. Empty with
  /// weight 0.
  LearnedInputs take_learned_gradients() { return std::exchange(learned_gradients_, {}); }

  /// One optimizer step with the mean gradient over all ranks, clipped. With weight 0 (no labelled
  /// seed anywhere) nothing changes.
  void apply(std::span<const float> mean_gradient, std::uint64_t weight);
  /// The same with one rank: the mean is the gradient of the last compute(), divided in place.
  void apply_own(std::uint64_t weight);
  /// The same with the mean that devices make of the ranks' gradients, without waiting.
  /// \param has_share  there is a gradient of the last compute() in this step; else this rank adds zeros
  /// \param weight     of all ranks, not 0
  /// \param done       as DeviceMean::Work has it; before it is called the learner must be left alone
  /// \requires on_device()
  void apply_by_devices(DeviceMean& mean, bool has_share, std::uint64_t weight,
                        DeviceMean::Done done);

  /// Outputs of the batch's seeds without dropout, shape [seeds, out_dim]; of links Task::outputs().
  Result<Matrix> outputs(Executor& executor, const Batch& batch,
                         std::shared_ptr<const LearnedInputs> learned = nullptr);
  /// The same with the best epoch's parameters.
  Result<Matrix> best_outputs(Executor& executor, const Batch& batch,
                              std::shared_ptr<const LearnedInputs> learned = nullptr);

  /// What holders rank links with beside the queries in their outputs; nothing where these have none.
  /// \param best  those of the best epoch's parameters
  LinkWeights weights_of_ranks(bool best) const;

  const nn::Network& network() const { return *network_; }
  /// Parameters and optimizer are in the memory of a device.
  bool on_device() const { return activations_->on_device(); }
  /// Waits for the device. \errors the first of it
  Status status() const { return activations_->ops().finish(); }
  nn::OptimizerState optimizer_state() const { return parameters_->optimizer().state(); }
  /// Puts everything back as it was after `global_step` steps.
  /// \errors data_corruption: arrays of other sizes than the model's
  Status restore(const std::vector<float>& parameters, const nn::OptimizerState& optimizer,
                 const std::vector<float>& best, std::uint64_t steps);
  Parameters snapshot() const;
  void keep_best() { parameters_->keep_best(); }
  bool has_best() const { return parameters_->has_best(); }
  Parameters best() const;
  std::uint64_t steps() const { return steps_; }
  double lr() const { return parameters_->optimizer().lr(); }

 private:
  Learner(const LearnerOptions& options, std::unique_ptr<nn::Network> network,
          std::unique_ptr<nn::Activations> activations, std::unique_ptr<Task> task,
          std::unique_ptr<nn::TrainedParameters> parameters);
  Result<Share> compute_share(Executor& executor, const Batch& batch,
                              std::shared_ptr<const LearnedInputs> learned, Gradient gradient);
  Result<Launched> start(Executor& executor, const Batch& batch,
                         std::shared_ptr<const LearnedInputs> learned, bool applies);
  std::uint64_t pass_back(const TaskPass& pass);
  std::span<const float> fetched_gradient();
  void keep_learned_gradients(Executor& executor);
  Result<Matrix> outputs_of(Executor& executor, std::span<const float> parameters,
                            const Batch& batch, std::shared_ptr<const LearnedInputs> learned);

  LearnerOptions options_;
  std::unique_ptr<nn::Network> network_;
  std::unique_ptr<nn::Activations> activations_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<nn::TrainedParameters> parameters_;
  JoinedFeatures inputs_;
  LearnedInputs learned_gradients_;
  TaskGradients task_gradients_;         ///< scratch
  std::vector<float> fetched_gradient_;  ///< from a device
  std::uint64_t steps_ = 0;
  /// Of the last launch and the one before, whose steps may be under way.
  std::array<std::shared_ptr<const Batch>, 2> launched_;
};

/// Digest of a parameter vector as the report gives it.
Digest digest_parameters(const std::vector<float>& parameters);

}  // namespace troupe
