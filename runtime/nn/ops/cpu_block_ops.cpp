#include "runtime/nn/ops/cpu_block_ops.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/nn/ops/linear.hpp"
#include "runtime/nn/ops/row_kernels.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

namespace troupe::nn {
namespace {

bool has_data(ConstMatrix m) {
  return m.data != nullptr;
}

void add_rows(ConstMatrix from, MutMatrix to, Into into) {
  if (into == Into::overwrite) {
    std::ranges::copy(from.flat(), to.data);
  } else {
    add_scaled_row(from.data, 1.0F, to.data, to.size());
  }
}

/// Rows [first, first + to.rows) of own rows times their factors.
void add_scaled_rows(const Path& path, ConstMatrix from, std::size_t first, MutMatrix to,
                     Into into) {
  const float of_all = path.row_factor();
  if (path.scale.empty() && of_all == 1) {
    return add_rows(from, to, into);
  }
  if (into == Into::overwrite) {
    add_rows(from, to, into);
  }
  for (std::size_t r = 0; r < to.rows; ++r) {
    const float factor = path.scale.empty() ? of_all : path.scale[first + r];
    if (into == Into::overwrite) {
      scale_row(factor, to.row(r).data(), to.cols);
    } else {
      add_scaled_row(from.row(r).data(), factor, to.row(r).data(), to.cols);
    }
  }
}

void sum_neighbors(const TermWork& term, std::size_t first, MutMatrix out) {
  if (term.path.reach == Reach::weighted_sum) {
    return weighted_sum_rows(term.path.factors, *term.path.block, first, term.source, out);
  }
  if (term.path.reach == Reach::attend) {
    return attend_rows(term.path.attention, term.path.weights, term.source, first, out);
  }
  const std::size_t cols = term.source.cols;
  const auto argmax =
      term.argmax.empty() ? term.argmax : term.argmax.subspan(first * cols, out.rows * cols);
  aggregate_rows(term.path.aggregator, *term.path.block, first, term.source, out, argmax);
}

void add_term(const TermWork& term, std::size_t first, MutMatrix rows, Into into,
              Precision precision) {
  if (term.path.reach == Reach::own) {
    const ConstMatrix own = term.source.slice(first, rows.rows);
    return has_data(term.weight) ? linear_rows(own, term.weight, rows, into, precision)
                                 : add_scaled_rows(term.path, own, first, rows, into);
  }
  if (!has_data(term.summed)) {
    TROUPE_ASSERT(into == Into::overwrite && !has_data(term.weight), "a term without room");
    return sum_neighbors(term, first, rows);
  }
  const MutMatrix summed = term.summed.slice(first, rows.rows);
  sum_neighbors(term, first, summed);
  if (has_data(term.weight)) {
    linear_rows(summed, term.weight, rows, into, precision);
  } else {
    add_rows(summed, rows, into);
  }
}

/// Rows that a use reaches, from 0.
std::size_t reached(const UseWork& use) {
  return use.by_source == nullptr ? use.grad.rows : use.by_source->num_src();
}

void sources_of(const UseWork& use, std::size_t first, MutMatrix out) {
  switch (use.path.reach) {
    case Reach::weighted_sum:
      return weighted_sum_backward_rows(use.path.factors, *use.by_source, first, use.grad, out);
    case Reach::attend:
      return attend_backward_rows(use.path.attention, *use.by_source, use.path.weights, use.grad,
                                  first, out);
    case Reach::attention:
      return attention_source_rows(use.path.attention, *use.by_source, use.grad, first, out);
    case Reach::pair:
      return pair_attention_source_rows(*use.pair, *use.by_source, use.grad, first, out);
    default:
      return aggregate_backward_rows(use.path.aggregator, *use.by_source, first, use.grad,
                                     use.argmax, out);
  }
}

/// How a use is added to rows.
struct UseAdding {
  Into into;
  Precision precision;  ///< of products
};

void add_use(const UseWork& use, std::size_t first, MutMatrix rows, UseAdding how,
             Matrix& scratch) {
  const auto [into, precision] = how;
  if (use.path.reach == Reach::head_scores) {
    return head_score_backward_rows(use.grad.slice(first, rows.rows), use.weight, rows, into);
  }
  if (use.path.reach == Reach::head_product) {
    return head_product_backward_rows(use.grad.slice(first, rows.rows), use.weight, rows, into,
                                      precision);
  }
  if (use.path.reach == Reach::own) {
    const ConstMatrix grad = use.grad.slice(first, rows.rows);
    return has_data(use.weight) ? linear_backward_rows(grad, use.weight, rows, into, precision)
                                : add_scaled_rows(use.path, grad, first, rows, into);
  }
  if (into == Into::overwrite) {
    return sources_of(use, first, rows);
  }
  if (scratch.rows() < rows.rows) {
    scratch = Matrix(rows.rows, rows.cols);
  }
  const MutMatrix part = scratch.view().slice(0, rows.rows);
  sources_of(use, first, part);
  add_rows(part, rows, Into::add);
}

}  // namespace

void CpuBlockOps::upload(const void* host, void* to, std::size_t size_bytes) {
  if (size_bytes > 0) {  // nothing may lie nowhere
    std::memcpy(to, host, size_bytes);
  }
}

Status CpuBlockOps::download(const void* from, void* host, std::size_t size_bytes) {
  if (size_bytes > 0) {
    std::memcpy(host, from, size_bytes);
  }
  return ok_status();
}

void CpuBlockOps::copy(std::span<const float> from, std::span<float> to) {
  std::ranges::copy(from, to.begin());
}

void CpuBlockOps::add(std::span<const float> from, std::span<float> to) {
  std::ranges::transform(to, from, to.begin(), std::plus<>());
}

void CpuBlockOps::zero(std::span<float> values) {
  std::ranges::fill(values, 0.0F);
}

void CpuBlockOps::scale(float factor, std::span<float> values) {
  scale_row(factor, values.data(), values.size());
}

void CpuBlockOps::join_columns(ConstMatrix left, ConstMatrix right, MutMatrix out) {
  nn::join_columns(left, right, out);
}

void CpuBlockOps::combine(Executor& executor, const Combination& combination) {
  for_each_chunk(executor, combination.out.rows, [&](std::size_t first, std::size_t count) {
    const MutMatrix rows = combination.conv.slice(first, count);
    Into into = Into::overwrite;
    for (const TermWork& term : combination.terms) {
      add_term(term, first, rows, into, precision_);
      into = Into::add;
    }
    if (!combination.bias.empty()) {
      add_bias_rows(combination.bias, rows);
    }
    finish_rows(combination.finish, combination.state, first, rows,
                combination.out.slice(first, count));
  });
}

std::span<const float> CpuBlockOps::finish_backward(Executor& executor, const Finish& finish,
                                                    const FinishState& state, MutMatrix grad) {
  return nn::finish_backward(executor, finish, state, grad, finish_);
}

void CpuBlockOps::weight_gradient(Executor& executor, ConstMatrix grad, ConstMatrix x,
                                  MutMatrix grad_weight) {
  nn::weight_gradient(executor, grad, x, weight_partials_, grad_weight, precision_);
}

void CpuBlockOps::product_backward(Executor& executor, ConstMatrix grad, ConstMatrix weight,
                                   MutMatrix grad_x) {
  for_each_chunk(executor, grad.rows, [&](std::size_t first, std::size_t count) {
    linear_backward_rows(grad.slice(first, count), weight, grad_x.slice(first, count),
                         Into::overwrite, precision_);
  });
}

void CpuBlockOps::sort_by_source(Executor& executor, std::span<const SortWork> blocks) {
  executor.parallel_for(blocks.size(),
                        [&](std::size_t i) { blocks[i].by_source->build(*blocks[i].block); });
}

void CpuBlockOps::source_gradient(Executor& executor, std::span<const UseWork> uses,
                                  MutMatrix out) {
  for_each_chunk(executor, out.rows, [&](std::size_t first, std::size_t count) {
    const MutMatrix rows = out.slice(first, count);
    Matrix scratch;
    Into into = Into::overwrite;
    for (const UseWork& use : uses) {
      const std::size_t end = std::min(reached(use), first + count);
      if (end < first + count && into == Into::overwrite) {
        std::ranges::fill(rows.flat(), 0.0F);
        into = Into::add;
      }
      if (end > first) {
        add_use(use, first, rows.slice(0, end - first), {into, precision_}, scratch);
        into = Into::add;
      }
    }
  });
}

void CpuBlockOps::head_scores(Executor& executor, ConstMatrix x, ConstMatrix vectors,
                              MutMatrix scores) {
  for_each_chunk(executor, scores.rows, [&](std::size_t first, std::size_t count) {
    head_score_rows(x.slice(first, count), vectors, scores.slice(first, count));
  });
}

void CpuBlockOps::head_scores_gradient(Executor& executor, ConstMatrix grad, ConstMatrix x,
                                       MutMatrix grad_vectors) {
  const MutMatrix partials = weight_partials_.matrix(chunk_count(grad.rows), grad_vectors.size());
  for_each_chunk(executor, grad.rows, [&](std::size_t first, std::size_t count) {
    const auto part = partials.row(first / chunk_rows);
    std::ranges::fill(part, 0.0F);
    head_score_gradient_rows(grad.slice(first, count), x.slice(first, count),
                             {part.data(), grad_vectors.rows, grad_vectors.cols});
  });
  add_partials(partials, grad_vectors.flat());
}

void CpuBlockOps::attention(Executor& executor, const AttentionWork& work) {
  for_each_chunk(executor, work.shape.block->num_dst, [&](std::size_t first, std::size_t count) {
    attention_rows(work.shape, work.slope, work.source, work.destination, first, count,
                   work.weights);
  });
}

void CpuBlockOps::attention_backward(Executor& executor, const AttentionWork& work, MutMatrix grad,
                                     MutMatrix grad_destination) {
  for_each_chunk(executor, grad_destination.rows, [&](std::size_t first, std::size_t count) {
    attention_backward_rows(work.shape, work.slope, work.source, work.destination, work.weights,
                            first, grad, grad_destination.slice(first, count));
  });
}

void CpuBlockOps::attend_weights_gradient(Executor& executor, const AttentionShape& shape,
                                          ConstMatrix x, ConstMatrix grad, MutMatrix grad_weights) {
  for_each_chunk(executor, grad.rows, [&](std::size_t first, std::size_t count) {
    attend_weight_rows(shape, x, grad.slice(first, count), first, grad_weights);
  });
}

EdgeFactors CpuBlockOps::degree_factors(const LayerBlock& block, const LayerBlock* below,
                                        DegreeFactors how, GcnFactors& memory) {
  return memory.build(block, below, how);
}

void CpuBlockOps::drop(Executor& executor, ConstMatrix x, const DropoutMask& mask,
                       std::span<const OriginalId> ids, MutMatrix out) {
  for_each_chunk(executor, x.rows, [&](std::size_t first, std::size_t count) {
    const MutMatrix rows = out.slice(first, count);
    if (rows.data != x.slice(first, count).data) {
      std::ranges::copy(x.slice(first, count).flat(), rows.data);
    }
    dropout_rows(mask, ids.subspan(first, count), rows);
  });
}

void CpuBlockOps::add_parameters(std::span<const std::span<const float>> values,
                                 std::span<float> sum) {
  std::ranges::fill(sum, 0.0F);
  for (const auto& value : values) {
    add_scaled_row(value.data(), 1.0F, sum.data(), sum.size());
  }
}

}  // namespace troupe::nn
