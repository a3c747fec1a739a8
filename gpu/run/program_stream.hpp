#pragma once
/// \file program_stream.hpp
/// A stream of a rank's device for a user program that brings kernels of its own. Built-in models have
/// block operations (runtime/nn/ops/block_ops.hpp) instead.
#include "runtime/base/result.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace troupe::gpu {

class EmulatedDevice;

/// Guarantees: an error of one call leaves the next ones alone, unless the device's state is lost
/// Threads:    one at a time; keep(): any
/// `theirs` is a stream of the user program: a cudaStream_t, null for CUDA's default stream. Emulated devices
/// run no work of others: null.
class ProgramStream {
 public:
  ProgramStream() = default;
  ProgramStream(const ProgramStream&) = delete;
  ProgramStream& operator=(const ProgramStream&) = delete;
  virtual ~ProgramStream() = default;

  /// Memory of the device, aligned to 256 bytes; may end on any thread, after what reads it.
  /// \errors out_of_memory or cuda_failure
  virtual Result<std::shared_ptr<void>> memory(std::size_t size_bytes) = 0;
  /// Whether all of it is memory that kernels of this device read.
  /// \errors invalid_argument: it is the host's, another device's, or none
  virtual Status check(const void* at, std::size_t size_bytes) = 0;
  /// Waits. \errors cuda_failure
  virtual Status upload(const void* host, void* to, std::size_t size_bytes) = 0;
  /// Waits. \errors cuda_failure
  virtual Status download(const void* from, void* host, std::size_t size_bytes) = 0;
  /// What is launched here from now on runs after what is in `theirs` now.
  /// \errors cuda_failure; invalid_argument: an emulated device, and a stream
  virtual Status follow(void* theirs) = 0;
  /// Does not wait. \errors cuda_failure
  virtual Status zero(std::span<float> values) = 0;
  /// values = (0 + values) / divisor: the mean over ranks where there is one. Waits.
  /// \errors cuda_failure
  virtual Status mean_of_one(std::span<float> values, float divisor) = 0;
  /// Keeps `what` until all that is in `theirs` now is done. Objects of earlier calls whose work is done are
  /// released. After an error nothing is kept, and the device has done all that it had.
  /// \errors as follow()
  virtual Status keep(std::shared_ptr<const void> what, void* theirs) = 0;
};

std::unique_ptr<ProgramStream> make_emulated_program_stream(std::shared_ptr<EmulatedDevice> device);
/// \param device  number of the CUDA device
/// \errors cuda_failure; unimplemented: this build has no CUDA
Result<std::unique_ptr<ProgramStream>> make_cuda_program_stream(int device);

}  // namespace troupe::gpu
