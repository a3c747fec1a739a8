#include "runtime/run/task/node_task.hpp"

#include "runtime/nn/number_losses.hpp"
#include "runtime/nn/ops/host_rows.hpp"
#include "runtime/nn/seed_loss_pass.hpp"
#include "runtime/run/task/weights_of_outputs.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <utility>

namespace troupe {
namespace {

/// Rows of `logits` for each seed; duplicate seeds share a row.
Matrix expand_seeds(ConstMatrix logits, std::span<const std::uint32_t> seed_index) {
  Matrix out(seed_index.size(), logits.cols);
  for (std::size_t i = 0; i < seed_index.size(); ++i) {
    std::ranges::copy(logits.row(seed_index[i]), out.view().row(i).begin());
  }
  return out;
}

/// Targets of one binary label per seed: 0, 1, or NaN for -1.
Matrix binary_targets(std::span<const std::int64_t> labels) {
  Matrix targets(labels.size(), 1);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    targets.data()[i] =
        labels[i] < 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(labels[i]);
  }
  return targets;
}

class NodeTask final : public Task {
 public:
  /// \param numbers  the loss where numbers are predicted
  NodeTask(const TaskOptions& options, std::optional<nn::NumberLoss> numbers, std::uint64_t outputs,
           nn::BlockOps& ops)
      : options_(options), numbers_(numbers), outputs_(outputs), loss_(ops), rows_(ops) {}

  Status check(const Batch& batch) const override {
    const auto seeds = batch.sampled->seed_index.size();
    const bool binary = options_.loss == "bce_logits";
    if (numbers_ || (binary && batch.targets.cols() > 0)) {
      return check_targets(batch);
    }
    if (batch.labels.size() != seeds || (binary && outputs_ != 1)) {
      return Error(
          Errc::failed_precondition,
          fmt::format("labels: expected {} for {} seeds, found {} classes and {} columns of "
                      "targets",
                      binary ? "targets, or one output and classes 0 and 1" : "classes", seeds,
                      batch.labels.size(), batch.targets.cols()));
    }
    const auto end = static_cast<std::int64_t>(binary ? 2 : outputs_);
    const auto bad = std::ranges::find_if(
        batch.labels, [end](std::int64_t label) { return label < -1 || label >= end; });
    if (bad != batch.labels.end()) {
      return Error(Errc::failed_precondition,
                   fmt::format("labels: expected -1 to {}, found {} at seed {}", end - 1, *bad,
                               bad - batch.labels.begin()));
    }
    return ok_status();
  }

  std::uint64_t loss(const TaskPass& pass, TaskGradients& gradients) override {
    gradients = {.rows = {loss_.compute(loss_of(pass.batch), pass.rows.front())}};
    return loss_.weight();
  }
  nn::LaterNumber loss_sum() override { return loss_.sum(); }

  Result<Matrix> outputs(const TaskPass& pass) override {
    TROUPE_ASSIGN_OR_RETURN(const auto rows, rows_.of(pass.rows.front()));
    return expand_seeds(rows, pass.batch.sampled->seed_index);
  }

 private:
  nn::SeedLoss loss_of(const Batch& batch) {
    nn::SeedLoss loss{.row_of_seed = batch.sampled->seed_index,
                      .pos_weight = static_cast<float>(options_.pos_weight),
                      .class_weights = options_.class_weights.of_class,
                      .weight_unit = options_.class_weights.unit};
    if (options_.loss == "cross_entropy") {
      loss.labels = batch.labels;
      return loss;
    }
    loss.kind = numbers_ ? nn::SeedLossKind::numbers : nn::SeedLossKind::bce_logits;
    loss.of_numbers = numbers_.value_or(nn::NumberLoss{});
    if (batch.targets.cols() > 0) {
      loss.targets = batch.targets.view();
    } else {
      binary_ = binary_targets(batch.labels);
      loss.targets = std::as_const(binary_).view();
    }
    return loss;
  }
  Status check_targets(const Batch& batch) const {
    const auto seeds = batch.sampled->seed_index.size();
    if (batch.targets.cols() == outputs_ && batch.targets.rows() == seeds) {
      return ok_status();
    }
    return Error(Errc::failed_precondition,
                 fmt::format("targets: expected {} columns for {} seeds, found {} for {}", outputs_,
                             seeds, batch.targets.cols(), batch.targets.rows()));
  }

  TaskOptions options_;
  std::optional<nn::NumberLoss> numbers_;
  std::uint64_t outputs_;
  Matrix binary_;  ///< targets of the last batch's classes
  nn::SeedLossPass loss_;
  nn::HostRows rows_;
};

}  // namespace

Result<std::unique_ptr<Task>> make_node_task(const TaskOptions& options, const nn::Network& network,
                                             nn::BlockOps& ops) {
  std::optional<nn::NumberLoss> numbers;
  if (nn::predicts_numbers(options.loss)) {
    TROUPE_ASSIGN_OR_RETURN(numbers, nn::make_number_loss(options.loss, options.delta));
  } else if (options.loss != "cross_entropy" && options.loss != "bce_logits") {
    return Error(Errc::invalid_argument,
                 fmt::format("train.loss: expected cross_entropy, bce_logits, {}, found {}",
                             fmt::join(names_of(nn::number_loss_kinds()), ", "), options.loss));
  }
  if (!(options.pos_weight > 0) || !std::isfinite(options.pos_weight)) {
    return Error(
        Errc::invalid_argument,
        fmt::format("train.pos_weight: expected a positive number, found {}", options.pos_weight));
  }
  const auto outputs = network.options().out_dim;
  TROUPE_RETURN_IF_ERROR(check_weights_of_outputs(options, outputs));
  return std::unique_ptr<Task>(std::make_unique<NodeTask>(options, numbers, outputs, ops));
}

}  // namespace troupe
