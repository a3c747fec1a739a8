#include "runtime/run/task/edge_task.hpp"

#include "runtime/nn/number_losses.hpp"
#include "runtime/run/task/link_pairs.hpp"

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
  EdgeTask(std::optional<nn::NumberLoss> numbers, std::uint64_t outputs, LinkPairs pairs)
      : numbers_(numbers), outputs_(outputs), pairs_(std::move(pairs)) {}

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

  nn::LossResult loss(const TaskPass& pass, TaskGradients& gradients) override {
    const auto& links = *pass.batch.sampled->links;
    const ConstMatrix outputs = pairs_.decode(pass, false);
    Matrix grad(outputs.rows, outputs.cols);
    nn::LossResult result;
    if (!numbers_) {
      std::vector<std::int64_t> labels;
      std::ranges::transform(links.labels, std::back_inserter(labels),
                             [](float label) { return static_cast<std::int64_t>(label); });
      result = pass.ops.cross_entropy(outputs, labels, grad.view());
    } else {
      result = nn::number_loss(*numbers_, outputs, {links.labels.data(), links.labels.size(), 1},
                               grad.view());
    }
    pairs_.gradients(std::as_const(grad).view(), pass, gradients);
    return result;
  }

  Result<Matrix> outputs(const TaskPass& pass) override {
    TROUPE_RETURN_IF_ERROR(pairs_.check(pass.batch));
    const ConstMatrix made = pairs_.decode(pass, false);
    Matrix out(made.rows, made.cols);
    std::ranges::copy(made.flat(), out.data());
    return out;
  }

 private:
  std::optional<nn::NumberLoss> numbers_;
  std::uint64_t outputs_;
  LinkPairs pairs_;
};

}  // namespace

Result<std::unique_ptr<Task>> make_edge_task(const TaskOptions& options,
                                             const nn::Network& network) {
  std::optional<nn::NumberLoss> numbers;
  if (nn::predicts_numbers(options.loss)) {
    TROUPE_ASSIGN_OR_RETURN(numbers, nn::make_number_loss(options.loss, options.delta));
  } else if (options.loss != "cross_entropy") {
    return Error(Errc::invalid_argument,
                 fmt::format("train.loss: expected cross_entropy, {} for edges, found {}",
                             fmt::join(names_of(nn::number_loss_kinds()), ", "), options.loss));
  }
  TROUPE_ASSIGN_OR_RETURN(auto pairs, LinkPairs::create(network));
  return std::unique_ptr<Task>(
      std::make_unique<EdgeTask>(numbers, network.options().decoder.outputs, std::move(pairs)));
}

}  // namespace troupe
