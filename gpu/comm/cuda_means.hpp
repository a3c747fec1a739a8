#pragma once
/// \file cuda_means.hpp
/// Communicators of CUDA devices, by NCCL.
#include "runtime/base/result.hpp"
#include "runtime/nn/ops/block_ops.hpp"
#include "runtime/run/device_mean.hpp"

#include <memory>
#include <string>

namespace troupe::gpu {

class ProgramStream;

/// \param ops  those of make_cuda_block_ops(): vectors are in its stream
/// \errors not_found: no NCCL, or a function is missing; failed_precondition: a version that is not known;
///   unimplemented: this build has no CUDA
Result<std::unique_ptr<DeviceMeans>> cuda_means(int device, const nn::BlockOps& ops,
                                                const DeviceMeansOptions& options);
/// The same in the stream of a user program's vectors, that of make_cuda_program_stream().
Result<std::unique_ptr<DeviceMeans>> cuda_means(int device, const ProgramStream& on,
                                                const DeviceMeansOptions& options);
/// Of the NCCL that would be loaded, e.g. "2.28.9".
/// \param file  looked for as the loader does
/// \errors as cuda_means()
Result<std::string> nccl_version(const char* file = "libnccl.so.2");

}  // namespace troupe::gpu
