#include "actors/evaluator.hpp"

#include "actors/batch_client.hpp"
#include "actors/error.hpp"
#include "actors/local_messages.hpp"
#include "actors/offload.hpp"
#include "runtime/feature/tensor_rows.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/all.hpp>

#include <fmt/format.h>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {
namespace {

/// The layer under way, for those who requested it.
struct Layer {
  std::vector<caf::response_promise> promises;  ///< Repeats of the request wait together
  TraceTrack::TimePoint began{};
  std::size_t stores_missing = 0;
};

/// Links that are scored, for those who requested it.
struct LinkPass {
  net::ScoreRequest request;
  std::vector<caf::response_promise> promises;
  TraceTrack::TimePoint began{};
};

bool is_same(const net::ScoreRequest& a, const net::ScoreRequest& b) {
  return a.epoch == b.epoch && a.role == b.role && a.best == b.best;
}

struct EvaluatorState {
  const char* name = "troupe.evaluator";
  std::shared_ptr<const HostContext> host;
  EvaluatorOptions options;
  std::optional<BatchClient> path;
  std::optional<ReplicaClient> holders;
  caf::actor inferrer;
  std::function<caf::actor()> trainer;
  std::optional<ExactInference> inference;
  std::optional<Layer> layer;
  std::optional<ExactLinks> links;  ///< None: seeds are nodes
  std::optional<LinkPass> link_pass;
  std::uint64_t link_passes = 0;                   ///< Begun so far
  std::map<std::uint64_t, EntityQueries> queries;  ///< Of the pass, by batch, that holders count
  /// Until the next inference: a link may ask again for what was answered.
  std::optional<std::pair<net::ScoreRequest, Ref<net::ScoreResult>>> link_scores;
};
using Evaluator = caf::stateful_actor<EvaluatorState>;

void fail(Evaluator* self, const Error& why) {
  if (!self->state.layer) {
    return;
  }
  for (auto& promise : self->state.layer->promises) {
    promise.deliver(to_caf(Error(why).with("exact inference on " + self->state.host->process)));
  }
  self->state.layer.reset();
  self->state.inference->cancel();
  self->state.path->forget();
  self->state.holders->forget_all();  // a late retry would replace the next layer's rows
}

/// Answers to a layer before the one under way are dropped.
bool is_current(const Evaluator* self, std::uint64_t turn) {
  return self->state.layer && self->state.inference->turn() == turn;
}

void finish(Evaluator* self) {
  auto layer = std::move(*self->state.layer);
  self->state.layer.reset();
  self->state.options.trace.slice("infer a layer", layer.began);
  const auto result = self->state.inference->finish();
  for (auto& promise : layer.promises) {
    promise.deliver(Ref<net::InferResult>(net::InferResult(result)));
  }
}

/// All blocks are computed: the holders keep the outputs, for the next layer and for whoever asks.
void store_outputs(Evaluator* self) {
  auto& state = self->state;
  auto& layer = *state.layer;
  const auto outputs = state.inference->outputs();
  layer.stores_missing = outputs.size();
  if (outputs.empty()) {
    return finish(self);
  }
  for (const auto& [key, rows] : outputs) {
    // Where there is another replica its host computes and stores the same: it is not waited for.
    const auto& holders = state.host->holders[raw(key.first)];
    const bool replicated = holders->actors.size() > 1;
    state.holders->request_nearest<net::Done>(
        holders, !replicated,
        Ref<StoreTensor>(StoreTensor{state.inference->tensor(), key.second, rows}),
        [self, turn = state.inference->turn(), replicated](const Result<Ref<net::Done>>& stored) {
          if (!is_current(self, turn)) {
            return;
          }
          if (!stored && !replicated) {
            return fail(self, stored.error());
          }
          if (--self->state.layer->stores_missing == 0) {
            finish(self);
          }
        });
  }
}

void pump(Evaluator* self);

void compute(Evaluator* self, std::uint64_t block, InferBlock computation, std::uint64_t flow) {
  auto& state = self->state;
  self->request(state.inferrer, caf::infinite, Ref<InferBlock>(std::move(computation)))
      .then(
          [self, block, turn = state.inference->turn(), flow,
           began = state.options.trace.now()](const Ref<BlockInferred>& done) {
            auto& after = self->state;
            const bool there = after.options.inference.device.has_value();
            after.options.trace.slice(there ? "compute a block on a device" : "compute a block",
                                      began, flow);
            if (!is_current(self, turn)) {
              return;
            }
            after.inference->computed(block, done->edges);
            if (after.options.on_block) {
              after.options.on_block(after.inference->progress());
            }
            pump(self);
          },
          [self, turn = state.inference->turn()](const caf::error& error) {
            if (is_current(self, turn)) {
              fail(self, from_caf(error));
            }
          });
}

/// \param learned  null: there was nothing to read
void compute_inputs(Evaluator* self, std::uint64_t block, std::uint64_t flow,
                    const std::shared_ptr<const LearnedRows>& learned) {
  auto& inference = *self->state.inference;
  inference.arrived(block);
  auto computation = inference.input_computation(block, learned);
  if (!computation) {
    return fail(self, computation.error());
  }
  compute(self, block, *std::move(computation), flow);
}

/// Rows of what is learned of a part, for the first layer.
void read_learned(Evaluator* self, ExactInference::Ask asked) {
  auto& state = self->state;
  if (!asked.read) {
    return compute_inputs(self, asked.block, asked.flow, nullptr);
  }
  state.holders->request<LearnedRows>(
      state.host->holders[raw(asked.part)], Ref<ReadLearned>(*std::move(asked.read)),
      [self, block = asked.block, flow = asked.flow,
       turn = state.inference->turn()](const Result<Ref<LearnedRows>>& rows) {
        if (!is_current(self, turn)) {
          return;
        }
        if (!rows) {
          return fail(self, rows.error());
        }
        compute_inputs(self, block, flow, std::make_shared<const LearnedRows>(**rows));
      });
}

void ask(Evaluator* self, ExactInference::Ask asked) {
  auto& state = self->state;
  const auto block = asked.block;
  const auto flow = asked.flow;
  if (state.inference->makes_inputs()) {
    return read_learned(self, std::move(asked));
  }
  if (!asked.request) {
    state.inference->arrived(block);
    return compute(self, block, state.inference->computation(block, nullptr), flow);
  }
  state.path->ask(block, Ref<SampleBatch>(*std::move(asked.request)),
                  [self, block, flow](const Result<Ref<ReadyBatch>>& ready) {
                    if (!ready) {
                      return fail(self, ready.error());
                    }
                    auto& inference = *self->state.inference;
                    inference.arrived(block);
                    compute(self, block, inference.computation(block, *ready), flow);
                  });
}

void pump(Evaluator* self) {
  auto& inference = *self->state.inference;
  for (auto& asked : inference.next()) {
    ask(self, std::move(asked));
  }
  if (inference.done()) {
    store_outputs(self);
  }
}

void begin_layer(Evaluator* self) {
  self->state.inference->begin(self->state.inference->request().layer);
  pump(self);
}

/// The first layer begins with the trainer's answer.
void read_parameters(Evaluator* self) {
  auto& state = self->state;
  const auto trainer = state.trainer();
  if (!trainer) {
    return fail(self, Error(Errc::peer_lost, "there is no trainer to read parameters from"));
  }
  const auto turn = state.inference->turn();
  self->request(trainer, state.host->request_deadline,
                Ref<net::ReadParameters>(net::ReadParameters{state.inference->request().best}))
      .then(
          [self, turn](const Ref<net::ParameterVector>& parameters) {
            if (!is_current(self, turn)) {
              return;
            }
            if (const auto set = self->state.inference->set_parameters(parameters->values); !set) {
              return fail(self, set.error());
            }
            self->state.inference->set_learned(parameters->generation, parameters->step);
            begin_layer(self);
          },
          [self, turn](const caf::error& error) {
            if (is_current(self, turn)) {
              fail(self, from_caf(error).with("reading the parameters of this host's trainer"));
            }
          });
}

// ---- links ----

void end_links(Evaluator* self, const caf::message& answer) {
  auto pass = *std::exchange(self->state.link_pass, std::nullopt);
  for (auto& promise : pass.promises) {
    promise.deliver(answer);
  }
}

void fail_links(Evaluator* self, const Error& why) {
  if (!self->state.link_pass) {
    return;
  }
  self->state.path->forget();
  self->state.queries.clear();
  end_links(self, caf::make_message(
                      to_caf(Error(why).with("scores of links on " + self->state.host->process))));
}

/// Answers to a pass before the one under way are dropped.
bool is_current_pass(const Evaluator* self, std::uint64_t pass) {
  return self->state.link_pass && self->state.link_passes == pass;
}

void pump_links(Evaluator* self);

/// The batch's links have all their numbers.
void end_batch(Evaluator* self, std::uint64_t block) {
  self->state.links->computed(block);
  pump_links(self);
}

/// Asks the holders of all nodes how many rows are above and level with the ends of a batch's links.
void rank_links(Evaluator* self, std::uint64_t block) {
  auto& state = self->state;
  const auto& asked = state.queries.emplace(block, state.links->queries(block)).first->second;
  const auto& questions = asked.questions();
  if (questions.empty()) {
    state.queries.erase(block);
    return end_batch(self, block);
  }
  for (std::size_t q = 0; q < questions.size(); ++q) {
    state.holders->request<EntityCounts>(
        state.host->holders[raw(questions[q].part)],
        Ref<RankEntities>(RankEntities(questions[q].request)),
        [self, block, q, pass = state.link_passes](const Result<Ref<EntityCounts>>& counts) {
          auto& after = self->state;
          if (!is_current_pass(self, pass)) {
            return;
          }
          auto& queries = after.queries.at(block);
          const Status taken = counts ? queries.answer(q, **counts) : Status(counts.error());
          if (!taken) {
            return fail_links(self, taken.error());
          }
          if (queries.done()) {
            after.links->rank(block, queries.take());
            after.queries.erase(block);
            end_batch(self, block);
          }
        });
  }
}

void compute_links(Evaluator* self, std::uint64_t block, const Ref<ReadyBatch>& ready) {
  auto& state = self->state;
  self->request(state.inferrer, caf::infinite,
                Ref<InferBlock>(state.links->computation(block, ready)))
      .then(
          [self, block, pass = state.link_passes](const Ref<BlockInferred>&) {
            if (is_current_pass(self, pass)) {
              self->state.links->ranks() ? rank_links(self, block) : end_batch(self, block);
            }
          },
          [self, pass = state.link_passes](const caf::error& error) {
            if (is_current_pass(self, pass)) {
              fail_links(self, from_caf(error));
            }
          });
}

void pump_links(Evaluator* self) {
  auto& state = self->state;
  for (auto& asked : state.links->next()) {
    state.path->ask(asked.block, Ref<SampleBatch>(*std::move(asked.request)),
                    [self, block = asked.block](const Result<Ref<ReadyBatch>>& ready) {
                      if (!ready) {
                        return fail_links(self, ready.error());
                      }
                      compute_links(self, block, *ready);
                    });
  }
  if (state.links->done()) {
    state.options.trace.slice("score links", state.link_pass->began);
    Ref<net::ScoreResult> scores(state.links->finish());
    state.link_scores.emplace(state.link_pass->request, scores);
    end_links(self, caf::make_message(scores));
  }
}

void score_links(Evaluator* self, const net::ScoreRequest& request) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (state.link_pass && is_same(state.link_pass->request, request)) {
    state.link_pass->promises.push_back(std::move(promise));
    return;
  }
  if (!state.link_pass && state.link_scores && is_same(state.link_scores->first, request)) {
    promise.deliver(state.link_scores->second);
    return;
  }
  fail_links(self, Error(Errc::cancelled, "other scores were asked for"));
  if (state.layer || !state.inference->complete()) {
    promise.deliver(to_caf(Error(Errc::failed_precondition,
                                 fmt::format("evaluator of {}: asked for scores of \"{}\" before "
                                             "exact inference",
                                             state.host->process, request.role))));
    return;
  }
  if (const auto begun = state.links->begin(request.role, state.inference->parameters(),
                                            state.inference->tensor());
      !begun) {
    promise.deliver(to_caf(begun.error()));
    return;
  }
  ++state.link_passes;
  state.link_pass.emplace(LinkPass{request, {std::move(promise)}, state.options.trace.now()});
  pump_links(self);
}

void infer(Evaluator* self, const net::InferRequest& request) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  fail_links(self, Error(Errc::cancelled, "a layer was asked for"));
  if (state.layer && state.inference->answers(request)) {
    state.layer->promises.push_back(std::move(promise));
    return;
  }
  if (const auto result = state.inference->finished(request); result && !state.layer) {
    promise.deliver(Ref<net::InferResult>(*result));
    return;
  }
  fail(self, Error(Errc::cancelled, "another layer was asked for"));
  state.link_scores.reset();
  if (const auto accepted = state.inference->accept(request); !accepted) {
    promise.deliver(to_caf(accepted.error()));
    return;
  }
  auto& layer = state.layer.emplace();
  layer.promises.push_back(std::move(promise));
  layer.began = state.options.trace.now();
  if (request.layer > 0) {
    return begin_layer(self);
  }
  read_parameters(self);
}

void on_down(Evaluator* self, const caf::down_msg& down) {
  self->state.holders->on_down(down);
  if (const auto mended = self->state.path->on_down(down); !mended) {
    self->quit(to_caf(mended.error()));
  }
}

caf::behavior evaluator(Evaluator* self, std::shared_ptr<const HostContext> host,
                        EvaluatorOptions options, SpawnDataPath data_path, caf::actor inferrer,
                        std::function<caf::actor()> trainer) {
  auto& state = self->state;
  state.inference.emplace(options.inference, inference_host(host, options.trace.on()));
  if (!options.links.orders.empty()) {
    state.links.emplace(options.links, options.inference.network, host->graph->node_types.size());
  }
  state.host = std::move(host);
  state.options = std::move(options);
  state.inferrer = std::move(inferrer);
  self->link_to(state.inferrer);
  state.trainer = std::move(trainer);
  state.path.emplace(self, std::move(data_path));
  state.holders.emplace(self);
  self->set_down_handler([self](const caf::down_msg& down) { on_down(self, down); });
  return {
      [self](const Ref<net::InferRequest>& request) { infer(self, *request); },
      [self](const Ref<net::ScoreRequest>& request) {
        const bool of_nodes = self->state.options.inference.seeds.contains(request->role);
        if (self->state.links && !of_nodes) {
          return score_links(self, *request);
        }
        auto promise = self->make_response_promise();
        deliver(promise, self->state.inference->scores(request->role));
      },
      [self](const Ref<net::Ping>&) {
        const auto& inference = *self->state.inference;
        const bool computes = self->state.link_pass && !self->state.links->waits();
        return Ref<net::Pong>(
            net::Pong{.waits = !computes && (!self->state.layer || inference.waits()),
                      .work = inference.blocks_done()});
      },
      run_continuation,
  };
}

}  // namespace

InferenceHost inference_host(const std::shared_ptr<const HostContext>& host, bool traced) {
  auto held = host->parts;
  std::erase_if(held, [&](const auto& part) { return host->mapped.contains(part.first); });
  return {host->process,
          host->graph,
          host->book,
          std::move(held),
          [host](PartId part) { return host->scores(part); },
          host->host,
          traced};
}

caf::actor spawn_evaluator(caf::actor_system& system, std::shared_ptr<const HostContext> host,
                           EvaluatorOptions options, SpawnDataPath data_path, caf::actor inferrer,
                           std::function<caf::actor()> trainer) {
  return system.spawn(evaluator, std::move(host), std::move(options), std::move(data_path),
                      std::move(inferrer), std::move(trainer));
}

}  // namespace troupe
