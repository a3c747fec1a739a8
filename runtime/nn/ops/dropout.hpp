#pragma once
/// \file dropout.hpp
/// Dropout whose masks are a function of (job seed, node type, layer, epoch, batch, original id,
/// column) and of nothing else (design, section 4). A node has one mask per layer: as a neighbour
/// and as itself it is the same row. Masks of attention weights have the edge type and the place in
/// the batch's block instead of node type and original id, and a stream of their own.
#include "runtime/base/ids.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/philox.hpp"

#include <cstdint>
#include <span>

namespace troupe::nn {

/// What dropout masks depend on besides layer, original id and column (design, section 4).
struct DropoutContext {
  bool training = false;  ///< false: no dropout at all
  std::uint64_t job_seed = 0;
  std::uint32_t stream_epoch = 0;
  std::uint64_t batch = 0;
  std::uint16_t node_type = 0;
};

/// The masks of one layer's input in one batch.
struct DropoutMask {
  StreamKey key;
  float p = 0;      ///< probability of dropping an element, in [0, 1)
  float scale = 1;  ///< of the elements that stay: 1 / (1 - p)
  bool active() const { return p > 0; }
};

/// The mask of layer `layer`; inactive if the context is not training.
DropoutMask dropout_mask(const DropoutContext& context, std::uint32_t layer, float p);
/// That of the attention weights along an edge type in layer `layer`; the context's node type is not read.
DropoutMask attention_mask(const DropoutContext& context, std::uint16_t edge_type,
                           std::uint32_t layer, float p);

/// Drops and scales the elements of `x` in place. Also its own backward: apply it to the gradient.
/// An element stays where the uniform number made of word `column` is >= p.
/// \param ids [rows]
/// \cost one Philox block per 4 elements, 16 at once
void dropout_rows(const DropoutMask& mask, std::span<const OriginalId> ids, MutMatrix x);
/// The same of rows with the ids `first`, `first` + 1, and so on.
/// \cost one Philox block per 4 elements of a row, 16 at once, also of narrow rows
void dropout_rows_from(const DropoutMask& mask, std::uint64_t first, MutMatrix x);

}  // namespace troupe::nn
