// Learned rows of a step, and what rank 0 asks of their holders between two steps.
#include "actors/error.hpp"
#include "actors/trainer_state.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <utility>

namespace troupe::trainer {
namespace {

/// Rank 0 speaks for all ranks.
bool speaks_for_all(const State& state) {
  return state.learned->used() && raw(state.options.rank) == 0;
}

/// The step from which on rows of a batch may be read that is trained at `step`. There is no later one until
/// the rank has shared the gradients of that batch.
std::uint64_t first_step(const State& state, std::uint64_t step) {
  return step - std::min<std::uint64_t>(step, state.options.staleness);
}

Status status_of(const Result<net::Done>& done) {
  return done ? ok_status() : Status(done.error());
}

}  // namespace

void read_learned(Self* self, const Ref<ReadyBatch>& ready, bool best,
                  std::function<void(LearnedRowsClient::Rows)> then) {
  auto& state = self->state;
  if (!state.learned->used()) {
    return then(nullptr);
  }
  const auto& sampled = ready->batch.sampled;
  const auto step = state.position.global_step;
  auto take = [self, then = std::move(then), flow = state.pass->flow(sampled->key),
               began = SteadyClock::now()](Result<LearnedRowsClient::Rows> rows) {
    auto& now = self->state;
    if (!rows) {
      return learned_failed(self, rows.error());
    }
    now.pass->learned(SteadyClock::now() - began);
    now.options.trace.slice("read learned rows", began, flow);
    then(*std::move(rows));
  };
  if (!state.pass->trains()) {
    return state.learned->read(sampled, step, best, std::move(take));
  }
  state.learned->read_ahead(sampled, first_step(state, step));
  read_learned_ahead(self);
  state.learned->take_ahead(sampled, std::move(take));
}

void all_have_rows(Self* self, std::uint64_t step) {
  auto& state = self->state;
  if (state.pass && state.position.global_step == step) {
    state.rows_at_all = step;
    read_learned_ahead(self);
  }
}

void read_learned_ahead(Self* self) {
  auto& state = self->state;
  if (!state.pass || !state.learned->used() || !state.pass->trains()) {
    return;
  }
  const auto stale = state.options.staleness;
  for (const auto& [ready, step] : state.pass->ahead(std::max(stale, 1U))) {
    if (stale > 0 || state.rows_at_all == step - 1) {
      state.learned->read_ahead(ready->batch.sampled, first_step(state, step));
    }
  }
}

void send_learned(Self* self, const Contribution& mine, std::function<void()> then) {
  auto& state = self->state;
  if (!state.learned->used()) {
    return then();
  }
  if (state.keeping > 0) {
    state.after_keeping = [self, mine, then = std::move(then)] { send_learned(self, mine, then); };
    return;
  }
  state.shared = true;
  state.learned->send(state.position.global_step, mine, [self, then = std::move(then)] {
    const auto moved = self->state.learned->take_counts();
    self->state.pass->moved(moved.rows, moved.bytes, moved.messages);
    then();
  });
}

void learned_failed(Self* self, const Error& why) {
  if (!self->state.pass) {
    return;
  }
  fail(self, why);
  if (why.code() == Errc::fenced) {
    wait_for_restore(self, why);
  }
}

void keep_learned(Self* self, const KeepLearned& what, std::function<void(const Status&)> then) {
  auto& state = self->state;
  if (!speaks_for_all(state)) {
    return then(ok_status());
  }
  auto keep = what;
  keep.step = state.position.global_step;
  ++state.keeping;
  state.learned->keep(keep, [self, then = std::move(then)](const Result<net::Done>& kept) {
    auto& now = self->state;
    then(status_of(kept));
    if (--now.keeping == 0 && now.after_keeping) {
      std::exchange(now.after_keeping, nullptr)();
    }
  });
}

void restore_learned(Self* self, std::uint64_t step, std::function<void(const Status&)> then) {
  auto& state = self->state;
  state.learned->set_generation(state.generation);
  if (!speaks_for_all(state)) {
    return then(ok_status());
  }
  state.learned->begin(
      step, [then = std::move(then)](const Result<net::Done>& begun) { then(status_of(begun)); });
}

void digest_learned(Self* self, std::function<void(Result<std::vector<TableDigest>>)> then) {
  auto& state = self->state;
  if (!speaks_for_all(state)) {
    return then(std::vector<TableDigest>());
  }
  state.learned->digest(state.position.global_step, std::move(then));
}

}  // namespace troupe::trainer
