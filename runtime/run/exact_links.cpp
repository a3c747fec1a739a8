#include "runtime/run/exact_links.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/nn/ops/cpu_block_ops.hpp"
#include "runtime/run/task/link_queries.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace troupe {
namespace {

constexpr std::uint64_t most_batches = 2;

/// Outputs of a batch whose rows are those after the last layer.
Matrix link_outputs(Executor& executor, const Batch& batch, const TaskOptions& options,
                    const nn::Network& network, std::span<const float> parameters) {
  nn::CpuBlockOps ops;
  auto task = make_task(options, network, ops);
  TROUPE_ASSERT(task.ok(), "the task of a network that was made", options.kind);
  std::vector<ConstMatrix> rows;
  for (const NodeTypeId type : network.outputs()) {
    rows.push_back(batch.rows[raw(type)].features.view());
  }
  auto outputs = (*task)->outputs({.executor = executor,
                                   .batch = batch,
                                   .rows = rows,
                                   .parameters = network.decoder_slice(parameters)});
  TROUPE_ASSERT(outputs.ok(), "outputs of links", outputs ? "" : outputs.error().what());
  return *std::move(outputs);
}

}  // namespace

ExactLinks::ExactLinks(ExactLinkOptions options, std::shared_ptr<const nn::Network> network,
                       std::size_t node_types)
    : options_(std::move(options)), network_(std::move(network)), node_types_(node_types) {
  options_.task.rank_all = ranks();
}

std::size_t ExactLinks::made_cols() const {
  return options_.cols + (ranks() ? link_query_cols(network_->options()) : 0);
}

Status ExactLinks::begin(const std::string& role, const Segment& parameters, std::uint32_t tensor) {
  const auto order = options_.orders.find(role);
  if (order == options_.orders.end() || order->second->links() == nullptr) {
    return Error(
        Errc::failed_precondition,
        fmt::format("evaluator: asked for scores of \"{}\", of which it has no links", role));
  }
  order_ = order->second;
  parameters_ = parameters;
  next_ = options_.host;
  in_flight_ = 0;
  computing_ = 0;
  tensor_ = tensor;
  outputs_.clear();
  ranked_.clear();
  SampleOptions sample;  // without hops, whatever batches to train on have
  sample.dir = options_.sample->dir;
  sample.links = options_.sample->links;
  sample.job_seed = options_.sample->job_seed;
  sample.max_edges_per_reply = options_.sample->max_edges_per_reply;
  sample_ = std::make_shared<const SampleOptions>(std::move(sample));
  CollectOptions collect;
  collect.with_labels = false;
  collect.with_original_ids = false;
  collect.digest = DigestMode::off;
  collect.source = {RowSource::Kind::tensor, tensor};
  const auto types = network_->outputs();
  for (std::size_t t = 0; t < node_types_; ++t) {
    const bool read = std::ranges::find(types, static_cast<NodeTypeId>(t)) != types.end();
    collect.decoders.push_back(RowDecoder::plain(read ? network_->options().out_dim : 0));
  }
  collect_ = std::make_shared<const CollectOptions>(std::move(collect));
  return ok_status();
}

std::vector<ExactInference::Ask> ExactLinks::next() {
  std::vector<ExactInference::Ask> asks;
  while (next_ < end() && in_flight_ < most_batches) {
    auto& request = asks.emplace_back(ExactInference::Ask{.block = next_, .flow = 0, .request = {}})
                        .request.emplace();
    request.key = {Purpose::evaluate, 0, next_};
    request.take_seeds(order_->seeds_of(0, next_));
    request.sample = sample_;
    request.collect = collect_;
    next_ += options_.hosts;
    ++in_flight_;
  }
  return asks;
}

InferBlock ExactLinks::computation(std::uint64_t block, std::shared_ptr<const ReadyBatch> ready) {
  ++computing_;
  const auto links = ready->batch.sampled->links->sources.size();
  auto& to = outputs_[block];
  to = std::make_shared<Matrix>(links, made_cols());
  if (ranks()) {
    ranked_[block] = ready->batch.sampled;
  }
  return {.nodes = {.first = 0, .count = links},
          .first_row = 0,
          .to = to,
          .make = [network = network_, task = options_.task, parameters = parameters_,
                   ready = std::move(ready)](const InferPlace& on,
                                             MutMatrix rows) -> Result<std::uint64_t> {
            const auto made =
                link_outputs(on.executor, ready->batch, task, *network, parameters.as<float>());
            TROUPE_ASSERT(made.rows() == rows.rows && made.cols() == rows.cols, "outputs of links",
                          made.rows(), made.cols(), rows.rows, rows.cols);
            std::ranges::copy(made.view().flat(), rows.data);
            return std::uint64_t{0};
          }};
}

EntityQueries ExactLinks::queries(std::uint64_t block) {
  const auto sampled = std::move(ranked_.extract(block).mapped());
  const Matrix asked = queries_of(std::as_const(*outputs_.at(block)).view(), options_.cols);
  const auto& model = network_->options();
  ComparedRows rows{
      .tensor = tensor_,
      .cols = static_cast<std::uint32_t>(model.out_dim),
      .weights = link_weights(model, network_->decoder_slice(parameters_.as<float>()))};
  return {*options_.ranking, *options_.book, *sampled, asked.view(), std::move(rows)};
}

void ExactLinks::rank(std::uint64_t block, const Matrix& counts) {
  auto& outputs = outputs_.at(block);
  outputs = std::make_shared<Matrix>(
      with_counts(std::as_const(*outputs).view(), options_.cols, counts.view()));
}

void ExactLinks::computed(std::uint64_t /*block*/) {
  --in_flight_;
  --computing_;
}

net::ScoreResult ExactLinks::finish() {
  net::ScoreResult result;
  result.cols = static_cast<std::uint32_t>(options_.cols + (ranks() ? rank_cols : 0));
  std::vector<float> outputs;
  for (const auto& [batch, of_batch] : outputs_) {
    const auto positions = order_->positions(0, batch);
    result.positions.insert(result.positions.end(), positions.begin(), positions.end());
    const auto flat = std::as_const(*of_batch).view().flat();
    outputs.insert(outputs.end(), flat.begin(), flat.end());
  }
  result.labels.resize(result.positions.size());
  result.outputs = Segment::of(std::move(outputs));
  outputs_.clear();
  return result;
}

}  // namespace troupe
