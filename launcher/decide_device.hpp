#pragma once
/// \file decide_device.hpp
/// What `cluster.device` "auto" becomes, and whether the hosts of a run agree.
#include "gpu/run/devices.hpp"
#include "runtime/base/result.hpp"
#include "runtime/job/job.hpp"

#include <string>
#include <string_view>

namespace troupe {

/// Turns "auto" into the kind of what was found, in the job and in its text. Another device stays.
void decide_device(Job& job, const gpu::FoundDevices& found);
/// As this host has it.
void decide_device(Job& job);

/// Whether the device that was decided computes products as `train.precision` says.
/// \param here  what this host has
/// \errors unimplemented: it does not, with what "auto" found
Status check_precision(const Job& job, const gpu::FoundDevices& here);
/// The same of this host; where all ranks are on it (`launch` "simulate" and "local") check_bf16(), too.
Status check_precision(const Job& job);

/// What oneDNN finds in a processor.
struct Bf16Kernels {
  bool unit = false;         ///< nn::has_bf16_unit()
  std::string_view vectors;  ///< nn::matrix_kernels()
};
/// Whether the processor of a host with ranks computes their products, where that is bfloat16 on CPUs or
/// on emulated devices.
/// \errors failed_precondition: it has no unit for that, with what is missing
Status check_bf16(const Job& job, std::string_view host, const Bf16Kernels& kernels);
/// As this host's processor is.
Status check_bf16(const Job& job, std::string_view host);

/// The same of `train.reduce`: whether the device adds gradients so.
Status check_reduce(const Job& job, const gpu::FoundDevices& here);
Status check_reduce(const Job& job);

/// Whether a host has what "auto" became where the run was started.
/// \errors failed_precondition: it has not, with what it has
Status check_decided(const DeviceChoice& choice, const gpu::FoundDevices& here,
                     std::string_view host);

/// For `check`: that GPUs of this host are not used, or what "auto" became; empty: neither.
std::string decided_text(const DeviceChoice& choice, const gpu::FoundDevices& here);

}  // namespace troupe
