// The pass under way: requests batches ahead, has each trained or scored in its turn, answers at the end.
#include "actors/error.hpp"
#include "actors/trainer_state.hpp"
#include "runtime/base/assert.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>

namespace troupe::trainer {
namespace {

/// What the answer to a request belongs to.
struct Asked {
  BatchKey key;
  std::uint64_t number = 0;  ///< Of the batch, on this rank
  bool ahead = false;        ///< Requested for the next epoch
  std::uint64_t drops = 0;   ///< State::next_drops of then
};

/// A batch of the next epoch that fails is requested again by that epoch, as all of it that are ahead.
void take_failure(Self* self, const Asked& asked, const Error& why) {
  auto& state = self->state;
  if (asked.ahead && asked.drops != state.next_drops) {
    return;
  }
  if (state.pass && state.pass->covers(asked.key)) {
    return fail(self, why);
  }
  ++state.next_drops;
  state.next.reset();
  if (state.pass) {
    state.pass->drop_next();
  }
}

void take_batch(Self* self, const Asked& asked, const Result<Ref<ReadyBatch>>& ready) {
  auto& state = self->state;
  if (!ready) {
    return take_failure(self, asked, ready.error());
  }
  if (state.pass) {
    state.pass->put(asked.number, *ready);
    pump(self);
  } else if (state.next) {
    state.next->put(asked.number, *ready, size_bytes((*ready)->batch));
  }
}

void ask_ahead(Self* self) {
  auto& state = self->state;
  while (auto request = state.pass->request()) {
    const Asked asked{request->batch.key, request->number, request->ahead, state.next_drops};
    state.path->ask(
        request->number, Ref<SampleBatch>(std::move(request->batch)),
        [self, asked](const Result<Ref<ReadyBatch>>& ready) { take_batch(self, asked, ready); });
  }
  while (auto hint = state.pass->hint()) {
    state.path->hint(hint->number, std::make_shared<const SampleBatch>(std::move(hint->batch)));
  }
}

// ---- one step ----

/// The learner makes the optimizer step with the gradient: nobody else adds to it.
bool steps_are_applied(const State& state) {
  return state.options.world == 1 && !state.learned->used();
}

void train(Self* self, const Ref<ReadyBatch>& ready) {
  const auto took =
      or_fail<Trained>(self, [self, flow = self->state.pass->flow(ready->batch.sampled->key),
                              began = SteadyClock::now()](const Trained& trained) {
        self->state.pass->trained(SteadyClock::now() - began);
        self->state.options.trace.slice("train", began, flow);
        exchange(self, trained);
      });
  if (const auto ahead = std::exchange(self->state.step_ahead, nullptr)) {
    TROUPE_ASSERT(ahead->key == ready->batch.sampled->key, "the step sent ahead is the next one",
                  ahead->key.number, ready->batch.sampled->key.number);
    return ahead->answer ? took(*ahead->answer) : void(ahead->then = took);
  }
  read_learned(self, ready, false, [self, ready, took](LearnedRowsClient::Rows learned) {
    auto& state = self->state;
    const bool applies = steps_are_applied(state);
    const bool stays = state.options.world == 1 || state.route->by_devices();
    state.applying = applies;
    ask_learner_for_either<Trained>(
        self, TrainBatch{ready, state.options.collect->digest, stays, applies, std::move(learned)},
        took);
  });
}

/// Sends the learner the step after the one under way, where that may be: a device has work then when it is done
/// with the other. Not if the state between the two is wanted.
void send_ahead(Self* self) {
  auto& state = self->state;
  if (!state.applying || state.step_ahead || !state.learner.launches_ahead ||
      !steps_are_applied(state) || state_is_due(state, state.position.global_step + 1)) {
    return;
  }
  const auto next = state.pass->ahead(1);
  if (next.empty()) {
    return;
  }
  const Ref<ReadyBatch> ready(next.front().first);
  auto step = std::make_shared<StepAhead>();
  step->key = ready->batch.sampled->key;
  state.step_ahead = step;
  ask_learner_for_either<Trained>(
      self, TrainBatch{ready, state.options.collect->digest, true, true, nullptr},
      [step](const Result<Ref<Trained>>& trained) {
        step->then ? step->then(trained) : void(step->answer = trained);
      });
}

/// Has the answers of a batch's triples, or both ends of its links, ranked among all nodes of their types at the
/// holders of these.
void rank_answers(Self* self, const Ref<ReadyBatch>& ready, const Scored& scored, bool best) {
  auto& state = self->state;
  const auto flow = state.pass->flow(ready->batch.sampled->key);
  const std::size_t kept = state.options.score_cols - rank_cols;
  const Matrix queries = queries_of(scored.outputs->view(), kept);
  state.learned->rank(
      EntityQueries(
          *state.options.ranking, *state.options.learned.book, *ready->batch.sampled,
          queries.view(),
          {.cols = static_cast<std::uint32_t>(state.learner.out_dim), .weights = scored.weights}),
      state.position.global_step, best,
      [self, ready, outputs = scored.outputs, kept, flow,
       began = state.options.trace.now()](const Result<Matrix>& counts) {
        if (!counts) {
          return learned_failed(self, counts.error());
        }
        self->state.options.trace.slice("rank entities", began, flow);
        self->state.pass->scored(*ready, with_counts(outputs->view(), kept, counts->view()));
        step_done(self);
      });
}

/// Scores one batch (sampled evaluation).
void score(Self* self, const Ref<ReadyBatch>& ready) {
  const bool best = self->state.pass->score_request().best;
  read_learned(self, ready, best, [self, ready, best](LearnedRowsClient::Rows learned) {
    const auto& state = self->state;
    const auto flow = state.pass->flow(ready->batch.sampled->key);
    ask_learner<Scored>(
        self, ScoreBatch{ready, best, std::move(learned)},
        [self, ready, best, flow, began = state.options.trace.now()](const Scored& scored) {
          self->state.options.trace.slice("score", began, flow);
          if (self->state.options.ranking && ready->batch.sampled->links) {
            return rank_answers(self, ready, scored, best);
          }
          self->state.pass->scored(*ready, *scored.outputs);
          step_done(self);
        });
  });
}

// ---- the end ----

void answer_all(State& state, const caf::message& answer) {
  for (auto& promise : std::exchange(state.promises, {})) {
    promise.deliver(answer);
  }
}

void end_pass(State& state) {
  state.next = state.pass->take_next();
  state.pass.reset();
}

void end_scoring(Self* self) {
  auto& state = self->state;
  const auto request = state.pass->score_request();
  const bool of_rows = state.options.score_cols == 0 || request.role == state.options.rows_role;
  Ref<net::ScoreResult> scores(
      state.pass->finish_scores(of_rows ? state.learner.out_dim : state.options.score_cols));
  end_pass(state);
  state.last_scores.emplace(request, scores);
  answer_all(state, caf::make_message(std::move(scores)));
}

void end_epoch(Self* self) {
  auto& state = self->state;
  state.last_epoch = state.pass->finish_epoch(SteadyClock::now());
  end_pass(state);
  answer_states(self);
  answer_all(state, caf::make_message(Ref<net::EpochResult>(*state.last_epoch)));
}

struct DoWork {
  Self* self;
  State& state = self->state;

  void operator()(const EpochPass::Wait&) const {}
  void operator()(const EpochPass::Train& work) const {
    trace_wait();
    train(self, Ref<ReadyBatch>(work.ready));
  }
  void operator()(const EpochPass::Score& work) const {
    trace_wait();
    score(self, Ref<ReadyBatch>(work.ready));
  }
  void operator()(const EpochPass::Count& work) const {
    trace_wait();
    const auto counted = state.pass->count(*work.ready);
    counted ? step_done(self) : fail(self, counted.error());
  }
  void operator()(const EpochPass::JoinStep&) const { exchange(self, {}); }
  void operator()(const EpochPass::SkipStep&) const { step_done(self); }
  void operator()(const EpochPass::Finish&) const {
    state.pass->trains() ? end_epoch(self) : end_scoring(self);
  }
  void trace_wait() const {
    if (const auto since = state.pass->waited_since()) {
      state.options.trace.slice("wait for a batch", *since);
    }
  }
};

}  // namespace

void fail(Self* self, const Error& why) {
  auto& state = self->state;
  state.exchange->drop();
  state.learned->drop();
  state.shared = false;
  state.meets = false;
  state.rows_at_all.reset();
  state.after_keeping = nullptr;
  state.step_ahead.reset();
  state.path->forget();
  state.pass.reset();
  state.next.reset();
  const auto& memory = state.options.device_memory;
  auto error = memory ? with_figures(why, *memory) : why;
  answer_all(state, caf::make_message(to_caf(
                        std::move(error).with(fmt::format("rank {}", raw(state.options.rank))))));
}

void step_done(Self* self) {
  auto& state = self->state;
  auto& pass = *state.pass;
  ++state.work;
  state.shared = false;
  pass.end_step();
  if (pass.trains()) {
    auto report = pass.report(SteadyClock::now());
    report.by_devices = std::exchange(state.meets, false);
    if (state.options.on_step) {
      state.options.on_step(report);
    }
    if (!pass.over()) {
      answer_states(self);
    }
    const auto pause = state.options.pause
                           ? state.options.pause(state.options.rank, state.position.global_step)
                           : std::chrono::milliseconds(0);
    if (pause.count() > 0) {
      pass.pause();
      self->delayed_send(self, pause, Ref<Resume>(Resume{state.pass_number}));
      return;
    }
  }
  pump(self);
}

void pump(Self* self) {
  const auto work = self->state.pass->next(SteadyClock::now());
  const bool ends = std::holds_alternative<EpochPass::Finish>(work);
  // A step comes first: what later batches need is asked for while the learner has it.
  if (!ends) {
    std::visit(DoWork{self}, work);
  }
  if (self->state.pass) {
    send_ahead(self);
    ask_ahead(self);
    read_learned_ahead(self);
  }
  if (ends) {
    std::visit(DoWork{self}, work);
  }
}

}  // namespace troupe::trainer
