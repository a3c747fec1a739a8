#pragma once
/// \file layer_finish.hpp
/// What follows a layer's convolution: division by the row's length, layer normalisation, ReLU and
/// the dropout of the next layer's input, as set. For the models of this room.
#include "runtime/base/executor.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/nn/dropout.hpp"
#include "runtime/nn/grow_buffer.hpp"
#include "runtime/nn/ops.hpp"

#include <cstddef>
#include <span>

namespace troupe::nn {

struct LayerFinish {
  bool l2 = false;
  bool last = false;  ///< neither normalisation nor ReLU nor dropout follows
  bool norm = false;
  std::span<const float> norm_gain;  ///< [cols] if `norm`
  std::span<const float> norm_bias;
  DropoutMask next_mask;            ///< of the next layer's input
  std::span<const OriginalId> ids;  ///< of the rows' nodes, if the mask is active
};

/// What the end of one layer keeps for its backward pass. The views lie in the memory beside them.
struct FinishState {
  ConstMatrix conv;            ///< [rows, cols] before layer normalisation and ReLU
  ConstMatrix output;          ///< [rows, cols] after ReLU and the next layer's dropout
  std::span<float> lengths;    ///< [rows] for l2
  std::span<NormStats> stats;  ///< [rows] for norm

  GrowBuffer<float> conv_memory;  ///< where `conv` is not `output`
  GrowBuffer<float> output_memory;
  GrowBuffer<float> lengths_memory;
  GrowBuffer<NormStats> stats_memory;
};

struct FinishScratch {
  GrowBuffer<float> column_partials;
  GrowBuffer<float> column_sums;
};

/// Makes room for a layer whose rows end in `out`.
/// \returns where the rows of its convolution belong: `out` itself, if nothing needs them later
MutMatrix begin_finish(const LayerFinish& finish, MutMatrix out, FinishState& state);

/// Rows [first, first + conv.rows) of the layer, from those of its convolution with its bias.
/// \param conv  of what begin_finish() returned
void finish_rows(const LayerFinish& finish, const FinishState& state, std::size_t first,
                 MutMatrix conv, MutMatrix out);

/// Turns `grad` [rows, cols] of the layer's output into that of its convolution, in place.
/// \returns [3 * cols] the gradients of the convolution's bias and of the normalisation's gain and
///   bias; valid until the next call with `scratch`
std::span<const float> finish_backward(Executor& executor, const LayerFinish& finish,
                                       const FinishState& state, MutMatrix grad,
                                       FinishScratch& scratch);

}  // namespace troupe::nn
