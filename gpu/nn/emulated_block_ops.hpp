#pragma once
/// \file emulated_block_ops.hpp
/// Block operations on an emulated device, with the CPU's bits in everything.
#include "gpu/base/emulated_device.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/nn/ops/precision.hpp"

#include <cstddef>
#include <memory>

namespace troupe::gpu {

/// On a stream of their own.
/// \param precision     of products, as CPUs have it: not tf32
/// \param product_rows  height of the pieces that products x times weight are made in (product_pieces.hpp); 0:
///   any
std::unique_ptr<nn::BlockOps> make_emulated_block_ops(
    std::shared_ptr<EmulatedDevice> device, nn::Precision precision = nn::Precision::float32,
    std::size_t product_rows = 0);

}  // namespace troupe::gpu
