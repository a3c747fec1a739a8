#include "runtime/run/task/edge_task.hpp"

#include "runtime/run/task/link_pairs.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace troupe {
namespace {

class EdgeTask final : public Task {
 public:
  EdgeTask(bool classes, std::uint64_t outputs, LinkPairs pairs)
      : classes_(classes), outputs_(outputs), pairs_(std::move(pairs)) {}

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
        classes_ ? std::ranges::find_if_not(links.labels, is_class) : links.labels.end();
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
    if (classes_) {
      std::vector<std::int64_t> labels;
      std::ranges::transform(links.labels, std::back_inserter(labels),
                             [](float label) { return static_cast<std::int64_t>(label); });
      result = pass.ops.cross_entropy(outputs, labels, grad.view());
    } else {
      result =
          nn::squared_error(outputs, {links.labels.data(), links.labels.size(), 1}, grad.view());
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
  bool classes_;
  std::uint64_t outputs_;
  LinkPairs pairs_;
};

}  // namespace

Result<std::unique_ptr<Task>> make_edge_task(const TaskOptions& options,
                                             const nn::Network& network) {
  const bool classes = options.loss == "cross_entropy";
  if (!classes && options.loss != "mse") {
    return Error(
        Errc::invalid_argument,
        fmt::format("train.loss: expected cross_entropy or mse for edges, found {}", options.loss));
  }
  TROUPE_ASSIGN_OR_RETURN(auto pairs, LinkPairs::create(network));
  return std::unique_ptr<Task>(
      std::make_unique<EdgeTask>(classes, network.options().decoder.outputs, std::move(pairs)));
}

}  // namespace troupe
