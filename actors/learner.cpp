#include "actors/learner.hpp"

#include "actors/error.hpp"
#include "actors/offload.hpp"
#include "runtime/run/device_turns.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

namespace troupe {
namespace {

struct LearnerState {
  const char* name = "troupe.learner";
  std::shared_ptr<Executor> executor;
  std::shared_ptr<Learner> learner;  ///< One task has it at a time
  bool busy = false;                 ///< A task has it
  bool applying = false;             ///< The task changes the parameters
  std::deque<std::function<void()>> waiting;
};
using LearnerActor = caf::stateful_actor<LearnerState>;

void next(LearnerActor* self) {
  auto& state = self->state;
  while (!state.busy && !state.waiting.empty()) {
    auto first = std::move(state.waiting.front());
    state.waiting.pop_front();
    first();
  }
}

/// Runs `rest` when no task has the learner and what came before is done.
void in_turn(LearnerActor* self, std::function<void()> rest) {
  self->state.waiting.push_back(std::move(rest));
  next(self);
}

/// Runs `work(learner, executor)` on the compute pool, in turn; the requester gets its result.
template <class Reply, class Work>
void compute(LearnerActor* self, Work work, bool applies = false) {
  in_turn(self, [self, work = std::move(work), applies,
                 promise = self->make_response_promise()]() mutable {
    auto& state = self->state;
    state.busy = true;
    state.applying = applies;
    offload_first(
        self, *state.executor,
        [learner = state.learner, executor = state.executor,
         work = std::move(work)]() -> Result<Reply> { return work(*learner, *executor); },
        [self, promise](Result<Reply> result) mutable {
          deliver(promise, std::move(result));
          self->state.busy = false;
          self->state.applying = false;
          next(self);
        });
  });
}

/// Reads the learner: at once while a batch is computed, since that changes no parameters. What is on a
/// device is read in turn, as that waits for the device.
template <class Reply, class Get>
void read(LearnerActor* self, Get get) {
  if (self->state.learner->on_device()) {
    return compute<Reply>(
        self, [get = std::move(get)](const Learner& of, Executor& /*on*/) -> Result<Reply> {
          auto reply = get(of);
          TROUPE_RETURN_IF_ERROR(of.status());
          return reply;
        });
  }
  auto answer = [self, get = std::move(get), promise = self->make_response_promise()]() mutable {
    promise.deliver(Ref<Reply>(get(std::as_const(*self->state.learner))));
  };
  if (self->state.waiting.empty() && !self->state.applying) {
    answer();
  } else {
    in_turn(self, std::move(answer));
  }
}

/// Changes the parameters in turn: at once, or on the compute pool where that may wait for a device.
template <class Work>
void change(LearnerActor* self, Work work) {
  if (self->state.learner->on_device()) {
    return compute<net::Done>(
        self, [work = std::move(work)](Learner& with, Executor& /*on*/) { return work(with); },
        true);
  }
  in_turn(self, [self, work = std::move(work), promise = self->make_response_promise()]() mutable {
    deliver(promise, work(*self->state.learner));
  });
}

Learner::Gradient gradient_for(const TrainBatch& request) {
  if (request.applies) {
    return Learner::Gradient::applied;
  }
  return request.alone ? Learner::Gradient::stays : Learner::Gradient::to_host;
}

/// What of the batch does not depend on the parameters.
Status add_digest(const TrainBatch& request, Contribution& mine) {
  const auto& batch = request.ready->batch;
  if (request.digest != DigestMode::off) {
    TROUPE_RETURN_IF_ERROR(check_original_ids(batch));
    mine.batch = digest_of_trained(batch, request.digest);
  }
  return ok_status();
}

Result<Trained> train(Learner& learner, Executor& executor, const TrainBatch& request) {
  const auto gradient = gradient_for(request);
  TROUPE_ASSIGN_OR_RETURN(
      const auto share, learner.compute(executor, request.ready->batch, request.learned, gradient));
  Trained trained;
  Contribution& mine = trained.mine;
  mine.weight = share.weight;
  mine.number = share.loss_sum;
  if (request.applies) {
    trained.applied = Applied{learner.lr()};
  }
  if (share.weight > 0 && request.learned) {
    mine.learned = std::make_shared<const LearnedInputs>(learner.take_learned_gradients());
  }
  if (share.weight > 0 && !request.alone) {
    Buffer copy(share.gradient.size_bytes());
    std::ranges::copy(share.gradient, copy.as<float>().begin());
    mine.values = std::move(copy).freeze();
  }
  TROUPE_RETURN_IF_ERROR(add_digest(request, mine));
  return trained;
}

Result<Scored> score(Learner& learner, Executor& executor, const ScoreBatch& request) {
  const auto& batch = request.ready->batch;
  TROUPE_ASSIGN_OR_RETURN(auto outputs, request.best
                                            ? learner.best_outputs(executor, batch, request.learned)
                                            : learner.outputs(executor, batch, request.learned));
  return Scored{std::make_shared<const Matrix>(std::move(outputs)),
                learner.weights_of_ranks(request.best)};
}

/// A step that was launched on a device, once it is done.
Result<Trained> finish_step(const Learner::Launched& step, const TrainBatch& request,
                            Applied applied) {
  Trained trained{.mine = {}, .applied = applied};
  trained.mine.weight = step.weight;
  TROUPE_RETURN_IF_ERROR(add_digest(request, trained.mine));  // while the device works
  TROUPE_ASSIGN_OR_RETURN(trained.mine.number, step.loss_sum());
  return trained;
}

/// Launches a whole step on the device in turn; the next one may be launched while this one is waited for.
void launch(LearnerActor* self, const Ref<TrainBatch>& request) {
  in_turn(self, [self, request, promise = self->make_response_promise()]() mutable {
    auto& state = self->state;
    state.busy = true;
    state.applying = true;
    offload_first(
        self, *state.executor,
        [learner = state.learner, executor = state.executor, request] {
          return learner->launch(*executor, {request, &request->ready->batch});
        },
        [self, request, promise](Result<Learner::Launched> step) mutable {
          auto& now = self->state;
          now.busy = false;
          now.applying = false;
          const Applied applied{now.learner->lr()};
          next(self);
          if (!step) {
            return promise.deliver(to_caf(step.error()));
          }
          offload_first(
              self, *now.executor,
              [step = *std::move(step), request, applied] {
                return finish_step(step, *request, applied);
              },
              [promise](Result<Trained> trained) mutable { deliver(promise, std::move(trained)); });
        });
  });
}

Applied apply(Learner& learner, const ApplyStep& step) {
  if (step.alone) {
    learner.apply_own(step.mean.weight);
  } else {
    learner.apply(step.mean.values, step.mean.weight);
  }
  return {learner.lr()};
}

/// The same with the mean that devices make: launched on the compute pool, and done when the device says so.
void apply_by_devices(LearnerActor* self, const Ref<ApplyStep>& step) {
  in_turn(self, [self, step, promise = self->make_response_promise()]() mutable {
    auto& state = self->state;
    state.busy = true;
    state.applying = true;
    auto ended = [self, handle = caf::actor_cast<caf::actor>(self), learner = state.learner,
                  promise](const Status& status) {
      caf::anon_send(handle,
                     Ref<Continuation>(Continuation{[self, learner, promise, status]() mutable {
                       deliver(promise, status ? Result<Applied>(Applied{learner->lr()})
                                               : Result<Applied>(status.error()));
                       self->state.busy = false;
                       self->state.applying = false;
                       next(self);
                     }}));
    };
    state.executor->post_first([learner = state.learner, step, ended = std::move(ended)] {
      learner->apply_by_devices(*step->by_devices, step->has_share, step->mean.weight, ended);
    });
  });
}

net::StateReply snapshot(const Learner& learner, const net::TrainingState& position) {
  auto taken = std::make_shared<net::TrainingState>(position);
  auto optimizer = learner.optimizer_state();
  taken->parameters = *learner.snapshot();
  taken->optimizer = {optimizer.steps, std::move(optimizer.arrays)};
  if (learner.has_best()) {
    taken->best = *learner.best();
  }
  return {std::move(taken)};
}

Result<net::Done> restore(Learner& learner, const net::TrainingState& from) {
  TROUPE_RETURN_IF_ERROR(learner.restore(
      from.parameters, {from.optimizer.steps, from.optimizer.arrays}, from.best, from.global_step));
  return net::Done{};
}

Result<net::Done> keep_best(Learner& learner) {
  learner.keep_best();
  return net::Done{};
}

caf::behavior learner_behavior(LearnerActor* self, std::shared_ptr<Executor> executor,
                               std::shared_ptr<Learner> learner) {
  self->state.executor = std::move(executor);
  self->state.learner = std::move(learner);
  return {
      [self](const Ref<TrainBatch>& request) {
        if (request->applies && self->state.learner->on_device()) {
          return launch(self, request);
        }
        compute<Trained>(
            self, [request](Learner& with, Executor& on) { return train(with, on, *request); },
            request->applies);
      },
      [self](const Ref<ApplyStep>& step) {
        if (step->by_devices) {
          return apply_by_devices(self, step);
        }
        compute<Applied>(
            self, [step](Learner& with, Executor& /*on*/) { return apply(with, *step); }, true);
      },
      [self](const Ref<ScoreBatch>& request) {
        compute<Scored>(
            self, [request](Learner& with, Executor& on) { return score(with, on, *request); });
      },
      [self](const Ref<BeginLearning>& begin) {
        in_turn(self, [self, begin] { self->state.learner->begin_epoch(begin->epoch); });
      },
      [self](const Ref<RestoreSnapshot>& request) {
        change(self, [request](Learner& with) { return restore(with, *request->state); });
      },
      [self](const Ref<net::KeepBest>&) { change(self, keep_best); },
      [self](const Ref<TakeSnapshot>& request) {
        read<net::StateReply>(
            self, [request](const Learner& of) { return snapshot(of, request->position); });
      },
      [self](const Ref<net::ReadParameters>& request) {
        read<net::ParameterVector>(self, [request](const Learner& of) {
          const auto parameters = request->best ? of.best() : of.snapshot();
          return net::ParameterVector{{parameters, std::as_bytes(std::span(*parameters))}};
        });
      },
      [self](const Ref<net::Finish>&) {
        read<net::FinishResult>(self, [](const Learner& of) {
          net::FinishResult result;
          result.parameters = digest_parameters(*of.snapshot());
          result.best_parameters = digest_parameters(*of.best());
          return result;
        });
      },
      run_continuation,
  };
}

/// \param device  null: on the executor
Result<BlockInferred> infer_block(const InferBlock& block, Executor& executor,
                                  nn::DeviceInference* device) {
  TROUPE_ASSIGN_OR_RETURN(const auto edges, block.run({executor, device}));
  return BlockInferred{edges};
}

/// Blocks are independent of each other: any number is computed at once.
caf::behavior cpu_inferrer(caf::event_based_actor* self,
                           const std::shared_ptr<Executor>& executor) {
  return {
      [self, executor](const Ref<InferBlock>& block) {
        offload(
            self, *executor, [block, executor] { return infer_block(*block, *executor, nullptr); },
            [promise = self->make_response_promise()](Result<BlockInferred> done) mutable {
              deliver(promise, std::move(done));
            });
      },
      run_continuation,
  };
}

struct WaitingBlock {
  Ref<InferBlock> block;
  caf::response_promise promise;
};

struct DeviceInferrerState {
  const char* name = "troupe.device_inferrer";
  std::shared_ptr<Executor> executor;
  std::vector<std::shared_ptr<nn::DeviceInference>> devices;
  std::optional<DeviceTurns<WaitingBlock>> turns;
};
using DeviceInferrer = caf::stateful_actor<DeviceInferrerState>;

void begin_turns(DeviceInferrer* self) {
  auto& state = self->state;
  while (auto turn = state.turns->next()) {
    const auto number = turn->device;
    offload(
        self, *state.executor,
        [block = turn->block.block, executor = state.executor, device = state.devices[number]] {
          return infer_block(*block, *executor, device.get());
        },
        [self, number, promise = turn->block.promise](Result<BlockInferred> done) mutable {
          deliver(promise, std::move(done));
          self->state.turns->done(number);
          begin_turns(self);
        });
  }
}

caf::behavior device_inferrer(DeviceInferrer* self, std::shared_ptr<Executor> executor,
                              std::vector<std::shared_ptr<nn::DeviceInference>> devices) {
  auto& state = self->state;
  state.executor = std::move(executor);
  state.turns.emplace(devices.size());
  state.devices = std::move(devices);
  return {
      [self](const Ref<InferBlock>& block) {
        self->state.turns->add({block, self->make_response_promise()});
        begin_turns(self);
      },
      run_continuation,
  };
}

}  // namespace

Result<LearnerHandle> spawn_learner(caf::actor_system& system, const LearnerOptions& options,
                                    std::shared_ptr<Executor> executor,
                                    std::unique_ptr<nn::BlockOps> ops) {
  TROUPE_ASSIGN_OR_RETURN(std::shared_ptr<Learner> learner,
                          Learner::create(options, std::move(ops)));
  LearnerHandle handle{.num_parameters = learner->network().num_parameters(),
                       .out_dim = learner->network().options().out_dim,
                       .launches_ahead = learner->on_device()};
  handle.actor = system.spawn(learner_behavior, std::move(executor), std::move(learner));
  return handle;
}

caf::actor spawn_cpu_inferrer(caf::actor_system& system, std::shared_ptr<Executor> executor) {
  return system.spawn(cpu_inferrer, std::move(executor));
}

caf::actor spawn_device_inferrer(caf::actor_system& system, std::shared_ptr<Executor> executor,
                                 std::vector<std::shared_ptr<nn::DeviceInference>> devices) {
  return system.spawn(device_inferrer, std::move(executor), std::move(devices));
}

}  // namespace troupe
