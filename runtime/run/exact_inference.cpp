#include "runtime/run/exact_inference.hpp"

#include "runtime/nn/ops/cpu_block_ops.hpp"
#include "runtime/nn/ops/tape.hpp"
#include "runtime/run/exact_edge_features.hpp"
#include "runtime/run/forward_input.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::size_t blocks_in_flight = 2;

const nn::InferStage::Output& output_of(const nn::InferStage& stage, NodeTypeId type) {
  return *std::ranges::find(stage.outputs, type, &nn::InferStage::Output::type);
}

/// A batch of one hop as a stage takes it; borrows the batch and features of its edges.
nn::InferInput infer_input(const Batch& batch, std::span<const Matrix> edge_features,
                           const nn::InferStage::Output& output, std::uint32_t stage,
                           bool embeddings) {
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
  for (const auto& rows : edge_features) {
    input.edge_features.push_back(rows.view());
  }
  return input;
}

bool is_same(const net::InferRequest& a, const net::InferRequest& b) {
  return a.round == b.round && a.layer == b.layer && a.best == b.best;
}

}  // namespace

std::vector<nn::InferStage> stages_of(const nn::Network& network, bool embeddings) {
  return embeddings ? network.embedding_stages() : network.infer_stages();
}

ExactInference::ExactInference(ExactInferenceOptions options, InferenceHost host)
    : options_(std::move(options)),
      host_(std::move(host)),
      stages_(stages_of(*options_.network, options_.embeddings)) {
  for (const auto& stage : stages_) {
    work_.push_back(work_of(stage));
  }
}

Status ExactInference::check(std::uint32_t layer) const {
  if (layer >= layers() || (layer > 0 && parameters_.empty())) {
    return Error(Errc::failed_precondition,
                 fmt::format("evaluator of {}: asked for layer {} of {} out of turn", host_.process,
                             layer, layers()));
  }
  return ok_status();
}

Status ExactInference::accept(const net::InferRequest& request) {
  TROUPE_RETURN_IF_ERROR(check(request.layer));
  request_ = request;
  ++turn_;
  return ok_status();
}

bool ExactInference::answers(const net::InferRequest& request) const {
  return turn_ > 0 && is_same(request_, request);
}

std::optional<net::InferResult> ExactInference::finished(const net::InferRequest& request) const {
  return finished_ && is_same(finished_->first, request) ? std::optional(finished_->second)
                                                         : std::nullopt;
}

Status ExactInference::set_parameters(const Segment& values) {
  const auto expected = options_.network->num_parameters() * sizeof(float);
  if (values.bytes.size() != expected) {
    return Error(Errc::data_corruption,
                 fmt::format("parameters of the trainer: expected {} bytes, found {}", expected,
                             values.bytes.size()));
  }
  parameters_ = values;
  return ok_status();
}

/// Node type whose rows an edge type brings.
NodeTypeId ExactInference::source_of(EdgeTypeId edge) const {
  return options_.network->options().types.edges[raw(edge)].source;
}

std::shared_ptr<const CollectOptions> ExactInference::stage_inputs() const {
  CollectOptions collect;
  collect.with_labels = false;
  collect.with_original_ids = false;
  collect.digest = DigestMode::off;
  collect.seeds_only = !stage().neighbor_rows;
  if (reads_tensors()) {
    collect.source = {RowSource::Kind::tensor, layer_};
  }
  for (std::size_t t = 0; t < stage().in_cols.size(); ++t) {
    const bool features = !reads_tensors() && stage().in_cols[t] > 0;
    collect.decoders.push_back(features ? options_.decoders[t]
                                        : RowDecoder::plain(stage().in_cols[t]));
  }
  return std::make_shared<const CollectOptions>(std::move(collect));
}

/// All neighbors along the edge types that a stage reads.
std::shared_ptr<const SampleOptions> ExactInference::stage_sample() const {
  SampleOptions sample;
  sample.dir = options_.dir;
  sample.edge_data.weights = options_.network->options().edge_weights;
  sample.edge_data.entries = options_.edge_decoders != nullptr;
  auto& fanout = sample.fanout.emplace_back(host_.graph->edge_types.size(), 0);
  for (const auto& output : stage().outputs) {
    for (const auto e : output.edges) {
      fanout[raw(e)] = all_neighbours;
    }
  }
  return std::make_shared<const SampleOptions>(std::move(sample));
}

/// Two for each device: one is computed while the other is sampled.
std::size_t ExactInference::most_in_flight() const {
  return blocks_in_flight * (options_.device ? options_.device->devices : 1);
}

void ExactInference::cancel() {
  left_.clear();
  in_flight_.clear();
  outputs_.clear();
  whole_.clear();
}

void ExactInference::make_outputs(const std::vector<nn::InferStage::Output>& outputs) {
  whole_.resize(has_whole_graph() ? host_.graph->node_types.size() : 0);
  for (const auto& output : outputs) {
    if (!whole_.empty()) {
      whole_[raw(output.type)] =
          std::make_shared<Matrix>(host_.book->count(output.type), output.cols);
    }
    for (const auto& [id, part] : host_.parts) {
      const auto& nodes = part->nodes_of(output.type);
      auto& of_part = outputs_[{id, output.type}];
      of_part = whole_.empty()
                    ? Output{std::make_shared<Matrix>(nodes.count, output.cols), 0, nodes.count}
                    : Output{whole_[raw(output.type)], raw(nodes.first), nodes.count};
    }
  }
}

/// Nothing: the layer goes by sampled blocks.
std::optional<std::vector<InPlaceBlock>> ExactInference::blocks_in_place() const {
  const bool has_inputs = !reads_tensors() || (!inputs_.empty() && inputs_layer_ == layer_);
  if (whole_.empty() || !has_inputs || !options_.network->reads_in_place()) {
    return std::nullopt;
  }
  return in_place_blocks({.network = options_.network,
                          .stages = stages_,
                          .stage = layer_,
                          .dir = options_.dir,
                          .decoders = options_.decoders,
                          .parts = host_.parts,
                          .parameters = parameters_,
                          .inputs = reads_tensors() ? inputs_ : WholeRows(),
                          .outputs = whole_,
                          .block_bytes = options_.block_bytes,
                          .device = options_.device});
}

void ExactInference::set_learned(std::uint32_t generation, std::uint64_t step) {
  learned_at_.generation = generation;
  learned_at_.step = step;
  learned_at_.best = request_.best;
}

void ExactInference::begin_inputs() {
  inputs_.clear();
  std::vector<nn::InferStage::Output> inputs;
  for (std::size_t t = 0; t < stage().in_cols.size(); ++t) {
    if (stage().in_cols[t] > 0) {
      inputs.push_back({static_cast<NodeTypeId>(t), stage().in_cols[t], {}});
    }
  }
  make_outputs(inputs);
  for (auto& block : input_blocks(host_.parts, *options_.tables, stage().in_cols, options_.decoders,
                                  options_.block_bytes)) {
    const auto nodes = block.nodes;
    left_.push_back({.output = {}, .nodes = nodes, .input = std::move(block)});
  }
}

void ExactInference::begin(std::uint32_t layer) {
  cancel();
  makes_inputs_ = layer < inputs();
  layer_ = makes_inputs_ ? 0 : layer - inputs();
  if (layer == 0) {
    logits_.clear();
  }
  next_block_ = 0;
  work_done_ = 0;
  result_ = {};
  if (makes_inputs_) {
    return begin_inputs();
  }
  sample_ = stage_sample();
  collect_ = stage_inputs();
  make_outputs(stage().outputs);
  if (auto blocks = blocks_in_place()) {
    for (auto& block : *blocks) {
      left_.push_back({.output = block.output,
                       .nodes = block.block.nodes,
                       .round = block.round,
                       .in_place = std::move(block.block)});
    }
    return;
  }
  for (const auto& [id, part] : host_.parts) {
    for (const auto& output : stage().outputs) {
      for (const auto& block : cut(*part, output)) {
        left_.push_back({.output = OutputKey{id, output.type}, .nodes = block});
      }
    }
  }
}

/// Trainers' batches have other numbers in the trace: theirs lack the highest bit.
std::uint64_t ExactInference::flow(std::uint64_t block) const {
  const std::uint64_t host = raw(host_.id) & 0x7FFFU;
  const auto number = (host << 48) | ((turn_ & 0xFFFFU) << 32) | (block & 0xFFFFFFFFU);
  return host_.traced ? number | std::uint64_t{1} << 63 : 0;
}

ExactInference::Ask ExactInference::ask(std::uint64_t number, const Block& block) const {
  Ask ask{.block = number, .flow = flow(number), .request = {}};
  if (block.input && block.input->dim > 0) {
    ask.read = block.input->question();
    ask.read->generation = learned_at_.generation;
    ask.read->step = learned_at_.step;
    ask.read->best = learned_at_.best;
    ask.part = block.input->part->id;
  }
  if (block.in_place || block.input) {
    return ask;
  }
  const auto [part, type] = *block.output;
  const auto first = host_.parts.at(part)->nodes_of(type).first;
  auto& request = ask.request.emplace();
  request.key = {Purpose::evaluate, 0, block.nodes.first};
  request.seed_type = type;
  request.sample = sample_;
  request.collect = collect_;
  request.flow = ask.flow;
  for (std::uint64_t i = 0; i < block.nodes.count; ++i) {
    request.seeds.push_back(advance(first, block.nodes.first + i));
  }
  return ask;
}

std::vector<ExactInference::Ask> ExactInference::next() {
  std::vector<Ask> asks;
  while (!left_.empty() && in_flight_.size() < most_in_flight() &&
         (in_flight_.empty() || in_flight_.begin()->second.round == left_.front().round)) {
    const auto number = next_block_++;
    const auto& block = in_flight_.emplace(number, std::move(left_.front())).first->second;
    left_.pop_front();
    asks.push_back(ask(number, block));
  }
  return asks;
}

void ExactInference::arrived(std::uint64_t block) {
  in_flight_.at(block).arrived = true;
}

InferBlock ExactInference::computation(std::uint64_t block,
                                       std::shared_ptr<const ReadyBatch> ready) const {
  const auto& of = in_flight_.at(block);
  if (of.in_place) {
    return *of.in_place;
  }
  const auto& to = outputs_.at(*of.output);
  const bool embeddings = options_.embeddings && layer_ + 1 == stages_.size();
  return {
      .nodes = of.nodes,
      .first_row = to.first,
      .to = to.rows,
      .make = [network = options_.network, parameters = parameters_, layer = layer_,
               output = output_of(stage(), of.output->second), embeddings,
               part = host_.parts.at(of.output->first), edge_decoders = options_.edge_decoders,
               ready = std::move(ready)](const InferPlace& on,
                                         MutMatrix rows) -> Result<std::uint64_t> {
        const auto& batch = ready->batch;
        std::vector<Matrix> edge_features;
        if (edge_decoders != nullptr) {
          TROUPE_ASSIGN_OR_RETURN(edge_features,
                                  edge_features_of_block(on.executor, *part, *edge_decoders,
                                                         output.edges, *batch.sampled));
        }
        const auto input = infer_input(batch, edge_features, output, layer, embeddings);
        if (on.device != nullptr) {
          TROUPE_RETURN_IF_ERROR(on.device->infer(on.executor, *network, parameters, input, rows));
        } else {
          nn::CpuBlockOps ops;
          nn::Tape tape(ops);
          network->infer(tape, on.executor, parameters.as<float>(), input, rows);
        }
        return batch.sampled->num_edges();
      }};
}

Result<InferBlock> ExactInference::input_computation(
    std::uint64_t block, std::shared_ptr<const LearnedRows> learned) const {
  const auto& input = *in_flight_.at(block).input;
  if (learned != nullptr) {
    TROUPE_RETURN_IF_ERROR(input.check(*learned));
  }
  const auto& to = outputs_.at({input.part->id, input.type});
  return InferBlock{.nodes = input.nodes,
                    .first_row = to.first,
                    .to = to.rows,
                    .make = [input, learned = std::move(learned)](
                                const InferPlace& on, MutMatrix rows) -> Result<std::uint64_t> {
                      input.fill(on.executor, learned.get(), rows);
                      return std::uint64_t{0};
                    }};
}

void ExactInference::computed(std::uint64_t block, std::uint64_t edges) {
  const auto of = in_flight_.extract(block).mapped();
  ++blocks_done_;
  if (!of.output) {
    return;
  }
  result_.nodes += of.nodes.count;
  result_.edges += edges;
  const auto& output = output_of(stage(), of.output->second);
  work_done_ +=
      inference_work(stage(), read_cols(stage(), output), output.cols, of.nodes.count, edges);
}

/// Rows of a part that lie in a matrix of the whole graph are shared, if they begin at a cache line.
std::map<ExactInference::OutputKey, std::shared_ptr<const Matrix>> ExactInference::outputs() const {
  std::map<OutputKey, std::shared_ptr<const Matrix>> rows;
  for (const auto& [key, output] : outputs_) {
    const auto cols = output.rows->cols();
    if (output.count == output.rows->rows()) {
      rows[key] = output.rows;
      continue;
    }
    const auto of_part =
        std::as_const(*output.rows).view().slice(output.first, output.count).flat();
    rows[key] = std::make_shared<const Matrix>(
        Matrix::of({output.rows, std::as_bytes(of_part)}, output.count, cols));
  }
  return rows;
}

net::InferResult ExactInference::finish() {
  if (makes_inputs_) {
    inputs_ = std::move(whole_);
    inputs_layer_ = 0;
  } else if (layer_ + 1 == stages_.size()) {
    logits_ = outputs();
    inputs_.clear();
  } else {
    inputs_ = std::move(whole_);
    inputs_layer_ = layer_ + 1;
  }
  outputs_.clear();
  whole_.clear();
  finished_.emplace(request_, result_);
  return result_;
}

bool ExactInference::waits() const {
  return std::ranges::none_of(in_flight_, [](const auto& entry) { return entry.second.arrived; });
}

InferenceReport ExactInference::progress() const {
  InferenceReport report{.layer = layer_, .layers = static_cast<std::uint32_t>(stages_.size())};
  for (std::uint32_t i = 0; i < report.layers; ++i) {
    report.total += work_[i];
    report.done += i < layer_ ? work_[i] : 0;
  }
  report.done += work_done_;
  return report;
}

}  // namespace troupe
