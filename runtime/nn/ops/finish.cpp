#include "runtime/nn/ops/finish.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/nn/ops/linear.hpp"

#include <algorithm>

namespace troupe::nn {
namespace {

void finish_backward_rows(const Finish& finish, const FinishState& state, std::size_t first,
                          MutMatrix grad, std::span<float> column_sums) {
  const std::size_t cols = grad.cols;
  if (finish.relu) {
    relu_backward_rows(state.output.slice(first, grad.rows), finish.mask.scale, grad);
  } else {
    if (finish.mask.active()) {
      dropout_rows(finish.mask, finish.ids.subspan(first, grad.rows), grad);
    }
    if (finish.activation == Activation::gelu) {
      TROUPE_ASSERT(!finish.norm(), "GELU after layer normalization");
      gelu_backward_rows(state.conv.slice(first, grad.rows), grad);
    } else if (finish.activates()) {
      activate_backward_rows(finish.activation, finish.slope, state.output.slice(first, grad.rows),
                             finish.mask.scale, grad);
    }
  }
  if (finish.norm()) {
    layer_norm_backward_rows(state.conv.slice(first, grad.rows),
                             state.stats.subspan(first, grad.rows), finish.norm_gain, grad,
                             column_sums.subspan(cols, cols), column_sums.last(cols));
  } else {
    std::ranges::fill(column_sums.last(2 * cols), 0.0F);
  }
  if (finish.l2) {
    l2_normalize_backward_rows(state.conv.slice(first, grad.rows),
                               state.lengths.subspan(first, grad.rows), grad);
  }
  column_sums_rows(grad, column_sums.first(cols));
}

}  // namespace

MutMatrix begin_finish(const Finish& finish, MutMatrix out, FinishState& state) {
  const MutMatrix conv = finish.keeps_conv() ? state.conv_memory.matrix(out.rows, out.cols) : out;
  state.conv = conv;
  state.output = out;
  state.lengths = state.lengths_memory.get(finish.l2 ? out.rows : 0);
  state.stats = state.stats_memory.get(finish.norm() ? out.rows : 0);
  return conv;
}

void finish_rows(const Finish& finish, const FinishState& state, std::size_t first, MutMatrix conv,
                 MutMatrix out) {
  if (finish.l2) {
    l2_normalize_rows(conv, state.lengths.subspan(first, conv.rows));
  }
  ConstMatrix activated = conv;
  if (finish.norm()) {
    layer_norm_rows(conv, finish.norm_gain, finish.norm_bias, state.stats.subspan(first, conv.rows),
                    out);
    activated = out;
  }
  if (finish.relu) {
    relu_rows(activated, out);
  } else if (finish.activates()) {
    activate_rows(finish.activation, finish.slope, activated, out);
  }
  if (finish.mask.active()) {
    dropout_rows(finish.mask, finish.ids.subspan(first, out.rows), out);
  }
}

std::span<const float> finish_backward(Executor& executor, const Finish& finish,
                                       const FinishState& state, MutMatrix grad,
                                       FinishScratch& scratch) {
  const MutMatrix columns = scratch.column_partials.matrix(chunk_count(grad.rows), 3 * grad.cols);
  for_each_chunk(executor, grad.rows, [&](std::size_t first, std::size_t count) {
    finish_backward_rows(finish, state, first, grad.slice(first, count),
                         columns.row(first / chunk_rows));
  });
  const auto sums = scratch.column_sums.get(3 * grad.cols);
  add_partials(columns, sums);
  return sums;
}

}  // namespace troupe::nn
