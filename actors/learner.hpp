#pragma once
/// \file learner.hpp
/// The learner: parameters and optimizer of one rank, and the place where batches are computed. The
/// trainer and the evaluator know only its messages, not where it computes.
#include "actors/message.hpp"
#include "runtime/base/executor.hpp"
#include "runtime/feature/ready_batch.hpp"
#include "runtime/nn/device_inference.hpp"
#include "runtime/run/device_mean.hpp"
#include "runtime/run/exact_inference.hpp"
#include "runtime/run/learner.hpp"
#include "runtime/run/reduction.hpp"
#include "runtime/run/task/link_queries.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace troupe {

/// Sets the learning rate of an epoch, from 0; before its first step.
struct BeginLearning {
  std::uint32_t epoch = 0;
};
/// The gradient of a batch's losses, and its digest.
struct TrainBatch {
  Ref<ReadyBatch> ready;
  DigestMode digest = DigestMode::off;
  /// The gradient stays with the learner: there is one rank, or vectors stay on devices.
  bool alone = false;
  /// Besides, the optimizer step is made at once: no ApplyStep follows, and no wait for one.
  bool applies = false;
  std::shared_ptr<const LearnedInputs> learned = nullptr;  ///< Null: the job has none
};
/// One optimizer step.
struct ApplyStep {
  Reduced mean;        ///< Over all ranks; `values` is empty if `alone`
  bool alone = false;  ///< The gradient is that of the last TrainBatch
  /// Makes the mean of it on the device, of the gradients of all ranks; null: `mean` has the values. The answer
  /// comes when all of it is done.
  std::shared_ptr<DeviceMean> by_devices = nullptr;
  bool has_share = false;  ///< With by_devices: the rank's batch had a weight in this step
};
struct Applied {
  double lr = 0;
};
struct Trained {
  Contribution mine;
  std::optional<Applied> applied;  ///< Where TrainBatch::applies
};
/// Outputs of a batch's seeds without dropout: float32 [seeds, columns], as Learner::outputs() has them.
struct ScoreBatch {
  Ref<ReadyBatch> ready;
  bool best = false;                                       ///< With the best epoch's parameters
  std::shared_ptr<const LearnedInputs> learned = nullptr;  ///< As in TrainBatch
};
struct Scored {
  std::shared_ptr<const Matrix> outputs;
  /// Of links with queries (TaskOptions::rank_all): what holders rank them with.
  LinkWeights weights = {};
};
/// Completes a state of training with parameters, optimizer and the best epoch's parameters.
struct TakeSnapshot {
  net::TrainingState position;
};
/// Puts back what TakeSnapshot gave.
struct RestoreSnapshot {
  std::shared_ptr<const net::TrainingState> state;
};

struct LearnerHandle {
  caf::actor actor = {};           ///< Null: nothing is learned, batches are only taken
  std::size_t num_parameters = 0;  ///< Of the network
  std::size_t out_dim = 0;         ///< Of the network
  /// A TrainBatch that applies its step may be sent before the answer to the one before it: a device has its
  /// work then when it is done with the other.
  bool launches_ahead = false;
  /// Communicators for the learner's gradient; null: it goes over the links.
  std::shared_ptr<DeviceMeans> means = nullptr;
};

/// Starts a learner whose batches are computed on the compute pool, or on a device that it waits for.
/// | receives                 | replies                   | errors                                  |
/// |--------------------------|---------------------------|-----------------------------------------|
/// | Ref<BeginLearning>       | none                      |                                         |
/// | Ref<TrainBatch>          | Ref<Trained>              | failed_precondition: Learner::compute() |
/// | Ref<ApplyStep>           | Ref<Applied>              | those of DeviceMean::launch()           |
/// | Ref<ScoreBatch>          | Ref<Scored>               | as TrainBatch                           |
/// | Ref<TakeSnapshot>        | Ref<net::StateReply>      |                                         |
/// | Ref<RestoreSnapshot>     | Ref<net::Done>            | data_corruption                         |
/// | Ref<net::KeepBest>       | Ref<net::Done>            |                                         |
/// | Ref<net::ReadParameters> | Ref<net::ParameterVector> |                                         |
/// | Ref<net::Finish>         | Ref<net::FinishResult>    | its rank is left to the trainer         |
/// Back-pressure: keeps what it is sent; a trainer sends the next batch after the answer to one, where
///   `launches_ahead` after the answer to the one before
/// Ordering:  what changes or uses the parameters is done in order of arrival. While a batch is
///   computed parameters can be read, unless they are on a device: computing does not change them
/// \param ops  of the device; null: on the compute pool
/// \errors as Learner::create()
Result<LearnerHandle> spawn_learner(caf::actor_system& system, const LearnerOptions& options,
                                    std::shared_ptr<Executor> executor,
                                    std::unique_ptr<nn::BlockOps> ops = nullptr);
/// Starts the counterpart of an evaluator: takes Ref<InferBlock>, replies Ref<BlockInferred>.
caf::actor spawn_cpu_inferrer(caf::actor_system& system, std::shared_ptr<Executor> executor);
/// The same on devices, each of which computes one block at a time. Threads of the executor wait for them.
/// \param devices  numbered from 0, at least one
/// Errors: an error of a device fails its block; the next block of the device makes its operations again
caf::actor spawn_device_inferrer(caf::actor_system& system, std::shared_ptr<Executor> executor,
                                 std::vector<std::shared_ptr<nn::DeviceInference>> devices);

}  // namespace troupe
