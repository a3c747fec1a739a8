// Batches of a session's rank: asking ahead, handing out in order, single ones.
#include "actors/error.hpp"
#include "actors/session_rank_state.hpp"
#include "runtime/run/epoch_counters.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>

namespace troupe::session_rank {
namespace {

using SteadyClock = std::chrono::steady_clock;

Ref<SampleBatch> request_of(const State& state, const Stream& stream, std::uint64_t number,
                            bool with_seeds) {
  const auto& batches = stream.batches;
  SampleBatch message;
  message.key = batches.key(number);
  message.take_seeds(with_seeds ? batches.seeds(number) : batches.options().order->no_seeds());
  message.sample = state.options.sample;
  message.collect = state.options.collect;
  message.options = BatchOptions::job;
  if (with_seeds) {
    message.turn = batches.turn(number);
  }
  return Ref<SampleBatch>(std::move(message));
}

void pump(Self* self);

/// \param number  of the batch, in the stream with that number
void take_batch(State& state, std::uint64_t stream, std::uint64_t number,
                const Result<Ref<ReadyBatch>>& ready) {
  for (auto* of : {&state.stream, &state.next}) {
    if (!*of || (*of)->number != stream) {
      continue;
    }
    if (ready) {
      (*of)->batches.put(number, *ready, size_bytes((*ready)->batch));
    } else {
      (*of)->error = ready.error();
    }
  }
}

void ask_batch(Self* self, const Stream& of, std::uint64_t number) {
  auto& state = self->state;
  state.path->ask(number, request_of(state, of, number, true),
                  [self, number, stream = of.number](const Result<Ref<ReadyBatch>>& ready) {
                    take_batch(self->state, stream, number, ready);
                    if (self->state.stream) {
                      pump(self);
                    }
                  });
}

Stream stream_of(State& state, std::uint32_t epoch, std::uint64_t first_step) {
  BatchStreamOptions options;
  options.order = state.options.order;
  options.epoch = epoch;
  options.rank = state.options.rank;
  options.world = state.options.world;
  options.ahead = state.ahead;
  options.budget_bytes = state.options.channel_budget;
  options.first_step = first_step;
  options.lookahead = state.options.lookahead;
  return {BatchStream<Ref<ReadyBatch>>(std::move(options)), ++state.streams, false, std::nullopt,
          std::nullopt};
}

/// Begins the stream of the epoch after the one under way. \returns false: there is none
bool begin_next_stream(State& state) {
  const auto next = state.stream->batches.options().epoch + std::uint64_t{1};
  if (next >= state.options.epochs) {
    return false;
  }
  if (!state.next) {
    state.next = stream_of(state, static_cast<std::uint32_t>(next), 0);
  }
  return true;
}

/// Once all batches of the epoch are asked for: those of the next. After an error it asks itself.
void ask_next_epoch(Self* self) {
  auto& state = self->state;
  const auto& batches = state.stream->batches;
  if (!batches.all_asked() || !begin_next_stream(state)) {
    return;
  }
  while (!state.next->error) {
    const auto number = state.next->batches.ask(batches.load());
    if (!number) {
      return;
    }
    ask_batch(self, *state.next, *number);
  }
}

/// Tells samplers of batches that will be asked for, of this epoch and then of the next.
void hint_ahead(Self* self) {
  auto& state = self->state;
  if (state.options.lookahead == 0) {
    return;
  }
  const auto send = [&](const Stream& of, std::uint64_t number) {
    state.path->hint(number, request_of(state, of, number, true));
  };
  auto& batches = state.stream->batches;
  while (const auto number = batches.hint()) {
    send(*state.stream, *number);
  }
  if (!batches.all_hinted() || !begin_next_stream(state)) {
    return;
  }
  while (const auto number = state.next->batches.hint(batches.hinted_ahead())) {
    send(*state.next, *number);
  }
}

/// Asks ahead; hands out the next batch if one waits for it and it is here.
void pump(Self* self) {
  auto& stream = *self->state.stream;
  const auto& next = self->state.next;
  while (const auto number = stream.batches.ask(next ? next->batches.load() : BatchLoad{})) {
    ask_batch(self, stream, *number);
  }
  ask_next_epoch(self);
  hint_ahead(self);
  if (!stream.next) {
    return;
  }
  auto promise = *stream.next;
  if (stream.error) {
    stream.next.reset();
    promise.deliver(to_caf(Error(*stream.error).with(rank_name(self->state))));
  } else if (stream.batches.over()) {
    stream.next.reset();
    promise.deliver(Ref<TakenBatch>(TakenBatch{}));
  } else if (!stream.batches.has_batch()) {
    stream.next.reset();
    stream.taken = true;
    ask_single(self, request_of(self->state, stream, stream.batches.step(), false),
               [promise](const Result<Ref<ReadyBatch>>& ready) mutable {
                 deliver(promise, ready ? Result<TakenBatch>(TakenBatch{*ready, false})
                                        : Result<TakenBatch>(ready.error()));
               });
  } else if (auto ready = stream.batches.take()) {
    stream.next.reset();
    stream.taken = true;
    const auto now = SteadyClock::now();
    const auto since = std::exchange(stream.waiting_since, std::nullopt);
    const auto waited = now - since.value_or(now);
    stream.counters.wait_ns += static_cast<std::uint64_t>(waited.count());
    stream.batches.waited(now, waited);
    stream.counters.batches_in_flight = stream.batches.in_flight();
    count_batch(stream.counters, **ready);
    promise.deliver(Ref<TakenBatch>(TakenBatch{*std::move(ready), true}));
  } else if (!stream.waiting_since) {
    stream.waiting_since = SteadyClock::now();
  }
}

}  // namespace

void ask_single(Self* self, const Ref<SampleBatch>& request, BatchClient::Answer then) {
  self->state.path->ask(self->state.singles++, request, std::move(then));
}

void begin_epoch(Self* self, const BeginEpoch& request) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (state.ended) {
    return promise.deliver(to_caf(*state.ended));
  }
  auto begun = std::exchange(state.next, std::nullopt);
  const bool its = begun && !begun->error && request.first_step == 0 &&
                   begun->batches.options().epoch == request.epoch;
  state.stream = its ? *std::move(begun) : stream_of(state, request.epoch, request.first_step);
  promise.deliver(Ref<EpochBegun>(EpochBegun{state.stream->batches.steps()}));
  pump(self);
}

void next_batch(Self* self) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (state.ended || !state.stream || state.stream->next) {
    return promise.deliver(to_caf(state.ended.value_or(
        Error(Errc::failed_precondition,
              fmt::format("{}: asked for a batch outside an epoch", rank_name(state))))));
  }
  auto& stream = *state.stream;
  if (std::exchange(stream.taken, false)) {
    stream.batches.end_step();
  }
  stream.next = std::move(promise);
  pump(self);
}

}  // namespace troupe::session_rank
