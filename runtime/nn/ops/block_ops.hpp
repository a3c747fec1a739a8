#pragma once
/// \file block_ops.hpp
/// The block operations that networks are made of, with their shapes and memory resolved, and the
/// interface of a set of functions that computes them: on the CPU (cpu_block_ops.hpp) or on a
/// device. `Tape` (tape.hpp) records operations and calls a set; convolutions use the tape.
///
/// The central operation is the *combination*: one row per destination, the sum of terms, then a
/// bias and what `Finish` says. A term sums rows of in-neighbors, or takes a destination's own row,
/// and may multiply the result with a matrix. All of it happens chunk by chunk in the cache, which
/// is why products, sums, activations and norms of a layer are one operation.
#include "runtime/base/executor.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/nn/knowledge/triple_loss.hpp"
#include "runtime/nn/ops/aggregate.hpp"
#include "runtime/nn/ops/attention.hpp"
#include "runtime/nn/ops/batch_norm.hpp"
#include "runtime/nn/ops/dropout.hpp"
#include "runtime/nn/ops/finish.hpp"
#include "runtime/nn/ops/head_products.hpp"
#include "runtime/nn/ops/link_loss.hpp"
#include "runtime/nn/ops/optimizer_step.hpp"
#include "runtime/nn/ops/pair_attention.hpp"
#include "runtime/nn/ops/pair_scores.hpp"
#include "runtime/nn/ops/seed_loss.hpp"
#include "runtime/nn/ops/weighted_sum.hpp"
#include "runtime/sample/mini_batch.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace troupe::nn {

/// How the rows of sources become one row per destination.
enum class Reach : std::uint8_t {
  own,           ///< source row i is row i of the result
  aggregate,     ///< mean, max or sum over the in-edges of a block
  weighted_sum,  ///< sum over the in-edges of a block, each times its factors
  attend,        ///< the same with weights by edge and head (attention.hpp)
  head_scores,   ///< of a use only: the scores of heads
  attention,     ///< of a use only: the scores that attention gave weights
  pair,          ///< of a use only: the sources' rows of a pair attention
  head_product,  ///< of a use only: the rows of products by head
};

/// Along which edges a term reaches its sources, and how it weighs them.
struct Path {
  Reach reach = Reach::own;
  Aggregator aggregator = Aggregator::mean;  ///< of `aggregate`
  const LayerBlock* block = nullptr;         ///< unless `own`; outlives the tape's pass
  EdgeFactors factors = {};                  ///< of `weighted_sum`
  AttentionShape attention = {};             ///< of `attend` and `attention`
  ConstMatrix weights = {};                  ///< [attention.rows(), heads] of `attend`
  std::size_t out_cols = 0;                  ///< columns of the result of `attend`
  /// [rows] factors of the rows, of `own` without a product; empty: ones.
  std::span<const float> scale = {};
  float factor = 1;                         ///< of all rows, where `scale` is empty
  const float* factor_parameter = nullptr;  ///< is added to `factor`; null: nothing is
  /// Of terms with few rows, ascending. `aggregate`: the rows of the result that the term's rows are added
  /// to; `own`: the rows of the source that the result's are made of. Of a use: the rows it reaches.
  std::optional<std::span<const std::uint32_t>> places = {};

  /// \requires operands are in host memory
  float row_factor() const {
    return factor_parameter == nullptr ? factor : factor + *factor_parameter;
  }
};

/// A term as a set of functions computes it.
struct TermWork {
  Path path;
  ConstMatrix source;  ///< [num_src or more, in]; of `own` [rows or more, in]
  ConstMatrix weight;  ///< [out, in] of the product; no data: no product
  /// [rows, in] where summed rows lie before their product, or before they are added to terms
  /// before them; no data: not needed. Of a term with places: [places, in], always.
  MutMatrix summed;
  std::span<std::uint32_t> argmax;  ///< [rows * in] of the aggregator max, if backward follows
};

/// A combination: result = finish(sum of the terms, in their order, + bias).
struct Combination {
  std::span<const TermWork> terms;  ///< at least one
  std::span<const float> bias;      ///< [cols]; empty: none
  const Finish& finish;
  const FinishState& state;  ///< begin_finish() made it
  MutMatrix conv;            ///< [rows, cols] what begin_finish() returned
  MutMatrix out;             ///< [rows, cols] the result
};

/// One use of rows by a term, as their gradient comes back from it.
struct UseWork {
  Path path;
  const EdgesBySource* by_source = nullptr;  ///< unless `own`
  /// Of `own` [rows, out] the gradient of the result; of `head_scores` and `attention` that of the
  /// scores, as of `pair`; else [num_dst, in] that of the summed rows.
  ConstMatrix grad;
  /// Of `own`: [out, in] of the product; no data: no product. Of `head_scores` the heads' vectors.
  ConstMatrix weight;
  std::span<const std::uint32_t> argmax;
  const PairAttention* pair = nullptr;  ///< of `pair`
  std::size_t rows = 0;                 ///< with places: that the use would reach without
};

/// Gradients of the product of a term with places.
struct PlacedGradient {
  ConstMatrix grad;                       ///< [rows, out] of the result; of `own` [places, out]
  bool own = false;                       ///< The rows of `grad` are the term's
  std::span<const std::uint32_t> places;  ///< Path::places
  std::size_t rows = 0;   ///< Of the result; of `own` those of the source that places are among
  ConstMatrix x;          ///< [places, in] TermWork::summed
  ConstMatrix weight;     ///< [out, in]; no data: no product
  MutMatrix grad_rows;    ///< [places, out] those of `grad` at the places, unless `own`
  MutMatrix grad_weight;  ///< [out, in], overwritten; no data: no product
  MutMatrix grad_x;       ///< [places, in], overwritten; no data: not wanted
};

/// Gives a number once it has been computed, and waits for that. \errors those of a device until then
/// Threads: any, also while operations are called
using LaterNumber = std::function<Result<double>()>;

/// A set of functions behind the block operations.
/// Threads:    one caller at a time; work inside runs on the executor that is passed in
/// Guarantees: the same bits for any executor. A row of a result depends on its own terms alone
/// Owns:       scratch memory, kept between calls
/// Operands and results are in host memory; those of a device in its memory, which the host does not
/// read: `memory()` then gives it, and only offsets, sizes and options come from the host.
class BlockOps {
 public:
  virtual ~BlockOps() = default;

  /// Of a device; null: the operands are in host memory.
  virtual PassMemory* memory() { return nullptr; }
  /// Rows that products are made of at a time, the last piece padded, so that a row's bits do not depend on the
  /// rows beside it; 0: as many as there are.
  virtual std::size_t product_rows() const { return 0; }
  /// \param host  stays as it is until something computed later has been waited for
  virtual void upload(const void* host, void* to, std::size_t size_bytes) = 0;
  /// Waits until all is computed that `from` depends on.
  /// \errors the first of any operation since the start; results are undefined from there on
  virtual Status download(const void* from, void* host, std::size_t size_bytes) = 0;
  /// Waits until all is computed. \errors as download()
  virtual Status finish() { return ok_status(); }
  /// The value that `from` has after what was computed so far, without waiting for it.
  virtual LaterNumber number_later(const double* from) {
    return [value = *from] { return Result<double>(value); };
  }
  virtual void copy(std::span<const float> from, std::span<float> to) = 0;
  /// to += from
  virtual void add(std::span<const float> from, std::span<float> to) = 0;
  virtual void zero(std::span<float> values) = 0;
  virtual void scale(float factor, std::span<float> values) = 0;
  /// out [n, l + r] = rows of left [n, l], each with that of right [n, r] behind it.
  virtual void join_columns(ConstMatrix left, ConstMatrix right, MutMatrix out) = 0;
  /// numbers[i] = first + i, modulo 2^32.
  virtual void count_up(std::uint32_t first, std::span<std::uint32_t> numbers) = 0;

  /// Writes `out`, and `summed` and `argmax` of the terms.
  virtual void combine(Executor& executor, const Combination& combination) = 0;

  /// Turns `grad` [rows, cols] of a combination's result into that of its sum, in place.
  /// \returns [3 * cols] gradients of bias, normalization gain and bias, until the next call
  virtual std::span<const float> finish_backward(Executor& executor, const Finish& finish,
                                                 const FinishState& state, MutMatrix grad) = 0;

  /// grad_weight [out, in] = grad^T x, overwritten.
  virtual void weight_gradient(Executor& executor, ConstMatrix grad, ConstMatrix x,
                               MutMatrix grad_weight) = 0;

  /// grad_x [rows, in] = grad [rows, out] times weight [out, in], overwritten.
  virtual void product_backward(Executor& executor, ConstMatrix grad, ConstMatrix weight,
                                MutMatrix grad_x) = 0;

  /// What weight_gradient() and product_backward() give, of terms with places: the same bits as if all other
  /// rows were there and 0. \requires has_places()
  virtual void placed_gradients(Executor& executor, std::span<const PlacedGradient> terms);
  /// Whether terms and uses may have places.
  virtual bool has_places() const { return false; }

  /// Sorts the edges of blocks by source. \param blocks  with where the lists go
  struct SortWork {
    const LayerBlock* block;
    EdgesBySource* by_source;
  };
  virtual void sort_by_source(Executor& executor, std::span<const SortWork> blocks) = 0;

  /// Gradient of rows that several terms used: the gradients of the uses are added in their order.
  /// \param out  [rows, in], overwritten; 0 where no use reaches a row
  virtual void source_gradient(Executor& executor, std::span<const UseWork> uses,
                               MutMatrix out) = 0;

  /// scores [n, heads] of the first n rows of x.
  virtual void head_scores(Executor& executor, ConstMatrix x, ConstMatrix vectors,
                           MutMatrix scores) = 0;
  /// grad_vectors [heads, columns], overwritten.
  virtual void head_scores_gradient(Executor& executor, ConstMatrix grad, ConstMatrix x,
                                    MutMatrix grad_vectors) = 0;

  /// Weights of a block's edges from the scores of their ends.
  struct AttentionWork {
    AttentionShape shape;
    float slope = 0;          ///< of leaky ReLU below 0
    ConstMatrix source;       ///< [num_src or more, heads]
    ConstMatrix destination;  ///< [num_dst or more, heads]
    MutMatrix weights;        ///< [shape.rows(), heads]
  };
  virtual void attention(Executor& executor, const AttentionWork& work) = 0;
  /// Turns `grad` of the weights into that of the sum of both scores, in place; sums over in-edges
  /// go to grad_destination [num_dst, heads].
  virtual void attention_backward(Executor& executor, const AttentionWork& work, MutMatrix grad,
                                  MutMatrix grad_destination) = 0;
  /// Gradient of the weights that an `attend` term used. \param grad  [num_dst, …] of its rows
  virtual void attend_weights_gradient(Executor& executor, const AttentionShape& shape,
                                       ConstMatrix x, ConstMatrix grad, MutMatrix grad_weights) = 0;

  /// Factors of a block's edges (weighted_sum.hpp).
  virtual EdgeFactors degree_factors(const LayerBlock& block, const LayerBlock* below,
                                     DegreeFactors how, GcnFactors& memory) = 0;

  /// Weights of the edges of all parts together (pair_attention.hpp).
  virtual void pair_attention(Executor& executor, std::span<const PairAttention> parts) = 0;
  /// Turns gradients of the weights into those of the scores, and writes those of destinations.
  virtual void pair_attention_backward(Executor& executor, std::span<const PairAttention> parts,
                                       std::span<const PairGradient> grads) = 0;
  /// grad_vectors, overwritten. \param grad  of the scores
  virtual void pair_vectors_gradient(Executor& executor, const PairAttention& part,
                                     ConstMatrix grad, MutMatrix grad_vectors) = 0;

  /// out = x with a mask's elements dropped and the others scaled; may be the same memory.
  /// \param ids  [rows]; no data: rows have their numbers as ids
  virtual void drop(Executor& executor, ConstMatrix x, const DropoutMask& mask,
                    std::span<const OriginalId> ids, MutMatrix out) = 0;

  /// sum [n] = the first, plus each of the others in order.
  virtual void add_parameters(std::span<const std::span<const float>> values,
                              std::span<float> sum) = 0;

  /// sum [1] = the sum of the products of the elements of two matrices: the gradient of a factor of
  /// rows.
  virtual void factor_gradient(Executor& executor, ConstMatrix grad, ConstMatrix x,
                               std::span<float> sum) = 0;

  /// Products by head of the first y.rows rows of x (head_products.hpp).
  virtual void head_products(Executor& executor, ConstMatrix x, ConstMatrix weights,
                             MutMatrix y) = 0;
  /// grad_weights, overwritten.
  virtual void head_products_gradient(Executor& executor, ConstMatrix grad, ConstMatrix x,
                                      MutMatrix grad_weights) = 0;
  /// y = share * fresh + (1 - share) * old, the share that of a parameter `gate` [1].
  virtual void gate(Executor& executor, std::span<const float> gate, ConstMatrix fresh,
                    ConstMatrix old, MutMatrix y) = 0;
  /// Gradients through a gate. \param grad  of y; becomes that of `fresh`
  /// \param grad_old  overwritten  \param grad_gate  [1], overwritten
  virtual void gate_backward(Executor& executor, std::span<const float> gate, ConstMatrix fresh,
                             ConstMatrix old, MutMatrix grad, MutMatrix grad_old,
                             std::span<float> grad_gate) = 0;

  /// Batch normalization with what follows it (batch_norm.hpp): writes the statistics, and `out`.
  virtual void batch_norm(Executor& executor, const BatchNorm& norm, const FinishState& state,
                          MutMatrix out) = 0;
  /// Turns `grad` of the result into that of the rows, in place.
  /// \returns [2 * cols] gradients of gain and bias, until the next call
  virtual std::span<const float> batch_norm_backward(Executor& executor, const BatchNorm& norm,
                                                     const FinishState& state, MutMatrix grad) = 0;

  /// Mixtures of parameters: sum [out, in] = sum over b of coefficients[b] times block b of `bases`,
  /// [number of coefficients * out, in].
  virtual void mix_parameters(std::span<const float> coefficients, ConstMatrix bases,
                              MutMatrix sum) = 0;
  /// grad_coefficients, overwritten. \param grad  [out, in] of the sum
  virtual void mix_coefficients_gradient(ConstMatrix grad, ConstMatrix bases,
                                         std::span<float> grad_coefficients) = 0;
  /// grad_bases, overwritten.
  virtual void mix_bases_gradient(ConstMatrix grad, std::span<const float> coefficients,
                                  MutMatrix grad_bases) = 0;

  /// Scores of pairs (pair_scores.hpp).
  virtual void pair_scores(Executor& executor, const RowPairs& pairs, ConstMatrix relations,
                           MutMatrix scores) = 0;
  /// Their gradients: those of both ends' rows are added, those of the relations overwritten.
  virtual void pair_scores_gradient(Executor& executor, const RowPairs& pairs,
                                    ConstMatrix relations, ConstMatrix grad,
                                    const PairGradients& to) = 0;

  /// The loss over a batch's seeds with its gradient (seed_loss.hpp).
  virtual void seed_loss(const SeedLossWork& work) = 0;
  /// The loss of a batch's links with its gradient (link_loss.hpp).
  virtual void link_loss(const LinkLossWork& work) = 0;
  /// The loss of a batch's triples with its gradients (knowledge/triple_loss.hpp).
  virtual void triple_loss(Executor& executor, const TripleLossWork& work) = 0;

  // Learning.

  /// values = (0 + values) / divisor: what the mean over ranks is where there is one.
  virtual void mean_of_one(float divisor, std::span<float> values) = 0;
  /// What a gradient is multiplied by (clip.hpp): [1] until the next call; null: 1.
  virtual const float* clip_factor(std::span<const float> gradient, double limit) = 0;
  virtual void optimizer_step(const OptimizerStep& step, const StepArrays& arrays) = 0;
};

}  // namespace troupe::nn
