#include "runtime/nn/ops/cpu_block_ops.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/nn/ops/linear.hpp"
#include "runtime/nn/ops/row_kernels.hpp"
#include "runtime/nn/ops/rows_at_places.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

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

/// Adds a term along edges that end at few of the rows.
void add_placed(const TermWork& term, std::size_t first, MutMatrix rows, Into into,
                Precision precision) {
  const PlacesIn in(*term.path.places, first, rows.rows);
  const MutMatrix summed = term.summed.slice(in.begin, in.places.size());
  sum_neighbors(term, in.begin, summed);
  if (into == Into::overwrite) {
    std::ranges::fill(rows.flat(), 0.0F);
  }
  if (in.places.empty()) {
    return;
  }
  if (!has_data(term.weight)) {
    return into == Into::overwrite ? scatter_rows(summed, in.places, first, rows)
                                   : add_rows_at(summed, in.places, first, rows);
  }
  Matrix sums(in.places.size(), rows.cols);
  if (into == Into::add) {
    gather_rows(rows, in.places, first, sums.view());
  }
  linear_rows(summed, term.weight, sums.view(), into, precision);
  scatter_rows(std::as_const(sums).view(), in.places, first, rows);
}

bool is_placed(const TermWork& term) {
  return term.path.places && term.path.reach != Reach::own;
}

/// Rows that one of several operands with places does not reach. An operand of all rows would add +0 to
/// them, which changes -0 alone; a sum is not -0 again once it was not.
class MissedRows {
 public:
  explicit MissedRows(std::size_t rows) : reached_(rows), ends_(rows + 1) {}

  /// \param end  rows of an operand of all rows
  void add(std::span<const std::uint32_t> places, std::size_t first, std::size_t end) {
    const PlacesIn in(places, first, reached_.size());
    for (const std::uint32_t place : in.places) {
      ++reached_[place - first];
    }
    ++ends_[std::clamp(end, first, first + reached_.size()) - first];
    ++operands_;
  }
  void add_zeros(MutMatrix rows) const {
    std::uint32_t expected = operands_;
    for (std::size_t r = 0; r < rows.rows && expected > 0; ++r) {
      expected -= ends_[r];
      for (std::size_t c = 0; c < rows.cols && reached_[r] < expected; ++c) {
        rows.row(r)[c] += 0.0F;
      }
    }
  }

 private:
  std::vector<std::uint32_t> reached_;
  std::vector<std::uint32_t> ends_;  ///< Operands that end at a row
  std::uint32_t operands_ = 0;
};

/// \param terms  without the first
void add_zeros_of_terms(std::span<const TermWork> terms, std::size_t first, MutMatrix rows) {
  MissedRows missed(rows.rows);
  for (const TermWork& term : terms) {
    if (is_placed(term)) {
      missed.add(*term.path.places, first, first + rows.rows);
    }
  }
  missed.add_zeros(rows);
}

void add_term(const TermWork& term, std::size_t first, MutMatrix rows, Into into,
              Precision precision) {
  if (is_placed(term)) {
    return add_placed(term, first, rows, into, precision);
  }
  if (term.path.places) {
    const MutMatrix picked = term.summed.slice(first, rows.rows);
    gather_rows(term.source, term.path.places->subspan(first, rows.rows), 0, picked);
    return linear_rows(picked, term.weight, rows, into, precision);
  }
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
  if (use.path.places) {
    return use.rows;
  }
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

bool has_places_of_use(const UseWork& use) {
  return use.path.places.has_value();
}

/// \param uses  without the first
void add_zeros_of_uses(std::span<const UseWork> uses, std::size_t first, MutMatrix rows) {
  MissedRows missed(rows.rows);
  for (const UseWork& use : uses) {
    if (use.path.places) {
      missed.add(*use.path.places, first, use.rows);
    }
  }
  missed.add_zeros(rows);
}

/// How a use is added to rows.
struct UseAdding {
  Into into;
  Precision precision;  ///< of products
};

/// Adds a use that reaches few of the rows.
void add_placed_use(const UseWork& use, std::size_t first, MutMatrix rows, UseAdding how) {
  const auto [into, precision] = how;
  const PlacesIn in(*use.path.places, first, rows.rows);
  const std::size_t count = in.places.size();
  if (into == Into::overwrite) {
    std::ranges::fill(rows.flat(), 0.0F);
  }
  if (count == 0) {
    return;
  }
  Matrix sums(count, rows.cols);
  if (use.path.reach != Reach::own) {
    sources_of(use, in.begin, sums.view());
    return into == Into::overwrite
               ? scatter_rows(std::as_const(sums).view(), in.places, first, rows)
               : add_rows_at(std::as_const(sums).view(), in.places, first, rows);
  }
  if (into == Into::add) {
    gather_rows(rows, in.places, first, sums.view());
  }
  linear_backward_rows(use.grad.slice(in.begin, count), use.weight, sums.view(), into, precision);
  scatter_rows(std::as_const(sums).view(), in.places, first, rows);
}

void add_use(const UseWork& use, std::size_t first, MutMatrix rows, UseAdding how,
             Matrix& scratch) {
  const auto [into, precision] = how;
  if (use.path.places) {
    return add_placed_use(use, first, rows, how);
  }
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

void BlockOps::placed_gradients(Executor& /*executor*/, std::span<const PlacedGradient> terms) {
  TROUPE_ASSERT(has_places(), "terms with places on a device", terms.size());
}

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

void CpuBlockOps::count_up(std::uint32_t first, std::span<std::uint32_t> numbers) {
  std::iota(numbers.begin(), numbers.end(), first);
}

void CpuBlockOps::combine(Executor& executor, const Combination& combination) {
  const bool placed = std::ranges::any_of(combination.terms, is_placed);
  const auto body = [&](std::size_t first, std::size_t count) {
    const MutMatrix rows = combination.conv.slice(first, count);
    Into into = Into::overwrite;
    for (const TermWork& term : combination.terms) {
      add_term(term, first, rows, into, precision_);
      if (placed && into == Into::overwrite) {
        add_zeros_of_terms(combination.terms.subspan(1), first, rows);
      }
      into = Into::add;
    }
    if (!combination.bias.empty()) {
      add_bias_rows(combination.bias, rows);
    }
    finish_rows(combination.finish, combination.state, first, rows,
                combination.out.slice(first, count));
  };
  for_each_piece(executor, combination.out.rows, placed ? placed_chunk_rows : chunk_rows, body);
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

void CpuBlockOps::placed_gradients(Executor& executor, std::span<const PlacedGradient> terms) {
  executor.parallel_for(terms.size(), [&](std::size_t i) {
    const PlacedGradient& term = terms[i];
    const ConstMatrix grad = term.own ? term.grad : ConstMatrix(term.grad_rows);
    if (!term.own) {
      gather_rows(term.grad, term.places, 0, term.grad_rows);
    }
    if (has_data(term.grad_weight)) {
      weight_gradient_at(term.places, term.rows, grad, term.x, term.grad_weight, precision_);
    }
    if (has_data(term.grad_x)) {
      linear_backward_rows(grad, term.weight, term.grad_x, Into::overwrite, precision_);
    }
  });
}

void CpuBlockOps::sort_by_source(Executor& executor, std::span<const SortWork> blocks) {
  executor.parallel_for(blocks.size(),
                        [&](std::size_t i) { blocks[i].by_source->build(*blocks[i].block); });
}

void CpuBlockOps::source_gradient(Executor& executor, std::span<const UseWork> uses,
                                  MutMatrix out) {
  const bool placed = std::ranges::any_of(uses, has_places_of_use);
  const auto body = [&](std::size_t first, std::size_t count) {
    const MutMatrix rows = out.slice(first, count);
    Matrix scratch;
    Into into = Into::overwrite;
    for (std::size_t u = 0; u < uses.size(); ++u) {
      const UseWork& use = uses[u];
      const std::size_t end = std::min(reached(use), first + count);
      if (end < first + count && into == Into::overwrite) {
        std::ranges::fill(rows.flat(), 0.0F);
        into = Into::add;
      }
      if (end > first) {
        add_use(use, first, rows.slice(0, end - first), {into, precision_}, scratch);
        into = Into::add;
      }
      if (placed && u == 0) {
        add_zeros_of_uses(uses.subspan(1), first, rows);
      }
    }
  };
  for_each_piece(executor, out.rows, placed ? placed_chunk_rows : chunk_rows, body);
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
    if (ids.data() == nullptr) {
      dropout_rows_from(mask, first, rows);
    } else {
      dropout_rows(mask, ids.subspan(first, count), rows);
    }
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
