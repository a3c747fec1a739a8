#pragma once
/// \file exact_devices.hpp
/// Devices of a process that compute the blocks of exact inference. Knows no actors.
#include "gpu/run/devices.hpp"
#include "runtime/base/result.hpp"
#include "runtime/nn/device_inference.hpp"
#include "runtime/run/exact_inference.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe::gpu {

struct ExactDevices {
  /// One for each device of the ranks. Empty: the CPU computes
  std::vector<std::shared_ptr<nn::DeviceInference>> devices = {};
  DeviceShare share = {};
  std::string why_not = {};  ///< Why there are none
};

/// Devices of ranks for the exact inference of a process, if each node's block has room in their share.
/// \param devices  their memory is read here, their operations are made when the first block is computed
/// \param ranks    of the process, at least one
/// \param wanted   bytes of a device, at most; an eighth of its memory bounds them, too
/// \errors cuda_failure
Result<ExactDevices> exact_devices(const std::shared_ptr<Devices>& devices,
                                   std::span<const Rank> ranks, std::uint64_t wanted,
                                   const ExactInferenceOptions& options, const InferenceHost& host);

}  // namespace troupe::gpu
