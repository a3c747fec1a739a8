// A layer of our own, means and maxima of the neighbors' rows, trained on Cora:
//   troupe run examples/own_model/cora.json -- ./own_model
#include <algorithm>
#include <cstdio>
#include <troupe/model.hpp>
#include <troupe/session.hpp>

using namespace troupe;

/// W_mean mean(x_j) + W_max max(x_j) + W x_i + b. Gradients are the tape's.
struct MeanMax final : nn::Conv {
  std::vector<nn::NewParameter> parameters(const nn::ConvShape& shape) const override {
    const float bound = nn::linear_bound(shape.source);
    return {{.name = "mean", .rows = shape.out, .cols = shape.source, .bound = bound},
            {.name = "max", .rows = shape.out, .cols = shape.source, .bound = bound},
            {.name = "own", .rows = shape.out, .cols = shape.destination, .bound = bound},
            {.name = "bias", .rows = shape.out}};
  }
  nn::ConvTerms record(const nn::ConvCall& call) const override {
    const auto first = call.parameter;
    const auto sum = [&](nn::Aggregator aggregator, std::size_t weight) {
      return call.tape.aggregate(call.source, call.block, aggregator, {weight});
    };
    return {.neighbors = {sum(nn::Aggregator::mean, first), sum(nn::Aggregator::max, first + 1)},
            .own = {first + 2},
            .biases = {first + 3}};
  }
};

Status train(Session& session) {
  const nn::ModelKind kind{.name = "mean_max", .help = "", .make = [](const nn::ModelOptions&) {
                             return std::unique_ptr<const nn::Conv>(new MeanMax);
                           }};
  TROUPE_ASSIGN_OR_RETURN(const auto network, nn::make_network({.in_dim = session.columns(),
                                                                .hidden = 64,
                                                                .out_dim = session.classes(),
                                                                .dropout = 0.5F,
                                                                .input_dropout = 0.5F},
                                                               kind));
  auto parameters = network->initial_parameters(session.seed());
  std::vector<float> gradient(parameters.size());
  TROUPE_ASSIGN_OR_RETURN(
      const auto adam, nn::make_optimizer({.lr = 0.01, .weight_decay = 5e-4}, parameters.size()));
  InlineExecutor executor;
  nn::Activations activations;
  nn::ForwardInput input;  // the tape reads it until the gradients are there
  const auto logits = [&](const Batch& batch, bool training) -> Result<ConstMatrix> {
    TROUPE_ASSIGN_OR_RETURN(input,
                            forward_input(network->options(), session.seed(), batch, training));
    return network->forward(executor, parameters, input, activations);
  };
  for (std::uint32_t e = 0; e < session.epochs(); ++e) {
    for (const Batch& batch : session.epoch(e)) {
      nn::LossResult loss;
      if (!batch.labels.empty()) {
        TROUPE_ASSIGN_OR_RETURN(const auto scores, logits(batch, true));
        Matrix slope(scores.rows, scores.cols);
        loss = nn::cross_entropy(scores, batch.labels, slope.view());
        network->backward(slope.view(), activations, gradient);
      }
      TROUPE_RETURN_IF_ERROR(session.all_reduce_mean(gradient, loss.weight));
      adam->step(parameters, gradient);
      TROUPE_RETURN_IF_ERROR(session.end_step());
    }
  }
  TROUPE_RETURN_IF_ERROR(session.status());
  std::vector<float> counts(2);  // of this rank's test nodes: right, all
  TROUPE_ASSIGN_OR_RETURN(const auto seeds, session.seeds("test"));
  TROUPE_ASSIGN_OR_RETURN(
      const auto batch,
      session.sample_neighbors({.nodes = seeds.global, .fanout = {-1, -1}, .with_rows = true}));
  TROUPE_ASSIGN_OR_RETURN(const auto scores, logits(*batch, false));
  for (std::size_t i = 0; i < batch->labels.size(); ++i) {
    const auto row = scores.row(i);
    counts[0] += std::ranges::max_element(row) - row.begin() == batch->labels[i] ? 1.0F : 0.0F;
    counts[1] += 1;
  }
  TROUPE_RETURN_IF_ERROR(session.all_reduce(counts));
  if (session.rank() == Rank{0}) {
    DigestBuilder digest;
    digest.add_array(std::span<const float>(parameters));
    std::printf("test accuracy %.4f\nweights %s\n", static_cast<double>(counts[0] / counts[1]),
                to_string(digest.digest()).c_str());
  }
  return ok_status();
}

int main(int argc, char** argv) {
  return run_ranks(argc, argv, train);
}
