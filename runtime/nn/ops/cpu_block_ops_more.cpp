// Attention by pairs, products by head, gates, batch normalization, mixtures and learning of
// cpu_block_ops.hpp.
#include "runtime/nn/clip.hpp"
#include "runtime/nn/ops/cpu_block_ops.hpp"
#include "runtime/nn/ops/linear.hpp"
#include "runtime/nn/ops/row_kernels.hpp"

#include <algorithm>

namespace troupe::nn {

void CpuBlockOps::pair_attention(Executor& executor, std::span<const PairAttention> parts) {
  for_each_chunk(
      executor, parts.front().shape.block->num_dst,
      [&](std::size_t first, std::size_t count) { pair_attention_rows(parts, first, count); });
}

void CpuBlockOps::pair_attention_backward(Executor& executor, std::span<const PairAttention> parts,
                                          std::span<const PairGradient> grads) {
  for_each_chunk(executor, parts.front().shape.block->num_dst,
                 [&](std::size_t first, std::size_t count) {
                   pair_attention_backward_rows(parts, grads, first, count);
                 });
}

void CpuBlockOps::pair_vectors_gradient(Executor& executor, const PairAttention& part,
                                        ConstMatrix grad, MutMatrix grad_vectors) {
  const std::size_t rows = part.shape.block->num_dst;
  const MutMatrix partials = weight_partials_.matrix(chunk_count(rows), grad_vectors.size());
  for_each_chunk(executor, rows, [&](std::size_t first, std::size_t count) {
    const auto part_sum = partials.row(first / chunk_rows);
    std::ranges::fill(part_sum, 0.0F);
    pair_attention_vector_rows(part, grad, first, count,
                               {part_sum.data(), grad_vectors.rows, grad_vectors.cols});
  });
  add_partials(partials, grad_vectors.flat());
}

void CpuBlockOps::batch_norm(Executor& executor, const BatchNorm& norm, const FinishState& state,
                             MutMatrix out) {
  batch_statistics(executor, norm, weight_partials_);
  nn::batch_norm(executor, norm, state, out);
}

std::span<const float> CpuBlockOps::batch_norm_backward(Executor& executor, const BatchNorm& norm,
                                                        const FinishState& state, MutMatrix grad) {
  return nn::batch_norm_backward(executor, norm, state, grad, finish_);
}

void CpuBlockOps::mix_parameters(std::span<const float> coefficients, ConstMatrix bases,
                                 MutMatrix sum) {
  std::ranges::fill(sum.flat(), 0.0F);
  for (std::size_t b = 0; b < coefficients.size(); ++b) {
    add_scaled_row(bases.row(b * sum.rows).data(), coefficients[b], sum.data, sum.size());
  }
}

void CpuBlockOps::mix_coefficients_gradient(ConstMatrix grad, ConstMatrix bases,
                                            std::span<float> grad_coefficients) {
  for (std::size_t b = 0; b < grad_coefficients.size(); ++b) {
    grad_coefficients[b] = dot_row(grad.data, bases.row(b * grad.rows).data(), grad.size());
  }
}

void CpuBlockOps::mix_bases_gradient(ConstMatrix grad, std::span<const float> coefficients,
                                     MutMatrix grad_bases) {
  for (std::size_t b = 0; b < coefficients.size(); ++b) {
    float* out = grad_bases.row(b * grad.rows).data();
    std::ranges::copy(grad.flat(), out);
    scale_row(coefficients[b], out, grad.size());
  }
}

void CpuBlockOps::factor_gradient(Executor& executor, ConstMatrix grad, ConstMatrix x,
                                  std::span<float> sum) {
  const MutMatrix of_chunks = weight_partials_.matrix(chunk_count(grad.rows), 1);
  for_each_chunk(executor, grad.rows, [&](std::size_t first, std::size_t count) {
    const ConstMatrix rows = grad.slice(first, count);
    of_chunks.row(first / chunk_rows)[0] =
        dot_row(rows.data, x.slice(first, count).data, rows.size());
  });
  add_partials(of_chunks, sum);
}

void CpuBlockOps::head_products(Executor& executor, ConstMatrix x, ConstMatrix weights,
                                MutMatrix y) {
  for_each_chunk(executor, y.rows, [&](std::size_t first, std::size_t count) {
    head_product_rows(x.slice(first, count), weights, y.slice(first, count), Into::overwrite,
                      precision_);
  });
}

void CpuBlockOps::head_products_gradient(Executor& executor, ConstMatrix grad, ConstMatrix x,
                                         MutMatrix grad_weights) {
  head_product_gradient(executor, grad, x, heads_, grad_weights, precision_);
}

void CpuBlockOps::gate(Executor& executor, std::span<const float> gate, ConstMatrix fresh,
                       ConstMatrix old, MutMatrix y) {
  const float share = gate_share(gate.front());
  for_each_chunk(executor, y.rows, [&](std::size_t first, std::size_t count) {
    gate_rows(share, fresh.slice(first, count), old.slice(first, count), y.slice(first, count));
  });
}

void CpuBlockOps::gate_backward(Executor& executor, std::span<const float> gate, ConstMatrix fresh,
                                ConstMatrix old, MutMatrix grad, MutMatrix grad_old,
                                std::span<float> grad_gate) {
  const float share = gate_share(gate.front());
  grad_gate.front() = gate_gradient(executor, share, grad, fresh, old, weight_partials_);
  for_each_chunk(executor, grad.rows, [&](std::size_t first, std::size_t count) {
    const MutMatrix rows = grad.slice(first, count);
    const MutMatrix to = grad_old.slice(first, count);
    std::ranges::copy(rows.flat(), to.data);
    scale_row(1 - share, to.data, to.size());
    scale_row(share, rows.data, rows.size());
  });
}

void CpuBlockOps::pair_scores(Executor& executor, const RowPairs& pairs, ConstMatrix relations,
                              MutMatrix scores) {
  nn::pair_scores(executor, pairs, relations, scores);
}

void CpuBlockOps::pair_scores_gradient(Executor& executor, const RowPairs& pairs,
                                       ConstMatrix relations, ConstMatrix grad,
                                       const PairGradients& to) {
  std::ranges::fill(to.relations.flat(), 0.0F);
  nn::pair_scores_gradient(executor, pairs, relations, grad, to);
}

void CpuBlockOps::seed_loss(const SeedLossWork& work) {
  *work.sum = nn::seed_loss(work.loss, work.rows, work.grad_rows).sum;
}

void CpuBlockOps::link_loss(const LinkLossWork& work) {
  *work.sum = nn::link_loss(work.loss, work.scores, work.gradients).sum;
}

void CpuBlockOps::triple_loss(Executor& executor, const TripleLossWork& work) {
  triples_.run(executor, work, precision_);
}

void CpuBlockOps::mean_of_one(float divisor, std::span<float> values) {
  for (float& value : values) {
    value = (0.0F + value) / divisor;
  }
}

const float* CpuBlockOps::clip_factor(std::span<const float> gradient, double limit) {
  clip_ = static_cast<float>(nn::clip_factor(gradient_length(gradient), limit));
  return &clip_;
}

void CpuBlockOps::optimizer_step(const OptimizerStep& step, const StepArrays& arrays) {
  nn::optimizer_step(step, arrays);
}

}  // namespace troupe::nn
