#include "actors/evaluator.hpp"

#include "actors/error.hpp"
#include "actors/local_messages.hpp"
#include "actors/offload.hpp"
#include "runtime/feature/tensor_rows.hpp"
#include "runtime/net/messages.hpp"
#include "runtime/nn/scores.hpp"
#include "runtime/run/inference_blocks.hpp"

#include <caf/all.hpp>

#include <algorithm>
#include <deque>
#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::size_t max_in_flight = 2;

/// Rows that a stage makes: of one node type in one part.
using OutputKey = std::pair<PartId, NodeTypeId>;

struct BlockWork {
  OutputKey output{};
  InferenceBlock block;
};

/// One layer under way.
struct Layer {
  std::vector<caf::response_promise> promises;  ///< repeats of the request wait together
  std::uint64_t id = 0;                         ///< what belongs to an earlier one is dropped
  net::InferRequest request;
  std::uint32_t number = 0;
  std::shared_ptr<const SampleOptions> sample;
  std::shared_ptr<const CollectOptions> collect;
  TraceTrack::TimePoint began{};
  std::deque<BlockWork> blocks_left;
  std::map<std::uint64_t, BlockWork> asked;  ///< of the data path, and not here
  std::uint64_t next_block = 0;
  std::size_t in_flight = 0;
  std::size_t stores_missing = 0;
  std::map<OutputKey, std::shared_ptr<Matrix>> outputs;
  std::uint64_t work_done = 0;
  net::InferResult result;
};

struct EvaluatorState {
  const char* name = "troupe.evaluator";
  std::shared_ptr<const HostContext> host;
  EvaluatorOptions options;
  std::unique_ptr<DataPathKeeper> path;
  std::function<caf::actor()> trainer;
  std::vector<nn::InferStage> stages;
  Segment parameters;  ///< float32; empty: not read yet
  std::optional<Layer> layer;
  std::uint64_t next_layer = 0;
  std::uint64_t blocks_done = 0;
  std::optional<std::pair<net::InferRequest, net::InferResult>> last;
  std::map<OutputKey, std::shared_ptr<const Matrix>>
      logits;  ///< of the last layer, when it is done
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
}

bool is_current(const Evaluator* self, std::uint64_t layer) {
  return self->state.layer && self->state.layer->id == layer;
}

void pump(Evaluator* self);

void finish(Evaluator* self) {
  auto layer = std::move(*self->state.layer);
  self->state.layer.reset();
  self->state.options.trace.slice("infer a layer", layer.began);
  self->state.last = std::pair(layer.request, layer.result);
  for (auto& promise : layer.promises) {
    promise.deliver(Ref<net::InferResult>(layer.result));
  }
}

/// All blocks are computed: the holders keep the outputs, for the next layer and for whoever asks.
void store_outputs(Evaluator* self) {
  auto& state = self->state;
  auto& layer = *state.layer;
  const bool last = layer.number + 1 == state.stages.size();
  layer.stores_missing = layer.outputs.size();
  if (layer.outputs.empty()) {
    return finish(self);
  }
  for (const auto& [key, rows] : layer.outputs) {
    if (last) {
      state.logits[key] = rows;
    }
    const auto stored = [self, id = layer.id] {
      if (is_current(self, id) && --self->state.layer->stores_missing == 0) {
        finish(self);
      }
    };
    self->request(state.host->holders[raw(key.first)], caf::infinite,
                  Ref<StoreTensor>(StoreTensor{layer.number + 1, key.second, rows}))
        .then([stored](const Ref<net::Done>&) { stored(); },
              [self, stored, id = layer.id](const caf::error& error) {
                if (self->state.host->replicated) {
                  stored();  // another replica's host computes and keeps the same
                } else if (is_current(self, id)) {
                  fail(self, from_caf(error));
                }
              });
  }
}

const nn::InferStage::Output& output_of(const nn::InferStage& stage, NodeTypeId type) {
  return *std::ranges::find(stage.outputs, type, &nn::InferStage::Output::type);
}

/// Node type whose rows an edge type brings.
NodeTypeId source_of(const EvaluatorState& state, EdgeTypeId edge) {
  return state.options.network->options().types.edges[raw(edge)].source;
}

/// Columns of the rows that a stage reads for an output: those of its own type and of its sources.
std::uint64_t read_cols(const EvaluatorState& state, const nn::InferStage& stage,
                        const nn::InferStage::Output& output) {
  std::uint64_t cols = stage.in_cols[raw(output.type)];
  for (const auto e : output.edges) {
    cols = std::max(cols, stage.in_cols[raw(source_of(state, e))]);
  }
  return cols;
}

/// Work of a stage on the nodes of all parts that lie here.
std::uint64_t work_of(const EvaluatorState& state, const nn::InferStage& stage) {
  std::uint64_t work = 0;
  for (const auto& [id, part] : state.host->parts) {
    for (const auto& output : stage.outputs) {
      std::uint64_t edges = 0;
      for (const auto e : output.edges) {
        edges += part->edges_of(e).lists(state.options.dir).neighbours.size();
      }
      work += inference_work(stage, read_cols(state, stage, output), output.cols,
                             part->nodes_of(output.type).count, edges);
    }
  }
  return work;
}

void report_progress(const EvaluatorState& state) {
  if (!state.options.on_block) {
    return;
  }
  const auto& layer = *state.layer;
  InferenceReport report{.layer = layer.number,
                         .layers = static_cast<std::uint32_t>(state.stages.size())};
  for (std::uint32_t i = 0; i < report.layers; ++i) {
    const auto work = work_of(state, state.stages[i]);
    report.total += work;
    report.done += i < layer.number ? work : 0;
  }
  report.done += layer.work_done;
  state.options.on_block(report);
}

void block_done(Evaluator* self, const BlockWork& work, std::uint64_t edges) {
  auto& layer = *self->state.layer;
  layer.result.nodes += work.block.count;
  layer.result.edges += edges;
  const auto& stage = self->state.stages[layer.number];
  const auto& output = output_of(stage, work.output.second);
  layer.work_done += inference_work(stage, read_cols(self->state, stage, output), output.cols,
                                    work.block.count, edges);
  ++self->state.blocks_done;
  --layer.in_flight;
  report_progress(self->state);
  pump(self);
}

/// A batch of one hop as a stage takes it; borrows the batch.
nn::InferInput infer_input(const Batch& batch, const nn::InferStage::Output& output,
                           std::uint32_t stage, bool embeddings) {
  nn::InferInput input;
  input.stage = stage;
  input.type = output.type;
  input.embeddings = embeddings;
  input.blocks.resize(batch.sampled->edges.size());
  for (const auto e : output.edges) {
    input.blocks[raw(e)] = edge_block(*batch.sampled, e, 0, 1);
  }
  for (const auto& rows : batch.rows) {
    input.rows.push_back(rows.features.view());
  }
  return input;
}

void compute(Evaluator* self, const BlockWork& work, const Ref<ReadyBatch>& ready,
             std::uint64_t flow) {
  auto& state = self->state;
  const auto& layer = *state.layer;
  const bool embeddings = state.options.embeddings && layer.number + 1 == state.stages.size();
  offload(
      self, *state.host->executor,
      [network = state.options.network, executor = state.host->executor,
       parameters = state.parameters, number = layer.number,
       output = output_of(state.stages[layer.number], work.output.second),
       to = layer.outputs.at(work.output), work, ready, embeddings] {
        const auto& batch = ready->batch;
        const auto rows = network->infer(*executor, parameters.as<float>(),
                                         infer_input(batch, output, number, embeddings));
        std::ranges::copy(rows.view().flat(),
                          to->view().slice(work.block.first, work.block.count).data);
        return batch.sampled->num_edges();
      },
      [self, work, id = layer.id, flow, began = state.options.trace.now()](std::uint64_t edges) {
        self->state.options.trace.slice("compute a block", began, flow);
        if (is_current(self, id)) {
          block_done(self, work, edges);
        }
      });
}

/// A block in the trace. Trainers' batches have other numbers: theirs lack the highest bit.
std::uint64_t flow_of(const EvaluatorState& state, const Layer& layer, std::uint64_t block) {
  const std::uint64_t host = raw(state.host->host) & 0x7FFFU;
  const auto number = (host << 48) | ((layer.id & 0xFFFFU) << 32) | (block & 0xFFFFFFFFU);
  return state.options.trace.on() ? number | std::uint64_t{1} << 63 : 0;
}

void ask(Evaluator* self, std::uint64_t block, const BlockWork& work) {
  auto& state = self->state;
  auto& layer = *state.layer;
  const auto [part, type] = work.output;
  const auto first = state.host->parts.at(part)->nodes_of(type).first;
  SampleBatch message;
  message.key = {Purpose::evaluate, 0, work.block.first};
  message.seed_type = type;
  message.sample = layer.sample;
  message.collect = layer.collect;
  for (std::uint64_t i = 0; i < work.block.count; ++i) {
    message.seeds.push_back(advance(first, work.block.first + i));
  }
  const auto flow = message.flow = flow_of(state, layer, block);
  layer.asked.insert_or_assign(block, work);
  const auto is_mine = [self, id = layer.id, path = state.path->incarnation()] {
    return is_current(self, id) && self->state.path->incarnation() == path;
  };
  self->request(state.path->sampler(block), caf::infinite, Ref<SampleBatch>(std::move(message)))
      .then(
          [self, block, work, flow, is_mine](const Ref<ReadyBatch>& ready) {
            if (is_mine()) {
              self->state.path->batch_arrived();
              self->state.layer->asked.erase(block);
              compute(self, work, ready, flow);
            }
          },
          [self, is_mine](const caf::error& error) {
            if (is_mine()) {
              const auto why = from_caf(error);
              if (why.code() != Errc::peer_lost) {  // that is the down handler's business
                fail(self, why);
              }
            }
          });
}

void pump(Evaluator* self) {
  auto& layer = *self->state.layer;
  while (!layer.blocks_left.empty() && layer.in_flight < max_in_flight) {
    const auto work = layer.blocks_left.front();
    layer.blocks_left.pop_front();
    ++layer.in_flight;
    ask(self, layer.next_block++, work);
  }
  if (layer.blocks_left.empty() && layer.in_flight == 0) {
    store_outputs(self);
  }
}

std::shared_ptr<const CollectOptions> stage_inputs(const EvaluatorState& state,
                                                   std::uint32_t number) {
  const auto& stage = state.stages[number];
  CollectOptions collect;
  collect.with_labels = false;
  collect.with_original_ids = false;
  collect.digest = DigestMode::off;
  collect.seeds_only = !stage.neighbor_rows;
  if (number > 0) {
    collect.source = {RowSource::Kind::tensor, number};
  }
  for (std::size_t t = 0; t < stage.in_cols.size(); ++t) {
    const bool features = number == 0 && stage.in_cols[t] > 0;
    collect.decoders.push_back(features ? state.options.decoders[t]
                                        : RowDecoder::plain(stage.in_cols[t]));
  }
  return std::make_shared<const CollectOptions>(std::move(collect));
}

/// All neighbors along the edge types that a stage reads.
std::shared_ptr<const SampleOptions> stage_sample(const EvaluatorState& state,
                                                  const nn::InferStage& stage) {
  SampleOptions sample;
  sample.dir = state.options.dir;
  auto& fanout = sample.fanout.emplace_back(state.host->graph->edge_types.size(), 0);
  for (const auto& output : stage.outputs) {
    for (const auto e : output.edges) {
      fanout[raw(e)] = all_neighbours;
    }
  }
  return std::make_shared<const SampleOptions>(std::move(sample));
}

BlockInputs block_inputs(const EvaluatorState& state, const Layer& layer, const Part& part,
                         const nn::InferStage::Output& output) {
  BlockInputs inputs{.rows = {}, .along = {}, .own = output.type};
  const auto& graph = *state.host->graph;
  for (std::size_t t = 0; t < graph.node_types.size(); ++t) {
    inputs.rows.push_back({state.host->book->count(static_cast<NodeTypeId>(t)),
                           layer.collect->decoders[t].cols() * sizeof(float)});
  }
  for (const auto e : output.edges) {
    inputs.along.push_back({&part.edges_of(e).lists(state.options.dir), source_of(state, e)});
  }
  return inputs;
}

void begin_layer(Evaluator* self) {
  auto& state = self->state;
  auto& layer = *state.layer;
  const auto& stage = state.stages[layer.number];
  layer.sample = stage_sample(state, stage);
  layer.collect = stage_inputs(state, layer.number);
  for (const auto& [id, part] : state.host->parts) {
    for (const auto& output : stage.outputs) {
      const auto nodes = part->nodes_of(output.type).count;
      layer.outputs[{id, output.type}] = std::make_shared<Matrix>(nodes, output.cols);
      for (const auto& block : inference_blocks(block_inputs(state, layer, *part, output), nodes,
                                                state.options.block_bytes)) {
        layer.blocks_left.push_back({{id, output.type}, block});
      }
    }
  }
  pump(self);
}

bool is_same(const net::InferRequest& a, const net::InferRequest& b) {
  return a.round == b.round && a.layer == b.layer && a.best == b.best;
}

/// The first layer begins with the trainer's answer.
void take_parameters(Evaluator* self, const Segment& values) {
  const auto expected = self->state.options.network->num_parameters() * sizeof(float);
  if (values.bytes.size() != expected) {
    return fail(self, Error(Errc::data_corruption,
                            fmt::format("parameters of the trainer: expected {} bytes, found {}",
                                        expected, values.bytes.size())));
  }
  self->state.parameters = values;
  begin_layer(self);
}

void infer(Evaluator* self, const net::InferRequest& request) {
  auto& state = self->state;
  auto promise = self->make_response_promise();
  if (state.layer && is_same(state.layer->request, request)) {
    state.layer->promises.push_back(std::move(promise));
    return;
  }
  if (!state.layer && state.last && is_same(state.last->first, request)) {
    promise.deliver(Ref<net::InferResult>(state.last->second));
    return;
  }
  fail(self, Error(Errc::cancelled, "another layer was asked for"));
  if (request.layer >= state.stages.size() || (request.layer > 0 && state.parameters.empty())) {
    promise.deliver(
        to_caf(Error(Errc::failed_precondition,
                     fmt::format("evaluator of {}: asked for layer {} of {} out of turn",
                                 state.host->process, request.layer, state.stages.size()))));
    return;
  }
  auto& layer = state.layer.emplace();
  layer.promises.push_back(std::move(promise));
  layer.id = state.next_layer++;
  layer.request = request;
  layer.number = request.layer;
  layer.began = state.options.trace.now();
  if (request.layer > 0) {
    return begin_layer(self);
  }
  state.logits.clear();
  const auto trainer = state.trainer();
  if (!trainer) {
    return fail(self, Error(Errc::peer_lost, "there is no trainer to read parameters from"));
  }
  self->request(trainer, state.host->request_deadline,
                Ref<net::ReadParameters>(net::ReadParameters{request.best}))
      .then(
          [self, id = layer.id](const Ref<net::ParameterVector>& parameters) {
            if (is_current(self, id)) {
              take_parameters(self, parameters->values);
            }
          },
          [self, id = layer.id](const caf::error& error) {
            if (is_current(self, id)) {
              fail(self, from_caf(error));
            }
          });
}

Result<net::ScoreResult> scores(const EvaluatorState& state, const std::string& role) {
  const auto seeds = state.options.seeds.find(role);
  const auto type = seeds == state.options.seeds.end() ? NodeTypeId{} : seeds->second->node_type;
  const auto of_type = std::ranges::count_if(
      state.logits, [type](const auto& entry) { return entry.first.second == type; });
  if (seeds == state.options.seeds.end() ||
      static_cast<std::size_t>(of_type) != state.host->parts.size()) {
    return Error(Errc::failed_precondition,
                 fmt::format("evaluator of {}: asked for scores of \"{}\" before exact "
                             "inference, or with no such seeds",
                             state.host->process, role));
  }
  net::ScoreResult result;
  result.cols = static_cast<std::uint32_t>(output_of(state.stages.back(), type).cols);
  std::vector<float> outputs;
  for (const auto& [key, logits] : state.logits) {
    const auto id = key.first;
    if (key.second != type || !state.host->scores(id)) {
      continue;  // another host has this replica's scores
    }
    const auto& nodes = state.host->parts.at(id)->nodes_of(type);
    for (const auto position : owned_positions(seeds->second->global, nodes)) {
      const auto local = nodes.local(seeds->second->global[position]);
      const auto row = logits->view().row(local);
      outputs.insert(outputs.end(), row.begin(), row.end());
      result.positions.push_back(position);
      if (!nodes.targets.empty()) {
        const auto width = nodes.targets.size() / nodes.count;
        const auto known = nn::known_labels(nodes.targets.subspan(local * width, width));
        result.labels.insert(result.labels.end(), known.begin(), known.end());
      } else {
        result.labels.push_back(nodes.labels.empty() ? -1 : nodes.labels[local]);
      }
    }
  }
  result.outputs = Segment::of(std::move(outputs));
  return result;
}

/// A request that an actor leaves open when it dies is never answered: the data path is watched.
void on_down(Evaluator* self, const caf::down_msg& down) {
  auto& state = self->state;
  if (!state.path->owns(down.source)) {
    return;
  }
  if (const auto restarted = state.path->restart(self, from_caf(down.reason)); !restarted) {
    fail(self, restarted.error());
    self->quit(to_caf(restarted.error()));
  } else if (state.layer) {
    const auto again = state.layer->asked;
    for (const auto& [block, work] : again) {
      ask(self, block, work);
    }
  }
}

caf::behavior evaluator(Evaluator* self, std::shared_ptr<const HostContext> host,
                        EvaluatorOptions options, SpawnDataPath data_path,
                        std::function<caf::actor()> trainer) {
  self->state.host = std::move(host);
  self->state.options = std::move(options);
  self->state.stages = stages_of(*self->state.options.network, self->state.options.embeddings);
  self->state.trainer = std::move(trainer);
  self->state.path = std::make_unique<DataPathKeeper>(std::move(data_path));
  self->state.path->start(self);
  self->set_down_handler([self](const caf::down_msg& down) { on_down(self, down); });
  return {
      [self](const Ref<net::InferRequest>& request) { infer(self, *request); },
      [self](const Ref<net::ScoreRequest>& request) {
        auto promise = self->make_response_promise();
        deliver(promise, scores(self->state, request->role));
      },
      [self](const Ref<net::Ping>&) {
        const auto& layer = self->state.layer;
        const bool waits = !layer || layer->asked.size() == layer->in_flight;
        return Ref<net::Pong>(net::Pong{.waits = waits, .work = self->state.blocks_done});
      },
      run_continuation,
  };
}

}  // namespace

std::vector<nn::InferStage> stages_of(const nn::Network& network, bool embeddings) {
  return embeddings ? network.embedding_stages() : network.infer_stages();
}

caf::actor spawn_evaluator(caf::actor_system& system, std::shared_ptr<const HostContext> host,
                           EvaluatorOptions options, SpawnDataPath data_path,
                           std::function<caf::actor()> trainer) {
  return system.spawn(evaluator, std::move(host), std::move(options), std::move(data_path),
                      std::move(trainer));
}

}  // namespace troupe
