// Batch normalization of tape.hpp.
#include "runtime/base/assert.hpp"
#include "runtime/nn/ops/tape_state.hpp"

namespace troupe::nn {

Rows Tape::batch_norm(Rows rows, std::size_t gain, bool training, const Ending& ending,
                      MutMatrix into) {
  const ConstMatrix x = value(rows);
  TROUPE_ASSERT(list_->layout()[gain].size() == x.cols && !ending.norm && !ending.l2, "batch norm",
                list_->layout()[gain].size(), x.cols);
  Operation& operation = append();
  operation.begin(Operation::Kind::batch_norm, true);
  const auto statistics = operation.slot.statistics.get(2 * x.cols);
  const auto mean = statistics.first(x.cols);
  const auto variance = statistics.last(x.cols);
  if (!training) {
    ops_.copy(list_->vector_of(gain + 2, parameters_), mean);
    ops_.copy(list_->vector_of(gain + 3, parameters_), variance);
  }
  operation.batch_norm = {.x = x,
                          .gain = list_->vector_of(gain, parameters_),
                          .bias = list_->vector_of(gain + 1, parameters_),
                          .training = training,
                          .mean = mean,
                          .variance = variance,
                          .after = {.relu = ending.relu,
                                    .activation = ending.activation,
                                    .slope = ending.slope,
                                    .mask = ending.mask,
                                    .ids = ending.ids}};
  const MutMatrix out =
      into.data != nullptr ? into : operation.slot.finish.output_memory.matrix(x.rows, x.cols);
  begin_finish(operation.batch_norm.after, out, operation.slot.finish);
  ops_.batch_norm(*executor_, operation.batch_norm, operation.slot.finish, out);
  operation.value = out;
  operation.source = rows;
  operation.vectors = gain;
  operation.order = terms_++;
  return last();
}

void Tape::batch_norm_backward(Operation& operation, MutMatrix grad,
                               ParameterGradients& gradients) {
  const BatchNorm& norm = operation.batch_norm;
  const auto sums = ops_.batch_norm_backward(*executor_, norm, operation.slot.finish, grad);
  const std::size_t gain = operation.vectors;
  const std::size_t cols = grad.cols;
  gradients.add({gain}, [&](std::span<float> out) { ops_.copy(sums.first(cols), out); });
  gradients.add({gain + 1}, [&](std::span<float> out) { ops_.copy(sums.last(cols), out); });
  const bool known = norm.training && grad.rows > 0;
  gradients.add({gain + 2}, [&](std::span<float> out) {
    ops_.copy(known ? std::span<const float>(norm.mean) : list_->vector_of(gain + 2, parameters_),
              out);
  });
  gradients.add({gain + 3}, [&](std::span<float> out) {
    const auto rows = static_cast<float>(grad.rows);
    const float unbiased = grad.rows > 1 ? rows / (rows - 1) : 1.0F;
    ops_.copy(
        known ? std::span<const float>(norm.variance) : list_->vector_of(gain + 3, parameters_),
        out);
    ops_.scale(known ? unbiased : 1.0F, out);
  });
  use(operation.source, operation.order, {{}, nullptr, grad, {}, {}});
}

}  // namespace troupe::nn
