#pragma once
/// \file cpu_block_ops.hpp
/// Block operations on the CPU, in chunks of rows that an executor's threads share.
#include "runtime/nn/knowledge/triple_chunks.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"
#include "runtime/nn/ops/precision.hpp"

namespace troupe::nn {

/// Threads, guarantees: as `BlockOps`.
class CpuBlockOps final : public BlockOps {
 public:
  /// \param precision  of products; not tf32
  explicit CpuBlockOps(Precision precision = Precision::float32) : precision_(precision) {}

  void upload(const void* host, void* to, std::size_t size_bytes) override;
  Status download(const void* from, void* host, std::size_t size_bytes) override;
  void copy(std::span<const float> from, std::span<float> to) override;
  void add(std::span<const float> from, std::span<float> to) override;
  void zero(std::span<float> values) override;
  void scale(float factor, std::span<float> values) override;
  void join_columns(ConstMatrix left, ConstMatrix right, MutMatrix out) override;
  void count_up(std::uint32_t first, std::span<std::uint32_t> numbers) override;
  void combine(Executor& executor, const Combination& combination) override;
  std::span<const float> finish_backward(Executor& executor, const Finish& finish,
                                         const FinishState& state, MutMatrix grad) override;
  void weight_gradient(Executor& executor, ConstMatrix grad, ConstMatrix x,
                       MutMatrix grad_weight) override;
  void product_backward(Executor& executor, ConstMatrix grad, ConstMatrix weight,
                        MutMatrix grad_x) override;
  void placed_gradients(Executor& executor, std::span<const PlacedGradient> terms) override;
  bool has_places() const override { return true; }
  void sort_by_source(Executor& executor, std::span<const SortWork> blocks) override;
  void source_gradient(Executor& executor, std::span<const UseWork> uses, MutMatrix out) override;
  void head_scores(Executor& executor, ConstMatrix x, ConstMatrix vectors,
                   MutMatrix scores) override;
  void head_scores_gradient(Executor& executor, ConstMatrix grad, ConstMatrix x,
                            MutMatrix grad_vectors) override;
  void attention(Executor& executor, const AttentionWork& work) override;
  void attention_backward(Executor& executor, const AttentionWork& work, MutMatrix grad,
                          MutMatrix grad_destination) override;
  void attend_weights_gradient(Executor& executor, const AttentionShape& shape, ConstMatrix x,
                               ConstMatrix grad, MutMatrix grad_weights) override;
  EdgeFactors degree_factors(const LayerBlock& block, const LayerBlock* below, DegreeFactors how,
                             GcnFactors& memory) override;
  void pair_attention(Executor& executor, std::span<const PairAttention> parts) override;
  void pair_attention_backward(Executor& executor, std::span<const PairAttention> parts,
                               std::span<const PairGradient> grads) override;
  void pair_vectors_gradient(Executor& executor, const PairAttention& part, ConstMatrix grad,
                             MutMatrix grad_vectors) override;
  void drop(Executor& executor, ConstMatrix x, const DropoutMask& mask,
            std::span<const OriginalId> ids, MutMatrix out) override;
  void add_parameters(std::span<const std::span<const float>> values,
                      std::span<float> sum) override;
  void factor_gradient(Executor& executor, ConstMatrix grad, ConstMatrix x,
                       std::span<float> sum) override;
  void head_products(Executor& executor, ConstMatrix x, ConstMatrix weights, MutMatrix y) override;
  void head_products_gradient(Executor& executor, ConstMatrix grad, ConstMatrix x,
                              MutMatrix grad_weights) override;
  void gate(Executor& executor, std::span<const float> gate, ConstMatrix fresh, ConstMatrix old,
            MutMatrix y) override;
  void gate_backward(Executor& executor, std::span<const float> gate, ConstMatrix fresh,
                     ConstMatrix old, MutMatrix grad, MutMatrix grad_old,
                     std::span<float> grad_gate) override;
  void batch_norm(Executor& executor, const BatchNorm& norm, const FinishState& state,
                  MutMatrix out) override;
  std::span<const float> batch_norm_backward(Executor& executor, const BatchNorm& norm,
                                             const FinishState& state, MutMatrix grad) override;
  void mix_parameters(std::span<const float> coefficients, ConstMatrix bases,
                      MutMatrix sum) override;
  void mix_coefficients_gradient(ConstMatrix grad, ConstMatrix bases,
                                 std::span<float> grad_coefficients) override;
  void mix_bases_gradient(ConstMatrix grad, std::span<const float> coefficients,
                          MutMatrix grad_bases) override;
  void pair_scores(Executor& executor, const RowPairs& pairs, ConstMatrix relations,
                   MutMatrix scores) override;
  void pair_scores_gradient(Executor& executor, const RowPairs& pairs, ConstMatrix relations,
                            ConstMatrix grad, const PairGradients& to) override;
  void seed_loss(const SeedLossWork& work) override;
  void link_loss(const LinkLossWork& work) override;
  void triple_loss(Executor& executor, const TripleLossWork& work) override;
  void mean_of_one(float divisor, std::span<float> values) override;
  const float* clip_factor(std::span<const float> gradient, double limit) override;
  void optimizer_step(const OptimizerStep& step, const StepArrays& arrays) override;

 private:
  Precision precision_;
  GrowBuffer<float> weight_partials_;
  FinishScratch finish_;
  HeadProductScratch heads_;
  TripleChunks triples_;
  float clip_ = 1;
};

}  // namespace troupe::nn
