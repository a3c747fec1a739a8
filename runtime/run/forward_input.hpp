#pragma once
/// \file forward_input.hpp
/// A batch as a network takes it (runtime/nn/network.hpp).
#include "runtime/base/result.hpp"
#include "runtime/feature/batch.hpp"
#include "runtime/nn/network.hpp"

#include <cstdint>
#include <span>

namespace troupe {

/// Borrows the batch.
/// \param model  options of a network, with its types
/// \param joined  by node type, in place of the batch's features where they have rows; their gradients
///   are wanted in training; empty: of no type
/// \errors failed_precondition: the batch has other types, too few hops, or lacks rows or, for
///   training, original ids
Result<nn::ForwardInput> forward_input(const nn::ModelOptions& model, std::uint64_t job_seed,
                                       const Batch& batch, bool training,
                                       std::span<const ConstMatrix> joined = {});

}  // namespace troupe
