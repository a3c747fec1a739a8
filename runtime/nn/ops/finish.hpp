#pragma once
/// \file finish.hpp
/// End of a combination (block_ops.hpp): division by the row's length, layer normalization, an
/// activation and the dropout of the next layer's input, as set. Runs on chunks of rows while they are in the
/// cache.
#include "runtime/base/executor.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/nn/ops/dropout.hpp"
#include "runtime/nn/ops/grow_buffer.hpp"
#include "runtime/nn/ops/row_ops.hpp"

#include <cstddef>
#include <span>

namespace troupe::nn {

struct Finish {
  bool l2 = false;
  std::span<const float> norm_gain = {};  ///< [cols] gain of layer normalization; empty: none
  std::span<const float> norm_bias = {};  ///< [cols] bias of layer normalization
  bool relu = false;
  Activation activation = Activation::none;  ///< Instead of ReLU; GELU without a norm
  float slope = 0;                           ///< Of leaky ReLU below 0
  DropoutMask mask = {};                     ///< Dropout of the next layer's input
  std::span<const OriginalId> ids = {};      ///< [rows] original ids, if the mask is active

  bool norm() const { return !norm_gain.empty(); }
  bool activates() const { return relu || activation != Activation::none; }
  /// True if backward needs the rows before normalization beside the result.
  bool keeps_conv() const {
    return norm() || (l2 && activates()) || activation == Activation::gelu;
  }
};

/// What a combination keeps of its end for backward. The views lie in the memory beside them.
struct FinishState {
  explicit FinishState(PassMemory* memory = nullptr)
      : conv_memory(memory), output_memory(memory), lengths_memory(memory), stats_memory(memory) {}

  ConstMatrix conv;            ///< [rows, cols] before layer normalization and activation
  ConstMatrix output;          ///< [rows, cols] after activation and the next layer's dropout
  std::span<float> lengths;    ///< [rows] for l2
  std::span<NormStats> stats;  ///< [rows] for layer normalization

  GrowBuffer<float> conv_memory;  ///< of `conv`, where it is not `output`
  GrowBuffer<float> output_memory;
  GrowBuffer<float> lengths_memory;
  GrowBuffer<NormStats> stats_memory;
};

struct FinishScratch {
  GrowBuffer<float> column_partials;
  GrowBuffer<float> column_sums;
};

/// Makes room for a combination whose rows end in `out`.
/// \returns where its summed rows belong: `out` itself, if nothing needs them later
MutMatrix begin_finish(const Finish& finish, MutMatrix out, FinishState& state);

/// Rows [first, first + conv.rows) of the result, from the summed rows with their bias.
/// \param conv  slice of what begin_finish() returned
void finish_rows(const Finish& finish, const FinishState& state, std::size_t first, MutMatrix conv,
                 MutMatrix out);

/// Turns `grad` [rows, cols] of the result into the gradient of the summed rows, in place.
/// \returns [3 * cols] the gradients of bias, normalization gain and normalization bias; valid
///   until the next call with `scratch`
std::span<const float> finish_backward(Executor& executor, const Finish& finish,
                                       const FinishState& state, MutMatrix grad,
                                       FinishScratch& scratch);

}  // namespace troupe::nn
