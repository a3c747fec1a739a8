#include "actors/holder.hpp"

#include "actors/error.hpp"
#include "actors/offload.hpp"
#include "runtime/feature/embedding/learned_replica.hpp"
#include "runtime/feature/held_tensors.hpp"
#include "runtime/feature/tensor_rows.hpp"
#include "runtime/run/count_entities.hpp"
#include "runtime/sample/edge_questions.hpp"
#include "runtime/sample/links/graph_questions.hpp"
#include "runtime/sample/one_hop.hpp"
#include "runtime/wire/messages.hpp"
#include "runtime/wire/methods.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>
#include <map>
#include <optional>
#include <random>
#include <type_traits>
#include <variant>

namespace troupe {
namespace {

struct HolderState {
  const char* name = "troupe.holder";
  std::shared_ptr<const Part> part;
  std::shared_ptr<Executor> executor;
  TensorTable tensors;
  HeldTensors held;
  std::optional<LearnedReplica> learned;  ///< None: the job has no learned rows
  std::shared_ptr<const Replicas> others;
  std::optional<ReplicaClient> asks;
  std::map<EmbeddingPart::Ticket, caf::response_promise> learned_promises;
  EmbeddingPart::Ticket next_ticket = 0;
  std::size_t under_way = 0;
  TraceTrack trace;
};

/// What a request's work is called in the trace, and the batch it is for.
struct Traced {
  const char* name = "";
  std::uint64_t flow = 0;
};
using Holder = caf::stateful_actor<HolderState>;

/// Runs `work` off the mailbox and answers the current request with its result.
template <class Work>
void serve(Holder* self, Traced traced, Work work) {
  auto promise = self->make_response_promise();
  if (self->state.under_way == holder_max_under_way) {
    promise.deliver(to_caf(Error(
        Errc::overloaded, fmt::format("holder of part {}: {} requests under way, the most it takes",
                                      raw(self->state.part->id), holder_max_under_way))));
    return;
  }
  ++self->state.under_way;
  offload(self, *self->state.executor, std::move(work),
          [self, promise, traced, began = self->state.trace.now()](auto result) mutable {
            --self->state.under_way;
            self->state.trace.slice(traced.name, began, traced.flow);
            deliver(promise, std::move(result));
          });
}

using Tensors = std::vector<std::shared_ptr<const Matrix>>;  // by section of a request

Result<RowReply> read_rows(const Part& part, const Result<Tensors>& tensors,
                           const RowRequest& request) {
  if (request.source.kind == RowSource::Kind::features) {
    return read_part_rows(part, request);
  }
  if (!tensors) {
    return tensors.error();
  }
  std::vector<const Matrix*> of_sections;
  for (const auto& tensor : *tensors) {
    of_sections.push_back(tensor.get());
  }
  return read_tensor_rows(part, of_sections, request);
}

// ---- learned rows ----

caf::message message_of(EmbeddingPart::Reply reply) {
  return std::visit(
      []<class T>(T& value) {
        if constexpr (std::is_same_v<T, EmbeddingPart::Done>) {
          return caf::make_message(Ref<net::Done>(net::Done{}));
        } else {
          return caf::make_message(Ref<T>(std::move(value)));
        }
      },
      reply);
}

void carry_out(Holder* self, LearnedReplica::Actions actions);

/// Asks another replica.
void ask_other(Holder* self, const LearnedReplica::Question& question) {
  std::visit(
      [&]<class Message>(const Message& message) {
        using Answer = typename std::remove_cvref_t<decltype(net::method_of<Message>)>::Reply;
        auto& state = self->state;
        state.asks->request<Answer>(
            state.others, Ref<Message>(message), [self](const Result<Ref<Answer>>& answer) {
              using Reply = LearnedReplica::Reply;
              carry_out(self, self->state.learned->heard(answer ? Result<Reply>(Reply(**answer))
                                                                : Result<Reply>(answer.error())));
            });
      },
      question);
}

/// Answers, and runs tasks off the mailbox; they are one step of training for some rank.
void carry_out(Holder* self, LearnedReplica::Actions actions) {
  auto& state = self->state;
  if (actions.ask && actions.after.count() == 0) {
    ask_other(self, *actions.ask);
  } else if (actions.ask) {
    self->delayed_send(self, actions.after,
                       Ref<Continuation>(Continuation{
                           [self, question = *actions.ask] { ask_other(self, question); }}));
  }
  for (auto& answer : actions.answers) {
    auto promise = std::move(state.learned_promises.extract(answer.ticket).mapped());
    promise.deliver(answer.reply ? message_of(*std::move(answer.reply))
                                 : caf::make_message(to_caf(answer.reply.error())));
  }
  for (auto& task : actions.tasks) {
    offload_first(
        self, *state.executor,
        [run = std::move(task.run), executor = state.executor] { return run(*executor); },
        [self, id = task.id, name = task.name,
         began = state.trace.now()](Result<EmbeddingPart::Reply> outcome) {
          self->state.trace.slice(name, began, 0);
          carry_out(self, self->state.learned->finished(id, std::move(outcome)));
        });
  }
}

/// \param request  calls the method of LearnedReplica with a ticket
template <class Request>
void take_learned(Holder* self, Request request) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (!state.learned) {
    promise.deliver(to_caf(
        Error(Errc::failed_precondition,
              fmt::format("holder of part {}: the job has no learned rows", raw(state.part->id)))));
    return;
  }
  const auto ticket = state.next_ticket++;
  state.learned_promises.emplace(ticket, std::move(promise));
  carry_out(self, request(*state.learned, ticket));
}

/// Counts rows that exact inference left here.
void rank_tensor(Holder* self, const Ref<RankEntities>& rank) {
  auto tensor = self->state.tensors.find(rank->tensor, rank->node_type);
  serve(self, {"rank nodes", 0},
        [executor = self->state.executor, tensor = std::move(tensor), rank] {
          return tensor ? rank_rows(*executor, *rank, (*tensor)->view())
                        : Result<EntityCounts>(tensor.error());
        });
}

/// Answers the current request.
void answer_done(Holder* self, const Status& status) {
  auto promise = self->make_response_promise();
  deliver(promise, status ? Result<net::Done>(net::Done{}) : Result<net::Done>(status.error()));
}

/// Tensors of a user program: in the mailbox, one operation or read after the other.
caf::message_handler tensors_behavior(Holder* self) {
  return {
      [self](const Ref<MakeTensor>& make) {
        answer_done(self, self->state.held.make(*self->state.part, *make));
      },
      [self](const Ref<WriteTensor>& write) {
        answer_done(self, self->state.held.write(*self->state.part, *write));
      },
      [self](const Ref<ReadTensor>& read) {
        auto promise = self->make_response_promise();
        deliver(promise, self->state.held.read(*self->state.part, *read));
      },
      [self](const Ref<KeepTensors>& keep) {
        answer_done(self, self->state.held.keep(*self->state.part, *keep));
      },
      [self](const Ref<DropTensors>& drop) {
        self->state.held.drop(*drop);
        answer_done(self, ok_status());
      },
      [self](const Ref<ReadTensorCopy>& read) {
        auto promise = self->make_response_promise();
        deliver(promise, self->state.held.read_copy(*self->state.part, *read));
      },
      [self](const Ref<LoadTensors>& piece) {
        answer_done(self, self->state.held.load(*self->state.part, *piece));
      },
  };
}

caf::message_handler learned_rows_behavior(Holder* self) {
  return {
      [self](const Ref<SparseGradients>& share) {
        take_learned(self, [&](LearnedReplica& of, auto ticket) { return of.add(share, ticket); });
      },
      [self](const Ref<ReadLearned>& read) {
        take_learned(self, [&](LearnedReplica& of, auto ticket) { return of.read(read, ticket); });
      },
      [self](const Ref<RankEntities>& rank) {
        if (rank->tensor != 0) {
          return rank_tensor(self, rank);
        }
        take_learned(self, [&](LearnedReplica& of, auto ticket) { return of.rank(rank, ticket); });
      },
      [self](const Ref<KeepLearned>& keep) {
        take_learned(self, [&](LearnedReplica& of, auto ticket) { return of.keep(*keep, ticket); });
      },
      [self](const Ref<BeginLearned>& begin) {
        take_learned(self,
                     [&](LearnedReplica& of, auto ticket) { return of.begin(*begin, ticket); });
      },
      [self](const Ref<ReadCopy>& read) {
        take_learned(self,
                     [&](LearnedReplica& of, auto ticket) { return of.read_copy(*read, ticket); });
      },
      [self](const Ref<LoadCopy>& piece) {
        take_learned(self,
                     [&](LearnedReplica& of, auto ticket) { return of.load(*piece, ticket); });
      },
      [self](const Ref<DigestLearned>& digest) {
        take_learned(self,
                     [&](LearnedReplica& of, auto ticket) { return of.digest(*digest, ticket); });
      },
      [self](const Ref<FollowLearned>& follow) {
        take_learned(self,
                     [&](LearnedReplica& of, auto ticket) { return of.follow(*follow, ticket); });
      },
      [self](const Ref<PullLearned>& pull) {
        take_learned(self, [&](LearnedReplica& of, auto ticket) { return of.pull(*pull, ticket); });
      },
  };
}

/// A number that no other holder has.
std::uint64_t number_of_its_own() {
  std::random_device dice;
  const std::uint64_t high = dice();
  return (high << 32) | dice() | 1U;
}

void start_learned(Holder* self, HolderRows rows) {
  auto& state = self->state;
  if (!rows.plan) {
    return;
  }
  const bool replicated = rows.others && !rows.others->actors.empty();
  state.learned.emplace(state.part, std::move(rows.plan), count_entities,
                        replicated ? number_of_its_own() : 0);
  if (replicated) {
    state.others = std::move(rows.others);
    state.asks.emplace(self);
    self->set_down_handler([self](const caf::down_msg& down) { self->state.asks->on_down(down); });
  }
  if (replicated && rows.replaces_lost) {
    carry_out(self, state.learned->replace_lost());
  }
}

caf::behavior holder(Holder* self, std::shared_ptr<const Part> part,
                     std::shared_ptr<Executor> executor, TraceTrack trace, HolderRows rows) {
  self->state.part = std::move(part);
  self->state.executor = std::move(executor);
  self->state.trace = std::move(trace);
  start_learned(self, std::move(rows));
  return caf::message_handler{
      [self](const Ref<HopRequest>& request) {
        serve(self, {"sample neighbours", request->flow},
              [part = self->state.part, request] { return sample_one_hop(*part, *request); });
      },
      [self](const Ref<FindNodes>& request) {
        serve(self, {"find nodes", request->flow},
              [part = self->state.part, request] { return find_nodes(*part, *request); });
      },
      [self](const Ref<HasEdges>& request) {
        serve(self, {"check edges", request->flow},
              [part = self->state.part, request] { return has_edges(*part, *request); });
      },
      [self](const Ref<CountEdges>& request) {
        serve(self, {"count edges", 0},
              [part = self->state.part, request] { return count_edges(*part, *request); });
      },
      [self](const Ref<FindEdges>& request) {
        serve(self, {"find edges", 0},
              [part = self->state.part, request] { return find_edges(*part, *request); });
      },
      [self](const Ref<RowRequest>& request) {
        auto tensors = request->source.kind == RowSource::Kind::tensor
                           ? self->state.tensors.find(*request)
                           : Result<Tensors>(Tensors{});
        serve(self, {"read rows", request->flow},
              [part = self->state.part, tensors = std::move(tensors), request] {
                return read_rows(*part, tensors, *request);
              });
      },
      [self](const Ref<StoreTensor>& message) {
        answer_done(self, self->state.tensors.store(*self->state.part, *message));
      },
      run_continuation,
  }
      .or_else(tensors_behavior(self))
      .or_else(learned_rows_behavior(self));
}

}  // namespace

caf::actor spawn_holder(caf::actor_system& system, std::shared_ptr<const Part> part,
                        std::shared_ptr<Executor> executor, TraceTrack trace, HolderRows rows) {
  return system.spawn(holder, std::move(part), std::move(executor), std::move(trace),
                      std::move(rows));
}

}  // namespace troupe
