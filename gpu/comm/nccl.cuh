#pragma once
/// \file nccl.cuh
/// NCCL, loaded when it is wanted, so that the program starts where it is not installed. Only for .cu files.
#include "gpu/base/cuda_stream.cuh"
#include "gpu/comm/nccl_api.cuh"
#include "runtime/base/even_share.hpp"
#include "runtime/base/result.hpp"
#include "runtime/run/device_mean.hpp"

#include <atomic>
#include <cstddef>
#include <span>
#include <string>

namespace troupe::gpu {

/// Its functions by name. Never unloaded: other parts of a program may use it.
struct NcclLibrary {
  int version = 0;
  nccl::GetUniqueId get_unique_id = nullptr;
  nccl::CommInitRankConfig comm_init = nullptr;
  nccl::CommAbort comm_abort = nullptr;
  nccl::CommGetAsyncError async_error = nullptr;
  nccl::GetErrorString error_string = nullptr;
  nccl::GetLastError last_error = nullptr;
  nccl::GroupStart group_start = nullptr;
  nccl::GroupEnd group_end = nullptr;
  nccl::Send send = nullptr;
  nccl::Recv recv = nullptr;
  nccl::AllGather all_gather = nullptr;
  nccl::AllReduce all_reduce = nullptr;

  /// \param file  looked for as the loader does
  /// \errors not_found: no such file, or a function is missing; failed_precondition: the version
  static Result<NcclLibrary> load(const char* file = "libnccl.so.2");
  Error error(const char* what, nccl::Status status, nccl::Comm comm) const;
};

/// "2.28.9" of 22809.
std::string nccl_version_text(int version);

/// Operations of one rank; see communicator.hpp. Calls return once the launch is done, which may wait for the
/// other ranks at the first one: they are for a thread of the communicator's own.
class NcclCommunicator {
 public:
  /// Begins to join: settle() waits for it.
  /// \param stop  ends waits early
  NcclCommunicator(const NcclLibrary& library, const std::atomic<bool>& stop)
      : library_(library), stop_(stop) {}
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;
  ~NcclCommunicator() { abort(); }

  /// Waits for the other ranks. \requires the device is the thread's
  Status join(const CommunicatorId& id, std::size_t rank, std::size_t world);
  /// The error that the library has noticed meanwhile. \errors peer_lost
  Status async_error() const;
  void abort();

  std::size_t rank() const { return rank_; }
  std::size_t world() const { return world_; }
  // Errors stay with the stream.
  void exchange(CudaStream& on, std::span<float> vector, float* received);
  void gather(CudaStream& on, const float* mine, std::size_t count, float* all);
  void add(CudaStream& on, std::span<float> vector);

 private:
  /// Waits until calls that return before they are done have been done.
  Status settle(const char* what, nccl::Status status);
  void launched(CudaStream& on, const char* what, nccl::Status status);

  const NcclLibrary& library_;
  const std::atomic<bool>& stop_;
  nccl::Comm comm_ = nullptr;
  std::size_t rank_ = 0;
  std::size_t world_ = 0;
};

}  // namespace troupe::gpu
