#include "runtime/run/task/edge_task.hpp"

#include "runtime/nn/number_losses.hpp"
#include "runtime/nn/seed_loss_pass.hpp"
#include "runtime/run/task/link_pairs.hpp"
#include "runtime/run/task/weights_of_outputs.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {
namespace {

class EdgeTask final : public Task {
 public:
  /// \param numbers  the loss of numbers; none: classes
  EdgeTask(std::optional<nn::NumberLoss> numbers, nn::ClassWeights weights, LinkPairs pairs,
           std::uint64_t outputs, nn::BlockOps& ops)
      : ops_(ops),
        numbers_(numbers),
        weights_(std::move(weights)),
        outputs_(outputs),
        pairs_(std::move(pairs)),
        loss_(ops) {}

  Status check(const Batch& batch) const override {
    TROUPE_RETURN_IF_ERROR(pairs_.check(batch));
    const auto& links = *batch.sampled->links;
    if (links.labels.size() != links.sources.size()) {
      return Error(Errc::failed_precondition,
                   fmt::format("labels of links: expected {}, found {}", links.sources.size(),
                               links.labels.size()));
    }
    const auto is_class = [end = static_cast<double>(outputs_)](float label) {
      const double value = label;
      return value >= 0 && value < end && value == static_cast<double>(static_cast<int>(label));
    };
    const auto bad =
        numbers_ ? links.labels.end() : std::ranges::find_if_not(links.labels, is_class);
    if (bad != links.labels.end()) {
      return Error(Errc::failed_precondition,
                   fmt::format("labels of links: expected classes from 0 to {}, found {}",
                               outputs_ - 1, *bad));
    }
    return ok_status();
  }

  std::uint64_t loss(const TaskPass& pass, TaskGradients& gradients) override {
    const auto& labels = pass.batch.sampled->links->labels;
    const ConstMatrix outputs = pairs_.decode(pass, false);
    nn::SeedLoss loss{.own_rows = true};
    if (numbers_) {
      loss.kind = nn::SeedLossKind::numbers;
      loss.of_numbers = *numbers_;
      loss.targets = {labels.data(), labels.size(), 1};
    } else {
      classes_.resize(labels.size());
      std::ranges::transform(labels, classes_.begin(),
                             [](float label) { return static_cast<std::int64_t>(label); });
      loss.labels = classes_;
      loss.class_weights = weights_.of_class;
    }
    pairs_.gradients(loss_.compute(loss, outputs), pass, gradients);
    return loss_.weight();
  }
  nn::LaterNumber loss_sum() override { return loss_.sum(); }

  Result<Matrix> outputs(const TaskPass& pass) override {
    TROUPE_RETURN_IF_ERROR(pairs_.check(pass.batch));
    const ConstMatrix made = pairs_.decode(pass, false);
    Matrix out(made.rows, made.cols);
    TROUPE_RETURN_IF_ERROR(ops_.download(made.data, out.data(), made.size() * sizeof(float)));
    return out;
  }

 private:
  nn::BlockOps& ops_;
  std::optional<nn::NumberLoss> numbers_;
  nn::ClassWeights weights_;
  std::uint64_t outputs_;
  LinkPairs pairs_;
  nn::SeedLossPass loss_;
  std::vector<std::int64_t> classes_;
};

}  // namespace

Result<std::unique_ptr<Task>> make_edge_task(const TaskOptions& options, const nn::Network& network,
                                             nn::BlockOps& ops) {
  std::optional<nn::NumberLoss> numbers;
  if (nn::predicts_numbers(options.loss)) {
    TROUPE_ASSIGN_OR_RETURN(numbers, nn::make_number_loss(options.loss, options.delta));
  } else if (options.loss != "cross_entropy") {
    return Error(Errc::invalid_argument,
                 fmt::format("train.loss: expected cross_entropy, {} for edges, found {}",
                             fmt::join(names_of(nn::number_loss_kinds()), ", "), options.loss));
  }
  TROUPE_ASSIGN_OR_RETURN(auto pairs, LinkPairs::create(network, ops));
  const auto outputs = network.options().decoder.outputs;
  TROUPE_RETURN_IF_ERROR(check_weights_of_outputs(options, outputs));
  return std::unique_ptr<Task>(
      std::make_unique<EdgeTask>(numbers, options.class_weights, std::move(pairs), outputs, ops));
}

}  // namespace troupe
