#include "runtime/run/task/link_task.hpp"

#include "runtime/run/task/link_pairs.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace troupe {
namespace {

/// Scores of a batch's links as the losses take them.
nn::LinkScores link_scores(ConstMatrix scores, std::size_t positives) {
  const std::size_t negatives = positives == 0 ? 0 : scores.rows / positives - 1;
  return {.positive = scores.flat().first(positives),
          .negative = {scores.data + positives, positives, negatives}};
}

class LinkTask final : public Task {
 public:
  LinkTask(const nn::LinkLossKind& loss, const nn::LinkLossOptions& options, LinkPairs pairs)
      : loss_(loss), options_(options), pairs_(std::move(pairs)) {}

  Status check(const Batch& batch) const override { return pairs_.check(batch); }

  nn::LossResult loss(const TaskPass& pass, TaskGradients& gradients) override {
    const std::size_t positives = pass.batch.sampled->links->sources.size();
    const auto scores = link_scores(pairs_.decode(pass, true), positives);
    const std::size_t negatives = scores.negative.cols;
    Matrix grad(positives * (1 + negatives), 1);
    const nn::LinkGradients of_scores{.positive = grad.view().flat().first(positives),
                                      .negative = {grad.data() + positives, positives, negatives}};
    const auto result = loss_.compute(scores, options_, of_scores);
    pairs_.gradients(std::as_const(grad).view(), pass, gradients);
    return result;
  }

  Result<Matrix> outputs(const TaskPass& pass) override {
    TROUPE_RETURN_IF_ERROR(pairs_.check(pass.batch));
    const std::size_t positives = pass.batch.sampled->links->sources.size();
    const auto scores = link_scores(pairs_.decode(pass, true), positives);
    Matrix out(positives, 1 + scores.negative.cols);
    for (std::size_t i = 0; i < positives; ++i) {
      const auto row = out.view().row(i);
      row[0] = scores.positive[i];
      std::ranges::copy(scores.negative.row(i), row.begin() + 1);
    }
    return out;
  }

 private:
  const nn::LinkLossKind& loss_;
  nn::LinkLossOptions options_;
  LinkPairs pairs_;
};

}  // namespace

Result<std::unique_ptr<Task>> make_link_task(const TaskOptions& options,
                                             const nn::Network& network) {
  const auto* loss = find_kind(nn::link_loss_kinds(), options.loss);
  if (loss == nullptr) {
    return Error(Errc::invalid_argument,
                 fmt::format("train.loss: expected one of {} for links, found {}",
                             fmt::join(names_of(nn::link_loss_kinds()), ", "), options.loss));
  }
  if (network.options().decoder.outputs != 1) {
    return Error(Errc::invalid_argument,
                 fmt::format("task.decoder: expected one output for links, found {}",
                             network.options().decoder.outputs));
  }
  TROUPE_ASSIGN_OR_RETURN(auto pairs, LinkPairs::create(network));
  return std::unique_ptr<Task>(
      std::make_unique<LinkTask>(*loss, options.link_loss, std::move(pairs)));
}

}  // namespace troupe
