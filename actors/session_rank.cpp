#include "actors/session_rank.hpp"

#include "actors/ask_all.hpp"
#include "actors/error.hpp"
#include "actors/offload.hpp"
#include "actors/session_rank_state.hpp"
#include "runtime/sample/links/graph_questions.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>

namespace troupe {
namespace session_rank {

std::string rank_name(const State& state) {
  return fmt::format("rank {}", raw(state.options.rank));
}

namespace {

void on_down(Self* self, const caf::down_msg& down) {
  auto& state = self->state;
  state.holders->on_down(down);
  state.learned->on_down(down);
  if (!state.path->on_down(down)) {
    state.path->start();  // the user's program may try again
  }
}

// ---- states ----

void answer_takes(State& state) {
  std::erase_if(state.takes, [&](WaitingTake& waiting) {
    const bool due = state.offered && state.offered->global_step > waiting.request.after_step;
    if (due) {
      waiting.promise.deliver(Ref<net::StateReply>(net::StateReply{state.offered}));
    }
    return due;
  });
  if (state.ended) {
    for (auto& waiting : std::exchange(state.takes, {})) {
      waiting.promise.deliver(to_caf(*state.ended));
    }
  }
}

void gather(Self* self, const GatherStates& request) {
  net::TakeState take;
  take.multiple_of = 1;
  take.after_step = request.global_step - 1;
  ask_all<net::StateReply>(
      self, self->state.exchange->peers(), caf::infinite, Ref<net::TakeState>(take),
      [](std::size_t r) { return fmt::format("taking the state of rank {}", r); },
      [promise = self->make_response_promise()](
          const Result<std::vector<Ref<net::StateReply>>>& replies) mutable {
        if (!replies) {
          return promise.deliver(to_caf(replies.error()));
        }
        GatheredStates found;
        for (const auto& reply : *replies) {
          found.states.push_back(reply->state);
        }
        promise.deliver(Ref<GatheredStates>(std::move(found)));
      });
}

// ---- tensors ----

template <class Request>
void tell_holders(Self* self, const TellHolders<Request>& request) {
  auto promise = self->make_response_promise();
  if (request.shares.empty()) {
    return promise.deliver(Ref<net::Done>(net::Done{}));
  }
  std::vector<ReplicaClient::Share<Request>> shares;
  for (const auto& [part, share] : request.shares) {
    shares.emplace_back(self->state.options.holders[raw(part)], share);
  }
  self->state.holders->request_all<net::Done>(
      shares, [promise](const Result<Ref<net::Done>>& done) mutable { deliver(promise, done); });
}

// ---- questions to holders ----

/// Delivers the replies to all questions, or the first error.
template <class Reply, class Request>
void ask_holders(Self* self, const AskHolders<Request>& asked) {
  struct Progress {
    HolderReplies<Reply> found;
    std::size_t missing = 0;
    bool failed = false;
  };
  auto promise = self->make_response_promise();
  const auto count = asked.questions.size();
  if (count == 0) {
    return promise.deliver(Ref<HolderReplies<Reply>>(HolderReplies<Reply>{}));
  }
  const auto progress = std::make_shared<Progress>();
  progress->found.replies.resize(count);
  progress->missing = count;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [part, question] = asked.questions[i];
    self->state.holders->request<Reply>(
        self->state.options.holders[raw(part)], question,
        [promise, progress, i](const Result<Ref<Reply>>& reply) mutable {
          --progress->missing;
          if (progress->failed) {
            return;
          }
          if (!reply) {
            progress->failed = true;
            return promise.deliver(to_caf(reply.error()));
          }
          progress->found.replies[i] = *reply;
          if (progress->missing == 0) {
            promise.deliver(Ref<HolderReplies<Reply>>(std::move(progress->found)));
          }
        });
  }
}

// ---- the end ----

void end(Self* self, const Error& why) {
  auto& state = self->state;
  if (state.ended) {
    return;
  }
  state.ended = why;
  if (state.stream && state.stream->next) {
    state.stream->next->deliver(to_caf(why));
  }
  state.stream.reset();
  state.next.reset();
  state.path->fail_all(why);
  answer_takes(state);
  break_collectives(self, why);
  learned_failed(self, why);
}

CountedEpoch count_epoch(State& state) {
  CountedEpoch counted;
  if (state.stream) {
    counted.counters = state.stream->counters;
  }
  const auto moved = state.learned->take_counts();
  counted.counters.learned_rows += moved.rows;
  counted.counters.learned_bytes += moved.bytes;
  counted.counters.learned_messages += moved.messages;
  return counted;
}

caf::behavior behavior(Self* self, SessionRankOptions options, SpawnDataPath data_path) {
  auto& state = self->state;
  state.options = std::move(options);
  state.ahead = std::make_shared<BatchesAhead>(state.options.ahead);
  state.path.emplace(self, std::move(data_path));
  state.holders.emplace(self);
  state.exchange.emplace(self, state.options.rank, state.options.world);
  state.route.emplace(state.options.rank, state.options.world, state.options.means);
  state.exchange->decide_with([self](std::span<const GradientReducer::Share> shares,
                                     net::GradientSum& sum) { decide(self, shares, sum); });
  state.learned.emplace(self, state.options.learned, state.options.rank,
                        [self](const Error& why) { learned_failed(self, why); });
  state.learned->set_generation(state.options.generation);
  self->set_down_handler([self](const caf::down_msg& down) { on_down(self, down); });
  return {
      [self](const Ref<TrainerPeers>& peers) { self->state.exchange->set_peers(peers->trainers); },
      [self](const Ref<BeginEpoch>& request) { begin_epoch(self, *request); },
      [self](const Ref<NextBatch>&) { next_batch(self); },
      [self](const Ref<CountEpoch>&) { return Ref<CountedEpoch>(count_epoch(self->state)); },
      [self](const Ref<SampleBatch>& request) {
        auto promise = self->make_response_promise();
        if (self->state.ended) {
          return promise.deliver(to_caf(*self->state.ended));
        }
        ask_single(self, request, [promise](const Result<Ref<ReadyBatch>>& ready) mutable {
          deliver(promise, ready);
        });
      },
      [self](const Ref<TellHolders<MakeTensor>>& told) { tell_holders(self, *told); },
      [self](const Ref<TellHolders<WriteTensor>>& told) { tell_holders(self, *told); },
      [self](const Ref<TellHolders<KeepTensors>>& told) { tell_holders(self, *told); },
      [self](const Ref<AskHolders<ReadTensor>>& asked) { ask_holders<TensorRows>(self, *asked); },
      [self](const Ref<AskHolders<CountEdges>>& asked) { ask_holders<EdgesCounted>(self, *asked); },
      [self](const Ref<AskHolders<FindNodes>>& asked) { ask_holders<NodesFound>(self, *asked); },
      [self](const Ref<AskHolders<RowRequest>>& asked) { ask_holders<RowReply>(self, *asked); },
      [self](const Ref<AskHolders<FindEdges>>& asked) { ask_holders<EdgesFound>(self, *asked); },
      [self](const Ref<GatherLearned>& request) { gather_learned(self, *request); },
      [self](const Ref<ShareLearned>& request) { share_learned(self, *request); },
      [self](const Ref<CommandLearned>& request) { command_learned(self, *request); },
      [self](const Ref<DigestAllLearned>& request) { digest_learned(self, *request); },
      [self](const Ref<Contribute>& request) { contribute(self, *request); },
      [self](const Ref<net::GradientChunk>& share) { take_share(self, share); },
      [self](const Ref<OperationDeadline>& deadline) { check_deadline(self, *deadline); },
      [self](const Ref<OfferState>& offer) {
        self->state.offered = offer->state;
        answer_takes(self->state);
        return Ref<net::Done>(net::Done{});
      },
      [self](const Ref<GatherStates>& request) { gather(self, *request); },
      [self](const Ref<net::TakeState>& request) {
        self->state.takes.push_back({*request, self->make_response_promise()});
        answer_takes(self->state);
      },
      [self](const Ref<EndRank>& message) { end(self, message->why); },
      run_continuation,
  };
}

}  // namespace
}  // namespace session_rank

caf::actor spawn_session_rank(caf::actor_system& system, SessionRankOptions options,
                              SpawnDataPath data_path) {
  return system.spawn(session_rank::behavior, std::move(options), std::move(data_path));
}

}  // namespace troupe
