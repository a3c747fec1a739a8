#pragma once
/// \file cuda_block_ops.hpp
/// Block operations on a CUDA device.
#include "runtime/base/result.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/ops/precision.hpp"

#include <cstddef>
#include <memory>

namespace troupe::gpu {

/// On a stream of their own, with cuBLAS for products, which has a workspace of its own, so that equal
/// operands give equal bits on devices of one model.
/// \param precision     of the products; all else is float32, without TF32
/// \param product_rows  height of the pieces that products x times weight are made in (product_pieces.hpp); 0:
///   any
/// \errors not_found: no cuBLAS; cuda_failure; unimplemented: this build has no CUDA
Result<std::unique_ptr<nn::BlockOps>> make_cuda_block_ops(
    int device, nn::Precision precision = nn::Precision::float32, std::size_t product_rows = 0);

}  // namespace troupe::gpu
