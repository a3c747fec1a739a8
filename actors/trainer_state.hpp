#pragma once
/// \file trainer_state.hpp
/// What a trainer keeps, and how its parts call each other; only for actors/trainer*.cpp.
#include "actors/batch_client.hpp"
#include "actors/error.hpp"
#include "actors/gradient_exchange.hpp"
#include "actors/learned_rows.hpp"
#include "actors/learner.hpp"
#include "actors/local_messages.hpp"
#include "actors/message.hpp"
#include "actors/trainer.hpp"
#include "runtime/run/epoch_pass.hpp"
#include "runtime/run/reduction_route.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/all.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::trainer {

using SteadyClock = std::chrono::steady_clock;

struct WaitingState {
  net::TakeState request;
  caf::response_promise promise;
};

/// A step that was sent to the learner before the one ahead of it was done.
struct StepAhead {
  BatchKey key;
  std::optional<Result<Ref<Trained>>> answer;             ///< That came before the step's turn
  std::function<void(const Result<Ref<Trained>>&)> then;  ///< Once it is the step's turn
};

/// To itself, a while after it was fenced in this generation.
struct StillFenced {
  std::uint32_t generation = 0;
  Error why;
};

struct State {
  const char* name = "troupe.trainer";
  TrainerOptions options;
  std::optional<BatchClient> path;
  LearnerHandle learner;
  std::optional<GradientExchange> exchange;
  std::optional<ReductionRoute> route;
  std::optional<LearnedRowsClient> learned;

  std::uint32_t generation = 0;
  net::TrainingState position;          ///< without the arrays, which the learner has
  std::shared_ptr<BatchesAhead> ahead;  ///< Of all passes
  std::optional<EpochPass> pass;
  std::optional<EpochPass::Stream> next;  ///< Requested of the next epoch, between two passes
  std::uint64_t next_drops =
      0;  ///< How often such requests were forgotten: an error of an earlier count is ignored
  std::vector<caf::response_promise>
      promises;  ///< Of the pass; repeats of its request wait together
  std::uint64_t pass_number =
      0;                   ///< counts passes and restores: what belongs to an old one is dropped
  std::uint64_t work = 0;  ///< batches that this rank is done with
  bool applying = false;   ///< the learner changes the parameters
  std::shared_ptr<StepAhead> step_ahead;  ///< Null: none is sent before its turn
  bool meets = false;                     ///< in the step under way with a mean that devices make
  bool shared = false;  ///< gradients of learned rows of the step under way have left
  std::optional<std::uint64_t> rows_at_all;  ///< the last step of which all ranks have their rows
  std::uint64_t keeping = 0;  ///< copies of learned rows that holders make: of this step
  std::function<void()> after_keeping = {};  ///< the rest of the step, which must not change them
  std::optional<net::EpochResult> last_epoch;
  /// Until the next pass begins: a link may ask again for what was answered.
  std::optional<std::pair<net::ScoreRequest, Ref<net::ScoreResult>>> last_scores;
  std::vector<WaitingState> states_asked;
};
using Self = caf::stateful_actor<State>;

/// To itself, after a pause that a test has asked for.
struct Resume {
  std::uint64_t pass = 0;
};

// trainer_pass.cpp
/// Ends the pass under way, if any, with an error.
void fail(Self* self, const Error& why);
/// Goes on as far as possible: asks ahead, takes the next batch if it is here and nothing is under way.
void pump(Self* self);
/// The step's parameters are in place: counts it and goes on.
void step_done(Self* self);

// trainer_exchange.cpp
/// Sends gradients of learned rows to their holders, sums the others over the ranks and applies the
/// mean.
/// \param trained  with this rank's share; with one rank, or where vectors stay on devices, `values` is
///   empty: the learner has it, and with one rank may have applied it
void exchange(Self* self, const Trained& trained);
/// The part of it that sums and applies.
void reduce(Self* self, const Trained& trained);
/// The other side: takes a rank's share of the slice that this rank sums.
void take_share(Self* self, const Ref<net::GradientChunk>& share);
/// Completes the sum of that slice; only rank 0's says something. All ranks have shared by then.
void decide(Self* self, std::span<const GradientReducer::Share> shares, net::GradientSum& sum);

// trainer_learned.cpp
/// Calls `then(rows)` with the learned rows of a batch, null if the job has none, if the pass under way is
/// still the same.
void read_learned(Self* self, const Ref<ReadyBatch>& ready, bool best,
                  std::function<void(LearnedRowsClient::Rows)> then);
/// All ranks have their rows of a step, whose gradients follow: those of the step after may be asked for.
/// Earlier such a request could be in the way of one that it waits for, in the window of a link that ranks
/// share.
void all_have_rows(Self* self, std::uint64_t step);
/// Asks for the rows of the next batches as soon as that may be: of one, or of several where rows may be
/// some steps old.
void read_learned_ahead(Self* self);
/// The pass under way, if any, fails: its rows or shares did.
void learned_failed(Self* self, const Error& why);
/// Sends the step's gradients of learned rows, then calls `then()`.
void send_learned(Self* self, const Contribution& mine, std::function<void()> then);
/// Has holders keep learned rows as they are now; from rank 0, else only calls `then`.
void keep_learned(Self* self, const KeepLearned& what, std::function<void(const Status&)> then);
/// Has holders put back learned rows; from rank 0, else only calls `then`.
void restore_learned(Self* self, std::uint64_t step, std::function<void(const Status&)> then);
/// Digests of all learned rows; none but from rank 0.
void digest_learned(Self* self, std::function<void(Result<std::vector<TableDigest>>)> then);

// trainer_state.cpp
void take_state(Self* self, const net::TakeState& request);
/// Answers those whose step has come.
void answer_states(Self* self);
/// Somebody waits for the state after so many steps of the run.
bool state_is_due(const State& state, std::uint64_t global_step);
void restore(Self* self, const Ref<net::Restore>& request);
/// The peers are in a newer generation: a restore puts this rank there too, unless another trainer has
/// its place by now. Ends after `TrainerOptions::fenced_for` without one.
void wait_for_restore(Self* self, const Error& why);

/// Sends `message` to the learner; calls `then(reply or error)` if the pass under way is still the same.
template <class Reply, class Message, class Then>
void ask_learner_for_either(Self* self, Message message, Then then) {
  const auto is_current = [self, pass = self->state.pass_number] {
    return self->state.pass && self->state.pass_number == pass;
  };
  self->request(self->state.learner.actor, caf::infinite, Ref<Message>(std::move(message)))
      .then(
          [is_current, then](const Ref<Reply>& reply) {
            if (is_current()) {
              then(Result<Ref<Reply>>(reply));
            }
          },
          [is_current, then](const caf::error& error) {
            if (is_current()) {
              then(Result<Ref<Reply>>(from_caf(error)));
            }
          });
}

/// Calls `then(reply)`; an error ends the pass.
template <class Reply, class Then>
auto or_fail(Self* self, Then then) {
  return [self, then](const Result<Ref<Reply>>& reply) {
    if (reply) {
      then(**reply);
    } else {
      self->state.applying = false;  // it has changed nothing, or is lost
      fail(self, reply.error());
    }
  };
}

/// Sends `message` to the learner; calls `then(reply)` if the pass under way is still the same.
template <class Reply, class Message, class Then>
void ask_learner(Self* self, Message message, Then then) {
  ask_learner_for_either<Reply>(self, std::move(message), or_fail<Reply>(self, std::move(then)));
}

}  // namespace troupe::trainer
