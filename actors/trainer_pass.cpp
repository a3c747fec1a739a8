// One pass over the batches: asking ahead, taking each in its turn, training or scoring it.
#include "actors/error.hpp"
#include "actors/trainer_state.hpp"
#include "runtime/nn/scores.hpp"
#include "runtime/run/epoch_counters.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>

namespace troupe::trainer {
namespace {

// ---- asking ----

/// The batch in the trace; the same whenever and wherever it is asked for.
std::uint64_t flow_of(const State& state, const BatchKey& key) {
  constexpr unsigned number_bits = 36;
  const std::uint64_t stream = 2 * (std::uint64_t{key.epoch} + 1) + (key.purpose != Purpose::train);
  return state.options.trace.on() ? (stream << number_bits) + key.number : 0;
}

void ask(Self* self, std::uint64_t number) {
  auto& state = self->state;
  const auto& stream = state.pass->stream;
  SampleBatch message;
  message.key = stream.key(number);
  message.seed_type = stream.options().order->seeds().node_type;
  message.seeds = stream.seeds(number);
  message.sample = state.options.sample;
  message.collect = state.options.collect;
  message.options = BatchOptions::job;
  message.flow = flow_of(state, message.key);
  state.path->ask(number, Ref<SampleBatch>(std::move(message)),
                  [self, number](const Result<Ref<ReadyBatch>>& ready) {
                    if (!ready) {
                      return fail(self, ready.error());
                    }
                    self->state.pass->stream.put(number, *ready, size_bytes((*ready)->batch));
                    ask_ahead(self);  // its size may leave room for more
                    pump(self);
                  });
}

// ---- one step ----

void train(Self* self, const Ref<ReadyBatch>& ready) {
  const auto began = SteadyClock::now();
  const auto flow = flow_of(self->state, ready->batch.sampled->key);
  ask_learner<Contribution>(
      self, TrainBatch{ready, self->state.options.collect->digest, self->state.options.world == 1},
      [self, began, flow](const Contribution& share) {
        self->state.pass->counters.train_ns += ns_since(began);
        self->state.options.trace.slice("train", began, flow);
        exchange(self, share);
      });
}

/// Scores one batch (sampled evaluation).
void score(Self* self, const Ref<ReadyBatch>& ready) {
  const auto began = self->state.options.trace.now();
  ask_learner<Matrix>(
      self, ScoreBatch{ready, self->state.pass->best}, [self, ready, began](const Matrix& outputs) {
        auto& pass = *self->state.pass;
        self->state.options.trace.slice("score", began,
                                        flow_of(self->state, ready->batch.sampled->key));
        const auto& options = pass.stream.options();
        const auto positions =
            options.order->positions(options.epoch, pass.stream.global(pass.stream.step()));
        pass.scores.positions.insert(pass.scores.positions.end(), positions.begin(),
                                     positions.end());
        const auto flat = outputs.view().flat();
        pass.outputs.insert(pass.outputs.end(), flat.begin(), flat.end());
        const auto& batch = ready->batch;
        const auto labels =
            batch.targets.cols() > 0 ? nn::known_labels(batch.targets.view().flat()) : batch.labels;
        pass.scores.labels.insert(pass.scores.labels.end(), labels.begin(), labels.end());
        step_done(self);
      });
}

/// A trainer that only takes batches counts its own.
void only_take(Self* self, const ReadyBatch& ready) {
  auto& position = self->state.position;
  const auto mode = self->state.options.collect->digest;
  if (mode != DigestMode::off) {
    if (auto whole = check_original_ids(ready.batch); !whole) {
      return fail(self, whole.error());
    }
    position.batches = chain(position.batches, digest_batch(ready.batch, mode));
  }
  step_done(self);
}

// ---- the loop ----

void answer_all(Pass& pass, const caf::message& answer) {
  for (auto& promise : pass.promises) {
    promise.deliver(answer);
  }
}

void end_scoring(Self* self, Pass pass) {
  pass.scores.cols = static_cast<std::uint32_t>(self->state.learner.out_dim);
  pass.scores.outputs = Segment::of(std::move(pass.outputs));
  Ref<net::ScoreResult> scores(std::move(pass.scores));
  self->state.last_scores.emplace(
      net::ScoreRequest{pass.stream.options().epoch, pass.role, pass.best}, scores);
  answer_all(pass, caf::make_message(std::move(scores)));
}

void end_epoch(Self* self, Pass pass) {
  auto& state = self->state;
  auto& position = state.position;
  net::EpochResult result;
  result.rank = state.options.rank;
  result.epoch = position.epoch;
  result.loss_sum = position.loss_sum;
  result.loss_weight = position.loss_weight;
  result.wall_ns = ns_since(pass.began);
  result.counters = pass.counters;
  result.batches = position.batches;
  state.last_epoch = result;
  position.epoch += 1;
  position.step = 0;
  position.loss_sum = 0;
  position.loss_weight = 0;
  answer_states(self);
  answer_all(pass, caf::make_message(Ref<net::EpochResult>(std::move(result))));
}

void end_pass(Self* self) {
  auto pass = std::move(*self->state.pass);
  self->state.pass.reset();
  if (pass.stream.options().purpose == Purpose::evaluate) {
    end_scoring(self, std::move(pass));
  } else {
    end_epoch(self, std::move(pass));
  }
}

void take(Self* self, const Ref<ReadyBatch>& ready) {
  auto& pass = *self->state.pass;
  if (pass.waiting_since) {
    pass.counters.wait_ns += ns_since(*pass.waiting_since);
    self->state.options.trace.slice("wait for a batch", *pass.waiting_since);
    pass.waiting_since.reset();
  }
  count_batch(pass.counters, *ready);
  pass.busy = true;
  if (!self->state.learner.actor) {
    only_take(self, *ready);
  } else if (pass.stream.options().purpose == Purpose::train) {
    train(self, ready);
  } else {
    score(self, ready);
  }
}

/// A step without a batch of this rank's: it adds weight 0.
void step_without_batch(Self* self) {
  auto& pass = *self->state.pass;
  pass.busy = true;
  if (!self->state.learner.actor || pass.stream.options().purpose == Purpose::evaluate) {
    step_done(self);
  } else {
    exchange(self, {});
  }
}

void report_step(Self* self) {
  auto& state = self->state;
  const auto& stream = state.pass->stream;
  const auto now = SteadyClock::now();
  StepReport report;
  report.rank = state.options.rank;
  report.epoch = stream.options().epoch;
  report.step = stream.step();
  report.steps = stream.steps();
  report.global_step = state.position.global_step;
  report.seconds = std::chrono::duration<double>(now - state.last_step).count();
  if (state.step_loss.weight > 0) {
    report.loss = state.step_loss.sum / static_cast<double>(state.step_loss.weight);
    report.lr = state.lr;
  }
  state.last_step = now;
  if (state.options.on_step) {
    state.options.on_step(report);
  }
}

}  // namespace

void fail(Self* self, const Error& why) {
  auto& state = self->state;
  state.exchange->drop();
  state.path->forget();
  if (!state.pass) {
    return;
  }
  for (auto& promise : state.pass->promises) {
    promise.deliver(to_caf(Error(why).with(fmt::format("rank {}", raw(state.options.rank)))));
  }
  state.pass.reset();
}

void ask_ahead(Self* self) {
  while (const auto number = self->state.pass->stream.ask()) {
    ask(self, *number);
  }
}

void step_done(Self* self) {
  auto& state = self->state;
  auto& pass = *state.pass;
  ++state.work;
  pass.stream.end_step();
  pass.busy = false;
  if (pass.stream.options().purpose == Purpose::train) {
    state.position.global_step += 1;
    state.position.step = pass.stream.step();
    report_step(self);
    if (!pass.stream.over()) {
      answer_states(self);
    }
    const auto pause = state.options.pause
                           ? state.options.pause(state.options.rank, state.position.global_step)
                           : std::chrono::milliseconds(0);
    if (pause.count() > 0) {
      pass.busy = true;
      self->delayed_send(self, pause, Ref<Resume>(Resume{state.pass_number}));
      return;
    }
  }
  pump(self);
}

void pump(Self* self) {
  auto& pass = *self->state.pass;
  if (pass.busy) {
    return;
  }
  if (pass.stream.over()) {
    return end_pass(self);
  }
  ask_ahead(self);
  if (!pass.stream.has_batch()) {
    return step_without_batch(self);
  }
  if (auto ready = pass.stream.take()) {
    take(self, *ready);
  } else if (!pass.waiting_since) {
    pass.waiting_since = SteadyClock::now();
  }
}

}  // namespace troupe::trainer
