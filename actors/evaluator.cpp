#include "actors/evaluator.hpp"

#include "actors/error.hpp"
#include "actors/local_messages.hpp"
#include "actors/offload.hpp"
#include "runtime/feature/tensor_rows.hpp"
#include "runtime/net/messages.hpp"
#include "runtime/run/inference_blocks.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <deque>
#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::size_t max_in_flight = 2;
constexpr NodeTypeId node_type{0};  // typed graphs have no model yet; the job check says so
constexpr EdgeTypeId edge_type{0};

struct Work {
  PartId part{};
  InferenceBlock block;
};

/// One layer under way.
struct Layer {
  caf::response_promise promise;
  std::uint32_t number = 0;
  std::shared_ptr<const SampleOptions> sample;
  std::shared_ptr<const CollectOptions> collect;
  std::deque<Work> blocks_left;
  std::size_t in_flight = 0;
  std::size_t stores_missing = 0;
  std::map<PartId, std::shared_ptr<Matrix>> outputs;
  net::InferResult result;
};

struct EvaluatorState {
  const char* name = "troupe.evaluator";
  std::shared_ptr<const HostContext> host;
  EvaluatorOptions options;
  caf::actor sampler;
  caf::actor trainer;
  Parameters parameters;
  std::optional<Layer> layer;
  std::map<PartId, std::shared_ptr<const Matrix>> logits;  ///< of the last layer, when it is done
};
using Evaluator = caf::stateful_actor<EvaluatorState>;

void fail(Evaluator* self, const Error& why) {
  if (self->state.layer) {
    self->state.layer->promise.deliver(to_caf(
        Error(why).with(fmt::format("exact inference on host {}", raw(self->state.host->host)))));
    self->state.layer.reset();
  }
}

void pump(Evaluator* self);

void finish(Evaluator* self) {
  auto layer = std::move(*self->state.layer);
  self->state.layer.reset();
  layer.promise.deliver(Ref<net::InferResult>(layer.result));
}

/// All blocks are computed: the holders keep the outputs, for the next layer and for whoever asks.
void store_outputs(Evaluator* self) {
  auto& state = self->state;
  auto& layer = *state.layer;
  const bool last = layer.number + 1 == state.options.model->options().layers;
  layer.stores_missing = layer.outputs.size();
  if (layer.outputs.empty()) {
    return finish(self);
  }
  for (const auto& [part, rows] : layer.outputs) {
    if (last) {
      state.logits[part] = rows;
    }
    self->request(state.host->holders[raw(part)], state.host->request_deadline,
                  Ref<StoreTensor>(StoreTensor{layer.number + 1, node_type, rows}))
        .then(
            [self](const Ref<net::Done>&) {
              if (self->state.layer && --self->state.layer->stores_missing == 0) {
                finish(self);
              }
            },
            [self](const caf::error& error) { fail(self, from_caf(error)); });
  }
}

void block_done(Evaluator* self, const Work& work, std::uint64_t edges) {
  auto& layer = *self->state.layer;
  layer.result.nodes += work.block.count;
  layer.result.edges += edges;
  --layer.in_flight;
  pump(self);
}

void compute(Evaluator* self, const Work& work, const Ref<ReadyBatch>& ready) {
  auto& state = self->state;
  const auto& layer = *state.layer;
  offload(
      self, *state.host->executor,
      [model = state.options.model, executor = state.host->executor, parameters = state.parameters,
       number = layer.number, output = layer.outputs.at(work.part), work, ready] {
        const auto& batch = ready->batch;
        const auto block = layer_block(*batch.sampled, 0, 1);
        const auto rows = model->infer_layer(*executor, *parameters, number, block,
                                             batch.rows[raw(node_type)].features.view());
        std::ranges::copy(rows.view().flat(),
                          output->view().slice(work.block.first, work.block.count).data);
        return batch.sampled->num_edges();
      },
      [self, work](std::uint64_t edges) {
        if (self->state.layer) {
          block_done(self, work, edges);
        }
      });
}

void ask(Evaluator* self, const Work& work) {
  auto& state = self->state;
  auto& layer = *state.layer;
  const auto first = state.host->parts.at(work.part)->nodes_of(node_type).first;
  SampleBatch message;
  message.key = {Purpose::evaluate, 0, work.block.first};
  message.seed_type = node_type;
  message.sample = layer.sample;
  message.collect = layer.collect;
  for (std::uint64_t i = 0; i < work.block.count; ++i) {
    message.seeds.push_back(advance(first, work.block.first + i));
  }
  ++layer.in_flight;
  self->request(state.sampler, caf::infinite, Ref<SampleBatch>(std::move(message)))
      .then(
          [self, work](const Ref<ReadyBatch>& ready) {
            if (self->state.layer) {
              compute(self, work, ready);
            }
          },
          [self](const caf::error& error) { fail(self, from_caf(error)); });
}

void pump(Evaluator* self) {
  auto& layer = *self->state.layer;
  while (!layer.blocks_left.empty() && layer.in_flight < max_in_flight) {
    const auto work = layer.blocks_left.front();
    layer.blocks_left.pop_front();
    ask(self, work);
  }
  if (layer.blocks_left.empty() && layer.in_flight == 0) {
    store_outputs(self);
  }
}

std::shared_ptr<const CollectOptions> layer_inputs(const EvaluatorOptions& options,
                                                   std::uint32_t layer) {
  CollectOptions collect;
  collect.with_labels = false;
  collect.with_original_ids = false;
  if (layer == 0) {
    collect.decoders = options.decoders;
  } else {
    collect.decoders = {RowDecoder::plain(options.model->output_dim(layer - 1))};
    collect.source = {RowSource::Kind::tensor, layer};
  }
  return std::make_shared<const CollectOptions>(std::move(collect));
}

void begin_layer(Evaluator* self) {
  auto& state = self->state;
  auto& layer = *state.layer;
  const auto& options = state.options;
  SampleOptions sample;
  sample.fanout = {{all_neighbours}};
  sample.dir = options.dir;
  layer.sample = std::make_shared<const SampleOptions>(std::move(sample));
  layer.collect = layer_inputs(options, layer.number);
  const auto out_dim = options.model->output_dim(layer.number);
  const auto row_bytes = layer.collect->decoders.front().cols() * sizeof(float);
  const auto total = state.host->book->count(node_type);
  for (const auto& [id, part] : state.host->parts) {
    const auto nodes = part->nodes_of(node_type).count;
    layer.outputs[id] = std::make_shared<Matrix>(nodes, out_dim);
    for (const auto& block : inference_blocks(part->edges_of(edge_type).lists(options.dir), nodes,
                                              total, row_bytes, options.block_bytes)) {
      layer.blocks_left.push_back({id, block});
    }
  }
  pump(self);
}

void infer(Evaluator* self, const net::InferRequest& request) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (state.layer || request.layer >= state.options.model->options().layers ||
      (request.layer > 0 && !state.parameters)) {
    promise.deliver(to_caf(Error(
        Errc::failed_precondition,
        fmt::format("evaluator of host {}: asked for layer {} of {} out of turn",
                    raw(state.host->host), request.layer, state.options.model->options().layers))));
    return;
  }
  auto& layer = state.layer.emplace();
  layer.promise = std::move(promise);
  layer.number = request.layer;
  if (request.layer > 0) {
    return begin_layer(self);
  }
  state.logits.clear();
  self->request(state.trainer, state.host->request_deadline,
                Ref<ReadParameters>(ReadParameters{request.best}))
      .then(
          [self](const Ref<Snapshot>& snapshot) {
            self->state.parameters = snapshot->parameters;
            begin_layer(self);
          },
          [self](const caf::error& error) { fail(self, from_caf(error)); });
}

Result<net::ScoreResult> scores(const EvaluatorState& state, const std::string& role) {
  const auto seeds = state.options.seeds.find(role);
  if (seeds == state.options.seeds.end() || state.logits.size() != state.host->parts.size()) {
    return Error(Errc::failed_precondition,
                 fmt::format("evaluator of host {}: asked for scores of \"{}\" before exact "
                             "inference, or with no such seeds",
                             raw(state.host->host), role));
  }
  net::ScoreResult result;
  result.cols = static_cast<std::uint32_t>(state.options.model->options().out_dim);
  std::vector<float> outputs;
  for (const auto& [id, logits] : state.logits) {
    const auto& nodes = state.host->parts.at(id)->nodes_of(node_type);
    for (const auto position : owned_positions(seeds->second->global, nodes)) {
      const auto local = nodes.local(seeds->second->global[position]);
      const auto row = logits->view().row(local);
      outputs.insert(outputs.end(), row.begin(), row.end());
      result.positions.push_back(position);
      result.labels.push_back(nodes.labels.empty() ? -1 : nodes.labels[local]);
    }
  }
  result.outputs = Segment::of(std::move(outputs));
  return result;
}

caf::behavior evaluator(Evaluator* self, std::shared_ptr<const HostContext> host,
                        EvaluatorOptions options, caf::actor sampler, caf::actor trainer) {
  self->state.host = std::move(host);
  self->state.options = std::move(options);
  self->state.sampler = std::move(sampler);
  self->state.trainer = std::move(trainer);
  // A request that an actor leaves open when it dies is never answered: watch them.
  self->monitor(self->state.sampler);
  self->monitor(self->state.trainer);
  self->set_down_handler([self](const caf::down_msg& down) {
    fail(self, Error(Errc::peer_lost, fmt::format("the sampler or the trainer ended: {}",
                                                  from_caf(down.reason).what())));
    self->quit(down.reason);
  });
  return {
      [self](const Ref<net::InferRequest>& request) { infer(self, *request); },
      [self](const Ref<net::ScoreRequest>& request) {
        auto promise = self->make_response_promise();
        deliver(promise, scores(self->state, request->role));
      },
      run_continuation,
  };
}

}  // namespace

caf::actor spawn_evaluator(caf::actor_system& system, std::shared_ptr<const HostContext> host,
                           EvaluatorOptions options, caf::actor sampler, caf::actor trainer) {
  return system.spawn(evaluator, std::move(host), std::move(options), std::move(sampler),
                      std::move(trainer));
}

}  // namespace troupe
